"""Identical clients on both sides of the minimum, where their mean starts.

F(u, v) = r(u) + (h/2) v^2 + k sin(u) sin(v) with r' = clip(u, -1, 1) and k = c sqrt(h),
c <= 1, has its minimum at u = v = 0. The clients start at u = +-r and v = 0, so F of
the mean starts at its minimum. The personal gradients are +-k sin(r) there. With small
step sizes only gossip reduces them: after t rounds they are +-k sin(lam^t r). The sum
of their squares over all rounds is about k^2 r^2/(1 - lam^2), and no term of a bound
covers it except that of the initialization.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.splits import Splits


class DistantClients(Family):
    """Coupled bowls whose clients start at +-r around the minimum."""

    name = "distant clients"
    summary = (
        "F(u, v) = r(u) + (h/2) v^2 + k sin(u) sin(v), r' = clip(u, -1, 1), for both"
        " clients, which start on both sides of the minimum"
    )
    rounds = 800
    also_complete = True
    different_starts = True
    personal = True
    transient = True
    many_steps = 64

    def blocks(self, read: Reader) -> Splits:
        """Return bowls with a coupling k of up to sqrt(h)."""
        h, c = read.log(1e-2, 10), read.between(0.1, 1)
        return Splits.of(
            clipped_parabolas(len(h)), np.zeros((len(h), 2)), h, c * np.sqrt(h)
        )

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return the shared parts, which start at +-r."""
        r = read.log(1e-2, 1)
        return clipped_parabolas(len(r)), np.stack([r, -r], -1)


def clipped_parabolas(size: int) -> Ramps:
    """Return two clients with the gradient clip(u, -1, 1)."""
    ones = np.ones((size, 1, 1))
    return Ramps(-ones, 2 * ones, ones, -ones[..., 0]).repeated(2)


__all__ = ["DistantClients", "clipped_parabolas"]
