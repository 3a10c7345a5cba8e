"""Sharpness and loss surface of a trained model, as in the DFedSAM paper."""

from __future__ import annotations

import torch

import dfltheory as dfl


def probed(
    task: dfl.tasks.Supervised, mean: torch.Tensor
) -> dict[str, float | list[float] | list[list[float]]]:
    """Return the sharpness of f at the mean model, and a loss surface."""
    from dfltheory.tasks import estimate

    steps, (one, other) = torch.linspace(-1, 1, 15).to(mean), directions(task, mean)
    rows = [
        task.global_loss(mean + step * one + steps[:, None] * other) for step in steps
    ]
    return {
        "sharpness": estimate.largest_hessian_eigenvalue(task, mean, steps=20),
        "along": steps.tolist(),
        "landscape": torch.stack(rows).double().tolist(),
    }


def directions(task: dfl.tasks.Supervised, x: torch.Tensor) -> torch.Tensor:
    """Return two random directions (2, d) with the norms of the model's filters.

    A filter is a row of a weight matrix. The directions are zero for biases and
    parameters of normalization layers. This makes landscapes of differently scaled
    networks comparable (Li et al. 2018).
    """
    g = torch.Generator().manual_seed(0)
    found = torch.randn(2, task.d, generator=g, dtype=torch.float64).to(x)
    for shape, part in zip(task.shapes, task.blocks, strict=True):
        own, random = x[part].view(shape[0], -1), found[:, part].view(2, shape[0], -1)
        random *= own.norm(dim=1, keepdim=True) / random.norm(
            dim=2, keepdim=True
        ).clamp_min(1e-12)
        if len(shape) < 2:
            found[:, part] = 0
    return found
