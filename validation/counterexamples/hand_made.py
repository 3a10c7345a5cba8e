"""Problems constructed by hand that refute false versions of statements.

All have two identical clients, W = 11'/2, no noise and no SAM. Each problem targets one
kind of mistake:

* In :func:`late_descent` the gradient is small except in the last rounds, so that its
  value in the last round far exceeds its mean over rounds.
* In :func:`early_descent` the gradient is large only in the first rounds, so that its
  maximum far exceeds its mean.
* :func:`oscillation` has step size 2/L, for which gradient descent on a parabola does
  not converge.
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
"""Gradients of :func:`late_descent`."""
HORIZONS = (1000, 10_000)
STEPS = (0.05, 0.01, 0.002)
"""Step sizes that are tried if the statement has no schedule."""


@dataclass(frozen=True)
class Setting:
    """An algorithm in the scope of a statement, and a number of rounds."""

    theorem: Theorem
    chosen: Algorithm
    rounds: int

    @property
    def moved(self) -> float:
        """Distance by which one round moves a client whose gradient is 1."""
        if isinstance(self.chosen, PrimalDual):
            return hyperparameter(self.chosen, "lam")
        name = "_u" if self.theorem.scope.two_blocks else ""
        eta = getattr(self.chosen, f"eta{name}")
        return float(eta * getattr(self.chosen, f"K{name}", 1))

    def run(self, ramps: Ramps, start: float) -> Instance:
        """Return an instance with two identical clients and a common start."""
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
    """Yield algorithms with K = 1 at L = 1.

    Step sizes are those of the schedule; without a schedule, those of ``steps``.
    """
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
    """Yield losses with slope FLAT that becomes STEEP shortly before the last round.

    In between, the gradient grows by a factor 1 + eta in each step. The steep slope
    lasts for three rounds and ends in a parabola.
    """
    for setting in settings(theorem):
        last = setting.theorem.lhs.rounds(setting.rounds).stop - 1
        rounds_of_rise = int(np.ceil(np.log(STEEP / FLAT) / np.log1p(setting.moved)))
        rise, steep = STEEP - FLAT, 3 * setting.moved
        for early in (0, 1, 2, 3):
            start = (last - rounds_of_rise - early) * setting.moved * FLAT
            if start < 0:
                continue
            knots = [[-rise - steep - STEEP, -rise]]
            widths = [[STEEP, rise]]
            ramps = Ramps.one(knots, widths, [[1.0, -1.0]], [0.0])
            yield setting.run(ramps, start)


def early_descent(theorem: Theorem) -> Iterator[Instance]:
    """Yield parabolas; both clients start away from the minimum."""
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
