"""Identical clients whose SAM steps are zero although the gradient is not.

f'(x) = max(w - |x|, 0) + max(x - rho, 0) with w <= rho. At x = 0 the ascent step of SAM
leads to x = rho, where f' = 0. So every local step is 0, in every round, for every W,
and the left-hand side is f'(0)^2 = w^2 forever, for all eta and K; w = rho is the worst
case. For w = rho and a start s > 0, a step of SAM uses f'(x + rho) = x, so that K steps
map x to (1 - eta)^K x, and the left-hand side tends to rho^2 whatever the gradient at
the start is.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps


class SAMTrap(Family):
    """f' = max(w - |x|, 0) and a ramp on the right; without SAM w = 1."""

    name = "SAM trap"
    summary = "f'(x) = max(w - |x|, 0) + max(x - rho, 0), stationary at 0 for SAM alone"
    sam = True
    settles = True

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at 0 or to the right of it."""
        rho = np.where(at.rho > 0, at.rho, 1.0)
        start = read.log_or_zero(1e-2, 100, 0.5)
        w = rho * np.where(start > 0, 1.0, read.log(0.3, 1))
        knots = np.stack([-w, 0 * w, rho], -1)[:, None]
        widths = np.stack([w, w, 1 + rho * (1 + start)], -1)[:, None]
        slopes = np.tile([1.0, -1.0, 1.0], (len(w), 1, 1))
        ramps = Ramps(knots, widths, slopes, np.zeros((len(w), 1)))
        return ramps.repeated(2), both(rho * start)


__all__ = ["SAMTrap"]
