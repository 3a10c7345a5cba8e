"""Whether a theorem covers a run: algorithm, network, start, mechanisms and conditions.

The theorem's :class:`~dfltheory.bounds.scope.Scope` and its formulas decide. The first
thing that the theorem does not cover is its :class:`Obstacle`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.clauses import Number, symbol_names
from dfltheory.bounds.scope import ANY
from dfltheory.bounds.symbols import OF_ONE_ROUND
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.training.history import History
from dfltheory.verdicts.hyperparameters import (
    absent_values,
    hyperparameter_values,
    quantities_of,
    unrestricted_steps,
)
from dfltheory.verdicts.measures import precision
from dfltheory.verdicts.missing import missing_statements
from dfltheory.verdicts.network_scope import law_obstacle
from dfltheory.verdicts.starts import points_of_starts

_SAME = 1e-6
"""Relative difference up to which step sizes count as those of the schedule."""


ObstacleKind = Literal[
    "form",
    "task",
    "algorithm",
    "blocks",
    "gradients",
    "hyperparameter",
    "network",
    "start",
    "unstated",
    "schedule",
    "unknown",
    "range",
    "condition",
    "measurement",
]
"""What an obstacle is about, in the order in which they are tested.

``form``: a statement that no run is compared with, such as O(.) or a lower bound;
``task``: the task breaks an assumption of all theorems;
``algorithm``, ``blocks``, ``gradients``, ``hyperparameter``, ``network``, ``start``:
the scope of the theorem does not cover the run's algorithm, model, gradients (which
must be bounded), hyperparameter, network or start;
``unstated``: a run that was measured elsewhere lacks information;
``schedule``: the step sizes are not those of the schedule;
``unknown``, ``range``: a quantity is unknown, or out of its range;
``condition``: a condition fails;
``measurement``: the left-hand side was not measured.
"""

OBSTACLE_KINDS: tuple[ObstacleKind, ...] = get_args(ObstacleKind)


class Obstacle(NamedTuple):
    """Why a theorem does not apply to a run.

    Attributes
    ----------
    kind : str
        What it is about; see :data:`ObstacleKind`.
    reason : str
        The obstacle in one line.
    names : tuple of str
        Glossary names of the hyperparameters or quantities that it is about.
    required : tuple
        The only value of the hyperparameter ``names[0]`` that the theorem covers; empty
        if there is no such value.
    """

    kind: ObstacleKind
    reason: str
    names: tuple[str, ...] = ()
    required: tuple[object, ...] = ()


def obstacle_of(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> str | None:
    """Return why the theorem does not apply to this run at these values, or None."""
    obstacle = find_obstacle(run, theorem, values)
    return None if obstacle is None else obstacle.reason


def find_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return the first obstacle to applying the theorem to this run, or None.

    Whether the left-hand side was measured is not tested here.

    Parameters
    ----------
    run : History
    theorem : Theorem
    values : mapping
        The run's values by glossary name, numbers or (S,) arrays for different starts.
    """
    if theorem.order:
        return Obstacle(
            "form",
            "it is stated as O(.), without the constants that a comparison needs",
        )
    if theorem.kind == "lower bound":
        return Obstacle(
            "form",
            "it is a lower bound, which states how hard some problem is; it does not"
            " bound this run from above",
        )
    changing = sorted(OF_ONE_ROUND.intersection(theorem.needs))
    if changing:
        return Obstacle(
            "form",
            f"it contains {', '.join(changing)}, so that its bound changes in each"
            " round, and a run is compared with one bound: state it by values at the"
            " start and at T",
        )
    if run.facts is not None and run.facts.broken_assumption is not None:
        return Obstacle("task", run.facts.broken_assumption)
    for find in (
        _scope_obstacle,
        _unstated_obstacle,
        _schedule_obstacle,
        _unknown_obstacle,
        _condition_obstacle,
    ):
        obstacle = find(run, theorem, values)
        if obstacle is not None:
            return obstacle
    return None


# -- the scope -------------------------------------------------------------------------


def _scope_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return what of the run is outside the theorem's scope, or None."""
    scope, algorithm = theorem.scope, run.algorithm
    if not scope.covers(algorithm):
        return Obstacle("algorithm", _other_algorithm(algorithm, theorem))
    has_blocks = run.stated is not None or "two_block_value" in run.measures()
    if scope.two_blocks and not has_blocks:
        return Obstacle(
            "blocks",
            "it is about a shared and a personal part of each model, and this run has"
            " no such two blocks",
        )
    bounded = run.stated is not None or np.isfinite(values.get("B", math.inf)).all()
    if scope.bounded_gradients and not bounded:
        return Obstacle(
            "gradients",
            "it assumes bounded gradients, and no bound B is known for this problem",
        )
    obstacle = _hyperparameter_obstacle(algorithm, theorem)
    if obstacle is not None:
        return obstacle
    if run.stated is None or run.network_facts is not None:
        reason = law_obstacle(
            run.network_facts, scope, run.topology, run.rounds, algorithm.gossip_steps
        )
        if reason is not None:
            return Obstacle("network", reason)
    if not scope.common_start or has_common_start(run) is not False:
        return None
    return Obstacle(
        "start",
        "it assumes that all clients start at the same model, and"
        f" mean ||x_i - xbar||^2 = {np.max(run.x0_spread):.3g} here",
    )


def _other_algorithm(algorithm: Algorithm[Any], theorem: Theorem) -> str:
    names, kind = theorem.scope.names, type(algorithm)
    same_name = kind.__name__ in names
    other = f" of {kind.__module__}, another class of that name" if same_name else ""
    return f"it covers {', '.join(names)}, and this run used {kind.__name__}{other}"


def has_common_start(run: History) -> bool | None:
    """Return whether all clients of each seed started at the same model.

    The run's facts state whether the models were bit-identical. A record without facts
    (expectations, or made by hand) is judged by its ``x0_spread``, up to the rounding
    error of a mean of equal models.

    Returns
    -------
    bool or None
        None if it is unknown.
    """
    if run.facts is not None and run.facts.common_start is not None:
        return run.facts.common_start
    if np.isnan(run.x0_spread).any() or np.isnan(run.x0_sq).any():
        return None
    return bool(np.all(run.x0_spread <= (2 * precision(run)) ** 2 * run.x0_sq))


def _unstated_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return what a run that was measured elsewhere does not state, or None."""
    if run.stated is None:
        return None
    missing = missing_statements(run, theorem, values, has_common_start(run))
    if not missing:
        return None
    return Obstacle(
        "unstated", f"not stated for this run: {', '.join(missing)}", tuple(missing)
    )


# -- hyperparameters -------------------------------------------------------------------


def _hyperparameter_obstacle(
    algorithm: Algorithm[Any], theorem: Theorem
) -> Obstacle | None:
    """Return why the value of a hyperparameter is not covered, for the first such one.

    None if all are covered.
    """
    required = theorem.scope.hyperparameters
    values_of_run = hyperparameter_values(algorithm)
    lacking = [name for name in required if name not in values_of_run]
    if lacking and len(theorem.scope.algorithms) == 1:
        return Obstacle(
            "hyperparameter",
            f"its scope contains {lacking[0]}, which {theorem.scope.names[0]} does not"
            " have",
            (lacking[0],),
        )
    contained = _contained_hyperparameters(algorithm, theorem)
    absent = absent_values(theorem)
    for name, value in values_of_run.items():
        if name in required:
            covered = required[name]
        elif name in contained:
            continue
        elif name in absent:
            covered = absent[name]
        else:
            return Obstacle(
                "hyperparameter",
                f"it does not state for which {name} it holds (see"
                f" Scope.hyperparameters), and this run has {name} ="
                f" {_value_text(value)}",
                (name,),
            )
        if covered not in (value, ANY):
            reason = f"it covers {name} = {covered}, and this run has {name} ="
            return Obstacle(
                "hyperparameter", f"{reason} {_value_text(value)}", (name,), (covered,)
            )
    return None


def _value_text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _contained_hyperparameters(algorithm: Algorithm[Any], theorem: Theorem) -> set[str]:
    """Return the hyperparameters that the statement covers at every value."""
    contained = quantities_of(theorem)
    if theorem.scope.participation == "sampled":
        contained = contained | {"participation"}
    for total in contained & set(algorithm.summed_up):
        contained = contained | set(algorithm.summed_up[total][0])
    return contained | unrestricted_steps(theorem, type(algorithm))


# -- values ----------------------------------------------------------------------------


def _schedule_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return the step size that differs from the schedule of a corollary, or None.

    If the schedule contains an unknown quantity, that is the obstacle.
    """
    fixed = [name for name in theorem.scheduled if name != "Q" and name in values]
    if not fixed:
        return None
    for place, point in points_of_starts(values):
        try:
            scheduled = theorem.step_sizes(**point)
        except InputError as missing:
            symbols = symbol_names([theorem.schedule[name] for name in fixed])
            names = sorted(name for name in symbols if not _is_known(name, values))
            return Obstacle("unknown", f"{missing}{place}", tuple(names))
        for name in fixed:
            if not math.isclose(
                scheduled[name], point[name], rel_tol=_SAME, abs_tol=1e-300
            ):
                covered = f"it covers {name} = {scheduled[name]:.6g}{place}"
                return Obstacle(
                    "schedule",
                    f"{covered}, and this run has {name} = {point[name]:.6g}",
                    (name,),
                )
    return None


def _unknown_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return the quantities of the theorem that are unknown or not finite, or None."""
    unknown = sorted(name for name in theorem.needs if not _is_known(name, values))
    if not unknown:
        return None
    reason = f"{', '.join(unknown)} not known (or not finite) for this problem"
    if unknown == ["f0_gap"] and theorem.lhs.start not in run.rounds_measured:
        reason = f"it starts at round {theorem.lhs.start}, which was not measured"
    return Obstacle("unknown", reason, tuple(unknown))


def _is_known(name: str, values: Mapping[str, Number]) -> bool:
    return name in values and bool(np.all(np.isfinite(values[name])))


def _condition_obstacle(
    run: History, theorem: Theorem, values: Mapping[str, Number]
) -> Obstacle | None:
    """Return the conditions that fail at the start of some seed, or None."""
    needed = {name: values[name] for name in theorem.needs}
    for place, point in points_of_starts(needed):
        try:
            checked = theorem.check_conditions(**point)
        # for example lam = 1, on a network that is not connected
        except InputError as outside_range:
            names = _out_of_range(theorem, point)
            return Obstacle("range", f"{outside_range}{place}", names)
        failing = [
            f"{c.name} fails, by {abs(float(slack)):.3g}{place}"
            for c, slack, holds in checked
            if not holds
        ]
        if failing:
            return Obstacle("condition", "; ".join(failing))
    return None


def _out_of_range(theorem: Theorem, values: Mapping[str, float]) -> tuple[str, ...]:
    """Return the quantities whose value is out of its range."""
    out_of_range: list[str] = []
    for name, value in values.items():
        try:
            theorem.glossary[name].check(value)
        except InputError:
            out_of_range.append(name)
    return tuple(out_of_range)


__all__ = [
    "OBSTACLE_KINDS",
    "Obstacle",
    "ObstacleKind",
    "has_common_start",
    "find_obstacle",
    "obstacle_of",
]
