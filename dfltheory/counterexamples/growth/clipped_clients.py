"""Two clients on a clipped quadratic each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    algorithm,
    counts,
    network,
    two_clients,
)
from dfltheory.tasks.separable import Clipped
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def make(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return the problem with minima at distance +- spread."""
    numbers = counts(at) | {
        "L": at["L"],
        "rho0": at["rho0"],
        "alpha": 1 - 1 / at["alpha"],
    }
    c = np.array([[at["distance"] + at["spread"]], [at["distance"] - at["spread"]]])
    task = Clipped(c, h=at["L"], r=2 * float(np.abs(c).max()))
    run = two_clients(task, algorithm(theorem, numbers), at)
    return run, numbers | network(at)


MEMBER = Member(
    "clipped clients",
    make,
    {
        "T": (16, 32),
        "K": (1, 2),
        "gap": (1.1, 20),
        "alpha": (1.01, 5),
        "L": (1e-3, 10),
        "distance": (0.1, 10),
        "spread": (0.01, 1),
        "rho0": (0.1, 3),
    },
    joint=("T*K",),
    parameters=("T", "K", "gap", "alpha"),
)

__all__ = ["MEMBER"]
