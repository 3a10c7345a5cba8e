"""Almost identical clients that part from a common start between two wells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.families.shapes import wells
from dfltheory.counterexamples.growth.member import Member, Numbers, split_run
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem of heterogeneity e/T; the wells are those of two_wells."""
    v, one = np.array([at["v"]]), np.ones(1)
    ramps = wells(v, one, np.array([at["e"] / at["T"]])).scaled(at["h"] * one, one)
    return split_run(theorem, at, ramps)


MEMBER = Member(
    "parting clients",
    make,
    {
        "T": (128, 256),
        "K_u": (1, 2),
        "K_v": (1,),
        "gap": (100, 400),
        "h": (1.0, 1.0),
        "v": (0.05, 0.4),
        "e": (0.01, 1),
    },
    joint=("T*gap",),
    two_blocks=True,
)

__all__ = ["MEMBER"]
