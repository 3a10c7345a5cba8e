"""Sharpness and loss surface of a trained model, as in the DFedSAM paper."""

from __future__ import annotations

import torch

import dfltheory as dfl


def probed(
    task: dfl.tasks.Supervised, mean: torch.Tensor
) -> dict[str, float | list[float] | list[list[float]]]:
    """Return the sharpness of f at the mean model, and a loss surface."""
    from dfltheory.tasks import estimate

    steps = torch.linspace(-1, 1, 15).to(mean)
    first, second = directions(task, mean)
    losses = []
    for step in steps:
        points = mean + step * first + steps[:, None] * second
        losses.append(task.global_loss(points))
    return {
        "sharpness": estimate.largest_hessian_eigenvalue(task, mean, steps=20),
        "along": steps.tolist(),
        "landscape": torch.stack(losses).double().tolist(),
    }


def directions(task: dfl.tasks.Supervised, x: torch.Tensor) -> torch.Tensor:
    """Return two random directions (2, d) with the norms of the model's filters.

    A filter is a row of a weight matrix. The directions are zero for biases and
    parameters of normalization layers. This makes landscapes of differently scaled
    networks comparable (Li et al. 2018).
    """
    g = torch.Generator().manual_seed(0)
    random = torch.randn(2, task.d, generator=g, dtype=torch.float64).to(x)
    for shape, part in zip(task.shapes, task.blocks, strict=True):
        if len(shape) < 2:
            random[:, part] = 0
            continue
        filters = x[part].view(shape[0], -1)
        random_filters = random[:, part].view(2, shape[0], -1)
        norms = filters.norm(dim=1, keepdim=True)
        random_norms = random_filters.norm(dim=2, keepdim=True).clamp_min(1e-12)
        random_filters *= norms / random_norms
    return random
