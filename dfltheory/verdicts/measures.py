"""What a run measured: its measures by name, the gap f - f*, and trivial bounds.

This module does not import torch, so that the verifier in rational numbers can use it
without torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.theorem import LeftSide, Theorem
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from dfltheory.tasks.task import Task
    from dfltheory.training.history import History

FloatOrArray = float | FloatArray


# -- measures: recorded by a run, or derived from what it recorded -------------------


def dist_sq(task: Task[Any], models: Tensor, mean: Tensor) -> Tensor:
    """Return ||xbar^t - x*||^2 for each seed, (S,).

    It is a metric for ``train(..., metrics=[dfl.verdicts.dist_sq])``.

    Parameters
    ----------
    task : Task
        A task with a known minimizer ``x_star`` (d,) of f, such as a quadratic one.
    models : (S, m, d) tensor
        Models of the clients; not used.
    mean : (S, d) tensor
        The mean model.

    Raises
    ------
    InputError
        If the task has no known minimizer.
    """
    x_star = getattr(task, "x_star", None)
    if x_star is None or x_star.shape != mean.shape[1:]:
        raise InputError(
            f"the minimizer x_star of the task {type(task).__name__} is unknown, but"
            " dist_sq needs it: measure another quantity, or use a quadratic task"
        )
    return ((mean.double() - x_star.double()) ** 2).sum(-1)


METRICS = {"dist_sq": dist_sq}
"""Measures that a run records on request, by name."""


class Gap(NamedTuple):
    """f - f* at one round, and its absolute rounding error."""

    value: Any  # numbers, (S,) or (P,) arrays, or fractions
    error: Any


class Derived(NamedTuple):
    """A measure that is computed from recorded ones.

    ``compute`` returns it for every seed and measured round, (S, R), or None if one of
    the recorded measures, whose names are ``parts``, is missing.
    """

    compute: Callable[[History], FloatArray | None]
    parts: tuple[str, ...]


def _weighted_block_gradients(run: History) -> FloatArray | None:
    """Return (eta_u K_u ||grad_u F||^2 + eta_v K_v Delta_v)/4.

    Its terms have the weights a/(4 L_u) and b/(4 L_v) with a = eta_u K_u L_u and
    b = eta_v K_v L_v.
    """
    recorded = run.measures()
    if not {"grad_u_sq_next", "grad_v_sq"} <= set(recorded):
        return None
    hyperparameters = run.algorithm.theory_values()
    shared = hyperparameters["eta_u"] * hyperparameters["K_u"]
    personal = hyperparameters["eta_v"] * hyperparameters["K_v"]
    return (shared * recorded["grad_u_sq_next"] + personal * recorded["grad_v_sq"]) / 4


def _objective_gap(run: History) -> FloatArray | None:
    """Return f(xbar^t) - f*, (S, R), or None if f or f* is unknown."""
    if np.isnan(run.loss).all():  # a run that was measured elsewhere, without f
        return None
    gap = gap_above_minimum(run.loss, run)
    return None if gap is None else gap.value


DERIVED: dict[str, Derived] = {
    "two_block_weighted": Derived(
        _weighted_block_gradients, ("grad_u_sq_next", "grad_v_sq")
    ),
    "f_gap": Derived(_objective_gap, ("loss",)),
}
"""Measures that no run records, by name."""


def gap_above_minimum(values: FloatArray, run: History) -> Gap | None:
    """Return values of f minus f*, with their rounding error; None if f* is unknown.

    A negative gap that rounding errors explain is replaced by 0.
    """
    f_star = run.constants.f_star
    if f_star is None:
        return None
    gap = values - f_star
    error = 16 * precision(run) * (np.abs(values) + abs(f_star))
    return Gap(np.where(np.abs(gap) <= error, np.maximum(gap, 0.0), gap), error)


def gap_excess(run: History, measure: str) -> float:
    """Return by how much a measured f - f* may be too large; 0 for other measures.

    It is not 0 only if the task knows a lower bound of f* instead of f*. The true f* is
    at most every f of the run.
    """
    f_star = run.constants.f_star
    if measure != "f_gap" or measure in run.measures() or f_star is None:
        return 0.0
    if run.constants.standing_of("f_star") != "bound":
        return 0.0
    finite = run.loss[np.isfinite(run.loss)]
    return max(float(finite.min(initial=math.inf)) - f_star, 0.0)


def measured(run: History, measure: str) -> FloatArray | None:
    """Return a measure at every measured round, (S, R).

    None if it is neither recorded nor derived. User metrics count as recorded.
    """
    recorded = run.measures()
    if measure in recorded:
        return recorded[measure]
    if measure in DERIVED:
        return DERIVED[measure].compute(run)
    return None


def rounds_ahead(measure: str) -> int:
    """Return how many rounds later than t the models in a measure of round t are."""
    from dfltheory.training.metrics import AHEAD

    parts = DERIVED[measure].parts if measure in DERIVED else (measure,)
    return max(AHEAD.get(part, 0) for part in parts)


def is_deterministic(run: History) -> bool:
    """Return whether nothing in the run is random but, possibly, the start.

    One seed is then the expectation for its start.
    """
    if not getattr(run, "chance", True):  # an ExactHistory, which holds expectations
        return True
    noiseless = (
        run.constants.sigma_l == 0 and run.constants.standing_of("sigma_l") == "exact"
    )
    facts = run.network_facts
    no_network = facts is not None and facts.kind == "none"
    fixed_network = no_network or not run.random_network
    return noiseless and not run.algorithm.draws and fixed_network


def precision(run: History) -> float:
    """Return the rounding unit eps of the run's arithmetic, such as 2.2e-16."""
    return float(np.finfo(run.x.dtype).eps) if run.facts is None else run.facts.eps


def stated_digits(run: History) -> float:
    """Return the relative rounding error of numbers that were stated for a run.

    It is 0 for a run of this package, whose numbers have all digits.
    """
    from dfltheory.training.stated_values import WRITTEN_ROUNDING

    return 0.0 if run.stated is None else WRITTEN_ROUNDING


# -- the objective of a theorem


def objective(run: History, theorem: Theorem) -> FloatArray | None:
    """Return the objective of a theorem in the measured rounds, (S, R).

    It is f(xbar^t), or F(ubar^t, V^t) for a theorem on a shared and a personal block;
    None if it was not measured.
    """
    if theorem.scope.two_blocks:
        return run.measures().get("two_block_value")
    return run.loss


def objective_at_start(run: History, theorem: Theorem) -> FloatArray | None:
    """Return the objective at the theorem's first round, (S,).

    None if it was not measured, or is not finite.
    """
    values = objective(run, theorem)
    columns = np.flatnonzero(run.rounds_measured == theorem.lhs.start)
    if values is None or not columns.size:
        return None
    start = values[:, columns[0]].astype(float)
    return start if np.isfinite(start).all() else None


def gap_at_start(run: History, theorem: Theorem) -> Gap | None:
    """Return f - f* at the theorem's first round, (S,), with its rounding error.

    None if it is unknown. The error is that of the difference, not of the models.
    """
    if not theorem.scope.two_blocks:
        gap = run.gap_at(theorem.lhs.start)
        return None if gap is None else Gap(*gap)
    start = objective_at_start(run, theorem)
    return None if start is None else gap_above_minimum(start, run)


# -- what is known of a measure without a theorem


def ceiling(
    values: Mapping[str, float], run: History | None, lhs: LeftSide | None
) -> float:
    """Return a proved upper bound of every value of the left-hand side; inf if none.

    If gradients are bounded by B at every point, squared gradient norms are at most
    B^2. An estimated B is only a measurement along the run and is ignored.

    Parameters
    ----------
    values : mapping
        Constants by glossary name, with T.
    run : History, optional
        States whether B is an estimate.
    lhs : LeftSide, optional
        By default a squared gradient norm in one round.
    """
    measure = "grad_norm_sq" if lhs is None else lhs.measure
    proved = run is None or run.constants.standing_of("B") != "estimate"
    if measure not in ("grad_norm_sq", "grad_norm_sq_w") or not proved:
        return math.inf
    is_sum = lhs is not None and lhs.aggregate == "sum"
    rounds = len(lhs.rounds(int(values["T"]))) if lhs is not None and is_sum else 1
    return values.get("B", math.inf) ** 2 * rounds


def trivial_bound(
    values: Mapping[str, float],
    run: History | None = None,
    lhs: LeftSide | None = None,
) -> float:
    """Return an upper bound of a left-hand side that holds for every algorithm.

    A theorem whose bound is larger is vacuous.

    Parameters
    ----------
    values : mapping
        Constants by glossary name, with T.
    run, lhs
        As for :func:`ceiling`.

    Returns
    -------
    float
        The least of the following bounds; inf if none applies.

        - *Gradients bounded by B* (:func:`ceiling`): every minimum, mean and maximum
          over rounds of ||grad f||^2 is at most B^2, and a sum at most B^2 times the
          number of rounds.
        - *A minimum over rounds that contain the start*: for every L-smooth f, f* <=
          f(x - grad f(x)/L) <= f(x) - ||grad f(x)||^2/(2L), so that the minimum is at
          most E||grad f(xbar^s)||^2 <= 2 L f0_gap. (DFedADMM's auxiliary point is the
          mean model at round 0.)

        Nothing similar is known of a mean over rounds, since noise can move a run to
        steeper places than its start, nor of the two-block measures, whose gradients
        lie at other points than F(ubar^0, V^0) - F* does.
    """
    known = [ceiling(values, run, lhs)]
    if (
        lhs is None
        or lhs.aggregate != "min"
        or lhs.start not in lhs.rounds(int(values["T"]))
    ):
        return min(known)
    at_start = lhs.measure == "grad_norm_sq" or (
        lhs.measure == "grad_norm_sq_w" and lhs.start == 0
    )
    if at_start and {"L", "f0_gap"} <= set(values):
        known.append(2 * values["L"] * float(np.mean(values["f0_gap"])))
    return min(known)


__all__ = [
    "DERIVED",
    "Gap",
    "METRICS",
    "ceiling",
    "dist_sq",
    "gap_above_minimum",
    "gap_excess",
    "gap_at_start",
    "is_deterministic",
    "measured",
    "objective",
    "objective_at_start",
    "precision",
    "rounds_ahead",
    "stated_digits",
    "trivial_bound",
]
