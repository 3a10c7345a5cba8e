"""Partial personalization: x_i = (u_i, v_i); the body u is exchanged, the head v stays at home."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, perturbed

Index = Any
"""A slice or a tensor of positions: coordinates of the last axis."""


def blocks(shared: Index | None, d: int) -> tuple[Index, Index]:
    """The coordinates of u and of v; without a split everything is shared, and v is empty."""
    if shared is None:
        return slice(0, d), slice(d, d)
    if isinstance(shared, slice):
        start, stop, step = shared.indices(d)
        if step == 1 and start == 0:
            return slice(0, stop), slice(stop, d)
        if step == 1 and stop == d:
            return slice(start, d), slice(0, start)
    mask = torch.zeros(d, dtype=torch.bool)
    mask[shared] = True
    return mask.nonzero().squeeze(1), (~mask).nonzero().squeeze(1)


def is_empty(index: Index) -> bool:
    """No coordinates at all?"""
    return index.stop <= index.start if isinstance(index, slice) else len(index) == 0


def exchange(z: Tensor, shared: Index | None, mix: Mix, times: int = 1) -> Tensor:
    """(u, v) -> (mixed u, v)."""
    u, v = blocks(shared, z.shape[-1])
    if is_empty(v):
        return mix(z, times=times)
    if is_empty(u):
        return z
    mixed = z.clone()
    mixed[..., u] = mix(z[..., u].contiguous(), times=times)
    return mixed


def descend(
    algorithm: Algorithm,
    grad: Oracle,
    y: Tensor,
    block: Index,
    *,
    eta: float,
    K: int,
    rho: float = 0.0,
    alpha: float = 0.0,
    batch: Any = None,
) -> Tensor:
    """K (SAM, momentum) steps on one block of y with the other fixed; y is overwritten.

    Every step draws a fresh minibatch, or uses ``batch`` = (minibatch,) throughout.
    """
    if is_empty(block):
        return y
    eta = algorithm.decayed(eta, grad.t)
    velocity: Tensor | None = None
    for _ in range(K):
        xi = grad.sample() if batch is None else batch[0]
        g = grad(y, xi)
        if rho:
            g = grad(perturbed(y, g, rho, block, out=g), xi)
        g = g[..., block]
        if algorithm.weight_decay:
            g = g.add(y[..., block], alpha=algorithm.weight_decay)
        if alpha:
            velocity = g if velocity is None else velocity.mul_(alpha).add_(g)
            g = velocity
        y[..., block] -= eta * g
    return y


__all__ = ["Index", "blocks", "descend", "exchange", "is_empty"]
