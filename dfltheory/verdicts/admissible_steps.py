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
"""The schedule's step sizes; the schedule's, reduced where a condition demands it; or
the largest admissible multiple of them.
"""

TRIED_FACTORS = np.geomspace(1e-12, 1e12, 4801)
"""Multiples of the scheduled step sizes that are tried for the largest admissible
ones.
"""


def network_values(
    theorem: Theorem, topology: object, needed: Collection[str] = ()
) -> dict[str, float]:
    """Return a network's constants by glossary name.

    Those of push-sum are among them if the theorem, or ``needed``, contains one.
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
    """Return the step sizes that a :data:`StepChoice` means, for several variants.

    With "largest", they are admissible for every variant whose conditions bound them.
    With "admissible", the scheduled ones are kept for variants that no smaller step
    makes applicable.

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
            continue  # a corollary, which fixes its step sizes by the schedule
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

    It is the start from which steps are reduced; empty if L is unknown or not finite.
    """
    L = known.get("L")
    if not isinstance(L, (int, float)) or not 0 < L < math.inf:
        return {}
    names = {name for theorem in theorems for name in theorem.step_names}
    return dict.fromkeys(sorted(names), 1 / L)


def supplied_names(theorems: Sequence[Theorem], step: StepChoice) -> set[str]:
    """Return the hyperparameters that a schedule, or a search of steps, supplies.

    Statements without a schedule supply their step sizes, unless the schedule's are
    asked for.
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
    """Return the schedule's step sizes times the largest admissible factor."""
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
            f"no condition of {theorem} bounds its step sizes: use step='schedule'"
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
    """Return what the conditions need in addition to step sizes.

    It is 1/2 for what no condition contains, whose value does not matter.
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
            f"the conditions of {theorem} need {', '.join(sorted(missing))}: give it,"
            " or the network"
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
