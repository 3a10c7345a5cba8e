"""Two clients on opposing slopes, with a step of the gradient between them.

f_1' = slope + L clip(x + 1, 0, 1) and f_2' = -slope + L clip(x + 1, 0, 1) - L clip(x,
0, 1). The slopes pull the clients out of the steps to both sides, where their gradients
cancel: the mean stays on the step, with a gradient near L.
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


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem of slopes +- ``slope``."""
    numbers = counts(at) | {"L": at["L"]}
    chosen = algorithm(theorem, numbers)
    L = at["L"]
    ramps = Ramps(
        np.array([[[-1.0, 0.0], [-1.0, 0.0]]]),
        np.ones((1, 2, 2)),
        np.array([[[L, 0.0], [L, -L]]]),
        np.array([[at["slope"], -at["slope"]]]),
    )
    run = two_clients(ramp_task(ramps), chosen, at, np.zeros((2, 1)))
    return run, numbers | network(at)


MEMBER = Member(
    "opposing slopes",
    make,
    {"T": (64,), "K": (1, 2), "gap": (2, 8), "L": (0.1, 10), "slope": (1, 100)},
    joint=("gap*T*T",),
    drawn=False,
    plain={"T": 64, "K": 1, "gap": 4, "L": 1, "slope": 10},
)

__all__ = ["MEMBER"]
