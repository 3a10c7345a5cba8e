"""Sums of the weights of K momentum steps, evaluated without cancellation.

After K steps v <- alpha v + g, x <- x - eta v from v = 0, the gradient of step s has
moved x by ``eta c_s`` with ``c_s = (1 - alpha^(K-s+1))/(1 - alpha)``. The sums are ``at
= sum_s c_s`` (the papers' alpha-tilde), ``sum_s c_s^2``, ``at(K-1)`` (for K - 1 steps)
and the mean path ``sum_s c_s at(s-1)/at``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.arrays import FloatArray


def total(alpha: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return sum_s c_s of K steps, for 0 <= alpha < 1 and integers K >= 0."""
    return _sums(alpha, K)[..., 1]


def total_before(alpha: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return sum_s c_s of K - 1 steps."""
    return total(alpha, np.asarray(K) - 1)


def squares(alpha: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return sum_s c_s^2 of K steps."""
    return _sums(alpha, K)[..., 2]


def mean_path(alpha: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return sum_s c_s at(s-1)/at of K steps; nan for K = 0."""
    sums = _sums(alpha, K)
    return sums[..., 4] / sums[..., 1]


def _sums(alpha: ArrayLike, steps: ArrayLike) -> FloatArray:
    """Return five sums (..., 5) after K steps.

    They are c, at, sum_s c_s^2, U = at(0) + ... + at(K-1) and D = sum_s c_s at(s-1).
    Together with c^2, their values are linear in those of the previous step (D_n =
    alpha D_{n-1} + U_n), so they follow from M^K by repeated squaring. M has no
    negative entries, so there is no cancellation.
    """
    alpha, steps = np.broadcast_arrays(
        np.asarray(alpha, dtype=float), np.asarray(steps, dtype=float)
    )
    counted = np.where(np.isfinite(steps), np.floor(steps), -1.0)
    # large arrays often have few distinct pairs
    pairs, places = np.unique(alpha + 1j * counted, return_inverse=True)
    a, known = pairs.real, pairs.imag >= 0
    # kept as floats, because 2^63 steps exceed 64-bit integers
    remaining = np.where(known, pairs.imag, 0.0)
    zero, one = np.zeros_like(a), np.ones_like(a)
    # columns and rows: 1, c, at, sum c^2, U, D, c^2
    rows = [
        [one, zero, zero, zero, zero, zero, zero],
        [one, a, zero, zero, zero, zero, zero],
        [one, a, one, zero, zero, zero, zero],
        [one, 2 * a, zero, one, zero, zero, a * a],
        [zero, zero, one, zero, one, zero, zero],
        [zero, zero, one, zero, one, a, zero],
        [one, 2 * a, zero, zero, zero, zero, a * a],
    ]
    power = np.moveaxis(np.array(rows), -1, 0)
    state = np.zeros((a.size, 7, 1))
    state[:, 0] = 1
    while remaining.any():
        state = np.where((remaining % 2 == 1)[:, None, None], power @ state, state)
        remaining = np.floor(remaining / 2)
        if remaining.any():
            power = power @ power
    state[~known] = np.nan
    return state[places.reshape(alpha.shape), 1:6, 0]


__all__ = ["mean_path", "squares", "total", "total_before"]
