"""Squared norms of stacked models, safe from overflow in their precision."""

from __future__ import annotations

import torch
from torch import Tensor


def spread(x: Tensor, mean: Tensor) -> Tensor:
    """Return (1/m) sum_i ||x_i - mean||^2, (S, m, d) and (S, d) -> (S,).

    It is computed for some clients at a time, so that no temporary tensor of the size
    of x is needed.
    """
    seeds, m, d = x.shape
    clients_at_once = max(1, 10**6 // max(1, seeds * d))
    center = mean.unsqueeze(-2)
    if clients_at_once >= m:
        return squared_norm(x - center).mean(-1)
    # one buffer for all parts avoids memory fragmentation
    buffer = x.new_empty(seeds, clients_at_once, d)
    squares = []
    for part in x.split(clients_at_once, dim=1):
        difference = torch.sub(part, center, out=buffer[:, : part.shape[1]])
        squares.append(squared_norm(difference))
    return torch.cat(squares, dim=1).mean(-1)


def squared_norm(x: Tensor) -> Tensor:
    """Return ||x||^2 along the last axis, in double precision."""
    lengths = norm(x)
    return lengths * lengths


def norm(x: Tensor) -> Tensor:
    """Return ||x|| along the last axis, in double precision.

    It is computed at least in single precision, which is fast, and in double precision
    if squares exceed the range of single precision. (float16 ends at 65504, and squares
    of float32 at 1e38 and 1e-45.)
    """
    if x.dtype == torch.float64:
        return torch.linalg.vector_norm(x, dim=-1)
    lengths = torch.linalg.vector_norm(
        x, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32)
    )
    within_range = (lengths > 1e-15) & (lengths < 1e18)
    if not bool(within_range.all()):
        return torch.linalg.vector_norm(x, dim=-1, dtype=torch.float64)
    return lengths.double()


__all__ = ["norm", "spread", "squared_norm"]
