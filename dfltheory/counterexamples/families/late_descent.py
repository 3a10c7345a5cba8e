"""Identical clients on a gentle slope that becomes steep at its end.

f'(x) is FLAT from the start s > 0 down to 0, rises to 1 on [FLAT - 1, 0], stays 1 for a
while, and falls to 0 at the minimum. The gradient is small in nearly all rounds and
close to 1 in the last ones. So the last round may violate a bound that the mean over
all rounds satisfies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

MOST_GENTLE_ROUNDS = 1000
"""Maximum number of rounds on the gentle slope."""


class LateDescent(Family):
    """A gentle slope of up to ``MOST_GENTLE_ROUNDS`` rounds, then a steep one.

    The steep slope takes up to ten rounds.
    """

    name = "late descent"
    summary = "f' is small for most of the way and 1 at its end"
    rounds = 1200

    def refusal(self, theorem: Theorem) -> str:
        """Return why the family has no candidates; it needs the last round."""
        if theorem.lhs.aggregate != "last":
            return "needs the last round on the left-hand side"
        return super().refusal(theorem)

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start on the gentle slope."""
        flat = read.log(0.01, 0.5)
        gentle_rounds = read.log(3, MOST_GENTLE_ROUNDS)
        steep_length = at.way * read.log(1, 10)
        rise = 1 - flat
        ones = np.ones(len(flat))
        knots = np.stack([-rise - steep_length - 1, -rise], -1)
        widths = np.stack([ones, rise], -1)
        slopes = np.tile([1.0, -1.0], (len(flat), 1, 1))
        left = np.zeros((len(flat), 1))
        clients = Ramps(knots[:, None], widths[:, None], slopes, left).repeated(2)
        return clients, both(flat * at.way * gentle_rounds)


__all__ = ["LateDescent"]
