"""Finite problems of push-sum with momentum and SAM."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
)


@dataclass(frozen=True, eq=False)
class PushSumProblem(FiniteProblem):
    """A finite problem of DFedSGPSM; a line is about client ``i`` and step ``k``."""

    alpha: Number = 0.0
    # (T, m, m): column-stochastic
    P: Array = field(default_factory=partial(np.zeros, (0, 1, 1)))
    # push-sum weights at the first round
    weights: Array = field(default_factory=partial(np.ones, 1))
    delta: Number = 1.0
    i: int = 0
    k: int = 0

    @cached_property
    def run(self) -> Recording:
        """T rounds with weights ``w[t]``, and models and gradients by step.

        By step: models ``x[t][k]``, de-biased ``z[t][k] = x[t][k]/w[t]``, perturbed
        models ``sam[t][k]`` and their gradients ``g[t][k]`` on one minibatch.
        """
        run = Recording(("w",), ("x", "z", "sam", "g"))
        x, w = self.everywhere(self.start), self.weights
        for t in range(self.T):
            v = 0 * x
            run.start_round(w=w)
            for k in range(self.K):
                coin, z = self.coins[:, t, k], x / w[:, None]
                sam = z + self.ascent(self.sampled(z, coin))
                g = self.sampled(sam, coin)
                run.add(x=x, z=z, sam=sam, g=g)
                v = self.alpha * v + g
                x = x - self.eta * v
            run.add(x=x)
            x = np.swapaxes(np.tensordot(self.P[t], x, axes=(1, 1)), 0, 1)
            w = self.P[t] @ w
        run.x.append([x])
        run.add(w=w)
        return run

    # -- constants

    @cached_property
    def momentum_sums(self) -> list[Number]:
        """sum_{k >= s} alpha^(k-s) for s = 1..K."""
        powers = [self.alpha**j for j in range(self.K)]
        return [sum(powers[: self.K - s]) for s in range(self.K)]

    @cached_property
    def alpha_tilde(self) -> Number:
        """sum_k sum_{s<=k} alpha^(k-s)."""
        return sum(self.momentum_sums)

    @property
    def moment(self) -> Number:
        """B^2 + sigma_l^2."""
        return self.B_sq + self.sigma_l_sq

    @cached_property
    def sigma_g_sq(self) -> Number:
        """Assumption 4 is stated for every client: its constant is the largest."""
        return self.beta_sq

    @cached_property
    def C1(self) -> Number:
        """C_1 of Lemma 3."""
        momentum = 32 * (self.K * self.alpha / (1 - self.alpha)) ** 2 * self.moment
        noise = 8 * self.K * self.sigma_l_sq + 64 * self.K**2 * self.sigma_g_sq
        return noise + momentum + 64 * self.K * (self.L * self.rho) ** 2

    @cached_property
    def C_and_q(self) -> tuple[float, float]:
        """C and q of Assran et al. 2019, Lemma 3, for windows of len(P) rounds.

        They hold for any diameter.
        """
        m, d = self.m, self.tables.shape[1]
        power = max(m - 1, 1) * len(self.P) + len(self.P)
        lam = 1 - m / m**power if m > 1 else 0.5
        C = 2 * d**0.5 * m**power / lam ** ((power + 2) / (power + 1))
        q = lam ** (1 / (power + 1))
        return C, q

    # -- client i and step k of the first round

    @property
    def x(self) -> list[Array]:
        """x_k by step."""
        return self.run.x[0]

    @property
    def last_step(self) -> Array:
        """x_k - x_{k-1}, with x_{-1} = x_0."""
        return self.x[self.k] - self.x[max(self.k - 1, 0)]

    @cached_property
    def gradients_at_perturbed(self) -> list[Array]:
        """Gradients of the f_i at the perturbed models, by step."""
        return [self.gradients(y) for y in self.run.sam[0]]

    def of_client(self, a: Array) -> Number:
        """E||a_i||^2 of client i."""
        return self.mean((a[:, self.i] ** 2).sum(axis=-1))

    def moved(self, k: int) -> Number:
        """E||x_{i,k} - x_i||^2."""
        return self.of_client(self.x[k] - self.x[0])

    # -- means of the first round

    @cached_property
    def mean_model(self) -> Array:
        """xbar^0."""
        return self.x[0].sum(axis=1) / self.m

    @cached_property
    def next_mean_model(self) -> Array:
        """xbar^1."""
        return self.run.x[1][0].sum(axis=1) / self.m

    @cached_property
    def gradient_at_mean(self) -> Array:
        """Gradient of f at xbar^0."""
        return self.gradient(self.mean_model)

    def weighed(self, parts: list[Array]) -> Array:
        """(1/n) sum_i sum_k sum_{s<=k} alpha^(k-s) a_{i,s}."""
        total = 0 * parts[0].sum(axis=1)
        for c, part in zip(self.momentum_sums, parts, strict=True):
            total = total + c * part.sum(axis=1) / self.m
        return total

    def spread(self, parts: list[Array]) -> Number:
        """(1/(n alpha-tilde)) sum_i sum_k sum_{s<=k} alpha^(k-s) E||a_{i,s}||^2."""
        total = sum(
            c * self.sq(a) for c, a in zip(self.momentum_sums, parts, strict=True)
        )
        return total / self.alpha_tilde

    # -- the last of several rounds

    @cached_property
    def update_sizes(self) -> list[Array]:
        """||eta sum_k sum_s alpha^(k-s) g_{i,s}|| of client i, by round and outcome."""
        sizes = []
        for gradients in self.run.g:
            update = sum(
                c * g[:, self.i]
                for c, g in zip(self.momentum_sums, gradients, strict=True)
            )
            sizes.append(self.eta * np.linalg.norm(update, axis=-1))
        return sizes

    @cached_property
    def distance_from_mean(self) -> Array:
        """||z_i^t - xbar^t|| at the start of the last round, by outcome."""
        t = self.T - 1
        mean = self.run.x[t][0].sum(axis=1) / self.m
        return np.linalg.norm(self.run.z[t][0][:, self.i] - mean, axis=-1)

    @cached_property
    def start_size(self) -> Number:
        """||x_i^0||."""
        return float(np.linalg.norm(self.start[self.i]))


__all__ = ["PushSumProblem"]
