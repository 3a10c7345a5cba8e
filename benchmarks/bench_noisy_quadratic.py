"""Rounds of many seeds on noisy quadratics, against hand-written numpy and torch."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
import torch

from dfltheory import algorithms, graphs, tasks
from dfltheory.training.run import Run

torch.set_num_threads(1)

SEEDS = 16
STEPS = 5
ETA = 0.05
SIGMA = 0.3
ROUNDS = 20
"""Rounds per measurement."""


def problem(m, d):
    """Return curvatures (m, d), minimizers (m, d), and the weights of a ring."""
    rng = np.random.default_rng(0)
    curvatures = rng.uniform(0.5, 1.5, size=(m, d))
    return curvatures, rng.normal(size=(m, d)), graphs.metropolis(graphs.ring(m))


def rounds_of_core(m, d):
    """Return a function that performs rounds of the training core."""
    curvatures, minimizers, W = problem(m, d)
    task = tasks.Quadratic.diagonal(curvatures, minimizers, SIGMA)
    algorithm = algorithms.DFedAvg(eta=ETA, K=STEPS)
    run = Run(algorithm, task, W, 10**6, range(SEEDS), 0)
    rounds = count()

    @torch.no_grad()
    def perform():
        for _ in range(ROUNDS):
            run.round(next(rounds))

    return perform


def rounds_of_numpy(m, d):
    """Return a function that performs the same rounds in numpy.

    It uses one random generator for all seeds.
    """
    curvatures, minimizers, W = problem(m, d)
    rng = np.random.default_rng(0)
    scale = SIGMA / d**0.5
    models = np.zeros((SEEDS, m, d))

    def perform():
        x = models
        for _ in range(ROUNDS):
            for _ in range(STEPS):
                noise = scale * rng.standard_normal(x.shape)
                x = x - ETA * (curvatures * (x - minimizers) + noise)
            x = W @ x

    return perform


def rounds_of_torch(m, d):
    """Return a function that performs the same rounds in torch.

    It uses one random generator for all seeds.
    """
    curvatures, minimizers, W = (torch.as_tensor(part) for part in problem(m, d))
    generator = torch.Generator().manual_seed(0)
    scale = SIGMA / d**0.5
    models = torch.zeros(SEEDS, m, d, dtype=torch.float64)

    @torch.no_grad()
    def perform():
        x = models
        for _ in range(ROUNDS):
            for _ in range(STEPS):
                noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
                gradient = curvatures * (x - minimizers) + scale * noise
                x = x - ETA * gradient
            x = W @ x

    return perform


BY_HAND = {"numpy": rounds_of_numpy, "torch": rounds_of_torch}


@pytest.mark.parametrize("by_hand", BY_HAND)
@pytest.mark.parametrize(("m", "d"), [(16, 10), (100, 10), (100, 50)])
def test_noisy_quadratic(versus, m, d, by_hand):
    versus(rounds_of_core(m, d), BY_HAND[by_hand](m, d), "goal <= 1.5", turns=15)
