"""Identical clients on a slope that momentum or a penalty makes them leave late.

f'(x) = min(max(x + D + 1, 0), 1), the start is 0, and f(0) - f* = D + 1/2. With
momentum alpha that restarts in every round, the K steps of a round have lengths eta
v_k, where v_k = 1 + alpha + ... + alpha^(k-1). Before round t the mean is at -t eta
sum_k v_k, for every W, and the left-hand side is 1 as long as that is at least -D. For
K = 1 momentum has no effect, however close to 1 alpha is; for many steps a round moves
the mean by at most eta K/(1 - alpha).

*Penalty and step of different order.* Under ADMM the mean is at -l (t - q (1 - q^t)/(1
- q)) before round t, where q = (1 - eta/l)^K. That is at most l per round, and almost
nothing while t (1 - q) is small.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps

SLOPE = 4000
"""Typical length of the slope, in rounds without momentum."""


class LongSlope(Family):
    """A slope about as long as ``SLOPE`` rounds without momentum."""

    name = "long slope"
    summary = "f'(x) = min(max(x + D + 1, 0), 1), which T rounds do not leave"
    needs = ("alpha", "lam_admm")

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at 0."""
        D = SLOPE * at.way * read.log(0.5, 20)
        ones = np.ones((len(D), 1, 1))
        left = np.zeros((len(D), 1))
        ramps = Ramps(-(D + 1)[:, None, None], ones, ones, left)
        return ramps.repeated(2), both(0 * D)


__all__ = ["LongSlope"]
