"""Rounding error of measured quantities: one function for verdicts, for the search and for its confirmation.

In one round a client's model is rounded K times by local steps and Q times by gossip, whose sums have up to m
terms, each time by eps times its norm; and its gradients are rounded by eps times their own norm. Gradient
descent with a step size of at most 2/L and doubly stochastic mixing do not enlarge these errors, so that they
add up over the rounds:

    error of the models <= T eps ((K + Q sqrt(m) + 2) ||x|| + (1 + L/mu) eta K ||g_i||)

with sqrt(m) for a sum of m terms, as is usual (Higham and Mary 2019, SIAM J. Sci. Comput. 41). Momentum alpha
and states that an algorithm carries from round to round repeat an error, 1/(1 - alpha) or T times. Where the
errors of earlier rounds are damped they add up to less: gossip damps deviations from the mean by lam in each
round, and gradient steps damp a gradient, so that T is replaced by 1/(1 - lam) or 1/(eta K L).

Every error is relative to a size that occurs in the run, so that units do not matter. The only absolute
numbers are those of the floating-point format: squares below :data:`LEAST` count as zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.symbols import GRADIENT, GRADIENT_SQ, LENGTH, LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import LeftSide
from dfltheory.training.records import Recorded

LEAST = 1e-290
"""Squares, and bounds on them, below this have lost digits to underflow, or their factors may have."""
VALUE_STEPS = 16
"""Roundings of f(x): of its terms and of their sum."""


@dataclass(frozen=True)
class Sizes:
    """Magnitudes of a run that its rounding errors are multiples of; numbers, or arrays of one shape.

    Attributes
    ----------
    eps, tiny : rounding unit and smallest normal number of the run's arithmetic
    rounds : T, rounds until the measurement
    size : largest root mean square of ||x_i|| over the run, plus ||x*|| where x* is known
    gradient : largest root mean square of ||g_i||
    f_star : |f*|;  value : largest |f(xbar)|;  slope : largest ||grad f(xbar)||
    heterogeneity : largest root mean square of ||grad f_i(xbar)||, without what all have in common
    eta : largest step size; ``None``: unknown;  last_eta : the smallest one
    local_steps, gossip_steps, clients : K, Q, m
    L, mu : constants of the problem; ``None``: unknown
    lam : contraction of one round's mixing matrix; ``None``: unknown
    memory : how many times an error may be repeated, as 1/(1 - alpha) for momentum alpha
    value_error, minimizer_error : known errors of f - f*, or of another measure's own, and of x*
    largest : largest value of the measure itself
    weights : of each block's squared gradient in the measure, by the suffix of its constants
    blocks : eta, K and L of each block, by the same suffix
    """

    eps: float
    tiny: float
    rounds: Any
    size: Any
    gradient: Any
    f_star: Any = 0.0
    value: Any = 0.0
    slope: Any = 0.0
    heterogeneity: Any = 0.0
    eta: Any = None
    last_eta: Any = None
    local_steps: Any = 1
    gossip_steps: int = 1
    clients: int = 1
    L: Any = None
    mu: Any = None
    lam: Any = None
    memory: Any = 1.0
    value_error: Any = 0.0
    minimizer_error: Any = 0.0
    largest: Any = 0.0
    weights: Mapping[str, Any] = field(default_factory=dict)
    blocks: Mapping[str, tuple[Any, Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RoundingError:
    """Error of a measured value v >= 0: that of sqrt(v), and that of v, absolute and relative to v."""

    root: Any = 0.0
    shift: Any = 0.0
    relative: Any = 0.0

    def lowered(self, values: Any) -> Any:
        """The least true values that rounding could have turned into these; 0 below :data:`LEAST`."""
        values = np.asarray(values, dtype=float)
        values = np.maximum(values * (1 - np.minimum(self.relative, 1.0)) - self.shift, 0.0)
        least = np.maximum(np.sqrt(values) - self.root, 0.0) ** 2
        return np.where(least < LEAST, 0.0, least)

    def raised(self, values: Any) -> Any:
        """The largest true values that rounding could have turned into these."""
        values = np.maximum(np.asarray(values, dtype=float), 0.0)
        return (np.sqrt(values * (1 + self.relative) + self.shift) + self.root) ** 2

    @property
    def of_zero(self) -> Any:
        """What rounding may make of the value 0, with either sign."""
        return self.shift + self.root**2


def measure_error(lhs: LeftSide, sizes: Sizes) -> RoundingError:
    """Rounding error of the measure of a left-hand side.

    ===================  ==================================================================================
    measure              error
    ===================  ==================================================================================
    ``dist_sq``          of its root: that of the models and of x*
    ``consensus``        of its root: that of the models, which gossip damps
    ``grad_norm_sq``     of its root: L times that of the models, which gradient steps damp; also at w
    two blocks           the same of each block, with the block's weight
    ``f_gap``            16 eps (f - f* + 2 |f*|), and of its root sqrt(L/2) times that of the models
    ``loss``             16 eps |f|, and ||grad f|| times that of the models
    ``sent_bits``        none: bits are counted
    any other            that of a measure of the same unit, if the unit is a (squared) length or gradient or
                         a value of f, for a metric that changes no faster; and in any case half of the
                         digits: of its root sqrt(T (K + Q sqrt(m) + 2) eps) times the largest root of a
                         value in the run, since how such a metric magnifies errors is unknown
    ===================  ==================================================================================
    """
    measure = lhs.measure
    if measure == "sent_bits":
        return RoundingError()
    if measure == "consensus":
        return RoundingError(_spread_error(sizes), sizes.value_error)
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
    """Errors of what a run measures of its start, by the glossary's names."""
    start = replace(sizes, rounds=0)
    models = RoundingError(_distance_error(start))
    return {"x_star_sq": models, "x0_spread": models, "x0_sq": models}


def memory_of(algorithm: Algorithm) -> float:
    """How many times the rounding error of one round is repeated by what an algorithm carries on.

    1/(1 - alpha) for momentum; unlimited (each round once) for duals, trackers and states of unknown use.
    """
    letters = algorithm.theory_values()
    alpha = letters.get("alpha")
    if alpha is not None and "lam_admm" not in letters:
        return 1 / (1 - alpha)
    unknown = isinstance(algorithm, Recorded) or type(algorithm).init is not Algorithm.init
    return math.inf if unknown else 1.0


# -- errors of the models ----------------------------------------------------------------------------------


def _curvature(sizes: Sizes) -> Any:
    """L; where it is unknown 1/eta, since theorems ask for eta L <= 1 or so."""
    if sizes.L is not None:
        return sizes.L
    return 0.0 if sizes.eta is None else 1 / sizes.eta


def _condition(sizes: Sizes) -> Any:
    """L/mu, by which sums of a gradient may cancel; 1 where it is unknown or infinite."""
    if sizes.L is None or sizes.mu is None:
        return 1.0
    with np.errstate(all="ignore"):
        ratio = np.asarray(sizes.L, dtype=float) / sizes.mu
    return np.where(np.isfinite(ratio) & (ratio > 1), ratio, 1.0)


def _way(sizes: Sizes) -> Any:
    """eta K ||g_i||, how far a client moves in a round; an unknown step size is taken as 2/(L K)."""
    if sizes.eta is not None:
        return sizes.eta * sizes.local_steps * sizes.gradient
    if sizes.L is None:
        return sizes.size
    steep = np.asarray(sizes.L, dtype=float)
    return np.where(steep > 0, 2 * sizes.gradient / np.where(steep > 0, steep, 1.0), sizes.size)


def _operations(sizes: Sizes) -> Any:
    """Roundings of a model in one round."""
    return sizes.local_steps + sizes.gossip_steps * np.sqrt(sizes.clients) + 2


def _one_round(sizes: Sizes) -> Any:
    """Rounding error of the models in one round."""
    way = _way(sizes)
    rounded = _operations(sizes) * (sizes.size + way) + (1 + _condition(sizes)) * way
    underflow = sizes.tiny * (_operations(sizes) + (0.0 if sizes.eta is None else sizes.eta))
    return sizes.eps * rounded + underflow


def _repeated(sizes: Sizes) -> Any:
    return np.minimum(np.maximum(sizes.rounds, 1.0), sizes.memory)


def _models_error(sizes: Sizes, rounds: Any) -> Any:
    """Error of the models to which the errors of so many rounds add up, and that of the measurement."""
    measured = (np.sqrt(sizes.clients) + 2) * (sizes.eps * sizes.size + sizes.tiny)
    return _one_round(sizes) * rounds * _repeated(sizes) + measured


def _spread_error(sizes: Sizes) -> Any:
    rounds = sizes.rounds
    if sizes.lam is not None and sizes.eta is not None and sizes.L is not None:
        moved = 1 + sizes.eta * sizes.local_steps * sizes.L * rounds  # by the error of the mean
        rounds = np.minimum(rounds, moved * _damped(sizes))
    return _models_error(sizes, rounds)


def _damped(sizes: Sizes) -> Any:
    """1/(1 - lam), infinite where rounding makes lam 1."""
    gap = 1 - np.asarray(sizes.lam, dtype=float) - 2 * sizes.eps
    return np.where(gap > 0, 1 / np.where(gap > 0, gap, 1.0), np.inf)


def _distance_error(sizes: Sizes) -> Any:
    solved = np.finfo(float).eps * _condition(sizes) * sizes.size
    return _models_error(sizes, sizes.rounds) + 4 * solved + sizes.minimizer_error


def _gradient_error(sizes: Sizes) -> Any:
    """L times the error of the models, and the gradient's own."""
    steep, rounds = _curvature(sizes), np.fmin(sizes.rounds, _settled(sizes))
    own = sizes.eps * _condition(sizes) * sizes.gradient
    return steep * _models_error(sizes, rounds) + own


def _settled(sizes: Sizes) -> Any:
    """After how many rounds gradient steps and gossip have damped what an error does to a gradient."""
    if sizes.last_eta is None or (sizes.lam is None and sizes.gossip_steps):
        return np.inf
    with np.errstate(all="ignore"):
        steps = 1 / (np.asarray(sizes.last_eta, dtype=float) * sizes.local_steps * _curvature(sizes))
    return steps + _damped(sizes) if sizes.gossip_steps else steps


# -- errors of single measures -----------------------------------------------------------------------------


def _block_error(sizes: Sizes) -> Any:
    """The root of the weighted squares of both blocks' errors."""
    total = 0.0
    for suffix, weight in sizes.weights.items():
        eta, steps, L = sizes.blocks[suffix]
        block = replace(sizes, eta=eta, last_eta=eta, local_steps=steps, L=L, lam=0.0)
        total = total + weight * _gradient_error(block) ** 2
    return np.sqrt(total)


def _gap_error(sizes: Sizes) -> RoundingError:
    """|f(x + e) - f(x)| <= sqrt(2 L (f(x) - f*)) |e| + L |e|^2/2, that is sqrt(L/2) |e| of the root."""
    if sizes.L is None:
        return RoundingError(shift=_value_error(sizes))
    relative = VALUE_STEPS * sizes.eps * _condition(sizes)
    shift = 2 * relative * sizes.f_star + 2 * sizes.eps * sizes.size * sizes.heterogeneity
    moved = _models_error(sizes, sizes.rounds)
    root = np.sqrt(np.asarray(sizes.L, dtype=float) / 2) * moved
    return RoundingError(root, shift + sizes.value_error, relative)


def _value_error(sizes: Sizes) -> Any:
    moved = _models_error(sizes, sizes.rounds)
    own = VALUE_STEPS * sizes.eps * _condition(sizes) * (sizes.value + sizes.f_star)
    steep = (sizes.slope + sizes.heterogeneity) * moved + _curvature(sizes) * moved**2 / 2
    return own + steep + sizes.value_error


def _unknown_error(lhs: LeftSide, sizes: Sizes) -> RoundingError:
    digits = sizes.eps * _operations(sizes) * np.maximum(sizes.rounds, 1.0) * _repeated(sizes)
    half = np.sqrt(np.minimum(digits, 1.0) * sizes.largest)
    root, shift = half, 0.0
    if lhs.unit == LENGTH_SQ:
        root = half + _distance_error(sizes)
    elif lhs.unit == GRADIENT_SQ:
        root = half + _gradient_error(sizes)
    elif lhs.unit == LENGTH:
        shift = _distance_error(sizes)
    elif lhs.unit == GRADIENT:
        shift = _gradient_error(sizes)
    elif lhs.unit == VALUE:
        shift = _value_error(sizes)
    return RoundingError(root, shift)


__all__ = ["LEAST", "RoundingError", "Sizes", "measure_error", "memory_of", "start_errors"]
