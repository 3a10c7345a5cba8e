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

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args

from dfltheory import algorithms
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.reference import load, load_all
from dfltheory.bounds.scope import ANY
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.tasks.task import Task
from dfltheory.verdicts.admissible_steps import (
    StepChoice,
    chosen_steps,
    network_values,
    scheduling,
)
from dfltheory.verdicts.given_values import (
    NETWORK_NAMES,
    refuse_contradictions,
    refuse_one_block,
    refuse_understatements,
)
from dfltheory.verdicts.hyperparameters import hyperparameter_fields
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.value_sources import Source, Values

# -- values of a planned run


class PlannedRun(Source):
    """Values of a run that is planned: a task, a horizon, and perhaps a network.

    Parameters
    ----------
    task : Task
    rounds : int
    topology : graph, matrix or sequence, optional
    needed : collection of str
        Names that are needed in addition to those of the theorem, such as a schedule's.
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
        """Return the task's constants, m, T, and constants of the network."""
        return {**self._task.constants.known(), **self._fixed_values(theorem)}

    def check_given(
        self, theorem: Theorem, given: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the given values; InputError if one contradicts task or plan."""
        refuse_contradictions(given, self._fixed_values(theorem), self._topology)
        refuse_understatements(given, self._task)
        return dict(given)

    def _fixed_values(self, theorem: Theorem) -> Values:
        """Return the values that the plan fixes: m, T and network constants."""
        fixed: Values = {"m": self._task.m, "T": self._rounds}
        if self._topology is not None:
            fixed.update(network_values(theorem, self._topology, self._needed))
        return fixed


# -- algorithms on a schedule


def covered_algorithm(theorem: Theorem | str) -> type[Algorithm[Any]]:
    """Return the class of the most general algorithm in a theorem's scope."""
    kind = load(theorem).scope.algorithms[0]
    return algorithms.get(kind) if isinstance(kind, str) else kind


def fixed_hyperparameters(
    theorem: Theorem, kind: type[Algorithm[Any]]
) -> dict[str, object]:
    """Return the hyperparameters whose value the scope of a theorem fixes, by field."""
    required = theorem.scope.hyperparameters
    fixed = {name: value for name, value in required.items() if value != ANY}
    return hyperparameter_fields(kind, fixed)


def scheduled_algorithm(
    theorem: Theorem | str,
    task: Task[Any],
    rounds: int,
    topology: object = None,
    *,
    variant: str | None = None,
    step: StepChoice = "schedule",
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
        Step sizes of the schedule; these, each reduced as far as the theorem's
        conditions demand; or these times the largest factor that the conditions admit.
    algorithm : type or str, optional
        A special case of the theorem's own algorithm to use instead, such as
        ``"dfedavg"``.
    **given : Any
        Hyperparameters that no schedule fixes (K, Q, alpha...), constants by glossary
        name that complete what the task knows (L=...), rho0 (1 by default), and values
        that replace those of the schedule and of the scope.

    Returns
    -------
    Algorithm
        An instance of the class with all hyperparameters.

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
    if step not in get_args(StepChoice):
        raise InputError(
            f"step = {step!r} must be one of {', '.join(get_args(StepChoice))}"
        )
    if isinstance(theorem, str):
        theorem = scheduling(load_all(theorem, None if variant is None else (variant,)))
    kind = covered_algorithm(theorem) if algorithm is None else algorithm
    kind = algorithms.get(kind) if isinstance(kind, str) else kind
    field_names = {entry.name for entry in fields(kind)}
    known_names = field_names | set(theorem.glossary)
    for name in given:
        if name not in known_names:
            raise UnknownNameError(
                f"hyperparameter of {kind.__name__} or constant", name, known_names
            )
    given = {**fixed_hyperparameters(theorem, kind), **given}
    values = scheduled_hyperparameters(
        theorem, task, rounds, {"rho0": 1.0, "Q": 1, **given}, topology
    )
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
    chosen.update({name: value for name, value in given.items() if name in field_names})
    missing = sorted(_required_fields(kind) - set(chosen))
    if missing:
        raise InputError(
            f"{kind.__name__} needs {', '.join(missing)}: pass {missing[0]}=..."
        )
    return kind(**chosen)


def _required_fields(kind: type[Algorithm[Any]]) -> set[str]:
    """Return the fields of an algorithm class that have no default."""
    required: set[str] = set()
    for entry in fields(kind):
        if entry.default is MISSING and entry.default_factory is MISSING:
            required.add(entry.name)
    return required


def scheduled_hyperparameters(
    theorem: Theorem,
    task: Task[Any],
    rounds: int,
    known: Mapping[str, object],
    topology: object = None,
) -> dict[str, float]:
    """Return the values of a theorem's schedule, by glossary name.

    Parameters
    ----------
    theorem : Theorem
        Without a schedule, the result is empty.
    task : Task
        Its constants are used.
    rounds : int
        The horizon T.
    known : mapping
        Values that complete the task's constants, such as rho0, K, or an L that the
        task does not know. Values that are not numbers, and names that are not in the
        glossary, are ignored.
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
    known_constants = {
        name: value
        for name, value in _numbers(known).items()
        if name in theorem.glossary
    }
    return theorem.step_sizes(**_numbers(run_values(planned, theorem, known_constants)))


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    """Return the values that are numbers."""
    return {
        name: value for name, value in values.items() if isinstance(value, (int, float))
    }


__all__ = [
    "PlannedRun",
    "covered_algorithm",
    "fixed_hyperparameters",
    "scheduled_algorithm",
    "scheduled_hyperparameters",
]
