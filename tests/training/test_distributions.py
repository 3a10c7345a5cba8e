"""Runs with 10^4 seeds have the exact distributions of their models."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import dfltheory.algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train

SEEDS = 10_000
DEVIATIONS = 5
"""Allowed standard errors; all seeds are fixed, so the tests are repeatable."""


def final_models(algorithm, task, topology, rounds, seeds=SEEDS):
    """Return the models (seeds, m, d) after the last round."""
    return train(
        algorithm, task, topology, rounds, seeds, evaluate_every=rounds, progress=False
    ).x


@pytest.mark.parametrize("seeds", [2000, pytest.param(SEEDS, marks=pytest.mark.slow)])
def test_noisy_quadratics_have_the_mean_and_covariance_of_the_linear_recursion(seeds):
    m, d, K, T, eta, sigma = 3, 2, 3, 4, 0.2, 0.7
    rng = np.random.default_rng(0)
    curvatures, minimizers = rng.uniform(0.5, 2, (m, d)), rng.normal(size=(m, d))
    W = (np.eye(m) + graphs.metropolis(graphs.path(m))) / 2
    algorithm = alg.DFedAvg(eta=eta, K=K)
    noisy = tasks.Quadratic.diagonal(curvatures, minimizers, sigma)
    exact = tasks.Quadratic.diagonal(curvatures, minimizers)
    models = final_models(algorithm, noisy, W, T, seeds)
    mean = final_models(algorithm, exact, W, T, seeds=1)[0]
    covariance = np.zeros((m * d, m * d))
    for j in range(d):
        C, step = np.zeros((m, m)), np.diag(1 - eta * curvatures[:, j])
        for _ in range(T):
            for _ in range(K):
                C = step @ C @ step + eta**2 * sigma**2 / d * np.eye(m)
            C = W @ C @ W.T
        covariance[j::d, j::d] = C
    flat = models.reshape(seeds, -1)
    variances = np.diag(covariance)
    errors = (flat.mean(0) - mean.reshape(-1)) / np.sqrt(variances / seeds)
    assert np.abs(errors).max() < DEVIATIONS
    # the variance of a sample covariance of normal variables
    spread = np.sqrt((np.outer(variances, variances) + covariance**2) / seeds)
    assert np.abs((np.cov(flat.T) - covariance) / spread).max() < DEVIATIONS
    whitened = np.linalg.solve(
        np.linalg.cholesky(covariance), (flat - mean.reshape(-1)).T
    )
    for direction in whitened:
        assert stats.kstest(direction, "norm").pvalue > 1e-3


@pytest.mark.slow
def test_minibatches_are_independent_uniform_draws():
    """One step with two examples of each of two clients: every pair of draws is equally
    likely, for both clients together.
    """
    data = [
        (np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [0.0], [2.0]])),
        (np.array([[1.0], [3.0]]), np.array([[0.5], [-1.0]])),
    ]
    task = Supervised(
        nn.Linear(1, 1, bias=False), data, batch=2, loss="mse", dtype=torch.float64
    )
    models = final_models(alg.Local(eta=0.1, K=1), task, None, rounds=1)[..., 0]
    start = float(task.start(torch.Generator().manual_seed(0)))
    outcomes = []
    for X, y in data:
        slopes = 2 * X[:, 0] * (X[:, 0] * start - y[:, 0])
        pairs = itertools.product(slopes, repeat=2)
        outcomes.append([start - 0.1 * sum(pair) / 2 for pair in pairs])
    expected, counts = {}, {}
    share = SEEDS / len(outcomes[0]) / len(outcomes[1])
    for both in itertools.product(*outcomes):
        key = tuple(np.round(both, 9))
        expected[key] = expected.get(key, 0) + share
    for both in models:
        key = tuple(np.round(both, 9))
        counts[key] = counts.get(key, 0) + 1
    assert counts.keys() <= expected.keys()
    observed = [counts.get(key, 0) for key in expected]
    assert stats.chisquare(observed, list(expected.values())).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("participation", [0.5, 0.75])
def test_every_group_of_clients_is_sampled_equally_often(participation):
    """The server's model after two rounds names both groups."""
    m = 4
    minimizers = (10.0 ** np.arange(m))[:, None]
    task = tasks.Quadratic.diagonal(np.ones((m, 1)), minimizers)
    algorithm = alg.FedAvg(eta=0.5, K=1, participation=participation)
    models = final_models(algorithm, task, None, rounds=2)[:, 0, 0]
    groups = [
        np.mean(group)
        for group in itertools.combinations(minimizers[:, 0], round(participation * m))
    ]
    pairs = [0.25 * a + 0.5 * b for a, b in itertools.product(groups, repeat=2)]
    nearest = np.abs(models[:, None] - np.array(pairs)).argmin(1)
    np.testing.assert_allclose(models, np.array(pairs)[nearest], rtol=1e-12)
    observed = np.bincount(nearest, minlength=len(pairs))
    assert stats.chisquare(observed).pvalue > 1e-3
