"""Identical clients that start at +-r, so that their mean starts at the minimum.

f'(x) = max(x, -c). If r - eta K c >= c, one round moves the mean to ((1 - eta)^K - 1)
r/2 + eta K c/2, which is also f' there unless it is below -c.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import REACH, both
from dfltheory.counterexamples.ramps import Ramps


class UnbalancedStarts(Family):
    """Gradients max(x, -c) of clients that start at +-1, or slightly to the right."""

    name = "unbalanced starts"
    summary = "f'(x) = max(x, -c) for both clients, which start at +-1"
    also_complete = True
    different_starts = True

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients whose mean starts near the minimum."""
        c, shift = read.log(1e-2, 0.5), read.log(1e-6, 1e-1)
        knots, widths = -c[:, None], (c + REACH)[:, None]
        ones = np.ones((len(c), 1, 1))
        ramps = Ramps(knots[:, None], widths[:, None], ones, knots)
        return ramps.repeated(2), both(shift) + np.array([1.0, -1.0])


__all__ = ["UnbalancedStarts"]
