"""Clients with constant gradients, on slopes that they do not leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.algorithms.primal_dual import PrimalDual
from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    chosen_algorithm,
    hyperparameter,
    ramp_run,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def _long_slope(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return identical clients on a slope that T rounds of one step do not leave.

    The gradient is B = ``slope`` in every round, the minimum is at the end of the
    slope, and f(0) - f* = T eta B^2 + B^2/(2 L). With one local step per round,
    momentum has no effect.
    """
    chosen, numbers = chosen_algorithm(
        theorem, at, L=at["L"], alpha=1 - 1 / at["alpha"]
    )
    moved = hyperparameter(chosen, "eta")
    return _on_a_slope(chosen, at, numbers, moved)


def _many_local_steps(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return identical clients on a slope that T rounds of K steps do not leave.

    A round moves the auxiliary sequence of DFedADMM by lam_admm B, and the mean model
    of other algorithms by at most eta K B. The minimum is at the end of the slope.
    """
    chosen, numbers = chosen_algorithm(theorem, at, L=at["L"])
    if isinstance(chosen, PrimalDual):
        moved = hyperparameter(chosen, "lam")
    else:
        moved = hyperparameter(chosen, "eta") * numbers["K"]
    return _on_a_slope(chosen, at, numbers, moved)


def _on_a_slope(
    chosen: Algorithm, at: Numbers, numbers: Numbers, moved: float
) -> tuple[Instance, Numbers]:
    """Return clients on a slope of the length T times ``moved`` times B."""
    B, width = at["slope"], at["slope"] / at["L"]
    end = -numbers["T"] * moved * B - width
    ramps = Ramps.one([[end]], [[width]], [[at["L"]]], [0.0]).repeated(2)
    return ramp_run(ramps, chosen, at, numbers)


def _opposing_slopes(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return clients on opposing slopes with a step of the gradient between them.

    f_1' = slope + L clip(x + 1, 0, 1) and f_2' = -slope + L clip(x + 1, 0, 1) - L
    clip(x, 0, 1). The slopes pull the clients away from the step to opposite sides,
    where their gradients cancel. So the mean stays on the step, with a gradient close
    to L.
    """
    chosen, numbers = chosen_algorithm(theorem, at, L=at["L"])
    L = at["L"]
    ramps = Ramps(
        np.array([[[-1.0, 0.0], [-1.0, 0.0]]]),
        np.ones((1, 2, 2)),
        np.array([[[L, 0.0], [L, -L]]]),
        np.array([[at["slope"], -at["slope"]]]),
    )
    return ramp_run(ramps, chosen, at, numbers)


LONG_SLOPE = Member(
    "long slope",
    _long_slope,
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
MANY_LOCAL_STEPS = Member(
    "slope of many local steps",
    _many_local_steps,
    {"T": (16, 32), "K": (16, 32), "gap": (1, 2), "L": (0.1, 10), "slope": (0.1, 10)},
    joint=("T*K",),
    needs="K",
    drawn=False,
    plain={"T": 16, "K": 16, "gap": 1, "L": 1, "slope": 1},
)
OPPOSING_SLOPES = Member(
    "opposing slopes",
    _opposing_slopes,
    {"T": (64,), "K": (1, 2), "gap": (2, 8), "L": (0.1, 10), "slope": (1, 100)},
    joint=("gap*T*T",),
    drawn=False,
    plain={"T": 64, "K": 1, "gap": 4, "L": 1, "slope": 10},
)

__all__ = ["LONG_SLOPE", "MANY_LOCAL_STEPS", "OPPOSING_SLOPES"]
