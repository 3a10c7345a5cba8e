"""Weights of DFedADMM's K local steps: gamma, 1 - gamma, and their ratio.

With r = eta/lam, where lam is the penalty (glossary: lam_admm), the previous state has
the weight (1 - r)^K after K local steps. [Li et al. 2023, DFedADMM, (7)]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.arrays import FloatArray


def gamma(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return 1 - (1 - eta/lam)^K, the weight of the round's gradients, elementwise.

    Requires eta >= 0, lam > 0 and integers K >= 0. The error is a few units in the last
    place of K log|1 - eta/lam|, even if eta is far below lam.
    """
    power, odd = _power(eta, lam, K)
    with np.errstate(over="ignore"):
        # 0, not -0, for no steps
        return np.where(odd, 1 + np.exp(power), 0 - np.expm1(power))


def gamma_before(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return 1 - (1 - eta/lam)^(K-1), :func:`gamma` of K - 1 steps."""
    return gamma(eta, lam, np.asarray(K) - 1)


def left(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return (1 - eta/lam)^K, the weight of the previous state; see :func:`gamma`."""
    power, odd = _power(eta, lam, K)
    with np.errstate(over="ignore"):
        return np.where(odd, -1.0, 1.0) * np.exp(power)


def theta(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> FloatArray:
    """Return (1 - gamma)/gamma, the step of the auxiliary sequence.

    It is inf if gamma = 0 or on overflow.
    """
    stays = left(eta, lam, K)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(np.isinf(stays), -1.0, stays / gamma(eta, lam, K))


def _power(
    eta: ArrayLike, lam: ArrayLike, K: ArrayLike
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return log |1 - r|^K, and whether (1 - r)^K is negative.

    Each range of r (near 0, near 1, near 2) uses the form without cancellation;
    lam - eta and eta - 2 lam are exact there.
    """
    eta, lam, K = (np.asarray(v, dtype=float) for v in (eta, lam, K))
    with np.errstate(all="ignore"):  # select evaluates all three forms everywhere
        r = eta / lam
        forms = [np.log1p(-r), np.log1p((eta - 2 * lam) / lam)]
        log = np.select([r < 0.5, r > 1.5], forms, np.log(np.abs(lam - eta) / lam))
        return np.where(K == 0, 0.0, K * log), (r > 1) & (K % 2 == 1)


__all__ = ["gamma", "gamma_before", "left", "theta"]
