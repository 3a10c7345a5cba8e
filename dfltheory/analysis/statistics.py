r"""Confidence intervals for what theorems bound, from independent seeds.

Data Y has shape (S, R): S independent seeds, R rounds that depend on each other. A theorem bounds
either the mean over rounds, E (1/R) sum_t Y_t, or the minimum min_t E Y_t.

* The mean is one number a seed. Student's t gives its interval; where a few seeds are much larger than the
  others, ``method="bootstrap"`` takes the law of t from the seeds themselves (the studentized bootstrap; the
  percentile and BCa intervals of ``scipy.stats.bootstrap`` cover 0.87 to 0.93 at 8 or 16 seeds, and are not
  used).
* The minimum of expectations is *not* the expectation of minima, and is treated from both sides.

  - Below: with t0 = argmin_t E Y_t, P(min_t l_t > E Y_t0) <= P(l_t0 > E Y_t0) <= alpha/2 for lower limits l_t
    that hold one at a time: **to say that the minimum is large, every round must be large, and no correction
    for many rounds is needed** (an intersection-union test).
  - Above: the minimum is at most any average over rounds that is fixed before looking. So it is below the
    least of Student's limits for the last 1, 2, 4, ... rounds and for all of them, corrected for how many
    these are (Bonferroni); averages are nearly normal, single squared norms are skewed. A single round is
    picked after looking, and must satisfy limits that hold for all rounds at once: their common factor is the
    quantile of the greatest studentized deviation over rounds, from the bootstrap over seeds. (Bonferroni's
    factors of Student's t fail here: where all rounds have one expectation, they miss it in 10 to 70 of 100
    cases.) Either gets half of alpha/2; with fewer than ``ENOUGH`` seeds no single round is believed.

What these intervals really cover is simulated in tests/analysis/test_statistics.py: 0.95 means 0.93 to 0.97
for the mean and for the limits that hold at once; the interval of the minimum is **conservative**, 0.95 means
0.95 to 1, since its two ends cannot both be sharp: a false "violated" or "holds" is as rare as it says, or
rarer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError, UnknownNameError

Method = Literal["student", "bootstrap"]

ENOUGH = 8
"""The fewest seeds whose scatter the bootstrap believes."""

_MOST_ROUNDS = 2048
"""Of longer runs only so many rounds, evenly spaced, are looked at one by one."""


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; ``low`` = ``high`` where there is no chance in the data."""

    estimate: float
    low: float
    high: float

    def __truediv__(self, scale: float) -> Interval:
        return Interval(self.estimate / scale, self.low / scale, self.high / scale)


def half_widths(samples: NDArray[np.float64], tail: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Student half-widths of the column means of ``samples`` (S, R), one-sided error ``tail`` each."""
    from scipy import stats

    seeds = samples.shape[0]
    if seeds < 2:
        return np.full(samples.shape[1], np.inf)
    return stats.t.isf(tail, seeds - 1) * _standard_errors(samples)


@np.errstate(over="ignore", invalid="ignore")
def mean_interval(samples: NDArray[np.float64], confidence: float, method: Method = "student") -> Interval:
    """Interval for E (1/R) sum_t Y_t from ``samples`` (S, R).

    Raises
    ------
    InputError
        ``method="bootstrap"`` with fewer than ``ENOUGH`` seeds, or arguments out of range.
    """
    _check(samples, confidence, method)
    per_seed = samples.mean(axis=1, keepdims=True)
    centre = float(per_seed.mean())
    if not np.isfinite(centre):
        return Interval(centre, centre, centre)
    tail = (1 - confidence) / 2
    below, above = (float(half[0]) for half in _each_round(per_seed, tail, method))
    return Interval(centre, max(centre - below, 0.0), centre + above)


@np.errstate(over="ignore", invalid="ignore")
def min_interval(samples: NDArray[np.float64], confidence: float, method: Method = "student") -> Interval:
    """Interval for min_t E Y_t from ``samples`` (S, R); a non-finite column counts as infinitely large.

    ``method`` is that of the lower limits; see the module for the upper end.
    """
    _check(samples, confidence, method)
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return Interval(np.inf, np.inf, np.inf)
    kept = samples[:, finite]
    means, tail = kept.mean(axis=0), (1 - confidence) / 2
    low = np.min(means - _each_round(kept, tail, method)[0])
    high = running_upper_limits(kept, tail)[-1]
    return Interval(float(means.min()), max(float(low), 0.0), float(high))


def running_upper_limits(samples: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """Upper limits u_h of min_{t <= h} E Y_t for each horizon h = 1..R; each fails with at most ``tail``."""
    seeds, rounds = samples.shape
    if seeds < 2:
        return np.full(rounds, np.inf)
    means = samples.mean(axis=0)
    single = np.where(_standard_errors(samples) == 0, means, np.inf)  # as at a common start: no chance there
    if seeds >= ENOUGH:
        tail /= 2
        some = slice(None, None, -(-rounds // _MOST_ROUNDS))  # fixed before looking
        single[some] = np.minimum(single[some], means[some] + half_widths_at_once(samples[:, some], tail))
    return np.minimum(_of_averages(samples, tail), np.minimum.accumulate(single))


def half_widths_at_once(samples: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """Half-widths h_t with P(E Y_t > mean_t + h_t for some t) about ``tail``, from ``samples`` (S, R).

    h_t = c s_t / sqrt(S), with c the quantile of max_t (mean_t - mean*_t)/(s*_t/sqrt(S)) over bootstrap
    samples of the seeds. Infinite for a round in which a bootstrap sample is often without any scatter.
    """
    errors = _standard_errors(samples)
    worst, usable = np.full(_draws(tail), -np.inf), errors > 0
    width = max(1, 2**21 // worst.size)
    for start in range(0, samples.shape[1], width):
        part = slice(start, start + width)
        deviations = -_studentized(samples[:, part], tail)
        usable[part] &= np.isinf(deviations).mean(axis=0) <= tail / 10
        worst = np.maximum(worst, deviations[:, usable[part]].max(axis=1, initial=-np.inf))
    c = np.quantile(worst, 1 - tail, method="higher")
    return np.where(errors == 0, 0.0, np.where(usable, c * errors, np.inf))


def _of_averages(samples: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """For each horizon the least of Student's limits for its last 1, 2, 4, ... rounds and for all of them."""
    horizons = np.arange(1, samples.shape[1] + 1)
    shares = tail / (np.floor(np.log2(horizons)) + 2)  # as many averages as there are
    totals, length = samples, 1  # sums over the last ``length`` rounds, at horizons >= length
    everything = np.cumsum(samples, axis=1) / horizons
    least = everything.mean(axis=0) + half_widths(everything, shares)
    while length <= samples.shape[1]:
        averages, inside = totals / length, slice(length - 1, None)
        limits = averages.mean(axis=0) + half_widths(averages, shares[inside])
        least[inside] = np.minimum(least[inside], limits)
        totals, length = totals[:, length:] + totals[:, :-length], 2 * length
    return least


def _each_round(
    samples: NDArray[np.float64], tail: float, method: Method
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Half-widths below and above the mean of each column, one at a time."""
    if method == "student":
        half = half_widths(samples, tail)
        return half, half
    ratios = _studentized(samples, tail)
    above, below = np.quantile(ratios, [tail, 1 - tail], axis=0)
    errors = _standard_errors(samples)
    with np.errstate(invalid="ignore"):  # no scatter at all: 0 times infinity
        return np.where(errors == 0, 0.0, below * errors), np.where(errors == 0, 0.0, -above * errors)


def _studentized(samples: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """(mean*_t - mean_t)/(s*_t/sqrt(S)) for bootstrap samples of the seeds (always the same), (draws, R)."""
    seeds = samples.shape[0]
    errors = _standard_errors(samples)
    z = (samples - samples.mean(axis=0)) / np.where(errors > 0, errors * np.sqrt(seeds), 1.0)
    counts = np.random.default_rng(0).multinomial(seeds, [1 / seeds] * seeds, size=_draws(tail)).astype(float)
    means = counts @ z / seeds
    variances = (counts @ z**2 / seeds - means**2) / (seeds - 1)
    still = variances <= 1e-12
    ratios = means / np.sqrt(np.where(still, 1.0, variances))
    ratios[still] = np.copysign(np.inf, means[still])
    return ratios


def _draws(tail: float) -> int:
    """Bootstrap samples: enough for some 20 beyond the quantile."""
    return int(min(max(1999.0, np.ceil(20 / tail)), 20_000.0))


def _standard_errors(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the column means; infinite where squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        errors = samples.std(axis=0, ddof=1) / np.sqrt(samples.shape[0])
    return np.where(np.isnan(errors), np.inf, errors)


def seeds_needed(found: Interval, bound: float, seeds: int) -> int | None:
    """About how many seeds would bring the interval to one side of ``bound``, at the scatter seen so far.

    Half-widths fall as 1/sqrt(seeds).  None where one seed told no scatter, or the estimate is the bound.
    """
    half = found.high - found.estimate if found.estimate <= bound else found.estimate - found.low
    apart = abs(bound - found.estimate)
    if seeds < 2 or not np.isfinite(half) or apart == 0 or not np.isfinite(apart):
        return None
    return max(seeds, int(np.ceil(seeds * (half / apart) ** 2)))


def checked_method(method: str, seeds: int) -> Method:
    """The method of that name, where so many seeds suffice for it."""
    if method not in get_args(Method):
        raise UnknownNameError("method", method, set(get_args(Method)))
    if method == "bootstrap" and seeds < ENOUGH:
        raise InputError(f"the bootstrap needs {ENOUGH} seeds or more, not {seeds}: use student")
    return cast(Method, method)


def _check(samples: NDArray[np.float64], confidence: float, method: Method) -> None:
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(f"samples have shape {samples.shape}; they must be (seeds, rounds), neither empty")
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95")
    checked_method(method, samples.shape[0])


__all__ = [
    "ENOUGH",
    "Interval",
    "Method",
    "checked_method",
    "half_widths",
    "half_widths_at_once",
    "mean_interval",
    "min_interval",
    "running_upper_limits",
    "seeds_needed",
]
