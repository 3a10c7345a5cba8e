"""Two identical clients with minima at -1 and 2, each of which starts in one.

Gossip moves both inwards by the same distance, so that their mean stays at 1/2, where
the gradient is -1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    algorithm,
    counts,
    network,
    ramp_task,
    two_clients,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

STARTS = (-1.0, 2.0)


def two_minima() -> Ramps:
    """Return f'(x) of slope 1 around both minima, and -1 between them."""
    return Ramps.one(
        [[-2.0, -0.5, 1.5]], [[1.5, 1.0, 3.0]], [[1.0, -1.0, 1.0]], [-1.0]
    ).alike(2)


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem with one local step a round."""
    numbers = counts(at) | {"K": 1, "L": 1.0}
    chosen = algorithm(theorem, numbers)
    starts = np.array(STARTS)[:, None]
    run = two_clients(ramp_task(two_minima()), chosen, at, starts)
    return run, numbers | network(at)


MEMBER = Member(
    "separate wells",
    make,
    {"T": (64,), "gap": (64, 64)},
    joint=("T*gap",),
    apart=True,
    drawn=False,
)

__all__ = ["MEMBER", "STARTS", "two_minima"]
