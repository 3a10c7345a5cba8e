"""Checks of constants that a caller gives: they must not contradict the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory import graphs
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.verdicts.measures import (
    gap_at_start,
    measured,
    objective,
    objective_at_start,
    precision,
)

if TYPE_CHECKING:
    from dfltheory.tasks.task import Task
    from dfltheory.training.history import History


def check_given(
    run: History,
    theorem: Theorem,
    given: Mapping[str, float],
    rho0: float | None,
    computed: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Check given values against a run, and return the values to be used.

    A value that agrees with the run's own up to a relative difference of 1e-6, such as
    L = 0.333333 for 1/3, is replaced by the run's value.

    Parameters
    ----------
    run : History
    theorem : Theorem
        Its left-hand side fixes the round of f0_gap.
    given : mapping
        Values by glossary name.
    rho0 : float or None
        The run's own rho0 under the theorem's schedule, if it has one.
    computed : mapping, optional
        The theorem's computed quantities on the run's network and task.

    Returns
    -------
    dict
        A value for each name in ``given``.

    Raises
    ------
    InputError
        If a given value contradicts the run by more than that.
    """
    agreed = dict(given)
    fixed = _fixed_values(run, rho0) | dict(computed or {})
    for name, value in given.items():
        if name in fixed and not math.isclose(value, fixed[name], rel_tol=1e-6):
            raise InputError(
                f"{name} = {value:g} contradicts this run, which has {name} ="
                f" {fixed[name]:g}: omit it; only constants of the problem can be"
                " given, for example sigma_g=..."
            )
        agreed[name] = fixed.get(name, value)
        _check_estimate(run, name, value)
        least, reason = _least_true(run, theorem, name)
        if value < least - 1e-6 * abs(least):
            raise InputError(
                f"{name} = {value:g} is too small for this run: {reason}, and with less"
                f" the assumptions of a theorem are not met: give {name} >= {least:g}"
            )
        agreed[name] = max(agreed[name], least)
        if name == "mu":
            most, reason = _largest_convexity(run, given)
            if value > most + 1e-6 * abs(most):
                raise InputError(
                    f"mu = {value:g} is too large for this run: {reason}: give mu <="
                    f" {most:g}"
                )
            agreed[name] = min(agreed[name], most)
    return agreed


def _fixed_values(run: History, rho0: float | None) -> dict[str, float]:
    """Return the values that the run has fixed, by glossary name."""
    fixed = dict(run.network.known())
    fixed.update(run.algorithm.theory_values(run.x.shape[-1]))
    for name in [*fixed]:
        if run.network.standing_of(name) == "estimate":
            del fixed[name]
    fixed["T"] = run.rounds
    fixed["x0_sq"] = float(run.x0_sq.mean())
    fixed["x0_spread"] = float(run.x0_spread.mean())
    distances = measured(run, "dist_sq")
    if distances is not None and run.rounds_measured[0] == 0:
        fixed["x_star_sq"] = float(distances[:, 0].mean())
    if run.stated is not None:  # unknown values are NaN
        fixed = {name: value for name, value in fixed.items() if value == value}
    if rho0 is not None:
        fixed["rho0"] = rho0
    return fixed


def _check_estimate(run: History, name: str, value: float) -> None:
    """Raise InputError if a constant is over 3 standard errors below its estimate."""
    network = run.network
    if name not in network.errors:
        return
    known, error = network.known()[name], network.errors[name]
    if value < (known - 3 * error) * (1 - 1e-6):
        raise InputError(
            f"{name} = {value:g} is too small for this run, whose network has {name} ="
            f" {known:g} +- {error:.1g} (standard error): give {name} >="
            f" {known - 3 * error:g}, the estimate less 3 standard errors"
        )


def _least_true(run: History, theorem: Theorem, name: str) -> tuple[float, str]:
    """Return the smallest value that is true for a constant, with the reason in words.

    A constant bounds something from above, so that any larger value is true, too. The
    smallest one is the problem's exact value, or follows from what the run measured. It
    is -inf, with an empty reason, if nothing is known. An exact value that is infinite
    is no limit: along the run the constant may be smaller.
    """
    if name == "f0_gap":
        return _least_gap(run, theorem)
    exact = run.constants.known().get(name, math.inf)
    is_exact = run.constants.standing_of(name) == "exact"
    if name != "mu" and math.isfinite(exact) and is_exact:
        return float(exact), f"this problem has {name} = {exact:g} exactly"
    if name == "B":
        return _largest_gradient(run)
    if name == "x_star_sq":
        return _least_distance(run, theorem)
    return -math.inf, ""


def _largest_convexity(run: History, given: Mapping[str, float]) -> tuple[float, str]:
    """Return the largest mu that may be true, with the reason in words.

    It is the problem's exact value, otherwise L; inf, with an empty reason, if L is
    unknown.
    """
    mu, smoothness = run.constants.mu, run.constants.L
    if mu is not None and run.constants.standing_of("mu") == "exact":
        return mu, f"this problem has mu = {mu:g} exactly"
    if "L" in given:
        smoothness = given["L"]
    elif run.constants.standing_of("L") == "estimate":
        smoothness = None
    if smoothness is None:
        return math.inf, ""
    return smoothness, f"mu is at most L = {smoothness:g}"


def _largest_gradient(run: History) -> tuple[float, str]:
    """Return the largest measured ||grad f||, which B bounds, with the reason."""
    finite = run.grad_norm_sq[np.isfinite(run.grad_norm_sq)]
    largest = math.sqrt(float(finite.max(initial=0.0)))
    return (
        largest,
        f"a gradient of f in this run has length {largest:g}, which B bounds",
    )


def _least_gap(run: History, theorem: Theorem) -> tuple[float, str]:
    """Return the smallest true f0_gap, with the reason: f* is at most every f."""
    gap = gap_at_start(run, theorem)
    if gap is not None and run.constants.standing_of("f_star") == "exact":
        least = float(np.asarray(gap.value - gap.error).mean())
        return least, f"this problem has f0_gap = {least:g} exactly"
    start, values = objective_at_start(run, theorem), objective(run, theorem)
    if start is None or values is None:
        return -math.inf, ""
    finite = values[np.isfinite(values)]
    fall = float(start.mean() - finite.min())
    least = fall - 32 * precision(run) * float(np.abs(start).max())
    return (
        least,
        f"f falls by {least:g} below its start in this run, which f0_gap bounds",
    )


def _least_distance(run: History, theorem: Theorem) -> tuple[float, str]:
    """Return the smallest true ||x^0 - x*||^2 by smoothness, with the reason.

    ||grad f(x^0)||^2 <= L^2 ||x^0 - x*||^2, and f falls by at most L ||x^0 - x*||^2/2
    below its start.
    """
    L = run.constants.L
    at_start = run.rounds_measured.size > 0 and run.rounds_measured[0] == 0
    estimated = run.constants.standing_of("L") == "estimate"
    if L is None or estimated or not at_start or not 0 < L < math.inf:
        return -math.inf, ""
    squares, values = run.grad_norm_sq[:, 0], run.loss
    finite = values[np.isfinite(values)]
    distance = math.sqrt(float(squares.mean())) / L
    distance_error = 8 * precision(run) * math.sqrt(float(run.x0_sq.max()))
    candidates = [max(distance - distance_error, 0.0) ** 2]
    if finite.size:
        fall = float(values[:, 0].mean()) - float(finite.min())
        fall_error = 32 * precision(run) * float(np.abs(finite).max())
        candidates.append(2 * (fall - fall_error) / L)
    least = max((c for c in candidates if math.isfinite(c)), default=-math.inf)
    least *= 1 - math.sqrt(precision(run))
    return (
        least,
        f"f is {L:g}-smooth, and its gradient at the start and its decrease imply"
        f" x_star_sq >= {least:g}",
    )


NETWORK_NAMES = frozenset({"lam", "lam_min", "delta", "C", "q", "window"})
"""Glossary names of the constants of a network."""


TWO_BLOCKS = "coupled"
"""The named task whose models have a shared and a personal part and known constants."""

BOUNDED_GRADIENTS = "sinusoidal"
"""The named task whose gradients have a known bound B."""


def refuse_contradictions(
    given: Mapping[str, object], fixed: Mapping[str, float], topology: object = None
) -> None:
    """Raise InputError if a given value differs from what a planned run fixes.

    Parameters
    ----------
    given : mapping
        Values by glossary name; those that are not numbers are ignored.
    fixed : mapping
        Values of the run: T, m and constants of the network.
    topology : graph, matrix or sequence, optional
        The network. Constants of a random one may be estimates, which the caller may
        replace by the values that they know.
    """
    numbers = {
        name: value for name, value in given.items() if isinstance(value, (int, float))
    }
    shared = sorted(numbers.keys() & fixed.keys())
    estimated: set[str] = set()
    if topology is not None and set(shared) & NETWORK_NAMES:
        constants = graphs.network_constants(topology)
        estimated = {n for n in shared if constants.standing_of(n) == "estimate"}
    for name in shared:
        if name in estimated or math.isclose(
            numbers[name], fixed[name], rel_tol=1e-6, abs_tol=1e-12
        ):
            continue
        raise InputError(
            f"{name} = {numbers[name]:g} contradicts the run, which has {name} ="
            f" {fixed[name]:g}: leave {name} out"
        )


def refuse_understatements(given: Mapping[str, object], task: Task[Any]) -> None:
    """Raise InputError if a given constant is below the task's exact value.

    For mu, which bounds from below, an error is raised if it is above.
    """
    constants = task.constants
    for name, exact in constants.known().items():
        value = given.get(name)
        if (
            not isinstance(value, (int, float))
            or constants.standing_of(name) != "exact"
        ):
            continue
        if name == "mu" and value > exact + 1e-6 * abs(exact):
            raise InputError(
                f"mu = {value:g} contradicts the task, which has mu = {exact:g}"
                " exactly: give at most that, or leave mu out"
            )
        # mu and f_star are no upper bounds; an infinite constant may be finite on a run
        if name in ("mu", "f_star") or not math.isfinite(exact):
            continue
        if value < exact * (1 - 1e-6):
            raise InputError(
                f"{name} = {value:g} contradicts the task, which has {name} = {exact:g}"
                f" exactly: give at least that, or leave {name} out"
            )


def refuse_one_block(theorem: Theorem, task: Task[Any]) -> None:
    """Raise InputError for partial personalization on a task without two blocks."""
    if not theorem.scope.two_blocks:
        return
    shared = np.zeros(task.d, dtype=bool)
    shared[slice(None) if task.shared is None else task.shared] = True
    if shared.all() or not shared.any():
        raise InputError(
            f"{theorem.key} is about a shared and a personal part of each model, and"
            f" the task {task.name} has no such two blocks: use the task {TWO_BLOCKS},"
            " or a neural network with a personal head"
        )


__all__ = [
    "NETWORK_NAMES",
    "check_given",
    "refuse_contradictions",
    "refuse_one_block",
    "refuse_understatements",
]
