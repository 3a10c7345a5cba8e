"""Problems made by hand that refute false versions of statements without a search.

Two identical clients, W = 11'/2, no noise and no SAM. Each problem is for one kind of
mistake:

* :func:`late_descent` has a small gradient for all rounds but the last ones, so that
  the last round is far above the mean of the rounds.
* :func:`early_descent` has a large gradient in the first rounds only, so that the
  largest is far above the mean.
* :func:`oscillation` has step size 2/L, for which a parabola never converges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.algorithms.primal_dual import PrimalDual
from dfltheory.counterexamples.growth.member import (
    algorithm,
    hyperparameter,
    network,
)
from dfltheory.counterexamples.problems import TASKS, SplitTask
from dfltheory.counterexamples.ramps import Ramps, name_of_task
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

STEEP, FLAT = 1.0, 0.05
"""Gradients of the late and early descent."""
HORIZONS = (1000, 10_000)
STEPS = (0.05, 0.01, 0.002)
"""Step sizes that are tried where the statement has no schedule."""


@dataclass(frozen=True)
class Setting:
    """An algorithm of the scope of a statement, and a number of rounds."""

    theorem: Theorem
    chosen: Algorithm
    rounds: int

    @property
    def moved(self) -> float:
        """How far one round moves a client whose gradient is 1."""
        if isinstance(self.chosen, PrimalDual):
            return hyperparameter(self.chosen, "lam")
        name = "_u" if self.theorem.scope.two_blocks else ""
        eta = getattr(self.chosen, f"eta{name}")
        return float(eta * getattr(self.chosen, f"K{name}", 1))

    def run(self, ramps: Ramps, start: float) -> Instance:
        """Return the run of two identical clients from one start."""
        described = ramps.repeated(2).describe(0)
        x0 = np.full((2, 1), start)
        if self.theorem.scope.two_blocks:
            described |= {"name": name_of_task(SplitTask), "b": [0.0, 0.0], "h": 1.0}
            described["k"] = 0.0
            x0 = np.array([[start, 0.0], [start, 0.0]])
        fields = {name: value for name, value in described.items() if name != "name"}
        task = TASKS[described["name"]](**fields)
        W = np.full((2, 2), 0.5) if self.chosen.needs_topology else None
        return Instance(
            task,
            self.chosen,
            W,
            self.rounds,
            x0=x0,
            sources={"task": (task, described)},
        )


def settings(theorem: Theorem, steps: tuple[float, ...] = STEPS) -> Iterator[Setting]:
    """Yield algorithms at the schedule's step sizes, or at given ones; K = 1, L = 1."""
    names = {"eta", "eta_u", "eta_v", "lam_admm"}
    scheduled = bool(names & set(theorem.schedule))
    for T in HORIZONS:
        for eta in (1.0,) if scheduled else steps:
            numbers = {"m": 2, "T": T, "rho": 0.0, "rho0": 0.0, "alpha": 0.0}
            numbers |= dict.fromkeys(("K", "K_u", "K_v", "L", "L_u", "L_v"), 1)
            numbers |= network({"gap": 1.0})
            if not scheduled:
                numbers |= dict.fromkeys(names, eta)
            yield Setting(theorem, algorithm(theorem, numbers), T)


def late_descent(theorem: Theorem) -> Iterator[Instance]:
    """Yield slopes of FLAT that end in one of STEEP shortly before the last round.

    From FLAT to STEEP the gradient grows by a factor 1 + eta in each step. The steep
    slope lasts three rounds, and ends in a parabola.
    """
    for setting in settings(theorem):
        last = setting.theorem.lhs.rounds(setting.rounds).stop - 1
        grown = int(np.ceil(np.log(STEEP / FLAT) / np.log1p(setting.moved)))
        rise, steep = STEEP - FLAT, 3 * setting.moved
        for early in (0, 1, 2, 3):
            start = (last - grown - early) * setting.moved * FLAT
            if start < 0:
                continue
            knots = [[-rise - steep - STEEP, -rise]]
            widths = [[STEEP, rise]]
            ramps = Ramps.one(knots, widths, [[1.0, -1.0]], [0.0])
            yield setting.run(ramps, start)


def early_descent(theorem: Theorem) -> Iterator[Instance]:
    """Yield parabolas that all clients leave for their minimum."""
    for setting in settings(theorem):
        ramps = Ramps.one([[-1.0]], [[2.0]], [[1.0]], [-1.0])
        yield setting.run(ramps, 1.0)


def oscillation(theorem: Theorem) -> Iterator[Instance]:
    """Yield parabolas with step size 2 or slightly less."""
    for setting in settings(theorem, (2.0, 1.99)):
        ramps = Ramps.one([[-2.0]], [[4.0]], [[1.0]], [-2.0])
        yield setting.run(ramps, 1.0)


HAND_MADE: dict[str, Callable[[Theorem], Iterator[Instance]]] = {
    "late descent": late_descent,
    "early descent": early_descent,
    "oscillation": oscillation,
}

__all__ = ["HAND_MADE", "early_descent", "late_descent", "oscillation"]
