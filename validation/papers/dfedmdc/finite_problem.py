"""Finite problems with a shared block u and personal blocks v."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
)


@dataclass(frozen=True, eq=False)
class BlocksProblem(FiniteProblem):
    """F_i(u, v) = A_i(u) + B_i(v) + H_i(a u + b v), with piecewise linear derivatives.

    They are the three coordinates of ``tables`` and ``noise``. The K = K_v + K_u
    minibatches of a round are fresh; ``one_batch``: the first one serves the whole
    round. A line is about the last round and step ``k``.
    """

    a: Number = 1.0
    b: Number = 1.0
    K_u: int = 1
    K_v: int = 1
    eta_v: Number = 1.0
    one_batch: bool = False
    k: int = 0

    # -- constants

    @cached_property
    def _slopes(self) -> Array:
        """The largest slopes of A', B' and H' over the clients."""
        return abs(np.diff(self.tables, axis=-1) / self._step).max(axis=(0, 2))

    @cached_property
    def L_u(self) -> Number:
        """Largest slope of grad_u F_i in u; positive."""
        return max(self._slopes[0] + self.a**2 * self._slopes[2], self.one / 16)

    @property
    def sigma_u_sq(self) -> Number:
        """Largest variance of grad_u on a minibatch."""
        return self._variance[:, 0].max()

    @cached_property
    def delta_sq(self) -> Number:
        """The largest spread of grad_u over u and V.

        The choice of v gives H' any value of its range.
        """
        of_A, of_H = self.tables[:, 0], self.tables[:, 2]
        ends = np.stack([of_H.min(axis=-1), of_H.max(axis=-1)])
        clients = range(self.m)
        largest = 0 * self.one
        for pick in itertools.product((0, 1), repeat=self.m):
            slopes = of_A + self.a * ends[list(pick), clients][:, None]
            deviations = slopes - slopes.sum(axis=0) / self.m
            spread = (deviations**2).sum(axis=0).max() / self.m
            largest = max(largest, spread)
        return largest

    # -- functions

    def in_u(self, u: Array, v: Array, coin: Array | None = None) -> Array:
        """grad_u F_i(u_i, v_i), on a minibatch where one is given."""
        slopes = self._blocks(u, v, coin)
        return slopes[..., 0] + self.a * slopes[..., 2]

    def in_v(self, u: Array, v: Array, coin: Array | None = None) -> Array:
        """grad_v F_i(u_i, v_i)."""
        slopes = self._blocks(u, v, coin)
        return slopes[..., 1] + self.b * slopes[..., 2]

    def _blocks(self, u: Array, v: Array, coin: Array | None) -> Array:
        x = np.stack([u, v, self.a * u + self.b * v], axis=-1)
        return self.gradients(x) if coin is None else self.sampled(x, coin)

    def in_shared(self, u: Array, v: Array) -> Array:
        """grad_u F(u, V), (outcomes,) or (outcomes, clients) to the same."""
        if u.ndim == 1:
            return self.in_u(self.at_clients(u), v).mean(axis=1)
        return np.stack([self.in_shared(u[:, i], v) for i in range(self.m)], axis=1)

    def at_clients(self, u: Array) -> Array:
        """Return a value of each outcome at every client, (outcomes, m)."""
        return np.repeat(u[:, None], self.m, axis=1)

    # -- the run

    @cached_property
    def run(self) -> Recording:
        """T rounds: by round and step ``u``, ``v``, and gradients in u.

        Gradients of one minibatch are taken at the iterate (``g``) and at the ascended
        point (``sam``).
        """
        run = Recording((), ("u", "v", "g", "sam"))
        u, v = (
            np.repeat(self.start[None, :, c], len(self.coins), axis=0) for c in (0, 1)
        )
        for t in range(self.T):
            run.start_round()
            order = [0] * self.K if self.one_batch else range(self.K)
            coins = [self.coins[:, t, k] for k in order]
            for coin in coins[: self.K_v]:
                run.add(v=v)
                v = v - self.eta_v * self.in_v(u, v, coin)
            run.add(v=v)
            for coin in coins[self.K_v :]:
                g = self.in_u(u, v, coin)
                sam = self.in_u(u + self.ascent(g[..., None])[..., 0], v, coin)
                run.add(u=u, g=g, sam=sam)
                u = u - self.eta * sam
            run.add(u=u)
            u = u @ self.W.T
        run.u.append([u])
        return run

    @property
    def t(self) -> int:
        """The last round."""
        return self.T - 1

    @property
    def u_steps(self) -> list[Array]:
        """u^{t,k} by step."""
        return self.run.u[self.t]

    @property
    def u(self) -> Array:
        """u^t."""
        return self.u_steps[0]

    @property
    def v(self) -> Array:
        """v^t."""
        return self.run.v[self.t][0]

    @property
    def v_next(self) -> Array:
        """V^{t+1}."""
        return self.run.v[self.t][-1]

    @cached_property
    def mean_u(self) -> Array:
        """ubar^t."""
        return self.u.mean(axis=1)

    @cached_property
    def next_mean_u(self) -> Array:
        """ubar^{t+1}."""
        return self.run.u[self.T][0].mean(axis=1)

    @property
    def mean_at_clients(self) -> Array:
        """ubar^t at every client."""
        return self.at_clients(self.mean_u)

    def squared(self, a: Array) -> Number:
        """E of the mean over clients of a^2."""
        return self.mean(a**2)

    def moved(self, k: int) -> Number:
        """(1/m) sum_i E||u_i^{t,k} - u_i^t||^2."""
        return self.squared(self.u_steps[k] - self.u)

    @cached_property
    def disagreement(self) -> Number:
        """(1/m) sum_i E||u_i^t - ubar^t||^2."""
        return self.squared(self.u - self.mean_at_clients)

    @cached_property
    def gradient_moment(self) -> Number:
        """(1/m) sum_i E||grad_u F(u_i^t, V^{t+1})||^2."""
        return self.squared(self.in_shared(self.u, self.v_next))

    @cached_property
    def step_term(self) -> Number:
        """T_2,u = (L_u/2) E||ubar^{t+1} - ubar^t||^2."""
        return self.L_u / 2 * self.squared(self.next_mean_u - self.mean_u)

    @cached_property
    def zeta(self) -> list[Array]:
        """zeta^j = W (U^j - Z^j) of the rounds before the last."""
        return [(steps[0] - steps[-1]) @ self.W.T for steps in self.run.u[: self.t]]

    def frobenius(self, a: Array) -> Number:
        """E||a||_F^2."""
        return self.mean((a**2).sum(axis=-1))


__all__ = ["BlocksProblem"]
