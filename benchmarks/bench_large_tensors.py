"""Operations that allocate large tensors, dense gossip and a copy, against numpy."""

from __future__ import annotations

import numpy as np
import torch

import dfltheory as dfl
from dfltheory.training.run import Run

torch.set_num_threads(1)

CLIENTS = 16
SIZE = 10**6


def test_dense_gossip(versus):
    """Mix 16 models of 10^6 single-precision parameters by a dense matrix."""
    W = dfl.graphs.metropolis(dfl.graphs.complete(CLIENTS))
    task = dfl.tasks.Quadratic(
        1.0, torch.zeros(CLIENTS, SIZE, dtype=torch.float32), dtype=torch.float32
    )
    run = Run(dfl.algorithms.DPSGD(eta=0.1), task, W, 1, range(1), 0)
    mix = run.network.at(0)
    models = torch.randn(1, CLIENTS, SIZE)
    array, matrix = models.numpy().copy(), W.astype(np.float32)
    with torch.no_grad():
        versus(lambda: mix(models), lambda: matrix @ array, "goal <= 1.1")


def test_clone(versus):
    models = torch.randn(1, CLIENTS, SIZE)
    array = models.numpy().copy()
    versus(models.clone, array.copy, "goal <= 1.2")
