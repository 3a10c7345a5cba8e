"""Two parabolas that start at the minimum of their mean, f(x^0) = f*.

f_i' = k_i (x - c_i) with k_1 = 1 >= k_2 and c_i = +-1 start at x* = (1 - k_2)/(1 +
k_2), so that nothing is left of a bound's terms in f(x^0) - f*. The clients move away
from it, each towards c_i. Where W = I and W = 11'/2 take turns, two rounds are 2 K
local steps and one average, so that the state of even rounds converges to that of
:mod:`.local_drift` with lam = 0 and 2 K local steps.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.local_drift import parabolas
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps


class StartAtMinimum(Family):
    """Parabolas around +-1 with curvatures 1 and k <= 1, from the minimum."""

    name = "start at the minimum"
    summary = "f_1'(x) = x - 1 and f_2'(x) = k (x + 1), from the minimum of their mean"
    networks = ("in turn",)

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at the minimum."""
        second = read.log(1e-2, 1)
        k = np.stack([np.ones(len(second)), second], -1)
        return parabolas(k), both((1 - second) / (1 + second))


__all__ = ["StartAtMinimum"]
