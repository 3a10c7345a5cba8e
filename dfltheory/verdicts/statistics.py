r"""Confidence intervals for what theorems bound, from independent seeds.

Data Y >= 0 has shape (S, R): S independent seeds, R dependent rounds. A theorem bounds
the mean over rounds, E (1/R) sum_t Y_t, or the minimum min_t E Y_t, or the maximum
max_t E Y_t (of expectations, not the expectation of the maximum), or the sum over
rounds, which is the number of rounds times the mean.

**Lower ends assume nothing of the seeds' distribution.** They are where the evidence of
:mod:`dfltheory.verdicts.evidence` ends.

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

from dfltheory.confidence import lower_limits, standard_errors, upper_limits
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.verdicts import evidence

Method = Literal["student", "bootstrap"]

ENOUGH = 8
"""Fewest seeds with which single rounds are compared, and with which the bootstrap is
used.
"""

_MOST_ROUNDS = 1024
"""Most single rounds that are used; of longer runs evenly spaced ones."""

_BLOCKS = 24
"""Number of blocks of horizons, of about equal length on a logarithmic axis."""

_FOR_DROPPING = 0.1
"""Share of the error that is spent on finding the rounds that are above the least
one.
"""

_DIRECTIONS = 256
"""Random directions, which give a simultaneous error within a few percent of itself."""

_ROUNDS_OF_TAIL = 6


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval.

    ``low`` = ``high`` where nothing is random.
    """

    estimate: float
    low: float
    high: float

    def __truediv__(self, scale: float) -> Interval:
        return Interval(self.estimate / scale, self.low / scale, self.high / scale)


def mean_interval(
    samples: NDArray[np.float64], confidence: float, method: Method = "student"
) -> Interval:
    """Interval for E (1/R) sum_t Y_t from ``samples`` (S, R).

    Raises
    ------
    InputError
        ``method="bootstrap"`` with fewer than ``ENOUGH`` seeds, or arguments out of
        range.
    """
    _check(samples, confidence, method)
    per_seed, tail = samples.mean(axis=1, keepdims=True), (1 - confidence) / 2
    centre = float(per_seed.mean())
    if not np.isfinite(centre):
        return Interval(centre, centre, centre)
    return Interval(
        centre,
        evidence.least_lower_limit(per_seed, tail),
        upper_of_mean(samples, tail, method),
    )


def min_interval(
    samples: NDArray[np.float64],
    confidence: float,
    sure: NDArray[np.bool_] | None = None,
) -> Interval:
    """Interval for min_t E Y_t from ``samples`` (S, R).

    A non-finite column counts as infinitely large.

    ``sure`` (R,): rounds at which nothing is random, such as a common start.
    """
    _check(samples, confidence)
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return Interval(np.inf, np.inf, np.inf)
    kept, tail = samples[:, finite], (1 - confidence) / 2
    low = evidence.least_lower_limit(kept, tail)
    return Interval(
        float(kept.mean(axis=0).min()), low, upper_of_minimum(samples, tail, sure)
    )


@np.errstate(over="ignore", invalid="ignore")
def upper_of_mean(
    samples: NDArray[np.float64], tail: float, method: Method = "student"
) -> float:
    """Return an upper limit for E (1/R) sum_t Y_t.

    Infinite where all seeds are equal.
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


def upper_of_minimum(
    samples: NDArray[np.float64], tail: float, sure: NDArray[np.bool_] | None = None
) -> float:
    """Return an upper limit for min_t E Y_t."""
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return np.inf
    kept, sure = samples[:, finite], None if sure is None else sure[finite]
    return float(_upper_limits_of_minimum(kept, tail, kept.shape[1], sure)[-1])


@np.errstate(over="ignore", invalid="ignore")
def upper_of_maximum(
    samples: NDArray[np.float64],
    tail: float,
    sure: NDArray[np.bool_] | None = None,
    method: Method = "student",
) -> float:
    """Return an upper limit for max_t E Y_t.

    Infinite where a round is infinite, or is random and has equal seeds.
    """
    return float(upper_of_each(samples, tail, sure, method).max())


@np.errstate(over="ignore", invalid="ignore")
def upper_of_each(
    samples: NDArray[np.float64],
    tail: float,
    sure: NDArray[np.bool_] | None = None,
    method: Method = "student",
) -> NDArray[np.float64]:
    """An upper limit for the expectation of each round, (R,), each with error ``tail``.

    ``sure`` (R,): rounds at which nothing is random. They are their own limit; another
    round whose seeds are equal has none.
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
    """Interval for max_t E Y_t, the largest of the expectations, from ``samples`` (S,
    R).

    ``sure`` (R,): rounds at which nothing is random, such as a common start.
    """
    _check(samples, confidence)
    estimate, tail = float(samples.mean(axis=0).max()), (1 - confidence) / 2
    if not np.isfinite(estimate):
        return Interval(np.inf, np.inf, np.inf)
    low = evidence.largest_lower_limit(samples, tail)
    return Interval(estimate, low, upper_of_maximum(samples, tail, sure))


def running_upper_limits(
    samples: NDArray[np.float64], tail: float, sure: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Upper limits u_h of min_{t <= h} E Y_t for each horizon h = 1..R.

    Each fails with at most ``tail``.

    The horizons of a block use the simultaneous limits of its last one. Where these
    give no limit for an earlier horizon, the limit of the previous block holds: more
    rounds have no larger minimum.
    """
    rounds = samples.shape[1]
    ends = np.unique(
        [*np.geomspace(1, rounds, _BLOCKS).astype(int), max(1, rounds - 1), rounds]
    )
    found: list[NDArray[np.float64]] = []
    for first, last in zip([1, *(ends[:-1] + 1)], ends, strict=True):
        limits = _upper_limits_of_minimum(
            samples[:, :last], tail, first, None if sure is None else sure[:last]
        )
        found.append(
            np.where(np.isfinite(limits), limits, found[-1][-1] if found else np.inf)
        )
    return np.concatenate(found)


def _upper_limits_of_minimum(
    samples: NDArray[np.float64],
    tail: float,
    first: int,
    sure: NDArray[np.bool_] | None,
) -> NDArray[np.float64]:
    """Limits u_h with P(u_h < min_{t <= h} E Y_t) <= tail for h = first..R, from
    ``samples`` (S, R).
    """
    horizons = np.arange(first, samples.shape[1] + 1)
    known = np.flatnonzero(np.zeros(samples.shape[1]) if sure is None else sure)
    limits = _least_until(horizons, known + 1, samples[:, known].mean(axis=0))
    if samples.shape[0] < 2:
        return limits
    ends, kept = averages(samples, samples.shape[0] < ENOUGH)
    errors = standard_errors(kept)
    random = (np.ptp(kept, axis=0) > 0) & np.isfinite(errors)
    ends, kept = ends[random], kept[:, random]
    many = kept.shape[1]
    for_dropping = _FOR_DROPPING * tail if many > 1 else 0.0
    while kept.shape[1]:
        each = simultaneous_tail(kept, tail - for_dropping)
        limits = np.minimum(
            limits, _least_until(horizons, ends, upper_limits(kept, each))
        )
        if many == 1:
            break
        possible = lower_limits(kept, for_dropping / many) <= limits[0]
        if possible.all():
            break
        ends, kept = ends[possible], kept[:, possible]
    return limits


def _least_until(
    horizons: NDArray[np.int64], ends: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The least of the ``values`` whose ``ends`` are at most h, for each horizon h."""
    order = np.argsort(ends, kind="stable")
    least = np.minimum.accumulate(np.concatenate([[np.inf], values[order]]))
    return least[np.searchsorted(ends[order], horizons, side="right")]


def simultaneous_tail(samples: NDArray[np.float64], tail: float) -> float:
    """The error p of each of k limits, for columns (S, k), such that any of them fails
    with probability ``tail``.

    At p each, P(one or more fail) = k p E[1/N], where N counts the failing limits,
    given that one which is picked at random fails (Naiman and Priebe 2001). For
    independent normal seeds the distribution of the centered columns is invariant under
    rotations of R^S: N is counted over directions in which the picked column's t
    exceeds the quantile of p. Skewness is left to the limits themselves.
    """
    seeds, many = samples.shape
    if many == 1 or seeds == 2:  # two seeds do not show the dependence
        return tail / many
    columns = samples - samples.mean(axis=0)
    columns /= np.linalg.norm(columns, axis=0)
    rng = np.random.default_rng(0)
    along = columns[:, np.arange(_DIRECTIONS) * many // _DIRECTIONS].T
    across = rng.normal(size=along.shape)
    across -= (across * along).sum(axis=1, keepdims=True) * along
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    beyond = (rng.permutation(_DIRECTIONS)[:, None] + 0.5) / _DIRECTIONS
    each = tail / many
    for _ in range(_ROUNDS_OF_TAIL):
        cosine, sine = _angle(each * beyond, seeds)
        least = _angle(np.array(each), seeds)[0]
        fail = ((cosine * along + sine * across) @ columns >= least).sum(axis=1)
        before, each = each, tail / (many * np.mean(1 / np.maximum(fail, 1)))
        if abs(each - before) < 0.02 * before:
            break
    return float(min(each, tail))


def _angle(
    tail: NDArray[np.float64], seeds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine and sine of the largest angle to a column at which its t exceeds the
    quantile.
    """
    from scipy.special import stdtrit

    squared = stdtrit(seeds - 1, tail) ** 2
    whole = seeds - 1 + squared
    return np.sqrt(squared / whole), np.sqrt((seeds - 1) / whole)


def averages(
    samples: NDArray[np.float64], few: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Averages over rounds that are fixed in advance, (S, k), and the horizon at which
    each is complete.

    The last 1, 2, 4, ... rounds and all; unless ``few``, also those of the same lengths
    before them, down to single rounds (of long runs only so many of these, evenly
    spaced).
    """
    rounds = samples.shape[1]
    sums, counts, at = samples[:, ::-1], np.ones(rounds), np.arange(rounds, 0, -1)
    shortest, length = rounds / _MOST_ROUNDS, 1
    ends, found = [], []
    while True:
        part = slice(1)
        if not few:
            step = 1 if length >= shortest else -(-rounds // _MOST_ROUNDS)
            part = slice(None, None, step)
        if few or length == 1 or length >= shortest:
            ends.append(at[part])
            found.append(sums[:, part] / counts[part])
        if len(at) == 1:
            return np.concatenate(ends), np.concatenate(found, axis=1)
        pairs = np.arange(0, len(at), 2)
        sums, counts, at = (
            np.add.reduceat(sums, pairs, axis=1),
            np.add.reduceat(counts, pairs),
            at[pairs],
        )
        length *= 2


def _bootstrap_limit(values: NDArray[np.float64], tail: float) -> float:
    """The studentized bootstrap's upper limit for the mean of ``values`` (S,): mean - q
    s/sqrt(S), q the ``tail`` quantile of t = (mean* - mean)/(s*/sqrt(S)) over a fixed
    set of resamples.
    """
    seeds, scale = len(values), values.std()
    z = (values - values.mean()) / scale
    # enough for some 20 beyond the quantile
    draws = int(min(max(1999.0, np.ceil(20 / tail)), 20_000.0))
    counts = (
        np.random.default_rng(0)
        .multinomial(seeds, [1 / seeds] * seeds, size=draws)
        .astype(float)
    )
    means = counts @ z / seeds
    variances = (counts @ z**2 / seeds - means**2) / (seeds - 1)
    still = variances <= 1e-12
    ratios = np.where(
        still,
        np.copysign(np.inf, means),
        means / np.sqrt(np.where(still, 1.0, variances)),
    )
    least = np.quantile(ratios, tail, method="inverted_cdf")
    return float(values.mean() - least * scale / np.sqrt(seeds - 1))


def seeds_needed(found: Interval, bound: float, seeds: int) -> int | None:
    """About how many seeds would bring the interval to one side of ``bound``, at the
    present variance.

    Half-widths fall as 1/sqrt(seeds). None where the variance is unknown, or the
    estimate is the bound.
    """
    half = (
        found.high - found.estimate
        if found.estimate <= bound
        else found.estimate - found.low
    )
    distance = abs(bound - found.estimate)
    if seeds < 2 or not np.isfinite(half) or distance == 0 or not np.isfinite(distance):
        return None
    return max(seeds, int(np.ceil(seeds * (half / distance) ** 2)))


def checked_method(method: str, seeds: int) -> Method:
    """Return the method of that name; InputError if it needs more seeds."""
    if method not in get_args(Method):
        raise UnknownNameError("method", method, set(get_args(Method)))
    if method == "bootstrap" and seeds < ENOUGH:
        raise InputError(
            f"the bootstrap needs {ENOUGH} seeds or more, not {seeds}: use student"
        )
    return cast(Method, method)


def _check(
    samples: NDArray[np.float64], confidence: float, method: Method = "student"
) -> None:
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(
            f"samples have shape {samples.shape}; they must be (seeds, rounds), neither"
            " empty"
        )
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95"
        )
    checked_method(method, samples.shape[0])
