"""Two identical clients u^2/2 + (h_v/2) v^2 at the minimum, with noise in v."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory.counterexamples.growth.member import Member, Numbers, split_run
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def _noisy_heads(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem, in which u stays at 0."""
    ramps = Ramps.one([[-10.0]], [[20.0]], [[1.0]], [-10.0]).repeated(2)
    return split_run(theorem, at, ramps, h=at["h_v"], sigma_v=at["sigma_v"])


NOISY_HEADS = Member(
    "noisy heads",
    _noisy_heads,
    {
        "T": (16,),
        "K_u": (1,),
        "K_v": (1, 2),
        "gap": (1.1, 4),
        "h_v": (0.1, 10),
        "sigma_v": (0.1, 10),
    },
    parameters=("T",),
    two_blocks=True,
    plain={"T": 16, "K_u": 1, "K_v": 1, "gap": 1, "h_v": 1, "sigma_v": 1},
)

__all__ = ["NOISY_HEADS"]
