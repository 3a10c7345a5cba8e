r"""The algorithm that a theorem speaks of, with the step sizes that it asks for: one place for everybody.

A statement brings its ``schedule`` as data (eta = 1/(L sqrt(K T)), rho = rho0/sqrt(T), ...) and its
conditions (eta <= 1/(10 K L), ...).  :func:`scheduled_algorithm` puts a task's constants, the network's and
the horizon T into either and gives the algorithm to be run.

>>> task = dfl.tasks.quadratic(m=16)                                             # doctest: +SKIP
>>> scheduled_algorithm("dfedsam.theorem_4_5", task, 1000, K=5, rho0=1.0)        # doctest: +SKIP
DFedSAM(eta=0.0141, K=5, rho=0.0316, Q=1)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Literal

import numpy as np
import sympy as sp

from dfltheory import algorithms, bounds, graphs
from dfltheory.bounds.clauses import ROUNDING
from dfltheory.bounds.symbols import step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold, interval
from dfltheory.errors import ConditionError, InputError, UnknownNameError
from dfltheory.tasks.task import Task

Step = Literal["schedule", "largest"]

NETWORK_NAMES = frozenset({"lam", "lam_min", "delta", "C", "q", "window"})
"""Glossary names of the constants that a network fixes."""

TWO_BLOCKS = "coupled"
"""The task by name whose models have a shared and a personal part, with every constant known."""


def algorithm_class(theorem: Theorem | str) -> type[Any]:
    """The algorithm that a theorem is about, in its most general form."""
    thm = bounds.get(theorem, bounds.variants(theorem)[0]) if isinstance(theorem, str) else theorem
    kind = thm.scope.algorithms[0]
    return algorithms.get(kind) if isinstance(kind, str) else kind


def letters_of(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Glossary names as the fields of an algorithm; what it has no field for is left out."""
    whole = {"Q", "K", "K_u", "K_v"}
    named = {f.name: kind.glossary.get(f.name, f.name) for f in fields(kind)}
    found = {own: values[name] for own, name in named.items() if name in values}
    return {own: int(v) if own in whole else v for own, v in found.items()}


def scheduled_algorithm(
    theorem: Theorem | str,
    task: Task,
    rounds: int,
    topology: Any = None,
    *,
    variant: str | None = None,
    step: Step = "schedule",
    algorithm: type[Any] | str | None = None,
    **letters: Any,
) -> Any:
    """The theorem's algorithm with its hyperparameters at this task, network and horizon T = ``rounds``.

    Parameters
    ----------
    theorem, variant : a Theorem, or a key (without ``variant`` the first one that has a schedule)
    topology : anything ``train`` takes; needed where the schedule contains a constant of the network, such as
        lam, and by ``step="largest"`` where a condition does
    step : ``"schedule"``: the corollary's; ``"largest"``: the schedule's step sizes, all by one factor, at
        the edge of what the theorem's conditions admit
    algorithm : a special case in place of the theorem's own, as ``"dfedavg"``
    letters : hyperparameters that no schedule fills (K, Q, alpha...), glossary names that complete what the
        task knows (L=...), rho0 (1 where it is not given), and values that take the schedule's place

    Raises
    ------
    InputError, UnknownNameError
        An unknown hyperparameter; a constant or a hyperparameter that is missing; a value that contradicts
        the horizon, the number of clients, or a constant of the network.
    ConditionError
        ``step="largest"`` and no step size is admissible.
    """
    thm: Any = theorem
    if isinstance(theorem, str):
        names = [variant] if variant else bounds.variants(theorem)
        thm = scheduling([bounds.get(theorem, v) for v in names])
    kind = algorithm_class(thm) if algorithm is None else algorithm
    kind = algorithms.get(kind) if isinstance(kind, str) else kind
    own = {f.name for f in fields(kind)}
    for name in letters:
        if name not in own | set(bounds.GLOSSARY):
            raise UnknownNameError(f"letter of {kind.__name__} or constant", name, own | set(bounds.GLOSSARY))
    known = task.constants.known() | {"rho0": 1.0, "Q": 1, "m": task.m, "T": rounds, **letters}
    values = step_sizes(thm, task, rounds, {"rho0": 1.0, "Q": 1, **letters}, topology)
    if step == "largest":
        values |= largest_steps(thm, values, known, topology)
    elif step != "schedule":
        raise InputError(f"step = {step!r} must be 'schedule' or 'largest'")
    chosen = letters_of(kind, values | letters) | {n: v for n, v in letters.items() if n in own}
    required = {f.name for f in fields(kind) if f.default is f.default_factory is MISSING}
    missing = sorted(required - set(chosen))
    if missing:
        raise InputError(f"{kind.__name__} needs {', '.join(missing)}: give it, as {missing[0]}=...")
    return kind(**chosen)


def scheduling(theorems: Sequence[Theorem]) -> Theorem:
    """The first statement that has a schedule, else the first."""
    return next((t for t in theorems if t.schedule), theorems[0])


def step_sizes(
    theorem: Theorem, task: Task, rounds: int, known: Mapping[str, Any], topology: Any = None
) -> dict[str, float]:
    """Return the scheduled hyperparameters of a theorem at one task, horizon and network, by glossary name.

    Parameters
    ----------
    known : values that complete the task's constants, such as rho0, K, or an L that the task does not know
    topology : anything ``train`` takes; needed where the schedule contains a constant of the network

    Raises
    ------
    InputError
        The schedule needs a value that is missing; a value in ``known`` contradicts the horizon, the number
        of clients, or a constant of the network.
    """
    refuse_one_block(theorem, task)
    fixed = {"m": task.m, "T": rounds}
    needed = {s.name for rule in theorem.schedule.values() for s in sp.sympify(rule).free_symbols}
    if topology is not None and needed & NETWORK_NAMES:
        fixed = {**fixed, **network_values(theorem, topology, needed)}
    refuse_contradictions(known, fixed, topology)
    refuse_understatements(known, task)
    given = {**task.constants.known(), **fixed, **known}
    return theorem.step_sizes(**{n: v for n, v in given.items() if isinstance(v, (int, float))})


def refuse_contradictions(given: Mapping[str, Any], fixed: Mapping[str, Any], topology: Any = None) -> None:
    """Raise InputError where a given value differs from the value that the run itself has.

    An estimated constant of a random network may be replaced by the value that the caller knows.
    """
    shared = sorted(n for n in given if n in fixed and isinstance(given[n], (int, float)))
    estimated: set[str] = set()
    if topology is not None and set(shared) & NETWORK_NAMES:
        constants = graphs.network_constants(topology)
        estimated = {n for n in shared if constants.standing_of(n) == "estimate"}
    for name in shared:
        if name in estimated or math.isclose(given[name], fixed[name], rel_tol=1e-6, abs_tol=1e-12):
            continue
        raise InputError(
            f"{name} = {given[name]:g} contradicts the run, which has {name} = {fixed[name]:g}: "
            f"leave {name} out"
        )


def refuse_understatements(given: Mapping[str, Any], task: Task) -> None:
    """Raise InputError where a given constant is less than the exact one of the task."""
    constants = task.constants
    for name, exact in constants.known().items():
        value = given.get(name)
        if not isinstance(value, (int, float)) or constants.standing_of(name) != "exact":
            continue
        if name in ("mu", "f_star") or not math.isfinite(exact):  # no upper bounds; finite where a run goes
            continue
        if value < exact * (1 - 1e-6):
            raise InputError(
                f"{name} = {value:g} contradicts the task, which has {name} = {exact:g} exactly: "
                f"give at least that, or leave {name} out"
            )


def refuse_one_block(theorem: Theorem, task: Task) -> None:
    """Refuse a statement on partial personalization where the task has no shared and no personal part."""
    if not theorem.scope.two_blocks:
        return
    shared = np.zeros(task.d, dtype=bool)
    shared[slice(None) if task.shared is None else task.shared] = True
    if shared.all() or not shared.any():
        raise InputError(
            f"{theorem.key} is about a shared and a personal part of each model, and the task {task.name} "
            f"has no such two blocks: take {TWO_BLOCKS}, or a network with a personal head"
        )


def network_values(thm: Theorem, topology: Any, needed: Collection[str] = ()) -> dict[str, float]:
    """The network's constants by glossary name, those of push-sum too where the theorem, or ``needed``, asks
    for them."""
    asked = bool({"delta", "C", "q"} & {*thm.needs, *needed})
    return graphs.network_constants(topology, push_sum=True if asked else None).known()


def largest_steps(
    thm: Theorem, schedule: Mapping[str, float], known: Mapping[str, Any], topology: Any
) -> dict[str, float]:
    """The schedule's step sizes times the largest factor at which every condition holds, in any units."""
    if topology is not None:
        fixed = network_values(thm, topology)
        refuse_contradictions(known, fixed, topology)
        known = {**fixed, **known}
    steps = {n: v for n, v in schedule.items() if n in step_names()}
    steps = steps or {n: 1.0 for n in step_names() if n in thm.needs}
    asked = {s.name for c in thm.conditions for s in thm.expand(c.slack).free_symbols}
    values = {n: known.get(n, schedule.get(n)) for n in thm.needs if n not in steps}
    missing = sorted(n for n, v in values.items() if v is None and n in asked)
    if missing:
        raise InputError(f"the conditions of {thm} need {', '.join(missing)}: give it, or the network")
    given = {n: 0.5 if v is None else v for n, v in values.items()}  # what no condition asks for

    def admissible(factor: Any) -> Any:
        return all_hold(thm, given | {n: v * factor for n, v in steps.items() if n in thm.needs})

    found = interval(admissible, np.geomspace(1e-12, 1e12, 4801))
    if found is None:
        raise ConditionError(f"no step size meets the conditions of {thm} at these constants")
    if found.high == np.inf:
        raise InputError(f"no condition of {thm} bounds its step sizes: take step='schedule'")
    # what rounding allows at the edge is left to those who change units
    return {n: float(v * (found.high * (1 - ROUNDING))) for n, v in steps.items()}
