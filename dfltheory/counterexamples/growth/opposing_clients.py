"""Opposing gradients from a common start, fitted to the distance of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.opposing_gradients import OpposingGradients
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
    """Return the problem of the schedule's step size."""
    numbers = counts(at) | {"L": at["L"]}
    chosen = algorithm(theorem, numbers)
    task = ramp_task(_ramps(at, hyperparameter(chosen, "eta"), at["K"]))
    run = two_clients(task, chosen, at, np.zeros((2, 1)))
    return run, numbers | network(at)


def _ramps(at: Numbers, eta: float, K: float) -> Ramps:
    """Return the functions of :mod:`..families.opposing_gradients`.

    L is given and sigma_g = L; h and its center are shares.
    """
    lam, one = np.array([1 - 1 / at["gap"]]), np.ones(1)
    fitted = RoundData(np.array([eta * at["L"]]), lam, np.zeros(1), round(K))
    read = Reader(np.array([[(at["h"] - 0.05) / 0.949, at["centre"]]]))
    ramps, _ = OpposingGradients().decode(read, fitted)
    return ramps.scaled(at["L"] * one, one)


MEMBER = Member(
    "opposing clients",
    make,
    {
        "T": (16, 32),
        "K": (1, 2, 8),
        "gap": (1.5, 4),
        "L": (1, 1e8),
        "h": (0.3, 0.95),
        "centre": (0.01, 0.6),
    },
    joint=("gap*T*T",),
)

__all__ = ["MEMBER"]
