"""Every algorithm against its literal one-client-at-a-time twin: agreement to 1e-10 in float64."""

import numpy as np
import pytest

import dfltheory.algorithms as alg
from dfltheory.training import train
from tests import reference
from tests.algorithms.problems import Matrices, Rows, permuted_average, ring_matrix

CASES = {
    "dpsgd": (alg.DPSGD(eta=0.3), reference.dpsgd, {"eta": 0.3}, 1),
    "dpsgd-atc": (
        alg.DPSGD(eta=0.3, order="adapt-then-combine", decay=0.9),
        reference.dpsgd,
        {"eta": 0.3, "order": "adapt-then-combine", "decay": 0.9},
        1,
    ),
    "dfedavg": (alg.DFedAvg(eta=0.2, K=3), reference.dfedavg, {"eta": 0.2, "K": 3}, 3),
    "dfedavg-weight-decay": (
        alg.DFedAvg(eta=0.2, K=3, decay=0.8, weight_decay=0.3),
        reference.dfedavg,
        {"eta": 0.2, "K": 3, "decay": 0.8, "weight_decay": 0.3},
        3,
    ),
    "dfedavgm": (
        alg.DFedAvgM(eta=0.2, K=3, alpha=0.7),
        reference.dfedavgm,
        {"eta": 0.2, "K": 3, "alpha": 0.7},
        3,
    ),
    "dfedavgm-kept": (
        alg.DFedAvgM(eta=0.2, K=3, alpha=0.7, keep_momentum=True),
        reference.dfedavgm,
        {"eta": 0.2, "K": 3, "alpha": 0.7, "keep_momentum": True},
        3,
    ),
    "dfedsam": (alg.DFedSAM(eta=0.2, K=3, rho=0.4), reference.dfedsam, {"eta": 0.2, "K": 3, "rho": 0.4}, 3),
    "dfedsam-mgs": (
        alg.DFedSAM(eta=0.2, K=2, rho=0.4, Q=3, weight_decay=0.2),
        reference.dfedsam,
        {"eta": 0.2, "K": 2, "rho": 0.4, "Q": 3, "weight_decay": 0.2},
        2,
    ),
}
NETWORKS = ("ring", "moving", "random")


def network(kind, m):
    rng = np.random.default_rng(5)
    moving = [permuted_average(m, rng) for _ in range(4)]
    return {
        "ring": Matrices([ring_matrix(m)]),
        "moving": Matrices(moving),
        "random": Matrices(moving, random=True),
    }[kind]


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_its_twin(name, kind):
    algorithm, twin, letters, K = CASES[name]
    rounds, seeds = 4, 2
    task = Rows()
    sequence = network(kind, task.m)
    x0 = np.random.default_rng(1).normal(size=(seeds, task.m, task.d))
    run = train(algorithm, task, sequence, rounds=rounds, seeds=seeds, x0=x0, seed=11)
    Q = letters.get("Q", 1)
    draws = np.array(task.drawn).reshape(rounds, K, seeds, task.m, -1)
    given = np.array(sequence.given)
    given = given.reshape(rounds, seeds if kind == "random" else 1, Q, task.m, task.m)
    for s in range(seeds):
        matrices = given[:, s if kind == "random" else 0]
        path = twin(list(x0[s]), task.one_gradient, draws[:, :, s], matrices, **letters)
        np.testing.assert_allclose(run.x[s], np.array(path[-1]), rtol=0, atol=1e-10)
        means = np.array([np.mean(x, axis=0) for x in path])
        consensus = [np.mean([np.sum((v - mean) ** 2) for v in x]) for x, mean in zip(path, means)]
        np.testing.assert_allclose(run.consensus[s], consensus, rtol=1e-9, atol=1e-12)
        gradients = [task.mean_gradient(mean) for mean in means]
        np.testing.assert_allclose(run.grad_norm_sq[s], [g @ g for g in gradients], rtol=1e-9)
