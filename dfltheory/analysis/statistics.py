r"""Confidence intervals for what theorems bound, from independent seeds.

Data Y has shape (S, R): S independent seeds, R rounds that depend on each other. A theorem bounds
either the mean over rounds, E (1/R) sum_t Y_t, or the minimum min_t E Y_t.

* The mean is one number a seed, and Student's t gives its interval.
* The minimum of expectations is *not* the expectation of minima, and is treated from both sides.
  With t0 = argmin_t E Y_t, P(min_t l_t > E Y_t0) <= P(l_t0 > E Y_t0) <= alpha/2 for lower limits l_t that
  hold one at a time: **to say that the minimum is large, every round must be large, and no correction
  for many rounds is needed** (an intersection-union test). For the upper end one round that is small is
  enough, but the round is picked after looking: the limits must hold at once (Bonferroni).

The intervals rest on Student's approximation; `coverage` in the tests measures what they really cover.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; ``low`` = ``high`` where there is no chance in the data."""

    estimate: float
    low: float
    high: float

    def __truediv__(self, scale: float) -> Interval:
        return Interval(self.estimate / scale, self.low / scale, self.high / scale)


def half_widths(samples: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """Student half-widths of the column means of ``samples`` (S, R), one-sided error ``tail`` each."""
    from scipy import stats

    seeds = samples.shape[0]
    if seeds < 2:
        return np.full(samples.shape[1], np.inf)
    spread = samples.std(axis=0, ddof=1)
    return stats.t.isf(tail, seeds - 1) * spread / np.sqrt(seeds)


def mean_interval(samples: NDArray[np.float64], confidence: float) -> Interval:
    """Interval for E (1/R) sum_t Y_t from ``samples`` (S, R)."""
    _check(samples, confidence)
    per_seed = samples.mean(axis=1, keepdims=True)
    centre = float(per_seed.mean())
    if not np.isfinite(centre):
        return Interval(centre, centre, centre)
    half = float(half_widths(per_seed, (1 - confidence) / 2)[0])
    return Interval(centre, max(centre - half, 0.0), centre + half)


def min_interval(samples: NDArray[np.float64], confidence: float) -> Interval:
    """Interval for min_t E Y_t from ``samples`` (S, R); a non-finite column counts as infinitely large."""
    _check(samples, confidence)
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return Interval(np.inf, np.inf, np.inf)
    kept = samples[:, finite]
    means, tail = kept.mean(axis=0), (1 - confidence) / 2
    low = np.min(means - half_widths(kept, tail))
    high = np.min(means + half_widths(kept, tail / kept.shape[1]))
    return Interval(float(means.min()), max(float(low), 0.0), float(high))


def seeds_needed(found: Interval, bound: float, seeds: int) -> int | None:
    """About how many seeds would bring the interval to one side of ``bound``, at the scatter seen so far.

    Half-widths fall as 1/sqrt(seeds).  None where one seed told no scatter, or the estimate is the bound.
    """
    half = found.high - found.estimate if found.estimate <= bound else found.estimate - found.low
    apart = abs(bound - found.estimate)
    if seeds < 2 or not np.isfinite(half) or apart == 0 or not np.isfinite(apart):
        return None
    return max(seeds, int(np.ceil(seeds * (half / apart) ** 2)))


def _check(samples: NDArray[np.float64], confidence: float) -> None:
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(f"samples have shape {samples.shape}; they must be (seeds, rounds), neither empty")
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95")


__all__ = ["Interval", "half_widths", "mean_interval", "min_interval", "seeds_needed"]
