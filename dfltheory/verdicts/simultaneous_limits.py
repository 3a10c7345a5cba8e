"""Upper confidence limits for a minimum of means, at one horizon or at all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfltheory.confidence import mean_lower_limits, standard_errors, upper_limits

ENOUGH_SEEDS = 8
"""Smallest number of seeds for the bootstrap, and for limits of single rounds."""


_MOST_ROUNDS = 1024
"""Largest number of single rounds that are used; in longer runs they are spaced evenly.
"""


_BLOCKS = 24
"""Number of blocks of horizons, of about equal length on a logarithmic axis."""


_FOR_DROPPING = 0.1
"""Fraction of the error probability for dropping rounds that are above the minimum."""


_DIRECTIONS = 256
"""Number of random directions; they give the error within a few percent."""


_MOST_ITERATIONS = 6
"""Largest number of fixed-point iterations for the error of each limit."""


def upper_of_minimum(
    samples: NDArray[np.float64], tail: float, sure: NDArray[np.bool_] | None = None
) -> float:
    """Return an upper limit for min_t E Y_t, which fails with probability ``tail``.

    Parameters
    ----------
    samples : (S, R) array
        Columns that are not finite are ignored; the limit is infinite without others.
    tail : float
        Error probability.
    sure : (R,) array of bool, optional
        Rounds in which nothing is random, such as a common start.
    """
    finite = np.isfinite(samples).all(axis=0)
    if not finite.any():
        return np.inf
    finite_samples, sure = samples[:, finite], None if sure is None else sure[finite]
    return float(
        _upper_limits_of_minimum(finite_samples, tail, finite_samples.shape[1], sure)[
            -1
        ]
    )


def running_upper_limits(
    samples: NDArray[np.float64], tail: float, sure: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return upper limits u_h for min_{t <= h} E Y_t at each horizon h = 1..R.

    The parameters are those of :func:`upper_of_minimum`.

    Each limit fails with probability at most ``tail``. The horizons of a block use the
    simultaneous limits of its last one. If these give no limit for an earlier horizon,
    the limit of the previous block is used: it holds because more rounds cannot have a
    larger minimum.
    """
    rounds: int = samples.shape[1]
    ends = np.unique(
        [*np.geomspace(1, rounds, _BLOCKS).astype(int), max(1, rounds - 1), rounds]
    )
    limits_of_blocks: list[NDArray[np.float64]] = []
    for first, last in zip([1, *(ends[:-1] + 1)], ends, strict=True):
        limits = _upper_limits_of_minimum(
            samples[:, :last], tail, first, None if sure is None else sure[:last]
        )
        limits_of_blocks.append(
            np.where(
                np.isfinite(limits),
                limits,
                limits_of_blocks[-1][-1] if limits_of_blocks else np.inf,
            )
        )
    return np.concatenate(limits_of_blocks)


def _upper_limits_of_minimum(
    samples: NDArray[np.float64],
    tail: float,
    first: int,
    sure: NDArray[np.bool_] | None,
) -> NDArray[np.float64]:
    """Return limits u_h with P(u_h < min_{t <= h} E Y_t) <= tail for h = first..R.

    ``samples`` are (S, R), the result is (R - first + 1,).
    """
    rounds: int = samples.shape[1]
    horizons = np.arange(first, rounds + 1)
    known = np.flatnonzero(np.zeros(rounds) if sure is None else sure)
    limits = _least_until(horizons, known + 1, samples[:, known].mean(axis=0))
    if samples.shape[0] < 2:
        return limits
    ends, candidates = averages(samples, samples.shape[0] < ENOUGH_SEEDS)
    errors = standard_errors(candidates)
    random = (np.ptp(candidates, axis=0) > 0) & np.isfinite(errors)
    ends, candidates = ends[random], candidates[:, random]
    candidate_count = candidates.shape[1]
    for_dropping = _FOR_DROPPING * tail if candidate_count > 1 else 0.0
    while candidates.shape[1]:
        each = simultaneous_tail(candidates, tail - for_dropping)
        limits = np.minimum(
            limits, _least_until(horizons, ends, upper_limits(candidates, each))
        )
        if candidate_count == 1:
            break
        possible = (
            mean_lower_limits(candidates, for_dropping / candidate_count) <= limits[0]
        )
        if possible.all():
            break
        ends, candidates = ends[possible], candidates[:, possible]
    return limits


def _least_until(
    horizons: NDArray[np.int64], ends: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each horizon h the smallest value whose end is at most h."""
    order = np.argsort(ends, kind="stable")
    least = np.minimum.accumulate(np.concatenate([[np.inf], values[order]]))
    return least[np.searchsorted(ends[order], horizons, side="right")]


def simultaneous_tail(samples: NDArray[np.float64], tail: float) -> float:
    """Return the error p of each of k limits, such that any fails with error ``tail``.

    If each limit of the columns ``samples`` (S, k) fails with probability p, then
    P(one or more fail) = k p E[1/N], where N is the number of failing limits, given
    that a limit which is picked at random fails (Naiman and Priebe 2001). For
    independent normal seeds the distribution of the centered columns is invariant under
    rotations of R^S, so N is counted over random directions in which the t statistic of
    the picked column exceeds the quantile of p. The limits themselves have to account
    for skewness.
    """
    seeds: int = samples.shape[0]
    many: int = samples.shape[1]
    if many == 1 or seeds == 2:  # two seeds do not show the dependence
        return tail / many
    columns = samples - samples.mean(axis=0)
    columns /= np.linalg.norm(columns, axis=0)
    rng = np.random.default_rng(0)
    along = columns[:, np.arange(_DIRECTIONS) * many // _DIRECTIONS].T
    across = rng.normal(size=(_DIRECTIONS, seeds))
    across -= (across * along).sum(axis=1, keepdims=True) * along
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    beyond = (rng.permutation(_DIRECTIONS)[:, None] + 0.5) / _DIRECTIONS
    each: float = tail / many
    for _ in range(_MOST_ITERATIONS):
        cosine, sine = _angle(each * beyond, seeds)
        least = _angle(np.array(each), seeds)[0]
        fail: NDArray[np.int64] = (
            (cosine * along + sine * across) @ columns >= least
        ).sum(axis=1)
        before = each
        each = tail / (many * float(np.mean(1 / np.maximum(fail, 1))))
        if abs(each - before) < 0.02 * before:
            break
    return float(min(each, tail))


def _angle(
    tail: NDArray[np.float64], seeds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return cosine and sine of the angle at which t is the upper ``tail`` quantile."""
    from scipy.special import stdtrit

    squared = stdtrit(seeds - 1, tail) ** 2
    whole = seeds - 1 + squared
    return np.sqrt(squared / whole), np.sqrt((seeds - 1) / whole)


def averages(
    samples: NDArray[np.float64], few: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return averages over fixed sets of consecutive rounds.

    They are those over the last 1, 2, 4, ... rounds and over all rounds. Unless
    ``few``, there are also those over earlier sets of 1, 2, 4, ... rounds, at most
    ``_MOST_ROUNDS`` of each length.

    Parameters
    ----------
    samples : (S, R) array
    few : bool

    Returns
    -------
    ends : (k,) array of int
        The horizon from which on an average is known, which is its last round, counted
        from 1.
    averages : (S, k) array
    """
    rounds: int = samples.shape[1]
    sums, counts, first_rounds = (
        samples[:, ::-1],
        np.ones(rounds),
        np.arange(rounds, 0, -1),
    )
    shortest, length = rounds / _MOST_ROUNDS, 1
    ends: list[NDArray[np.int64]] = []
    means: list[NDArray[np.float64]] = []
    while True:
        part = slice(1)
        if not few:
            step = 1 if length >= shortest else -(-rounds // _MOST_ROUNDS)
            part = slice(None, None, step)
        if few or length == 1 or length >= shortest:
            ends.append(first_rounds[part])
            means.append(sums[:, part] / counts[part])
        if len(first_rounds) == 1:
            return np.concatenate(ends), np.concatenate(means, axis=1)
        pairs = np.arange(0, len(first_rounds), 2)
        sums, counts, first_rounds = (
            np.add.reduceat(sums, pairs, axis=1),
            np.add.reduceat(counts, pairs),
            first_rounds[pairs],
        )
        length *= 2


__all__ = ["ENOUGH_SEEDS", "averages", "simultaneous_tail", "upper_of_minimum"]
