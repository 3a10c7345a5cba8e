"""Rounding errors of measured quantities and of bounds.

In one round a client's model is rounded K times by local steps and Q times by gossip,
whose sums have up to m terms, each time by eps times its norm; and its gradients are
rounded by eps times their own norm. Gradient descent with a step size of at most 2/L
and doubly stochastic mixing do not enlarge these errors, so that they add up over the
rounds:

    error of the models <= T eps ((K + Q sqrt(m) + 2) ||x|| + (1 + L/mu) eta K ||g_i||)

with sqrt(m) for a sum of m terms, as is usual (Higham and Mary 2019, SIAM J. Sci.
Comput. 41). Momentum alpha and states that an algorithm carries from round to round
repeat an error, 1/(1 - alpha) or T times. If errors of earlier rounds are damped, the
sum is smaller: gossip damps deviations from the mean by lam in each round, and
gradient steps damp a gradient, so that T is replaced by 1/(1 - lam) or 1/(eta K L).

The step sizes of a run may differ from the schedule in their last digits. This relative
error moves a model by the same fraction of its steps.

Errors are relative to magnitudes of the run (:class:`~.run_sizes.Sizes`), so that units
do not matter. Squares below :data:`UNDERFLOW_LIMIT` count as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.arrays import FloatArray
from dfltheory.bounds.clauses import Number
from dfltheory.bounds.symbols import GRADIENT, GRADIENT_SQ, LENGTH, LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import LeftSide, Theorem
from dfltheory.verdicts.measures import FloatOrArray
from dfltheory.verdicts.run_sizes import Sizes

UNDERFLOW_LIMIT = 1e-290
"""Squares and bounds below this may have lost digits to underflow."""
VALUE_STEPS = 16
"""Number of roundings in a value f(x), by its terms and their sum."""


@dataclass(frozen=True, eq=False)
class RoundingError:
    """Rounding error of a measured value v >= 0.

    Attributes
    ----------
    root : float or array
        Error of sqrt(v).
    shift, relative : float or array
        Errors of v, absolute and relative to v.
    bounded : bool
        False if the error is only an estimate, because the sizes of the models are
        unknown. The true value may then be arbitrarily small.
    """

    root: FloatOrArray = 0.0
    shift: FloatOrArray = 0.0
    relative: FloatOrArray = 0.0
    bounded: bool = True

    def lowered(self, values: ArrayLike) -> FloatArray:
        """Return the smallest true values that can be measured as ``values``.

        They are 0 below :data:`UNDERFLOW_LIMIT`, or if the error is not bounded.
        """
        if not self.bounded:
            return np.zeros(np.shape(values))
        measured = np.asarray(values, dtype=float)
        shifted = np.maximum(
            measured * (1 - np.minimum(self.relative, 1.0)) - self.shift, 0.0
        )
        least = np.maximum(np.sqrt(shifted) - self.root, 0.0) ** 2
        return np.where(least < UNDERFLOW_LIMIT, 0.0, least)

    def raised(self, values: ArrayLike) -> FloatArray:
        """Return the largest true values that can be measured as ``values``."""
        measured = np.maximum(np.asarray(values, dtype=float), 0.0)
        return (np.sqrt(measured * (1 + self.relative) + self.shift) + self.root) ** 2

    @property
    def of_zero(self) -> FloatOrArray:
        """Largest absolute value that may be measured if the true value is 0."""
        with np.errstate(over="ignore"):
            return self.shift + self.root**2


def measure_error(lhs: LeftSide, sizes: Sizes) -> RoundingError:
    """Return the rounding error of the measure of a left-hand side.

    ===================  ==========================================================
    measure              error
    ===================  ==========================================================
    ``dist_sq``          its root has the error of the models and of x*
    ``consensus``        its root has the error of the models, damped by gossip
    ``grad_norm_sq``     its root has L times the error of the models, damped by
                         gradient steps; the same at w
    two blocks           the same for each block, with the block's weight
    ``f_gap``            16 eps (f - f* + 2 |f*|); its root also has sqrt(L/2) times
                         the error of the models
    ``loss``             16 eps |f|, and ||grad f|| times the error of the models
    ``sent_bits``        none: bits are counted
    any other            the error of the measure above with the same unit ((squared)
                         length, gradient or value of f), assuming that the metric
                         changes no faster; and in any case half of the digits: its
                         root has sqrt(T (K + Q sqrt(m) + 2) eps) times the largest
                         root of a value in the run, because it is unknown how such
                         a metric magnifies errors
    ===================  ==========================================================

    If the sizes of the models in a run are unknown, half of the digits of any measure
    are regarded as lost, and the error is not bounded.
    """
    measure = lhs.measure
    if measure == "sent_bits":
        return RoundingError()
    if not sizes.known:
        return RoundingError(_half_of_digits(sizes), bounded=False)
    if measure == "consensus":
        return RoundingError(_deviation_error(sizes), sizes.value_error)
    if measure == "dist_sq":
        return RoundingError(_distance_error(sizes))
    if measure in ("grad_norm_sq", "grad_norm_sq_w"):
        return RoundingError(_gradient_error(sizes))
    if sizes.weights:
        return RoundingError(_block_error(sizes))
    if measure == "f_gap":
        return _gap_error(sizes)
    if measure == "loss":
        return RoundingError(shift=_value_error(sizes))
    return _unknown_error(lhs, sizes)


def start_errors(sizes: Sizes) -> dict[str, RoundingError]:
    """Return the errors of x_star_sq, x0_spread and x0_sq, by glossary name."""
    start = replace(sizes, rounds=0)
    if not sizes.known:
        digits = sizes.eps * _roundings_per_round(start)
        half = RoundingError(relative=np.sqrt(np.minimum(digits, 1.0)))
        return dict.fromkeys(("x_star_sq", "x0_spread", "x0_sq"), half)
    models = RoundingError(_distance_error(start))
    return {"x_star_sq": models, "x0_spread": models, "x0_sq": models}


# -- errors of the models


def _curvature(sizes: Sizes) -> FloatOrArray:
    """Return L, or 1/eta if L is unknown, since theorems require about eta L <= 1."""
    if sizes.L is not None:
        return sizes.L
    return 0.0 if sizes.eta is None else 1 / sizes.eta


def _condition_number(sizes: Sizes) -> FloatOrArray:
    """Return L/mu, by which cancellation may magnify errors of gradients.

    1 if it is unknown or infinite.
    """
    if sizes.L is None or sizes.mu is None:
        return 1.0
    with np.errstate(all="ignore"):
        ratio = np.asarray(sizes.L, dtype=float) / sizes.mu
    return np.where(np.isfinite(ratio) & (ratio > 1), ratio, 1.0)


def _distance_per_round(sizes: Sizes) -> FloatOrArray:
    """Return eta K ||g_i||, the distance that a client moves in a round.

    An unknown step size is taken to be 2/(L K). If L is unknown, too, or 0, the
    distance is that of the largest model.
    """
    if sizes.eta is not None:
        return sizes.eta * sizes.local_steps * sizes.gradient
    if sizes.L is None:
        return sizes.size
    L = np.asarray(sizes.L, dtype=float)
    positive = np.where(L > 0, L, 1.0)
    return np.where(L > 0, 2 * sizes.gradient / positive, sizes.size)


def _roundings_per_round(sizes: Sizes) -> FloatOrArray:
    """Return how often a model is rounded in one round: K + Q sqrt(m) + 2."""
    return sizes.local_steps + sizes.gossip_steps * np.sqrt(sizes.clients) + 2


def _error_per_round(sizes: Sizes) -> FloatOrArray:
    """Return the rounding error of the models in one round."""
    distance, roundings = _distance_per_round(sizes), _roundings_per_round(sizes)
    rounded = (
        roundings * (sizes.size + distance) + (1 + _condition_number(sizes)) * distance
    )
    underflow = sizes.tiny * (roundings + (0.0 if sizes.eta is None else sizes.eta))
    return sizes.eps * rounded + sizes.step_error * distance + underflow


def _repetitions(sizes: Sizes) -> FloatOrArray:
    """Return how often states or momentum repeat the error of one round, at most T."""
    return np.minimum(np.maximum(sizes.rounds, 1.0), sizes.memory)


def _models_error(sizes: Sizes, rounds: FloatOrArray) -> FloatOrArray:
    """Return the error of the models after ``rounds`` rounds and a measurement."""
    measurement = (np.sqrt(sizes.clients) + 2) * (sizes.eps * sizes.size + sizes.tiny)
    return _error_per_round(sizes) * rounds * _repetitions(sizes) + measurement


def _deviation_error(sizes: Sizes) -> FloatOrArray:
    """Return the error of deviations from the mean model, which gossip damps."""
    rounds = sizes.rounds
    if sizes.lam is not None and sizes.eta is not None and sizes.L is not None:
        # errors of the mean model cause deviations in each later round
        from_mean = 1 + sizes.eta * sizes.local_steps * sizes.L * rounds
        rounds = np.minimum(rounds, from_mean * _gossip_time(sizes))
    return _models_error(sizes, rounds)


def _gossip_time(sizes: Sizes) -> FloatOrArray:
    """Return 1/(1 - lam), which is infinite if lam is 1 within rounding."""
    gap = 1 - np.asarray(sizes.lam, dtype=float) - 2 * sizes.eps
    return np.where(gap > 0, 1 / np.where(gap > 0, gap, 1.0), np.inf)


def _distance_error(sizes: Sizes) -> FloatOrArray:
    """Return the error of ||xbar - x*||."""
    minimizer = np.finfo(float).eps * _condition_number(sizes) * sizes.size
    return _models_error(sizes, sizes.rounds) + 4 * minimizer + sizes.minimizer_error


def _gradient_error(sizes: Sizes) -> FloatOrArray:
    """Return L times the error of the models, plus the gradient's own error."""
    rounds = np.fmin(sizes.rounds, _damping_rounds(sizes))
    error_of_gradient = sizes.eps * _condition_number(sizes) * sizes.gradient
    return _curvature(sizes) * _models_error(sizes, rounds) + error_of_gradient


def _damping_rounds(sizes: Sizes) -> FloatOrArray:
    """Return about how many rounds an error of a model affects the gradient.

    Gradient steps and gossip damp it; infinite if a constant is unknown.
    """
    if sizes.last_eta is None or (sizes.lam is None and sizes.gossip_steps):
        return np.inf
    last_eta = np.asarray(sizes.last_eta, dtype=float)
    with np.errstate(all="ignore"):
        steps = 1 / (last_eta * sizes.local_steps * _curvature(sizes))
    return steps + _gossip_time(sizes) if sizes.gossip_steps else steps


# -- errors of single measures


def _block_error(sizes: Sizes) -> FloatOrArray:
    """Return the root of the weighted sum of both blocks' squared errors."""
    total = 0.0
    for suffix, weight in sizes.weights.items():
        eta, steps, L = sizes.blocks[suffix]
        block = replace(sizes, eta=eta, last_eta=eta, local_steps=steps, L=L, lam=0.0)
        total = total + weight * _gradient_error(block) ** 2
    return np.sqrt(total)


def _gap_error(sizes: Sizes) -> RoundingError:
    """Return the rounding error of f - f* where the models have an error e.

    |f(x + e) - f(x)| <= sqrt(2 L (f(x) - f*)) |e| + L |e|^2/2: sqrt(L/2) |e| of the
    root.
    """
    if sizes.L is None:
        return RoundingError(shift=_value_error(sizes))
    relative = VALUE_STEPS * sizes.eps * _condition_number(sizes)
    shift = (
        2 * relative * sizes.f_star + 2 * sizes.eps * sizes.size * sizes.heterogeneity
    )
    models = _models_error(sizes, sizes.rounds)
    root = np.sqrt(np.asarray(sizes.L, dtype=float) / 2) * models
    return RoundingError(root, shift + sizes.value_error, relative)


def _value_error(sizes: Sizes) -> FloatOrArray:
    """Return the absolute error of f(xbar)."""
    models = _models_error(sizes, sizes.rounds)
    error_of_value = (
        VALUE_STEPS
        * sizes.eps
        * _condition_number(sizes)
        * (sizes.value + sizes.f_star)
    )
    slope = sizes.slope + sizes.heterogeneity
    from_models = slope * models + _curvature(sizes) * models**2 / 2
    return error_of_value + from_models + sizes.value_error


def _unknown_error(lhs: LeftSide, sizes: Sizes) -> RoundingError:
    """Return the error of a measure of which only the unit is known.

    It is the error of a known measure with this unit, plus half of the digits.
    """
    half = _half_of_digits(sizes)
    if lhs.unit == LENGTH_SQ:
        return RoundingError(half + _distance_error(sizes))
    if lhs.unit == GRADIENT_SQ:
        return RoundingError(half + _gradient_error(sizes))
    if lhs.unit == LENGTH:
        return RoundingError(half, _distance_error(sizes))
    if lhs.unit == GRADIENT:
        return RoundingError(half, _gradient_error(sizes))
    if lhs.unit == VALUE:
        return RoundingError(half, _value_error(sizes))
    return RoundingError(half)


def _half_of_digits(sizes: Sizes) -> FloatOrArray:
    """Return the error of a root of which half of the digits are lost.

    It is sqrt(T (K + Q sqrt(m) + 2) eps) times the root of the largest measured value.
    """
    rounds = np.maximum(sizes.rounds, 1.0)
    eps = sizes.eps + sizes.step_error
    digits = eps * _roundings_per_round(sizes) * rounds * _repetitions(sizes)
    return np.sqrt(np.minimum(digits, 1.0) * sizes.largest)


# -- errors of bounds


def bound_error(
    theorem: Theorem,
    values: Mapping[str, Number],
    eps: float = np.finfo(float).eps,
    starts: Mapping[str, RoundingError] | None = None,
    digits: float = 0.0,
) -> FloatOrArray:
    """Return the largest change of a bound within the rounding errors of its constants.

    Parameters
    ----------
    theorem : Theorem
    values : mapping
        Values of all quantities of the theorem, numbers or arrays.
    eps : float
        Rounding unit. A constant has the error 8 eps times itself, and mu, which is an
        eigenvalue, 8 eps L. A quantity in [0, 1] such as lam has the error 2 eps, as
        the weights of a mixing matrix do. The error of the bound is infinite if 1 - lam
        is smaller than that.
    starts : mapping, optional
        Rounding errors of what was measured at the start, by glossary name.
    digits : float
        Relative rounding of constants that are stated with a few digits.

    Returns
    -------
    float or array
        The sum of the changes by each constant; 0 where the bound is not finite.
    """
    inputs = {name: np.asarray(values[name]) for name in theorem.needs}
    bound = theorem.evaluate(where="ignore", **inputs)

    def change(name: str, value: FloatOrArray) -> FloatOrArray:
        point: dict[str, FloatOrArray] = dict(inputs)
        point[name] = value
        changed = theorem.evaluate(where="ignore", **point)
        return np.abs(changed - bound)

    total = np.zeros(())
    for name, value in inputs.items():
        quantity = theorem.glossary[name]
        if quantity.high == 1 and quantity.low >= -1:
            at_end = value + 2 * eps >= 1
            moved = change(name, value + np.where(at_end, -2 * eps, 2 * eps))
            unbounded = at_end & quantity.open_high & (moved > 0)
            total = total + np.where(unbounded, np.inf, moved)
        elif starts is not None and name in starts:
            error = starts[name]
            above, below = (
                change(name, error.raised(value)),
                change(name, error.lowered(value)),
            )
            total = total + np.fmax(above, below)
        elif not quantity.integer:
            scale = np.maximum(value, values.get("L", 0.0)) if name == "mu" else value
            step = max(8 * eps, digits) * np.abs(scale)
            lower = np.where((value > 0) & (value <= step), value, value - step)
            if not quantity.open_low:
                lower = np.maximum(lower, quantity.low)
            # the larger value may lie beyond a pole: use the smaller change
            total = total + np.fmin(change(name, value + step), change(name, lower))
    return np.where(np.isfinite(bound), total, 0.0)


__all__ = [
    "UNDERFLOW_LIMIT",
    "RoundingError",
    "bound_error",
    "measure_error",
    "start_errors",
]
