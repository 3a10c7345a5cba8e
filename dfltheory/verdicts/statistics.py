r"""Confidence intervals from independent seeds, for the left-hand sides of theorems.

Data Y >= 0 has shape (S, R): S independent seeds, R dependent rounds. A theorem bounds
the mean over rounds, E (1/R) sum_t Y_t, or the minimum min_t E Y_t, or the maximum
max_t E Y_t (of expectations, not the expectation of the maximum), or the sum over
rounds, which is the number of rounds times the mean.

**Lower ends assume nothing about the seeds' distribution.** They are the smallest
bounds that the e-values of :mod:`dfltheory.verdicts.evidence` do not reject.

- Minimum of expectations: with t0 = argmin_t E Y_t, P(min_t l_t > E Y_t0) <= P(l_t0 > E
  Y_t0) <= alpha/2 for limits l_t that hold one at a time. To show that the minimum is
  large, every round must be large, and no correction for many rounds is needed (an
  intersection-union test).
- Maximum: it is large if one round is, and that round is chosen after looking at the
  data. The lower end uses the mean of the rounds' e-values, which is an e-value for the
  claim that every round is small.

**Upper ends need an assumption**, since no data exclude a rare huge value (Bahadur and
Savage 1956), unless Y is bounded (:func:`dfltheory.verdicts.evidence.upper_limit`).

- Mean over rounds, one number a seed: the larger of Student's limit and of that for
  squared norms, :func:`dfltheory.confidence.upper_limits`, since Student's limit is too
  low for few skewed seeds. With ``method="bootstrap"`` it is at least that of the
  studentized bootstrap, for seeds that are more skewed than squared norms are.
- Minimum: it is at most every single round, and at most every average of rounds that is
  fixed in advance (averages have less variance and less skewness). The least of their
  limits holds if all of them hold simultaneously: :func:`simultaneous_tail` computes
  the error that each may have, from the dependence of the rounds over seeds, by random
  rotations. (Bonferroni's correction ignores the dependence; a bootstrap over seeds
  fails for few or skewed ones.) Rounds that are above the least one beyond doubt cannot
  make the limit fail and need no correction: a round whose simultaneous lower limit is
  above the present upper limit is dropped, and the others are corrected anew. A tenth
  of the error is spent on that. If all lower limits hold and the upper limit has not
  failed, no minimizer is dropped, so that the total error is alpha/2, whether one round
  is the least or all are (adaptive selection as for intersection bounds: Chernozhukov,
  Lee and Rosen 2013; Romano, Shaikh and Wolf 2014). With fewer than ``ENOUGH`` seeds
  only averages over the last rounds are used: more would widen the interval.
- Maximum: it is small if every round is. The largest of the rounds' upper limits fails
  only where that of t0 = argmax_t E Y_t does, which no data choose: limits that hold
  one at a time are enough.

Equal seeds do not prove that there is no variance: an interval has width 0 only where
the caller states that nothing is random (``sure``). docs/verdicts.md lists the
simulated coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dfltheory.confidence import upper_limits
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.verdicts import evidence
from dfltheory.verdicts.simultaneous_limits import (
    ENOUGH_SEEDS,
    upper_of_minimum,
)

Method = Literal["student", "bootstrap"]


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; low = high if nothing is random."""

    estimate: float
    low: float
    high: float

    def __truediv__(self, scale: float) -> Interval:
        return Interval(self.estimate / scale, self.low / scale, self.high / scale)


def mean_interval(
    samples: NDArray[np.float64], confidence: float, method: Method = "student"
) -> Interval:
    """Return an interval for the mean over rounds, E (1/R) sum_t Y_t.

    Parameters
    ----------
    samples : (S, R) array
        Nonnegative values Y_t of S independent seeds.
    confidence : float
        Level of the two-sided interval, in (0, 1).
    method : {"student", "bootstrap"}
        How the upper end is computed; the bootstrap needs at least 8 seeds.

    Raises
    ------
    InputError
        If an argument is out of its range, or the method needs more seeds.
    UnknownNameError
        If there is no such method.
    """
    _check(samples, confidence, method)
    per_seed, tail = samples.mean(axis=1, keepdims=True), (1 - confidence) / 2
    estimate = float(per_seed.mean())
    if not np.isfinite(estimate):
        return Interval(estimate, estimate, estimate)
    return Interval(
        estimate,
        evidence.least_lower_limit(per_seed, tail),
        upper_of_mean(samples, tail, method),
    )


def min_interval(
    samples: NDArray[np.float64],
    confidence: float,
    sure: NDArray[np.bool_] | None = None,
) -> Interval:
    """Return an interval for the minimum of expectations, min_t E Y_t.

    Parameters
    ----------
    samples : (S, R) array
        Nonnegative values Y_t of S independent seeds. A round with a value that is not
        finite counts as infinitely large.
    confidence : float
        Level of the two-sided interval, in (0, 1).
    sure : (R,) array of bool, optional
        Rounds in which nothing is random, such as a common start.

    Raises
    ------
    InputError
        If an argument is out of its range.
    """
    _check(samples, confidence)
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return Interval(np.inf, np.inf, np.inf)
    finite_samples, tail = samples[:, finite], (1 - confidence) / 2
    low = evidence.least_lower_limit(finite_samples, tail)
    return Interval(
        float(finite_samples.mean(axis=0).min()),
        low,
        upper_of_minimum(samples, tail, sure),
    )


@np.errstate(over="ignore", invalid="ignore")
def upper_of_mean(
    samples: NDArray[np.float64], tail: float, method: Method = "student"
) -> float:
    """Return an upper limit for E (1/R) sum_t Y_t from ``samples`` (S, R).

    It is infinite if all seeds are equal, since the variance is then unknown.
    """
    per_seed = samples.mean(axis=1, keepdims=True)
    if not np.ptp(per_seed) > 0:
        return np.inf
    high = float(upper_limits(per_seed, tail)[0])
    return (
        high
        if method == "student"
        else max(high, _bootstrap_limit(per_seed[:, 0], tail))
    )


@np.errstate(over="ignore", invalid="ignore")
def upper_of_maximum(
    samples: NDArray[np.float64],
    tail: float,
    sure: NDArray[np.bool_] | None = None,
    method: Method = "student",
) -> float:
    """Return an upper limit for max_t E Y_t, the largest of :func:`upper_of_each`."""
    return float(upper_of_each(samples, tail, sure, method).max())


@np.errstate(over="ignore", invalid="ignore")
def upper_of_each(
    samples: NDArray[np.float64],
    tail: float,
    sure: NDArray[np.bool_] | None = None,
    method: Method = "student",
) -> NDArray[np.float64]:
    """Return an upper limit for the expectation of each round, (R,).

    Each of them fails with probability ``tail``. A round of ``sure`` (R,), in which
    nothing is random, is its own limit. Another round has an infinite limit if its
    seeds are equal.
    """
    known = np.zeros(samples.shape[1], dtype=bool) if sure is None else sure
    same = ~(np.ptp(samples, axis=0) > 0)
    limits = np.where(same & known, samples[0], np.inf)
    random = np.flatnonzero(~same)
    if random.size:
        limits[random] = upper_limits(samples[:, random], tail)
    if method == "bootstrap":
        for k in random:
            limits[k] = max(limits[k], _bootstrap_limit(samples[:, k], tail))
    return np.where(np.isnan(limits), np.inf, limits)


def max_interval(
    samples: NDArray[np.float64],
    confidence: float,
    sure: NDArray[np.bool_] | None = None,
) -> Interval:
    """Return an interval for the maximum of expectations, max_t E Y_t.

    The parameters are those of :func:`min_interval`.
    """
    _check(samples, confidence)
    estimate, tail = float(samples.mean(axis=0).max()), (1 - confidence) / 2
    if not np.isfinite(estimate):
        return Interval(np.inf, np.inf, np.inf)
    low = evidence.largest_lower_limit(samples, tail)
    return Interval(estimate, low, upper_of_maximum(samples, tail, sure))


def _bootstrap_limit(values: NDArray[np.float64], tail: float) -> float:
    """Return the studentized bootstrap's upper limit for a mean.

    It is mean - q s/sqrt(S) of ``values`` (S,), with q the ``tail`` quantile of t =
    (mean* - mean)/(s*/sqrt(S)) over a fixed set of resamples.
    """
    seeds, scale = len(values), values.std()
    z = (values - values.mean()) / scale
    # so many that about 20 resamples lie beyond the quantile
    draws = int(min(max(1999.0, np.ceil(20 / tail)), 20_000.0))
    counts = (
        np.random.default_rng(0)
        .multinomial(seeds, [1 / seeds] * seeds, size=draws)
        .astype(float)
    )
    means: NDArray[np.float64] = counts @ z / seeds
    variances = (counts @ z**2 / seeds - means**2) / (seeds - 1)
    is_constant = variances <= 1e-12
    ratios = np.where(
        is_constant,
        np.copysign(np.inf, means),
        means / np.sqrt(np.where(is_constant, 1.0, variances)),
    )
    least = np.quantile(ratios, tail, method="inverted_cdf")
    return float(values.mean() - least * scale / np.sqrt(seeds - 1))


def seeds_needed(interval: Interval, bound: float, seeds: int) -> int | None:
    """Return about how many seeds would bring the interval to one side of ``bound``.

    It assumes the present variance, with half-widths proportional to 1/sqrt(seeds).
    None if the variance is unknown, or if the estimate equals the bound.
    """
    half = (
        interval.high - interval.estimate
        if interval.estimate <= bound
        else interval.estimate - interval.low
    )
    distance = abs(bound - interval.estimate)
    if seeds < 2 or not np.isfinite(half) or distance == 0 or not np.isfinite(distance):
        return None
    return max(seeds, int(np.ceil(seeds * (half / distance) ** 2)))


def checked_method(method: str, seeds: int) -> Method:
    """Return the method of this name; InputError if it needs more than ``seeds``."""
    if method not in get_args(Method):
        raise UnknownNameError("method", method, set(get_args(Method)))
    if method == "bootstrap" and seeds < ENOUGH_SEEDS:
        raise InputError(
            f"method = 'bootstrap' needs at least {ENOUGH_SEEDS} seeds, not {seeds}:"
            " use more seeds, or method = 'student'"
        )
    return cast(Method, method)


def _check(
    samples: NDArray[np.float64], confidence: float, method: Method = "student"
) -> None:
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(
            f"samples have shape {samples.shape}; it must be (seeds, rounds) with at"
            " least one of each"
        )
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95"
        )
    checked_method(method, samples.shape[0])


__all__ = [
    "Interval",
    "Method",
    "checked_method",
    "max_interval",
    "mean_interval",
    "min_interval",
    "seeds_needed",
    "upper_of_each",
    "upper_of_maximum",
    "upper_of_mean",
]
