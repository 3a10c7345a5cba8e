"""Identical clients with noise, which start at the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    chosen_algorithm,
    network,
)
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def _noisy_clients(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return m parabolas (L/2) x^2, where f - f* = 0 at the start.

    Noise alone moves the mean model, so that every term without it vanishes.
    """
    clients, lam = round(at["m"]), 1 - 1 / at["gap"]
    chosen, numbers = chosen_algorithm(
        theorem, at, L=at["L"], sigma_l=at["sigma"], lam=lam
    )
    task = Quadratic(at["L"], np.zeros((clients, 1)), noise=at["sigma"])
    W = lam * np.eye(clients) + (1 - lam) / clients
    instance = Instance(task, chosen, W, round(at["T"]))
    return instance, numbers | network(at)


NOISY_CLIENTS = Member(
    "noisy clients",
    _noisy_clients,
    {
        "T": (16, 32),
        "K": (1, 2, 4),
        "m": (2, 3),
        "gap": (1.1, 4),
        "L": (0.1, 10),
        "sigma": (0.1, 1000),
    },
    joint=("m*T", "T*K"),
    parameters=("m", "K"),
)

__all__ = ["NOISY_CLIENTS"]
