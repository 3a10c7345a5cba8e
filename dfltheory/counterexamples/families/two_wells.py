"""Almost identical clients that move into two different wells.

f_i' = phi +- e, where phi is -x on [-v, w] and rises with slope 1 beyond, through the
wells at -2 v and 2 w; rho = 0, and the start is 0. The clients separate if lam (1 +
eta)^K > 1. In the wells K steps map x to p_i + q (x - p_i), with q = (1 - eta)^K and
p_i = -2 v - e or 2 w + e. So they are stationary at the mean w - v, which has the slope
v - w, and half of their distance is d = lam (1 - q)(w + v + e)/(1 - lam q)
(:func:`well_limit`), if d >= max(v, w). This requires that 1 - lam is small compared
with eta K, while sigma_g = e may be arbitrarily small.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both, wells
from dfltheory.counterexamples.ramps import Ramps


class TwoWells(Family):
    """Clients phi +- e with wells at -2 v and 2.

    v is at least the smallest value at which the clients stay in the wells.
    """

    name = "two wells"
    summary = "f_i'(x) = phi(x) +- e with wells at -2 v and 2, one client in each"
    rounds = 1200

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start on the hill between the wells."""
        q = (1 - at.eta) ** at.K
        smallest = (1 - at.lam) / np.maximum(at.lam * (1 - q), 1e-300)
        v, e = np.minimum(smallest * read.log(1.02, 20), 1.0), read.log(1e-6, 1e-1)
        return wells(v, 1 + 0 * v, e), both(0 * v)


def well_limit(
    v: np.ndarray, w: np.ndarray, e: np.ndarray, at: RoundData
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean, and half of the distance, of the clients in their wells."""
    q = (1 - at.eta) ** at.K
    return w - v, at.lam * (1 - q) * (w + v + e) / (1 - at.lam * q)


__all__ = ["TwoWells", "well_limit"]
