"""Two clients in different wells of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.families.shapes import wells
from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    chosen_algorithm,
    ramp_run,
    split_run,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

STARTS = (-1.0, 2.0)
"""Starts of the two clients, in the two minima of :func:`_two_minima`."""


def _two_minima() -> Ramps:
    """Return f' with slope 1 around minima at -1 and 2, and slope -1 in between."""
    return Ramps.one(
        [[-2.0, -0.5, 1.5]], [[1.5, 1.0, 3.0]], [[1.0, -1.0, 1.0]], [-1.0]
    ).repeated(2)


def _separate_wells(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return identical clients, one in the minimum at -1 and one in the minimum at 2.

    There is one local step per round. Gossip moves both clients inward by the same
    distance, so that their mean stays at 1/2, where the gradient is -1/2.
    """
    chosen, numbers = chosen_algorithm(theorem, at, K=1, L=1.0)
    return ramp_run(_two_minima(), chosen, at, numbers, STARTS)


def _shared_parts(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return separate wells of the shared parts; personal parts are at the minimum."""
    return split_run(theorem, at, _two_minima(), starts=STARTS)


def _parting_clients(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return almost identical clients that separate from a common start.

    Their heterogeneity is e/T. For the wells, see :mod:`..families.two_wells`.
    """
    v, ones = np.array([at["v"]]), np.ones(1)
    ramps = wells(v, ones, np.array([at["e"] / at["T"]])).scaled(at["h"] * ones, ones)
    return split_run(theorem, at, ramps)


SEPARATE_WELLS = Member(
    "separate wells",
    _separate_wells,
    {"T": (64,), "gap": (64, 64)},
    joint=("T*gap",),
    different_starts=True,
    drawn=False,
)
SHARED_PARTS = Member(
    "separate wells of the shared part",
    _shared_parts,
    {"T": (16,), "K_u": (1,), "K_v": (1,), "gap": (16, 16)},
    joint=("T*gap",),
    two_blocks=True,
    different_starts=True,
    drawn=False,
    plain={"T": 16, "K_u": 1, "K_v": 1, "gap": 16},
)
PARTING_CLIENTS = Member(
    "parting clients",
    _parting_clients,
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

__all__ = ["PARTING_CLIENTS", "SEPARATE_WELLS", "SHARED_PARTS"]
