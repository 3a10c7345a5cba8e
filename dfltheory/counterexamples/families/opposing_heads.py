"""Personal parts that pull the shared parts in opposite directions.

F_i = r(u) + (h/2)(v -+ pi/2)^2 + sin(p u) sin(v)/p, where r' = b is the bump of
:mod:`.opposing_gradients`. At v_i = +-pi/2 the v-gradient is 0 for every u, and the
u-gradient is b +- cos(p u). So the personal parts pull in opposite directions. Outside
of the bump, clients at -+r are stationary once r = lam g^K(r) with g(r) = r + eta cos(p
r). Their mean is stationary at 0, which is attractive: a mean m moves by -eta sin(p m)
sin(p r) in a step. The left-hand side is b(0)^2/L_u.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.opposing_gradients import bump_at_zero
from dfltheory.counterexamples.families.shapes import unfitted
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.splits import Splits


class OpposingHeads(Family):
    """The bump of the shared parts, and personal parts that are coupled to it."""

    name = "opposing heads"
    summary = (
        "F_i(u, v) = r(u) + (h/2)(v -+ pi/2)^2 + sin(p u) sin(v)/p, r' a bump at 0"
    )
    rounds = 800
    personal = True

    def blocks(self, read: Reader) -> Splits:
        """Return personal parts in parabolas around +-pi/2.

        There the personal parts add +-cos(p u) to the gradients of the shared parts.
        """
        h, p = read.log(1e-2, 10), read.log(1e-2, 10)
        base, ones = unfitted(len(h)), np.ones(len(h))
        b = np.pi / 2 * np.array([[1, -1]]) * ones[:, None]
        ramps = (base.knots, base.widths, base.slopes, base.left)
        return Splits(*ramps, b, h, 1 / p, p, ones)

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return the shared parts, which start at 0."""
        return bump_at_zero(read, at)


__all__ = ["OpposingHeads"]
