"""Theorem 6 of Vogels, Hendrikx and Jaggi (2023) on quadratics, without runs or
sampling.

The expected Lyapunov function after a round is a quadratic form.
"""

from __future__ import annotations

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import graphs
from dfltheory.bounds.reference import load

CLIENTS = 8
GAMMA = 0.9
VARIANCE = 0.5
CURVATURES = np.array([0.2, 1.0, 0.4, 0.9, 0.2, 1.0, 0.7, 0.5])
NETWORKS = ("ring", "hypercube", "complete")


def positive_definite(name):
    """Return (I + W)/2 with Metropolis weights, circulant or regular, with eigenvalues
    > 0.
    """
    W = np.asarray(graphs.metropolis(getattr(graphs, name)(CLIENTS)))
    return (np.eye(CLIENTS) + W) / 2


def neighborhood(W):
    """Return M = (1 - gamma) W^2 (I - gamma W^2)^-1, (21)."""
    square = W @ W
    return (1 - GAMMA) * square @ np.linalg.inv(np.eye(CLIENTS) - GAMMA * square)


def constants(W, omega):
    """Return the values of the printed statement, except the step size."""
    beta = graphs.spectrum_min(W, lambda l: l * (1 - GAMMA * l**2) / (1 + l))
    return {
        "L": CURVATURES.max(),
        "zeta": CURVATURES.max(),
        "mu_each": CURVATURES.min(),
        "n_W": graphs.effective_neighbors(W, GAMMA),
        "beta_W": beta,
        "omega_l": omega,
        "lyapunov_now": 1.0,
        "noise_star": CLIENTS * VARIANCE,
    }


def largest_step(theorem, values):
    """Compute the largest step size that satisfies the conditions, by bisection."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        found = theorem.check_conditions(eta=middle, **values)
        low, high = (middle, high) if all(ok for _, _, ok in found) else (low, middle)
    return low


def growth(W, eta, omega):
    """Return the smallest r with E L(t+1) <= r L(t) + noise, for exact gradients."""
    lyapunov = (1 - omega) * neighborhood(W) + omega * np.eye(CLIENTS)
    round_matrix = W - eta * np.diag(CURVATURES)
    root = np.linalg.inv(np.linalg.cholesky(lyapunov))
    after = root @ round_matrix.T @ lyapunov @ round_matrix @ root.T
    return float(np.linalg.eigvalsh(after).max())


@pytest.mark.parametrize("omega", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_theorem_6_contracts_at_its_largest_step(name, omega):
    theorem = dfl.bounds.get("vogels2023.theorem_6", "printed")
    W = positive_definite(name)
    values = constants(W, omega)
    eta = largest_step(theorem, values)
    assert eta > 1e-3
    terms = theorem.evaluate_terms(eta=eta, **values)
    assert growth(W, eta, omega) <= terms["contraction"] + 1e-12
    lyapunov = (1 - omega) * neighborhood(W) + omega * np.eye(CLIENTS)
    assert eta**2 * VARIANCE * np.trace(lyapunov) <= terms["noise"]


@pytest.mark.parametrize("name", NETWORKS)
def test_contraction_fails_far_beyond_the_largest_step(name):
    theorem = dfl.bounds.get("vogels2023.theorem_6", "printed")
    W = positive_definite(name)
    values = constants(W, 0.3)
    eta = 40 * largest_step(theorem, values)
    assert growth(W, eta, 0.3) > 1 - eta * values["mu_each"]


def test_network_with_a_negative_eigenvalue_admits_no_step():
    W = np.asarray(graphs.metropolis(graphs.ring(CLIENTS)))
    theorem = dfl.bounds.get("vogels2023.theorem_6", "printed")
    assert largest_step(theorem, constants(W, 0.3)) == 0


def test_diagonal_of_the_neighborhood_matrix_is_one_over_effective_neighbors():
    for name in NETWORKS:
        W = positive_definite(name)
        expected = 1 / graphs.effective_neighbors(W, GAMMA)
        np.testing.assert_allclose(np.diag(neighborhood(W)), expected, rtol=1e-12)


def test_registered_statement_computes_its_network_quantities():
    theorem = load("vogels2023.theorem_6", variant="homogeneous")
    task = dfl.tasks.quadratic(m=CLIENTS, d=2, zeta=0.0, sigma=0.2)
    W = positive_definite("ring")
    run = dfl.train(
        dfl.algorithms.DPSGD(eta=0.05),
        task,
        W,
        rounds=40,
        seeds=8,
        metrics=[dfl.verdicts.dist_sq],
    )
    verdict = dfl.compare(run, theorem, mu_each=0.1)
    assert verdict.kind == "holds"
