"""Identical clients on a slope that momentum or a penalty makes them leave late.

f'(x) = min(max(x + D + 1, 0), 1), start 0, f(0) - f* = D + 1/2. Momentum alpha that
begins at 0 in every round makes its K steps eta v_k long, v_k = 1 + alpha + ... +
alpha^(k-1), so that the mean is at -t eta sum_k v_k before round t, for every W, and
the left-hand side is 1 for as long as that is -D or more. With K = 1 the path is that
without momentum, however near to 1 alpha is; with many steps it is eta K/(1 - alpha) a
round at most.

*Penalty and step of different order.* ADMM on it is at -l (t - q (1 - q^t)/(1 - q))
before round t, q = (1 - eta/l)^K: l a round at most, and next to nothing while t (1 -
q) is small.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps

SLOPE = 4000
"""Rounds without momentum that are about as long as the slope."""


class LongSlope(Family):
    """A slope that ``SLOPE`` rounds without momentum leave by a share, or do not."""

    name = "long slope"
    summary = "f'(x) = min(max(x + D + 1, 0), 1), which T rounds do not leave"
    needs = ("alpha", "lam_admm")

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at 0."""
        D = SLOPE * at.way * read.log(0.5, 20)
        one = np.ones((len(D), 1, 1))
        left = np.zeros((len(D), 1))
        ramps = Ramps(-(D + 1)[:, None, None], one, one, left)
        return ramps.repeated(2), both(0 * D)


__all__ = ["LongSlope"]
