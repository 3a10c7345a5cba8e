"""The shared part is :mod:`.separate_wells`; the personal parts stay at the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory.counterexamples.growth.member import Member, Numbers, split_run
from dfltheory.counterexamples.growth.separate_wells import STARTS, two_minima
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem whose shared parts start in different wells."""
    return split_run(theorem, at, two_minima(), starts=STARTS)


MEMBER = Member(
    "separate wells of the shared part",
    make,
    {"T": (16,), "K_u": (1,), "K_v": (1,), "gap": (16, 16)},
    joint=("T*gap",),
    two_blocks=True,
    apart=True,
    drawn=False,
    plain={"T": 16, "K_u": 1, "K_v": 1, "gap": 16},
)

__all__ = ["MEMBER"]
