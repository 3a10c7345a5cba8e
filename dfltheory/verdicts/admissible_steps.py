"""Step sizes that the conditions of a theorem admit, on one task and network."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np

from dfltheory import graphs
from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.evaluation import CONDITION_ROUNDING
from dfltheory.bounds.symbols import step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold, interval
from dfltheory.errors import ConditionError, InputError
from dfltheory.verdicts.given_values import refuse_contradictions
from dfltheory.verdicts.value_sources import Values

StepChoice = Literal["schedule", "admissible", "largest"]
"""How step sizes are chosen.

``schedule``: those of the schedule. ``admissible``: those of the schedule (1/L without
one), each reduced as far as a condition demands. ``largest``: those of the schedule
times the largest factor at which all conditions hold.
"""

TRIED_FACTORS = np.geomspace(1e-12, 1e12, 4801)
"""Factors of the scheduled step sizes among which the largest admissible one is sought.
"""


def network_values(
    theorem: Theorem, topology: object, needed: Collection[str] = ()
) -> dict[str, float]:
    """Return the constants of a network, by glossary name.

    Those of push-sum (delta, C, q, window) are included only if the theorem or
    ``needed`` contains delta, C or q, because computing them is slow.
    """
    push_sum = bool({"delta", "C", "q"} & {*theorem.needs, *needed})
    return graphs.network_constants(
        topology, push_sum=True if push_sum else None
    ).known()


def scheduling(theorems: Sequence[Theorem]) -> Theorem:
    """Return the first statement that has a schedule, else the first."""
    for theorem in theorems:
        if theorem.schedule:
            return theorem
    return theorems[0]


def chosen_steps(
    theorems: Sequence[Theorem],
    schedule: Mapping[str, float],
    known: Mapping[str, object],
    topology: object,
    step: StepChoice,
) -> dict[str, float]:
    """Return the step sizes by glossary name, for several variants of a statement.

    Parameters
    ----------
    theorems : sequence of Theorem
        The variants.
    schedule : mapping
        The step sizes of the schedule; empty without one.
    known : mapping
        Values of other quantities by glossary name.
    topology : graph, matrix or sequence, or None
        The network, if the conditions contain a constant of it.
    step : str
        See :data:`Step`. The result of "largest" is admissible for every variant whose
        conditions bound the step sizes. "admissible" does not reduce them for a variant
        whose conditions no smaller step size meets.

    Raises
    ------
    ConditionError
        With "largest", if no step size meets the conditions of a variant.
    InputError
        With "largest", if no condition bounds the step sizes.
    """
    chosen = dict(schedule)
    if step == "schedule":
        return chosen
    if not chosen:
        chosen = first_steps(theorems, known)
    largest, failure = _least_of_largest(theorems, chosen, known, topology)
    if step == "admissible":
        reduced = {n: min(v, chosen.get(n, math.inf)) for n, v in largest.items()}
        return {**chosen, **reduced}
    if isinstance(failure, ConditionError) or (failure is not None and not largest):
        raise failure
    return {**chosen, **largest}


def _least_of_largest(
    theorems: Sequence[Theorem],
    steps: Mapping[str, float],
    known: Mapping[str, object],
    topology: object,
) -> tuple[dict[str, float], InputError | ConditionError | None]:
    """Return the largest steps that every variant admits, and why some have none.

    A variant without an admissible step is reported rather than one whose steps no
    condition bounds.
    """
    largest: dict[str, float] = {}
    failure: InputError | ConditionError | None = None
    for theorem in theorems:
        if not set(theorem.step_names):
            continue  # the schedule of a corollary fixes all of its step sizes
        try:
            largest_of_theorem = largest_steps(theorem, steps, known, topology)
        except (InputError, ConditionError) as error:
            if not isinstance(failure, ConditionError):
                failure = error
            continue
        for name, value in largest_of_theorem.items():
            largest[name] = min(value, largest.get(name, math.inf))
    return largest, failure


def first_steps(
    theorems: Sequence[Theorem], known: Mapping[str, object]
) -> dict[str, float]:
    """Return 1/L for each step size of statements without a schedule.

    The step sizes are reduced from there. The result is empty if L is not a positive
    finite number.
    """
    L = known.get("L")
    if not isinstance(L, (int, float)) or not 0 < L < math.inf:
        return {}
    names = {name for theorem in theorems for name in theorem.step_names}
    return dict.fromkeys(sorted(names), 1 / L)


def supplied_names(theorems: Sequence[Theorem], step: StepChoice) -> set[str]:
    """Return the names of the hyperparameters that :func:`chosen_steps` determines.

    They are those of the schedule. Without a schedule, they are the step sizes of the
    statements, or none if ``step`` is "schedule".
    """
    schedule = scheduling(theorems).schedule
    if schedule or step == "schedule":
        return set(schedule)
    return {name for theorem in theorems for name in theorem.step_names}


def largest_steps(
    theorem: Theorem,
    schedule: Mapping[str, float],
    known: Mapping[str, object],
    topology: object,
) -> dict[str, float]:
    """Return the schedule's step sizes times the largest admissible factor.

    Without a schedule, all step sizes of the theorem are equal.

    Raises
    ------
    ConditionError
        If no factor meets the conditions.
    InputError
        If no condition bounds the step sizes, or a value that the conditions need is
        missing or contradicts the network.
    """
    if topology is not None:
        fixed = network_values(theorem, topology)
        refuse_contradictions(known, fixed, topology)
        known = {**fixed, **known}
    steps = {
        name: value
        for name, value in schedule.items()
        if name in step_names(theorem.glossary)
    }
    if not steps:
        steps = dict.fromkeys(theorem.step_names, 1.0)
    others = _values_of_conditions(theorem, schedule, known, steps)

    def admissible(factor: np.ndarray | float) -> np.ndarray:
        scaled = {
            name: step * factor for name, step in steps.items() if name in theorem.needs
        }
        return all_hold(theorem, {**others, **scaled})

    admissible_factors = interval(admissible, TRIED_FACTORS)
    if admissible_factors is None:
        raise ConditionError(
            f"no step size meets the conditions of {theorem} at these constants"
        )
    if admissible_factors.high == np.inf:
        raise InputError(
            f"no condition of {theorem} bounds its step sizes, so there is no largest"
            " one: use step='schedule'"
        )
    # the margin that rounding admits is kept for changes of units
    return {
        name: float(step * (admissible_factors.high * (1 - CONDITION_ROUNDING)))
        for name, step in steps.items()
    }


def _values_of_conditions(
    theorem: Theorem,
    schedule: Mapping[str, float],
    known: Mapping[str, object],
    steps: Collection[str],
) -> Values:
    """Return values of all quantities that the theorem needs, except for step sizes.

    A quantity that no condition contains may be unknown. It is set to 1/2, since its
    value does not affect the conditions.
    """
    in_conditions = symbol_names(theorem.expand(c.slack) for c in theorem.conditions)
    values: Values = {}
    missing: list[str] = []
    for name in theorem.needs:
        if name in steps:
            continue
        value = known.get(name, schedule.get(name))
        if value is None and name in in_conditions:
            missing.append(name)
        values[name] = 0.5 if value is None else value
    if missing:
        raise InputError(
            f"the conditions of {theorem} need {', '.join(sorted(missing))}: pass these"
            " values, or the network"
        )
    return values


__all__ = [
    "StepChoice",
    "chosen_steps",
    "largest_steps",
    "network_values",
    "scheduling",
    "supplied_names",
]
