"""Measuring a round and dividing images, against code written by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dfltheory import algorithms, graphs, tasks
from dfltheory.tasks.partition import partition_labels
from dfltheory.training.recording import Recording
from dfltheory.training.run import Run

torch.set_num_threads(1)

CLIENTS = 16
SIZE = 10
MEASUREMENTS = 100
"""Measurements per call."""
IMAGES = 50_000
CLASSES = 10


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("seeds", [1, 16])
def test_measuring_of_a_quadratic(versus, seeds, library):
    """Measure the state after a round, 100 times, as ``train`` does."""
    rng = np.random.default_rng(0)
    curvatures = rng.uniform(0.5, 1.5, size=(CLIENTS, SIZE))
    minimizers = rng.normal(size=(CLIENTS, SIZE))
    task = tasks.Quadratic.diagonal(curvatures, minimizers)
    W = graphs.metropolis(graphs.ring(CLIENTS))
    run = Run(algorithms.DPSGD(eta=0.1), task, W, 10**6, range(seeds), 0)
    recording = Recording(run, (), 1)
    with torch.no_grad():
        run.round(0)
    models = run.state.x

    @torch.no_grad()
    def ours():
        for t in range(MEASUREMENTS):
            recording.record(t, ())

    def with_numpy():
        measure_by_hand(models.numpy(), curvatures, minimizers)

    @torch.no_grad()
    def with_torch():
        parts = torch.from_numpy(curvatures), torch.from_numpy(minimizers)
        measure_by_hand(models, *parts)

    by_hand = {"numpy": with_numpy, "torch": with_torch}[library]
    goal = f"{MEASUREMENTS} measurements: goal <= 10 ms, four measures by hand"
    versus(ours, by_hand, goal)


def measure_by_hand(models, curvatures, minimizers):
    """Measure models (S, m, d) in numpy or torch, 100 times."""
    measured = []
    for _ in range(MEASUREMENTS):
        mean = models.mean(1)
        from_minimizers = mean[:, None] - minimizers
        loss = 0.5 * (curvatures * from_minimizers**2).sum(-1).mean(-1)
        gradient = (curvatures * from_minimizers).mean(1)
        consensus = ((models - mean[:, None]) ** 2).sum(-1).mean(-1)
        sizes = (models**2).sum(-1).mean(-1)
        measured.append((loss, (gradient**2).sum(-1), consensus, sizes))
    return measured


def test_division_of_images(versus):
    """Divide 50,000 images over 100 clients, against one draw for each image."""
    labels = np.random.default_rng(0).integers(CLASSES, size=IMAGES)

    def by_hand():
        rng = np.random.default_rng(0)
        ratios = rng.dirichlet(np.full(CLASSES, 0.3), size=100)
        remaining = np.bincount(labels)
        counts = np.zeros((100, CLASSES), dtype=int)
        for client in rng.permutation(np.repeat(np.arange(100), IMAGES // 100)):
            weights = ratios[client] * (remaining > 0)
            if not weights.sum() > 0:
                weights = remaining
            label = rng.choice(CLASSES, p=weights / weights.sum())
            counts[client, label] += 1
            remaining[label] -= 1
        return counts

    def ours():
        return partition_labels(labels, 100, "dirichlet_by_image")

    versus(ours, by_hand, "one draw for each image by hand", turns=3)
