"""Sharp identities, which hold in exact arithmetic for every run, with random runs in
unusual units.

Each is stated as a theorem whose bound is attained, so only rounding decides on which
side of it a measured value is. ``case(name, seed)`` draws a run: units of length and of
f, an offset of all clients, the precision, the network and the horizon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
import torch

import dfltheory as dfl
from dfltheory.algorithms.base import Algorithm, replace
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.bounds import Condition, LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, VALUE

mu, x_star_sq = s.mu, s.x_star_sq


@dataclass(frozen=True)
class Gossip(Algorithm):
    """A user's algorithm: plain averaging. ``eta`` defines a unit of time."""

    eta: float = 1.0

    def local_update(self, state: Any, grad: Any) -> Any:
        return replace(state, z=state.x)

    def communicate(self, state: Any, mix: Any) -> Any:
        return replace(state, x=mix(state.z))


@dataclass(frozen=True)
class Descent(Algorithm):
    """A user's gradient descent, which averages after each step."""

    eta: float
    ranges = ranges("eta")

    def local_update(self, state: Any, grad: Any) -> Any:
        return replace(state, z=state.x - self.eta * grad(state.x, grad.sample()))

    def communicate(self, state: Any, mix: Any) -> Any:
        return replace(state, x=mix(state.z))


class Draw(NamedTuple):
    """Sizes of one run.

    Step size eta/L, contraction, clients, dimension, horizon, units, offset, precision,
    and the orders of magnitude by which distances of starts from the minimum may differ
    from one unit.
    """

    rng: np.random.Generator
    share: float
    lam: float
    m: int
    d: int
    T: int
    length: float
    L: float
    offset: float
    dtype: torch.dtype
    reach: float = 3.0

    @property
    def eta(self) -> float:
        return self.share / self.L

    def centers(self, spread: float) -> np.ndarray:
        """Return the minimizers of the clients (m, d), around a point at the offset."""
        common = self.offset * self.rng.choice([-1.0, 1.0], self.d) + self.rng.normal(
            size=self.d
        )
        return self.length * (common + spread * self.rng.normal(size=(self.m, self.d)))

    def task(self, spread: float = 0.0) -> Any:
        """Return the quadratics (L/2)

        x - b_i

        ^2.
        """
        return dfl.tasks.Quadratic(self.L, self.centers(spread), dtype=self.dtype)

    def starts(self, task: Any, seeds: int, common: bool = True) -> np.ndarray:
        """Return a common start or one per client, (seeds, m, d), at distances of any
        order of magnitude.
        """
        size = (
            10.0 ** self.rng.uniform(-self.reach, self.reach, (seeds, 1, 1))
            * self.length
        )
        away = size * self.rng.normal(size=(seeds, 1 if common else self.m, self.d))
        return task.b.double().mean(0).numpy() + np.repeat(
            away, self.m // away.shape[1], axis=1
        )

    def network(self) -> np.ndarray:
        """Return lam I + (1 - lam) 11'/m."""
        return self.lam * np.eye(self.m) + (1 - self.lam) / self.m


def drawn(rng: np.random.Generator, longest: int) -> Draw:
    single = bool(rng.random() < 0.5)
    unit = 4 if single else 40
    length, value = 10.0 ** rng.uniform(-unit, unit, 2)
    near = rng.random() < 0.3
    return Draw(
        rng=rng,
        share=float(
            rng.choice([1.0, rng.uniform(0.01, 1.0), 10.0 ** rng.uniform(-6, 0)])
        ),
        lam=(
            1 - 10.0 ** rng.uniform(-5, 0)
            if near
            else float(rng.choice([rng.random(), 10.0 ** rng.uniform(-8, 0)]))
        ),
        m=int(rng.integers(2, 9)),
        d=int(rng.integers(1, 5)),
        T=int(10 * (longest / 10) ** rng.random()),
        length=length,
        L=float(np.float32(value / length**2) if single else value / length**2),
        offset=float(rng.choice([0.0, 10.0 ** rng.uniform(0, 6)])),
        dtype=torch.float32 if single else torch.float64,
    )


@dataclass(frozen=True)
class Identity:
    """A true statement, and how to run an algorithm that attains its bound."""

    theorem: Theorem
    run: Callable[[Draw, int], Any]


def statement(
    name: str, measure: str, bound: Any, scope: Scope, unit: Any = LENGTH_SQ
) -> Theorem:
    return Theorem(
        key=f"mine.{name}",
        variant="printed",
        kind="theorem",
        title=name,
        source="an identity",
        lhs=LeftSide(measure, "X", "last", last=s.T, unit=unit, averaging="at T"),
        parts={"all": sp.sympify(bound)},
        conditions=(Condition("eta L <= 1", s.eta * s.L, sp.Integer(1)),),
        scope=scope,
    )


def _train(draw: Draw, algorithm: Any, task: Any, W: Any, x0: np.ndarray) -> Any:
    return dfl.train(
        algorithm,
        task,
        W,
        rounds=draw.T,
        seeds=len(x0),
        x0=x0,
        evaluate_every=draw.T,
        metrics=[dfl.verdicts.dist_sq],
        progress=False,
    )


def _gossip(draw: Draw, seeds: int) -> Any:
    task = draw.task()
    return _train(
        draw,
        Gossip(eta=draw.eta),
        task,
        draw.network(),
        draw.starts(task, seeds, common=False),
    )


def _path_gossip(draw: Draw, seeds: int) -> Any:
    task = draw.task()
    W = dfl.graphs.metropolis(dfl.graphs.path(draw.m))
    return _train(
        draw, Gossip(eta=draw.eta), task, W, draw.starts(task, seeds, common=False)
    )


def _averaging(draw: Draw, seeds: int) -> Any:
    task = draw.task()
    W = dfl.graphs.metropolis(dfl.graphs.complete(draw.m))
    return _train(
        draw, Gossip(eta=draw.eta), task, W, draw.starts(task, seeds, common=False)
    )


def _with(
    algorithm: Callable[[float], Any], spread: float = 0.0, network: bool = True
) -> Any:
    def run(draw: Draw, seeds: int) -> Any:
        task = draw.task(spread)
        return _train(
            draw,
            algorithm(draw.eta),
            task,
            draw.network() if network else None,
            draw.starts(task, seeds),
        )

    return run


def _local_steps(draw: Draw, seeds: int) -> Any:
    task = draw.task()
    algorithm = dfl.algorithms.DFedAvg(eta=draw.eta, K=3)
    return _train(draw, algorithm, task, draw.network(), draw.starts(task, seeds))


def _push_sum(draw: Draw, seeds: int) -> Any:
    task = draw.task()
    ring = draw.lam * np.eye(draw.m) + (1 - draw.lam) * np.roll(
        np.eye(draw.m), 1, axis=0
    )
    return _train(
        draw, dfl.algorithms.SGP(eta=draw.eta), task, ring, draw.starts(task, seeds)
    )


def _step(draw: Draw, seeds: int) -> Any:
    return _with(
        lambda eta: dfl.algorithms.DPSGD(eta=eta, order="adapt-then-combine"), 1.0
    )(draw, seeds)


def _scope(
    algorithm: Any, network: str = "definition 1", **hyperparameters: Any
) -> Scope:
    return Scope(
        (algorithm,),
        network,
        common_start=algorithm is not Gossip,
        hyperparameters=hyperparameters,
    )


shrink = 1 - s.eta * mu
spread_shrink = s.lam * (1 - s.eta * s.L)
distance = shrink ** (2 * s.T) * x_star_sq
geometric = (1 - spread_shrink**s.T) / (1 - spread_shrink)

IDENTITIES: dict[str, Identity] = {
    "gossip": Identity(
        statement(
            "gossip", "consensus", s.lam ** (2 * s.T) * s.x0_spread, _scope(Gossip)
        ),
        _gossip,
    ),
    "gossip on a path": Identity(
        statement(
            "path", "consensus", s.lam ** (2 * s.T) * s.x0_spread, _scope(Gossip)
        ),
        _path_gossip,
    ),
    "exact averaging": Identity(
        statement(
            "averaging", "consensus", s.lam ** (2 * s.T) * s.x0_spread, _scope(Gossip)
        ),
        _averaging,
    ),
    "distance of gradient descent": Identity(
        statement("distance", "dist_sq", distance, _scope("FedAvg", "none", K=1)),
        _with(lambda eta: dfl.algorithms.FedAvg(eta=eta, K=1), network=False),
    ),
    "function gap of a user's descent": Identity(
        statement(
            "gap", "f_gap", shrink ** (2 * s.T) * s.f0_gap, _scope(Descent), VALUE
        ),
        _with(Descent),
    ),
    "gradient of a user's descent": Identity(
        statement(
            "gradient",
            "grad_norm_sq",
            2 * s.L * shrink ** (2 * s.T) * s.f0_gap,
            _scope(Descent),
            GRADIENT_SQ,
        ),
        _with(Descent),
    ),
    "mean of different clients": Identity(
        statement(
            "mean", "dist_sq", distance, _scope("DPSGD", order="combine-then-adapt")
        ),
        _with(lambda eta: dfl.algorithms.DPSGD(eta=eta), 100.0),
    ),
    "disagreement of different clients": Identity(
        statement(
            "disagreement",
            "consensus",
            (s.lam * s.eta * s.sigma_g * geometric) ** 2,
            _scope("DPSGD", order="adapt-then-combine"),
        ),
        _step,
    ),
    "local steps": Identity(
        statement(
            "local", "dist_sq", shrink ** (6 * s.T) * x_star_sq, _scope("DFedAvg", K=3)
        ),
        _local_steps,
    ),
    "momentum with alpha = 0": Identity(
        statement(
            "momentum",
            "f_gap",
            shrink ** (2 * s.T) * s.f0_gap,
            _scope("DFedAvgM", K=1, alpha=0.0),
            VALUE,
        ),
        _with(lambda eta: dfl.algorithms.DFedAvgM(eta=eta, K=1, alpha=0.0)),
    ),
    "push-sum": Identity(
        statement("push", "dist_sq", distance, _scope("SGP", "column-stochastic")),
        _push_sum,
    ),
    "gradient tracking": Identity(
        statement(
            "tracking", "dist_sq", distance, _scope("DSGT", order="adapt-then-combine")
        ),
        _with(lambda eta: dfl.algorithms.DSGT(eta=eta)),
    ),
}


def case(name: str, seed: int, seeds: int, longest: int) -> tuple[Draw, Any, Theorem]:
    """Draw a random run of an identity with the given number of starts."""
    draw = drawn(np.random.default_rng([seed, *map(ord, name)]), longest)
    identity = IDENTITIES[name]
    return draw, identity.run(draw, seeds), identity.theorem
