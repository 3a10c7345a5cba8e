"""Problems constructed by hand that refute false versions of statements.

All have two identical clients, no noise and no SAM. Each problem targets one kind of
mistake; W = 11'/2 in the first three:

* In :func:`late_descent` the gradient is small except in the last rounds, so that its
  value in the last round far exceeds its mean over rounds.
* In :func:`early_descent` the gradient is large only in the first rounds, so that its
  maximum far exceeds its mean.
* :func:`oscillation` has step size 2/L, for which gradient descent on a parabola does
  not converge.
* In :func:`distant_starts` the mean of the shared parts starts at the minimum, and the
  clients far from it, so that only the term of the initialization bounds the
  personal gradients.
* In :func:`flat_starts` the gradients are 0 at the clients' models, and not at their
  mean, so that a bound of the gradients along the run is almost 0.
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
from dfltheory.counterexamples.problems import SplitTask, task_of
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
        task = task_of(described)
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


# -- clients with different starts


BOWL = {
    "knots": [[-1.0]] * 2,
    "widths": [[2.0]] * 2,
    "slopes": [[1.0]] * 2,
    "left": [-1.0] * 2,
    "b": [0.0] * 2,
    "h": 1.0,
    "k": 1.0,
}
"""F(u, v) = r(u) + v^2/2 + sin(u) sin(v), r' = clip(u, -1, 1), of two clients.

It has L_u = L_v = 2, and the Hessian at the minimum is that of (u + v)^2/2.
"""
DISTANCE = 0.5
"""Distance of the clients' shared parts from their mean."""
STARTS = ((1.0, 1, 64), (1e4, 3000, 1))
"""1/(1 - lam), T and K_v of :func:`distant_starts`."""
SCHEDULED_STARTS = ((1.0, 1024, 1), (1e3, 10**15, 1))
"""The same for statements with a schedule."""
SMALL = 1e-7
"""a, so small that the shared parts hardly move; and b, unless K_v is large."""
LARGE = 1 / 16
"""b for a large K_v, in the single round of which the personal parts move."""


def distant_starts(theorem: Theorem) -> Iterator[Instance]:
    """Yield bowls in which the clients start on both sides of the minimum.

    The personal gradients are +-sin(u_i), as v = 0, and the gossip alone makes them
    smaller.
    """
    if not theorem.scope.two_blocks:
        return
    scheduled = theorem.kind != "theorem" and "eta_u" in theorem.schedule
    for span, T, K_v in SCHEDULED_STARTS if scheduled else STARTS:
        numbers: dict[str, float] = {"m": 2, "T": T, "K_u": 1, "K_v": K_v}
        numbers |= {"L_u": 2.0, "L_v": 2.0, "rho": 0.0, "rho0": 0.0}
        numbers |= network({"gap": span})
        if not scheduled:
            b = SMALL if K_v == 1 else LARGE
            numbers |= {"eta_u": SMALL / 2, "eta_v": b / (2 * K_v)}
        described = {"name": name_of_task(SplitTask), **BOWL}
        task = task_of(described)
        w = 1 / (2 * span)
        yield Instance(
            task,
            algorithm(theorem, numbers),
            np.array([[1 - w, w], [w, 1 - w]]),
            T,
            x0=np.array([[DISTANCE, 0.0], [-DISTANCE, 0.0]]),
            sources={"task": (task, described)},
        )


WEAK = 2.0**-30
"""Weight between the clients of :func:`flat_starts`, which almost do not communicate.
"""
OUTSIDE = 1 + 2.0**-10
"""Distance of these clients from the middle of a dip between -1 and 1."""


def flat_starts(theorem: Theorem) -> Iterator[Instance]:
    """Yield clients that start on both sides of a dip.

    f'(x) = |x| - 1 for |x| < 1, and 0 elsewhere, also where the clients are.
    """
    if theorem.scope.two_blocks:
        return
    ramps = Ramps.one([[-1.0, 0.0]], [[1.0, 1.0]], [[-1.0, 1.0]], [0.0]).repeated(2)
    described = ramps.describe(0)
    for T in (100, 1000):
        numbers = {"m": 2, "T": T, "K": 1, "L": 1, "alpha": 0.0, "rho": 0.0}
        numbers |= {"rho0": 0.0} | network({"gap": 0.5 / WEAK})
        if not theorem.schedule:
            numbers["eta"] = 0.5
        task = task_of(described)
        yield Instance(
            task,
            algorithm(theorem, numbers),
            np.array([[1 - WEAK, WEAK], [WEAK, 1 - WEAK]]),
            T,
            x0=np.array([[-OUTSIDE], [OUTSIDE]]),
            sources={"task": (task, described)},
        )


HAND_MADE: dict[str, Callable[[Theorem], Iterator[Instance]]] = {
    "late descent": late_descent,
    "early descent": early_descent,
    "oscillation": oscillation,
    "distant starts": distant_starts,
    "flat starts": flat_starts,
}

__all__ = [
    "HAND_MADE",
    "distant_starts",
    "early_descent",
    "flat_starts",
    "late_descent",
    "oscillation",
]
