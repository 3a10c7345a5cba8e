"""Algorithms whose local steps depend on the loss (``grad.loss``)."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory.algorithms import Algorithm, replace
from dfltheory.errors import InputError, UnsupportedError
from dfltheory.graphs.matrices import to_dense
from dfltheory.randomness import RunGenerators
from dfltheory.testing import check_algorithm
from dfltheory.training.oracle import RoundOracle

W = dfl.graphs.metropolis(dfl.graphs.ring(5))


@dataclass(frozen=True)
class Polyak(Algorithm):
    """y <- y - min(eta, (F(y) - least)/|g|^2) g, then gossip"""

    eta: float
    K: int = 1
    least: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if self.weight_decay:
            raise InputError("Polyak's step knows no weight_decay: leave it at 0")

    def local_update(self, state, grad):
        y = grad.begin(state.x)
        for _ in range(self.K):
            batch = grad.sample()
            g = grad(y, batch)
            excess = (grad.loss(y, batch) - self.least).clamp(min=0.0)
            squares = (g * g).sum(-1).clamp(min=1e-300)
            y = y - (excess / squares).clamp(max=self.eta)[..., None] * g
        return replace(state, z=y)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def quadratics():
    rng = np.random.default_rng(3)
    A = [np.diag(rng.uniform(0.5, 2.0, 3)) for _ in range(5)]
    return A, rng.normal(size=(5, 3))


def test_polyak_step_agrees_with_one_client_at_a_time():
    """f_i(x) = (x - b_i)'A_i (x - b_i)/2."""
    A, b = quadratics()
    task = dfl.tasks.Quadratic(np.array(A), b)
    least, eta, K = -0.1, 0.7, 3
    run = dfl.train(
        Polyak(eta, K, least), task, W, rounds=6, x0=np.ones(3), progress=False
    )
    matrix = to_dense(W)
    models = [np.ones(3) for _ in range(5)]
    for _ in range(6):
        sent = []
        for i, x in enumerate(models):
            y = x.copy()
            for _ in range(K):
                g = A[i] @ (y - b[i])
                value = (y - b[i]) @ g / 2
                y = y - min(eta, (value - least) / (g @ g)) * g
            sent.append(y)
        models = [sum(matrix[i, j] * sent[j] for j in range(5)) for i in range(5)]
    np.testing.assert_allclose(run.x[0], models, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["quadratic", "digits"])
def test_loss_is_the_one_whose_gradient_the_oracle_returns(name):
    """Compares with central differences along a random direction, on one noisy
    minibatch.
    """
    options = {"sigma": 0.3} if name == "quadratic" else {}
    task = dfl.tasks.get(name, m=5, **options)
    oracle = RoundOracle(task, RunGenerators(0, [0, 1]), t=0, horizon=1)
    batch = oracle.sample()
    generator = torch.Generator().manual_seed(0)
    shape = (2, 5, task.d)
    y, v = (torch.randn(shape, generator=generator).to(task.dtype) for _ in range(2))
    step = 1e-3
    slope = (oracle.loss(y + step * v, batch) - oracle.loss(y - step * v, batch)) / (
        2 * step
    )
    expected = (oracle(y, batch) * v).sum(-1)
    assert oracle.loss(y, batch).shape == (2, 5)
    torch.testing.assert_close(slope, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["quadratic", "digits"])
def test_loss_of_some_clients_is_theirs_among_all(name):
    options = {"sigma": 0.3} if name == "quadratic" else {}
    task = dfl.tasks.get(name, m=5, **options)
    y = torch.ones((2, 5, task.d), dtype=task.dtype)
    whole = RoundOracle(task, RunGenerators(0, [0, 1]), t=0, horizon=1)
    expected = whole.loss(y, whole.sample())
    parts = RoundOracle(task, RunGenerators(0, [0, 1]), t=0, horizon=1)
    rows = slice(1, 4)
    some = parts.of(rows)
    torch.testing.assert_close(some.loss(y[:, rows], some.sample()), expected[:, rows])


def test_polyak_meets_the_contract_of_algorithms():
    check_algorithm(Polyak(0.1, K=2))


def test_exact_expectation_rejects_an_algorithm_that_asks_for_losses():
    A, b = quadratics()
    task = dfl.tasks.Quadratic(np.array(A), b)
    with pytest.raises(UnsupportedError) as error:
        dfl.exact_history(Polyak(0.1), task, W, rounds=2)
    assert error.value.method == "grad.loss"
