"""Identical clients that SAM never moves, although their gradient is not 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    chosen_algorithm,
    ramp_run,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import InputError
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def _sam_trap(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return clients with f'(x) = L max(rho - |x|, 0), which start at 0.

    SAM takes its gradient at rho, where it is 0. With the radius of the schedule,
    f - f* = L rho^2/2 at the start shrinks as T grows.
    """
    chosen, numbers = chosen_algorithm(theorem, at, L=at["L"], rho0=at["rho0"])
    radius = float(getattr(chosen, "rho", 0.0))
    if radius <= 0:
        raise InputError(f"{theorem} determines no radius of SAM")
    slope = at["L"]
    ramps = Ramps.one(
        [[-radius, 0.0]], [[radius, radius]], [[slope, -slope]], [0.0]
    ).repeated(2)
    return ramp_run(ramps, chosen, at, numbers)


SAM_TRAP = Member(
    "SAM trap",
    _sam_trap,
    {
        "T": (16, 32),
        "K": (1, 2),
        "gap": (1.1, 2),
        "L": (0.1, 10),
        "rho0": (0.1, 10),
    },
    joint=("T*K",),
)

__all__ = ["SAM_TRAP"]
