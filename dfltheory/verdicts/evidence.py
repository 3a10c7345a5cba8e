r"""Evidence against E X <= b from independent X_1, ..., X_S >= 0.

It is valid for every distribution.

For any 0 <= c <= 1 the number

    e_c = prod_s (1 + c (X_s/b_s - 1)) >= 0

has an expectation of at most 1 where E X_s <= b_s: an e-value. So has a mixture over c,
and Markov's inequality gives P(e >= 1/alpha) <= alpha. No distribution is assumed:
skewness, rare values and variance that the seeds do not show cannot make it fail more
often (Waudby-Smith and Ramdas 2024, J. R. Statist. Soc. B 86). Student's lower limit
for a mean, in contrast, is too high where the seeds are skewed to the left or happen to
be equal.

It needs more seeds: S seeds that are r times the bound each give e of about r^S / 2. No
test needs much fewer: a quantity that is r times its bound with probability 1/r, and
else 0, gives the same samples with probability r^-S.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray

_BETS: dict[float, float] = {
    1.0: 0.5,
    0.75: 0.1,
    0.5: 0.1,
    0.25: 0.1,
    0.125: 0.1,
    0.0625: 0.1,
}
"""c with its weight in the mixture: half of it on c = 1, the best for a small
variance.
"""

_HALVINGS = 45
"""Number of bisection steps, which locate a limit within 3e-14 of the initial range."""


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def in_bounds(samples: FloatArray, bounds: FloatArray | float) -> FloatArray:
    """Return X_s/b_s (S, R) for ``samples`` (S, R) and ``bounds`` (S,) or a number.

    0/0 is 1, and X/0 with X > 0 is infinite.
    """
    bounds = np.broadcast_to(np.asarray(bounds, dtype=float), samples.shape[:1])[
        :, None
    ]
    return np.where((samples == 0) & (bounds == 0), 1.0, samples / bounds)


@np.errstate(divide="ignore", invalid="ignore")
def log_evidence(ratios: FloatArray) -> FloatArray:
    """Return log e for each column of ratios X_s/b_s (S, R), an array (R,).

    It is -inf for a column with a negative or nan entry, which proves nothing.
    """
    total = np.full(ratios.shape[1], -np.inf)
    for c, weight in _BETS.items():
        # nan where a column has a ratio 0 and an infinite one, at c = 1
        log_products = np.log1p(c * (ratios - 1)).sum(axis=0)
        log_products = np.where(np.isnan(log_products), -np.inf, log_products)
        total = np.logaddexp(total, log_products + np.log(weight))
    return np.where((ratios >= 0).all(axis=0), total, -np.inf)


def log_evidence_of_all(ratios: FloatArray) -> float:
    """Return log e against the claim "E X_k <= b_k for at least one column k".

    It is the smallest log e of the columns of X_s/b_s (S, R).
    """
    return float(log_evidence(ratios).min())


@np.errstate(divide="ignore", invalid="ignore")
def seeds_for(ratios: FloatArray, tail: float, any_column: bool = False) -> int | None:
    """Return about how many seeds with such ratios (S, R) give e >= 1/tail.

    Parameters
    ----------
    ratios : (S, R) array
        X_s/b_s.
    tail : float
        Error probability.
    any_column : bool
        Whether e is the mean over columns (:func:`log_evidence_of_any`). By default
        every column needs e >= 1/tail (:func:`log_evidence_of_all`).

    Returns
    -------
    int or None
        None if no number of such seeds suffices.
    """
    tail = tail / ratios.shape[1] if any_column else tail
    needed = np.full(ratios.shape[1], np.inf)
    for c, weight in _BETS.items():
        growth = np.log1p(c * (ratios - 1)).mean(axis=0)
        needed = np.where(
            growth > 0, np.minimum(needed, -np.log(tail * weight) / growth), needed
        )
    worst = needed.min() if any_column else needed.max()
    return int(np.ceil(worst)) if np.isfinite(worst) else None


def evidence_lower_limits(samples: FloatArray, tail: float) -> FloatArray:
    """Return a lower limit (R,) for the mean of each column of ``samples`` (S, R) >= 0.

    It is the largest b with e >= 1/tail against E X <= b.
    """
    # e <= 1 at b = the sample mean, since log(1 + c (x - 1)) <= c (x - 1)
    high: FloatArray = samples.mean(axis=0)
    low: FloatArray = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _is_enough(samples, middle, tail)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return low


def least_lower_limit(samples: FloatArray, tail: float) -> float:
    """Return a lower limit for min_t E X_t, the least of the limits of all columns."""
    low, high = 0.0, float(samples.mean(axis=0).min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _is_enough(samples, middle, tail)
        if enough.all():
            low = middle
        else:  # the other columns have limits >= middle, so they are not the smallest
            high, samples = middle, samples[:, ~enough]
    return low


def log_evidence_of_any(ratios: FloatArray) -> float:
    """Return log e against the claim "E X_k <= b_k for every column k".

    It is the log of the mean of the columns' e-values of X_s/b_s (S, R). The mean is an
    e-value even if the columns depend on each other, so that no correction is needed
    for choosing the column with the largest one.
    """
    each = log_evidence(ratios)
    return float(np.logaddexp.reduce(each) - np.log(len(each)))


def largest_lower_limit(samples: FloatArray, tail: float) -> float:
    """Return a lower limit for max_t E X_t of ``samples`` (S, R) >= 0.

    It is the largest b with e >= 1/tail against E X_t <= b in all columns
    (:func:`log_evidence_of_any`).
    """
    low, high = 0.0, float(samples.mean(axis=0).max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if log_evidence_of_any(in_bounds(samples, middle)) >= -np.log(tail):
            low = middle
        else:
            high = middle
    return low


def upper_limit_of_largest(samples: FloatArray, most: float, tail: float) -> float:
    """Return an upper limit for max_k E X_k of columns (S, k), 0 <= X <= ``most``.

    It is the largest of the columns' upper limits, and fails only if the limit of the
    column with the largest expectation fails. It is infinite if a sample exceeds
    ``most``.
    """
    if (samples > most).any():
        return np.inf
    low, high = float(samples.mean(axis=0).max()), most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        each = log_evidence(in_bounds(most - samples, most - middle))
        if (each >= -np.log(tail)).all():
            high = middle
        else:
            low = middle
    return high


def upper_limit(samples: FloatArray, most: float, tail: float) -> float:
    """Return an upper limit for min_k E X_k of columns (S, k), 0 <= X <= ``most``.

    It holds for every distribution. most - X is nonnegative, and E X_k >= u for all k
    means E (most - X_k) <= most - u. The mean of the columns' evidence against this is
    evidence. With S seeds of zeros the limit is at least most (1 - (tail/2)^(1/S)),
    because a value of probability p is missed by all seeds with probability (1 - p)^S.
    The limit is infinite if a sample exceeds ``most``.
    (Sharper than empirical Bernstein limits by far: tests/verdicts/test_evidence.py.)
    """
    if (samples > most).any():
        return np.inf
    low, high = float(samples.mean(axis=0).min()), most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        each = log_evidence(in_bounds(most - samples, most - middle))
        enough = np.logaddexp.reduce(each) - np.log(len(each)) >= -np.log(tail)
        low, high = (low, middle) if enough else (middle, high)
    return high


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _is_enough(
    samples: FloatArray, bounds: FloatArray | float, tail: float
) -> NDArray[np.bool_]:
    """Return for each column whether e >= 1/tail against E X <= b."""
    return log_evidence(samples / bounds) >= -np.log(tail)
