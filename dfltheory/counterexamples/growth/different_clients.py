"""Two clients with different minima."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.opposing_gradients import OpposingGradients
from dfltheory.counterexamples.growth.member import (
    Member,
    Numbers,
    chosen_algorithm,
    hyperparameter,
    ramp_run,
    two_clients,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.tasks.separable import Clipped
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def _opposing_clients(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return opposing gradients with a common start.

    They are fitted to the limiting distance of the clients for the schedule's step
    size.
    """
    chosen, numbers = chosen_algorithm(theorem, at, L=at["L"])
    ramps = _opposing_gradients(at, hyperparameter(chosen, "eta"), at["K"])
    return ramp_run(ramps, chosen, at, numbers)


def _opposing_gradients(at: Numbers, eta: float, K: float) -> Ramps:
    """Return the functions of :mod:`..families.opposing_gradients`.

    L is given, and sigma_g = L. The height h of the bump is a fraction of its maximum,
    and its center a fraction of h.
    """
    lam, ones = np.array([1 - 1 / at["gap"]]), np.ones(1)
    fitted = RoundData(np.array([eta * at["L"]]), lam, np.zeros(1), round(K))
    read = Reader(np.array([[(at["h"] - 0.05) / 0.949, at["centre"]]]))
    ramps, _ = OpposingGradients().decode(read, fitted)
    return ramps.scaled(at["L"] * ones, ones)


def _clipped_clients(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Return clipped quadratics with minima at distance +- spread."""
    chosen, numbers = chosen_algorithm(
        theorem, at, L=at["L"], rho0=at["rho0"], alpha=1 - 1 / at["alpha"]
    )
    c = np.array([[at["distance"] + at["spread"]], [at["distance"] - at["spread"]]])
    task = Clipped(c, h=at["L"], r=2 * float(np.abs(c).max()))
    return two_clients(task, chosen, at, numbers)


OPPOSING_CLIENTS = Member(
    "opposing clients",
    _opposing_clients,
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
CLIPPED_CLIENTS = Member(
    "clipped clients",
    _clipped_clients,
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

__all__ = ["CLIPPED_CLIENTS", "OPPOSING_CLIENTS"]
