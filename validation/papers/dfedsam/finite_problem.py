"""Quantities of DFedSAM in a finite problem."""

from __future__ import annotations

import numpy as np

from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    average_clients,
)


def bound_of_8(problem: FiniteProblem, t: int, noise: Number) -> Number:
    """Return C_2 eta^2, the right side of (8), with ``noise`` for sigma_l^2."""
    K, L, eta, rho = problem.K, problem.L, problem.eta, problem.rho
    gradient_sq = problem.sq(problem.gradient(problem.gossip.x[t]))
    moments = L**2 * rho**2 + problem.sigma_g_sq + noise + gradient_sq
    turning = problem.one * 4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
    ascent = problem.one * 2 * K * rho**2 / (2 * K - 1)
    return 2 * K * (turning + 8 * K * eta**2 * moments) + ascent


def round_distance(problem: FiniteProblem, t: int) -> Number:
    """Return the mean square of x^t - z^t."""
    return problem.sq(problem.gossip.x[t] - problem.gossip.z[t])


def mean_step(problem: FiniteProblem, t: int) -> Array:
    """Return zbar^t - xbar^t."""
    return average_clients(problem.gossip.z[t] - problem.gossip.x[t])


def gradient_at_mean(problem: FiniteProblem, t: int) -> Array:
    """Return grad f(xbar^t)."""
    return problem.gradient(average_clients(problem.gossip.x[t]))


def length(u: Array) -> Array:
    """Return the Euclidean norms, rational in one dimension."""
    return abs(u[..., 0]) if u.shape[-1] == 1 else np.sqrt((u**2).sum(axis=-1))
