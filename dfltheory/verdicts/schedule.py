"""The algorithm that a theorem covers, with the step sizes of its schedule.

A statement has a ``schedule`` as data (eta = 1/(L sqrt(K T)), rho = rho0/sqrt(T), ...)
and conditions (eta <= 1/(10 K L), ...). :func:`scheduled_algorithm` evaluates either at
the constants of a task and a network and the horizon T.

>>> task = dfl.tasks.quadratic(m=16)  # doctest: +SKIP
>>> key = "dfedsam.theorem_4_5"
>>> scheduled_algorithm(key, task, 1000, K=5, rho0=1.0)  # doctest: +SKIP
DFedSAM(eta=0.0141, K=5, rho=0.0316, Q=1)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args

import numpy as np

from dfltheory import algorithms, graphs
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.evaluation import ROUNDING
from dfltheory.bounds.reference import load, load_all
from dfltheory.bounds.scope import ANY
from dfltheory.bounds.symbols import step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold, interval
from dfltheory.errors import ConditionError, InputError, UnknownNameError
from dfltheory.tasks.task import Task
from dfltheory.verdicts.given_values import (
    NETWORK_NAMES,
    refuse_contradictions,
    refuse_one_block,
    refuse_understatements,
)
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.value_sources import Source, Values

Step = Literal["schedule", "admissible", "largest"]
"""The schedule's step sizes; the schedule's, reduced where a condition demands it; or
the largest admissible multiple of them.
"""

WHOLE_NUMBERS = frozenset({"Q", "K", "K_u", "K_v"})
"""Hyperparameters that are whole numbers."""
TRIED_FACTORS = np.geomspace(1e-12, 1e12, 4801)
"""Multiples of the scheduled step sizes that are tried for the largest admissible
ones.
"""


# -- values of a planned run


class PlannedRun(Source):
    """A run before it is made: a task, a number of rounds, and perhaps a network.

    Parameters
    ----------
    task : Task
    rounds : int
    topology : graph, matrix or sequence, optional
    needed : collection of str
        Names that are needed in addition to those of the theorem, as a schedule's.
    """

    def __init__(
        self,
        task: Task[Any],
        rounds: int,
        topology: object = None,
        needed: Collection[str] = (),
    ):
        self._task, self._rounds = task, rounds
        self._topology, self._needed = topology, needed

    def constants(self, theorem: Theorem) -> Values:
        return {**self._task.constants.known(), **self._fixed(theorem)}

    def check_given(self, theorem: Theorem, given: Mapping[str, float]) -> None:
        refuse_contradictions(given, self._fixed(theorem), self._topology)
        refuse_understatements(given, self._task)

    def _fixed(self, theorem: Theorem) -> Values:
        """Return the values that the plan fixes: m, T and network constants."""
        fixed: Values = {"m": self._task.m, "T": self._rounds}
        if self._topology is not None:
            fixed.update(network_values(theorem, self._topology, self._needed))
        return fixed


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


# -- algorithms on a schedule


def algorithm_class(theorem: Theorem | str) -> type[Algorithm[Any]]:
    """Return the algorithm that a theorem covers, in its most general form."""
    kind = load(theorem).scope.algorithms[0]
    return algorithms.get(kind) if isinstance(kind, str) else kind


def fixed_hyperparameters(
    theorem: Theorem, kind: type[Algorithm[Any]]
) -> dict[str, object]:
    """Return the hyperparameters whose value the scope of a theorem fixes."""
    required = theorem.scope.hyperparameters
    fixed = {name: value for name, value in required.items() if value != ANY}
    return hyperparameter_fields(kind, fixed)


def hyperparameter_fields(
    kind: type[Algorithm[Any]], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Values by glossary name as fields of an algorithm class, without other names."""
    found: dict[str, Any] = {}
    for entry in fields(kind):
        name = kind.glossary.get(entry.name, entry.name)
        if name in values:
            value = values[name]
            found[entry.name] = int(value) if entry.name in WHOLE_NUMBERS else value
    return found


def scheduled_algorithm(
    theorem: Theorem | str,
    task: Task[Any],
    rounds: int,
    topology: object = None,
    *,
    variant: str | None = None,
    step: Step = "schedule",
    algorithm: type[Algorithm[Any]] | str | None = None,
    **given: Any,
) -> Any:
    """Return a theorem's algorithm with its hyperparameters at one task and horizon.

    Parameters
    ----------
    theorem : Theorem or str
        A theorem, or a key.
    task : Task
    rounds : int
        The horizon T.
    topology : graph, matrix or sequence, optional
        Needed where the schedule contains a constant of the network, such as lam, and
        with ``step="largest"`` where a condition does.
    variant : str, optional
        Of a key; by default the first one that has a schedule.
    step : {"schedule", "admissible", "largest"}
        The schedule of the corollary; the schedule's step sizes, reduced as far as the
        theorem's conditions demand; or times the largest factor that they admit.
    algorithm : type or str, optional
        A special case in place of the theorem's own algorithm, as ``"dfedavg"``.
    **given : Any
        Hyperparameters that no schedule fixes (K, Q, alpha...), constants by glossary
        name that complete what the task knows (L=...), rho0 (1 by default), and values
        that replace those of the schedule and of the scope.

    Raises
    ------
    UnknownNameError
        If a given name is neither a hyperparameter nor in the glossary.
    InputError
        If a constant or a hyperparameter is missing, or a value contradicts the
        horizon, the number of clients, or a constant of the network.
    ConditionError
        With ``step="largest"``, if no step size is admissible.
    """
    if step not in get_args(Step):
        raise InputError(f"step = {step!r} must be one of {', '.join(get_args(Step))}")
    if isinstance(theorem, str):
        theorem = scheduling(load_all(theorem, None if variant is None else (variant,)))
    kind = algorithm_class(theorem) if algorithm is None else algorithm
    kind = algorithms.get(kind) if isinstance(kind, str) else kind
    own = {entry.name for entry in fields(kind)}
    known_names = own | set(theorem.glossary)
    for name in given:
        if name not in known_names:
            raise UnknownNameError(
                f"hyperparameter of {kind.__name__} or constant", name, known_names
            )
    given = {**fixed_hyperparameters(theorem, kind), **given}
    values = step_sizes(theorem, task, rounds, {"rho0": 1.0, "Q": 1, **given}, topology)
    if step != "schedule":
        known = {
            **task.constants.known(),
            "rho0": 1.0,
            "Q": 1,
            "m": task.m,
            "T": rounds,
            **given,
        }
        values.update(chosen_steps((theorem,), values, known, topology, step))
    chosen = hyperparameter_fields(kind, {**values, **given})
    chosen.update({name: value for name, value in given.items() if name in own})
    missing = sorted(_required_fields(kind) - set(chosen))
    if missing:
        raise InputError(
            f"{kind.__name__} needs {', '.join(missing)}: give it, as {missing[0]}=..."
        )
    return kind(**chosen)


def _required_fields(kind: type[Algorithm[Any]]) -> set[str]:
    """Return the fields of an algorithm class that have no default."""
    required: set[str] = set()
    for entry in fields(kind):
        if entry.default is MISSING and entry.default_factory is MISSING:
            required.add(entry.name)
    return required


def scheduling(theorems: Sequence[Theorem]) -> Theorem:
    """Return the first statement that has a schedule, else the first."""
    for theorem in theorems:
        if theorem.schedule:
            return theorem
    return theorems[0]


def step_sizes(
    theorem: Theorem,
    task: Task[Any],
    rounds: int,
    known: Mapping[str, object],
    topology: object = None,
) -> dict[str, float]:
    """Return the scheduled hyperparameters of a theorem, by glossary name.

    At one task, horizon and network.

    Parameters
    ----------
    known : mapping
        Values that complete the task's constants, such as rho0, K, or an L that the
        task does not know. What is no number of the glossary is ignored.
    topology : graph, matrix or sequence, optional
        Needed where the schedule contains a constant of the network.

    Raises
    ------
    InputError
        If the schedule needs a value that is missing, or a value in ``known``
        contradicts the horizon, the number of clients, or a constant of the network.
    """
    refuse_one_block(theorem, task)
    needed = symbol_names(theorem.schedule.values())
    network = topology if needed & NETWORK_NAMES else None
    planned = PlannedRun(task, rounds, network, needed)
    given = {
        name: value
        for name, value in _numbers(known).items()
        if name in theorem.glossary
    }
    return theorem.step_sizes(**_numbers(run_values(planned, theorem, given)))


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {
        name: value for name, value in values.items() if isinstance(value, (int, float))
    }


def chosen_steps(
    theorems: Sequence[Theorem],
    schedule: Mapping[str, float],
    known: Mapping[str, object],
    topology: object,
    step: Step,
) -> dict[str, float]:
    """Return the step sizes that a :data:`Step` means, for several variants.

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
    largest: dict[str, float] = {}
    failure: InputError | None = None
    for theorem in theorems:
        if not set(theorem.step_names):
            continue  # a corollary, which fixes its step sizes by the schedule
        try:
            steps = largest_steps(theorem, schedule, known, topology)
        except InputError as error:
            failure = error
            continue
        for name, value in steps.items():
            largest[name] = min(value, largest.get(name, math.inf))
    if step == "admissible":
        reduced = {n: min(v, chosen.get(n, math.inf)) for n, v in largest.items()}
        return {**chosen, **reduced}
    if not largest and failure is not None:
        raise failure
    return {**chosen, **largest}


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

    found = interval(admissible, TRIED_FACTORS)
    if found is None:
        raise ConditionError(
            f"no step size meets the conditions of {theorem} at these constants"
        )
    if found.high == np.inf:
        raise InputError(
            f"no condition of {theorem} bounds its step sizes: use step='schedule'"
        )
    # the margin that rounding admits is kept for changes of units
    return {
        name: float(step * (found.high * (1 - ROUNDING)))
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


__all__ = []
