"""Tasks, networks and gossip on a GPU give the results of the CPU.

All tests are skipped where PyTorch finds no CUDA device.
"""

import numpy as np
import pytest
import torch
from torch import nn

import dfltheory as dfl
from dfltheory import algorithms, graphs
from dfltheory.tasks.supervised import Supervised

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="PyTorch finds no CUDA device"
)


def same_on_both_devices(build, network, algorithm, **options):
    """Train on both devices and compare models and measures."""
    runs = [
        dfl.train(algorithm, build(device), network, rounds=3, **options)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(runs[0].loss, runs[1].loss, rtol=1e-9)


@pytest.mark.parametrize("graph", [graphs.ring(32), graphs.complete(8)])
def test_sparse_and_dense_gossip(graph):
    m = graph.number_of_nodes()

    def build(device):
        return dfl.tasks.quadratic(m=m, d=5, sigma=0.0, device=device)

    same_on_both_devices(build, graph, algorithms.DFedAvg(eta=0.1, K=2), seeds=2)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)),
        nn.Sequential(nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 3, 2), nn.Flatten()),
    ],
    ids=["dense", "convolution"],
)
def test_exact_gradients_of_networks(module):
    generator = np.random.default_rng(0)
    clients = [
        (generator.normal(size=(5, 6)), generator.integers(3, size=5)) for _ in range(4)
    ]

    def build(device):
        return Supervised(module.double(), clients, batch=None, device=device)

    same_on_both_devices(
        build, graphs.ring(4), algorithms.DFedSAM(eta=0.1, K=2, rho=0.01)
    )


def test_checkpoint_of_gpu_is_resumed(tmp_path):
    task = dfl.tasks.quadratic(m=4, d=3, device="cuda")
    algorithm, network = algorithms.DFedAvg(eta=0.1, K=1), graphs.ring(4)
    whole = dfl.train(algorithm, task, network, rounds=6)
    path = tmp_path / "run.ckpt"
    dfl.train(algorithm, task, network, rounds=3, checkpoint=path)
    resumed = dfl.train(algorithm, task, network, rounds=6, checkpoint=path)
    np.testing.assert_array_equal(whole.x, resumed.x)
