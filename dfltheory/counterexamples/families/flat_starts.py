"""Clients whose gradients are 0 on both sides of a dip, where their mean is.

f'(x) = |x| - h for |x| < h, and 0 elsewhere. Clients at +-r with r >= h do not move by
themselves, so that only the network brings them closer: r shrinks by a factor lam in a
round. Until r < h, f' is -h at the mean model and 0 at every client. A bound of the
gradients at the clients' models alone is then 0.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.ramps import Ramps


class FlatStarts(Family):
    """The gradient min(|x| - h, 0), with one client on each side of the dip."""

    name = "flat starts"
    summary = "f'(x) = min(|x| - h, 0) for both clients, which start outside of +-h"
    different_starts = True

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients on both sides of the dip."""
        h = read.log(1e-3, 1.0)
        r = h * (1 + read.log(1e-6, 1.0))
        knots, widths = np.stack([-h, 0 * h], -1), np.stack([h, h], -1)
        slopes = np.tile([-1.0, 1.0], (len(h), 1, 1))
        ramps = Ramps(knots[:, None], widths[:, None], slopes, np.zeros((len(h), 1)))
        return ramps.repeated(2), np.stack([r, -r], -1)


__all__ = ["FlatStarts"]
