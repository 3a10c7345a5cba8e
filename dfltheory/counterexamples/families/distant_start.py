"""Two parabolas with a start far from their limit.

The problems are those of :mod:`.local_drift`, with gradients that are linear as far as
the start s: f_i' = k_i (x - c_i), so that f(x^0) - f* grows as s^2. A round is x -> A x
+ b with ||A||_inf <= max_i (1 - eta k_i)^K < 1. The state therefore converges to
:func:`~dfltheory.counterexamples.families.local_drift.drift_limit`, which does not
depend on s, and so does the gradient in all later rounds.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.local_drift import parabolas
from dfltheory.counterexamples.families.shapes import REACH, both
from dfltheory.counterexamples.ramps import Ramps

FARTHEST_START = 1e6
"""Largest distance of the start from 0."""


class DistantStart(Family):
    """Parabolas around +-1 with curvatures 1 and k <= 1, linear as far as the start."""

    name = "distant start"
    summary = "f_1'(x) = x - 1 and f_2'(x) = k (x + 1), from a start as far as 1e6"
    rounds = 1200

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at one point on either side."""
        k = np.stack([np.ones(len(at.eta)), read.log(1e-2, 1)], -1)
        distance = read.log(1, FARTHEST_START)
        start = np.where(read.unit() < 0.5, -distance, distance)
        return parabolas(k, distance + REACH), both(start)


__all__ = ["FARTHEST_START", "DistantStart"]
