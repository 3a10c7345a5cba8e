"""Identical clients on a slope that T rounds of K local steps do not leave.

A round moves the auxiliary sequence of DFedADMM by lam_admm B, and the mean model of
the other algorithms by eta K B at most. A minimum is at the end of the slope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.algorithms.primal_dual import PrimalDual
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
    numbers = counts(at) | {"L": at["L"]}
    chosen = algorithm(theorem, numbers)
    B, width = at["slope"], at["slope"] / at["L"]
    if isinstance(chosen, PrimalDual):
        moved = hyperparameter(chosen, "lam")
    else:
        moved = hyperparameter(chosen, "eta") * numbers["K"]
    end = -numbers["T"] * moved * B - width
    ramps = Ramps.one([[end]], [[width]], [[at["L"]]], [0.0]).alike(2)
    run = two_clients(ramp_task(ramps), chosen, at, np.zeros((2, 1)))
    return run, numbers | network(at)


MEMBER = Member(
    "slope of many local steps",
    make,
    {"T": (16, 32), "K": (16, 32), "gap": (1, 2), "L": (0.1, 10), "slope": (0.1, 10)},
    joint=("T*K",),
    needs="K",
    drawn=False,
    plain={"T": 16, "K": 16, "gap": 1, "L": 1, "slope": 1},
)

__all__ = ["MEMBER"]
