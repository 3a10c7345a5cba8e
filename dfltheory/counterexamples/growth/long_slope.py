"""Identical clients on a slope that T rounds of one step do not leave.

The gradient is B in every round, a minimum is at the end of the slope, and f(0) - f* =
T eta B^2 + B^2/(2 L). One local step a round makes no use of momentum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    algorithm,
    counts,
    hyperparameter,
    network,
    ramp_task,
    two_clients,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem of steepness ``slope``."""
    numbers = counts(at) | {"L": at["L"], "alpha": 1 - 1 / at["alpha"]}
    chosen = algorithm(theorem, numbers)
    B, width = at["slope"], at["slope"] / at["L"]
    end = -numbers["T"] * hyperparameter(chosen, "eta") * B - width
    ramps = Ramps.one([[end]], [[width]], [[at["L"]]], [0.0]).alike(2)
    run = two_clients(ramp_task(ramps), chosen, at, np.zeros((2, 1)))
    return run, numbers | network(at)


MEMBER = Member(
    "long slope",
    make,
    {
        "T": (2, 4),
        "K": (1,),
        "alpha": (1.01, 3),
        "gap": (1.1, 2),
        "L": (0.1, 10),
        "slope": (10, 1000),
    },
    joint=("alpha*T*T*T",),
    needs="alpha",
    plain={"T": 4, "K": 1, "alpha": 2, "gap": 1, "L": 1, "slope": 1},
)

__all__ = ["MEMBER"]
