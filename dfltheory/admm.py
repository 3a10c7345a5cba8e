"""How DFedADMM's K local steps weigh what is new against what was there: gamma, (1 - gamma) and their ratio.

With r = eta/lam, lam the penalty (glossary: lam_admm), a round of K local steps leaves (1 - r)^K of what was
there before it. [Li et al. 2023, DFedADMM, (7)]  Bounds, exact engine, falsifier and training core ask here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


def gamma(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> Array:
    """1 - (1 - eta/lam)^K, the weight of the round's gradients: elementwise, eta >= 0, lam > 0, whole K >= 0.

    To a few units in the last place of K log|1 - eta/lam|, for step sizes far below the penalty too.
    """
    power, odd = _power(eta, lam, K)
    with np.errstate(over="ignore"):
        return np.where(odd, 1 + np.exp(power), 0 - np.expm1(power))  # 0, not -0, for no steps


def left(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> Array:
    """(1 - eta/lam)^K, the weight of what was there before the round; see :func:`gamma`."""
    power, odd = _power(eta, lam, K)
    with np.errstate(over="ignore"):
        return np.where(odd, -1.0, 1.0) * np.exp(power)


def theta(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> Array:
    """(1 - gamma)/gamma, the step of the auxiliary sequence; inf where gamma is 0, or the ratio too large."""
    stays = left(eta, lam, K)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(np.isinf(stays), -1.0, stays / gamma(eta, lam, K))


def _power(eta: ArrayLike, lam: ArrayLike, K: ArrayLike) -> tuple[Array, Array]:
    """log |1 - r|^K, and where (1 - r)^K is negative.

    |1 - r| is near 1 where r is near 0 or 2, and 1 - r is near 0 where r is near 1: each has the form in
    which nothing cancels, since lam - eta and eta - 2 lam are exact there.
    """
    eta, lam, K = (np.asarray(v, dtype=float) for v in (eta, lam, K))
    with np.errstate(all="ignore"):  # select works out all three forms everywhere
        r = eta / lam
        forms = [np.log1p(-r), np.log1p((eta - 2 * lam) / lam)]
        log = np.select([r < 0.5, r > 1.5], forms, np.log(np.abs(lam - eta) / lam))
        return np.where(K == 0, 0.0, K * log), (r > 1) & (K % 2 == 1)


__all__ = ["gamma", "left", "theta"]
