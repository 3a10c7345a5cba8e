"""Adversaries that try to break the constants which a task claims."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def ascend(value: Callable[[Tensor], Tensor], start: Tensor, steps: int = 150, rate: float = 0.1) -> Tensor:
    """The largest values (S,) that gradient ascent from points (S, ...) finds for value: (S, ...) -> (S,)."""
    x = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([x], lr=rate)
    best = torch.full((len(start),), -torch.inf, dtype=start.dtype)
    for _ in range(steps):
        now = value(x)
        best = torch.maximum(best, now.detach())
        optimizer.zero_grad()
        (-now.sum()).backward()
        optimizer.step()
    return best


def starts(task, n: int = 24, seed: int = 0) -> Tensor:
    """(n, d) points over many scales, some of them very near 0 and some far away."""
    g = torch.Generator().manual_seed(seed)
    scales = torch.logspace(-2, 2, n, dtype=torch.float64).unsqueeze(1)
    return scales * torch.randn(n, task.d, generator=g, dtype=torch.float64)


def heterogeneity(task, x: Tensor) -> tuple[Tensor, Tensor]:
    """(root mean square, maximum) over clients of ||grad f_i(x) - grad f(x)|| at points x (S, d)."""
    gradients = task.gradient(x.unsqueeze(1).expand(-1, task.m, -1))
    gaps = (gradients - gradients.mean(1, keepdim=True)).square().sum(-1)
    gaps = gaps.clamp_min(1e-24)  # the root has no slope at 0
    return gaps.mean(-1).sqrt(), gaps.amax(-1).sqrt()


def client_norms(task, x: Tensor) -> Tensor:
    """max_i ||grad f_i(x)|| at points x (S, d)."""
    return task.gradient(x.unsqueeze(1).expand(-1, task.m, -1)).norm(dim=-1).amax(-1)


def slopes(task, pair: Tensor) -> Tensor:
    """max_i ||grad f_i(x) - grad f_i(y)|| / ||x - y|| for pairs (S, 2, d)."""
    x, y = (p.unsqueeze(1).expand(-1, task.m, -1) for p in pair.unbind(1))
    gap = (task.gradient(x) - task.gradient(y)).norm(dim=-1)
    return (gap / (x - y).norm(dim=-1).clamp_min(1e-6)).amax(-1)


def smoothness(task, seed: int = 0, steps: int = 150) -> float:
    """The largest slope that pairs of points find, near and far, after ascent."""
    x = starts(task, seed=seed)
    y = x + 0.1 * starts(task, seed=seed + 1).flip(0)
    return float(ascend(lambda pair: slopes(task, pair), torch.stack([x, y], 1), steps).max())


def excess(found: float, claimed: float) -> float:
    """How far the found value lies above the claimed one, relative."""
    return (found - claimed) / max(claimed, 1e-12)
