"""Small problems in which every expectation is a finite sum.

Clients have gradients that are piecewise linear on a grid, a minibatch has finitely
many outcomes, and a run enumerates the outcomes of all minibatches. The numbers are
dyadic, so that :meth:`FiniteProblem.exact` is the same problem in rational numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray
"""An array of floating-point numbers, or of rational ones as objects."""
Number = float
"""A floating-point number, or a Fraction after :func:`exact`. The annotation does not
mention Fraction, because numpy's types have no arithmetic of arrays with it.
"""
Step = Callable[[Array, Array, Array, Array], Array]
"""The next local model from the local model, its gradient, the start and the dual."""
LOW, STEP, KNOTS = -3, Fraction(1, 2), 13
"""Gradients are linear between the knots LOW, LOW + STEP, ..., and constant outside of
them.
"""


class Recording:
    """Lists of arrays by name: quantities of a round, and of each step of a round."""

    def __init__(self, of_rounds: tuple[str, ...], of_steps: tuple[str, ...]) -> None:
        self._steps = of_steps
        for name in (*of_rounds, *of_steps):
            setattr(self, name, [])

    def __getattr__(self, name: str) -> list[Any]:
        """Raise an error that names the missing quantity."""
        raise AttributeError(f"this run has no {name!r}")

    def start_round(self, **arrays: Array) -> None:
        """Start a list of steps for a new round, and record its quantities."""
        for name in self._steps:
            getattr(self, name).append([])
        self.add(**arrays)

    def add(self, **arrays: Array) -> None:
        """Record quantities of this round or of one of its steps."""
        for name, array in arrays.items():
            values = getattr(self, name)
            if name in self._steps:
                values = values[-1]
            values.append(array)


def exact(value: object) -> object:
    """Return a dyadic number, an array or a problem in rational numbers."""
    if isinstance(value, FiniteProblem):
        changed = {f.name: exact(getattr(value, f.name)) for f in fields(value)}
        return replace(value, **changed)
    if isinstance(value, np.ndarray):
        rational = [Fraction(float(number)) for number in value.ravel()]
        return np.array(rational, dtype=object).reshape(value.shape)
    return Fraction(value) if isinstance(value, float) else value


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Clients, network, start and hyperparameters of one finite problem.

    The gradient of client i at x is ``curve x + tables[i]``, coordinate by coordinate;
    minibatch a adds ``noise[a, i]``. ``samplewise``: L bounds the slope of every
    minibatch's gradient, not only the clients'.
    """

    curve: Number
    tables: Array  # (m, d, knots): values at the knots
    noise: Array  # (outcomes of a minibatch, m, d, knots): mean zero under chances
    chances: Array
    W: Array  # (m, m)
    lam: Number
    start: Array  # (m, d)
    eta: Number
    rho: Number
    penalty: Number
    K: int
    Q: int
    T: int
    samplewise: bool

    @property
    def one(self) -> Number:
        """1 in the arithmetic of this problem."""
        return 1 + 0 * self.curve

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.tables.shape[0]

    # -- constants of the assumptions

    @cached_property
    def L(self) -> Number:
        """Smoothness of the clients (``samplewise``: of every minibatch); positive."""
        tables = (
            self.tables[None] + self.noise if self.samplewise else self.tables[None]
        )
        slope = abs(self.curve + np.diff(tables, axis=-1) / self._step).max()
        return max(slope, abs(self.curve), self.one / 16)

    @cached_property
    def sigma_l_sq(self) -> Number:
        """Largest variance of a minibatch's gradient at one point."""
        return self._variance.max(axis=-1).sum(axis=-1).max()

    @cached_property
    def sigma_l_sq_two_points(self) -> Number:
        """Largest E||grad F_i(y; xi) - grad f_i(x)||^2 over x and y (``curve`` = 0)."""
        between = (self.tables[..., :, None] - self.tables[..., None, :]) ** 2
        return (
            (between + self._variance[..., :, None])
            .max(axis=(-1, -2))
            .sum(axis=-1)
            .max()
        )

    @cached_property
    def sigma_g_sq(self) -> Number:
        """Largest (1/m) sum_i ||grad f_i - grad f||^2."""
        return ((self._deviation**2).sum(axis=0) / self.m).max(axis=-1).sum()

    @cached_property
    def beta_sq(self) -> Number:
        """max_i max ||grad f_i - grad f||^2."""
        return (self._deviation**2).max(axis=-1).sum(axis=-1).max()

    @cached_property
    def B_sq(self) -> Number:
        """max_i max ||grad f_i||^2 (``curve`` = 0)."""
        return (self.tables**2).max(axis=-1).sum(axis=-1).max()

    @property
    def _variance(self) -> Array:
        return (self.chances[:, None, None, None] * self.noise**2).sum(axis=0)

    @property
    def _deviation(self) -> Array:
        return self.tables - self.tables.sum(axis=0) / self.m

    @cached_property
    def _step(self) -> Number:
        return STEP + 0 * self.curve

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Indices of clients and coordinates, which broadcast to those of a point."""
        return np.arange(self.m)[:, None], np.arange(self.tables.shape[1])

    # -- functions

    def _cell(self, x: Array) -> tuple[Array, Array]:
        """Return the knot at or below each coordinate, and the share of the way on.

        The share is in [0, 1].
        """
        scaled = (x - LOW) / self._step
        cell = np.minimum(np.maximum(np.floor(scaled), 0), KNOTS - 2).astype(int)
        return cell, np.minimum(np.maximum(scaled - cell, 0 * self.curve), self.one)

    def gradients(self, x: Array) -> Array:
        """Return grad f_i at ``x[..., i, :]`` for every client i."""
        cell, share = self._cell(x)
        low, high = self.tables[*self._axes, cell], self.tables[*self._axes, cell + 1]
        return self.curve * x + low + share * (high - low)

    def sampled(self, x: Array, coin: Array) -> Array:
        """Return grad F_i at ``x[..., i, :]`` on minibatch ``coin[..., i]``."""
        cell, share = self._cell(x)
        place = (coin[..., None], *self._axes)
        low, high = self.noise[*place, cell], self.noise[*place, cell + 1]
        return self.gradients(x) + low + share * (high - low)

    def at(self, x: Array) -> Array:
        """Return grad f_i at one point for every client: (..., d) to (..., m, d)."""
        return self.gradients(np.repeat(x[..., None, :], self.m, axis=-2))

    def gradient(self, x: Array) -> Array:
        """Return grad f at ``x``, (..., d)."""
        return self.at(x).sum(axis=-2) / self.m

    def value(self, x: Array) -> Array:
        """Return f at ``x``, (..., d) to (...)."""
        slopes, d = self.tables.sum(axis=0) / self.m, np.arange(x.shape[-1])
        increases = (slopes[:, 1:] + slopes[:, :-1]) / 2 * self._step
        at_nodes = np.cumsum(increases, axis=-1)
        at_nodes = np.concatenate([0 * at_nodes[:, :1], at_nodes], axis=-1)
        cell, share = self._cell(x)
        first, last = slopes[d, cell], slopes[d, cell + 1]
        within_cell = share * first + share**2 * (last - first) / 2
        inside = at_nodes[d, cell] + self._step * within_cell
        below = np.minimum(x - LOW, 0) * slopes[d, 0]
        above = np.maximum(x + LOW, 0) * slopes[d, -1]
        parabola = self.curve * x**2 / 2
        return (parabola + inside + (below + above)).sum(axis=-1)

    # -- expectations

    @cached_property
    def coins(self) -> Array:
        """Every outcome of the minibatches: (outcomes, T, K, m)."""
        cells = self.T * self.K * self.m
        outcomes = list(itertools.product(range(len(self.chances)), repeat=cells))
        return np.array(outcomes, dtype=int).reshape(-1, self.T, self.K, self.m)

    @cached_property
    def probabilities(self) -> Array:
        """Probability of each outcome."""
        return self.chances[self.coins].reshape(len(self.coins), -1).prod(axis=1)

    def mean(self, a: Array) -> Number:
        """Return the mean of scalars (outcomes, ...) over outcomes and other axes."""
        weights = self.probabilities.reshape(-1, *[1] * (a.ndim - 1))
        return (weights * a).sum() / (a.size // len(a))

    def inner(self, a: Array, b: Array) -> Number:
        """Return (1/m) sum_i E<a_i, b_i>."""
        return self.mean((a * b).sum(axis=-1))

    def sq(self, a: Array) -> Number:
        """Return (1/m) sum_i E||a_i||^2."""
        return self.inner(a, a)

    # -- runs

    def ascent(self, g: Array) -> Array:
        """Return rho g/||g||, and 0 where g = 0; rational in one dimension."""
        least = 0 if isinstance(self.curve, Fraction) else 1e-12
        if g.shape[-1] == 1:
            return self.rho * ((g > least) * 1 - (g < -least) * 1)
        size = np.linalg.norm(g, axis=-1, keepdims=True)
        return np.where(size > least, self.rho * g / np.maximum(size, least), 0)

    def everywhere(self, x: Array) -> Array:
        """Return one value in every outcome: (m, d) to (outcomes, m, d)."""
        return np.repeat(x[None], len(self.coins), axis=0)

    def mixed(self, z: Array, times: int = 1) -> Array:
        """Return W^times z."""
        W = np.linalg.matrix_power(self.W, times)
        return np.swapaxes(np.tensordot(W, z, axes=(1, 1)), 0, 1)

    @cached_property
    def gossip(self) -> Recording:
        """DFedSAM-MGS: K steps of SAM and Q gossip steps a round."""
        return self._run(self.rho, self._gradient_step, dual=False)

    @cached_property
    def admm_sam(self) -> Recording:
        """DFedADMM-SAM; its duals start at 0."""
        return self._run(self.rho, self._dual_step, dual=True)

    @cached_property
    def admm(self) -> Recording:
        """DFedADMM."""
        return self._run(0 * self.rho, self._dual_step, dual=True)

    def _gradient_step(self, y: Array, g: Array, x: Array, dual: Array) -> Array:
        return y - self.eta * g

    def _dual_step(self, y: Array, g: Array, x: Array, dual: Array) -> Array:
        return y - self.eta * (g - dual + (y - x) / self.penalty)

    def _run(
        self,
        rho: Number,
        step: Step,
        dual: bool,
    ) -> Recording:
        """Record T rounds of y <- step(y, gradient, x, dual).

        With duals, z = y - penalty dual is sent once.

        Recorded: models ``x[t]``, sent models ``z[t]``, duals ``dual[t]`` before round
        t; by step local models ``y[t][k]``, ascents ``delta[t][k]``, and the gradients
        of one minibatch at the local and at the ascended models, ``g[t][k]`` and
        ``sam[t][k]``.
        """
        problem = replace(self, rho=rho)
        run = Recording(("x", "z", "dual"), ("y", "delta", "g", "sam"))
        x = self.everywhere(self.start)
        h = 0 * x
        for t in range(self.T):
            y = x
            run.start_round(x=x, dual=h)
            for k in range(self.K):
                coin = self.coins[:, t, k]
                g = problem.sampled(y, coin)
                delta = problem.ascent(g)
                sam = problem.sampled(y + delta, coin)
                run.add(y=y, delta=delta, g=g, sam=sam)
                y = step(y, sam, x, h)
            run.add(y=y, z=y - self.penalty * h if dual else y)
            h = h - (y - x) / self.penalty if dual else h
            x = self.mixed(run.z[t], 1 if dual else self.Q)
        run.add(x=x, dual=h)
        return run


def second_eigenvalue(W: Array) -> float:
    """Return the norm of W - 11'/m, which is lambda of a mixing matrix."""
    return float(np.linalg.norm(W - np.ones_like(W) / len(W), 2))


def cycle(n: int) -> Array:
    """Return the sum of the two shifts of a ring."""
    return np.roll(np.eye(n), 1, 0) + np.roll(np.eye(n), -1, 0)


def torus(side: int) -> Array:
    """Return the sum of the four shifts of a square torus."""
    return np.kron(cycle(side), np.eye(side)) + np.kron(np.eye(side), cycle(side))


def average_clients(a: Array) -> Array:
    """Return the mean over the clients, (..., m, d) to (..., d)."""
    return a.sum(axis=-2) / a.shape[-2]


def centered(a: Array) -> Array:
    """Return the deviations from the mean over the clients."""
    return a - average_clients(a)[..., None, :]


__all__ = [
    "KNOTS",
    "Array",
    "FiniteProblem",
    "Number",
    "Recording",
    "average_clients",
    "centered",
    "cycle",
    "exact",
    "second_eigenvalue",
    "torus",
]
