"""Norms of stacked vectors, safe from overflow and underflow of the squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class ScaledNorm:
    """The norm ||x|| = unit * value of each row of x = unit * vector.

    Attributes
    ----------
    vector : (..., d) tensor
        x / unit.
    value : (..., 1) tensor
        ||vector||, without overflow or underflow.
    unit : float or (..., 1) tensor
        1 where the norm of x itself is in range, else the largest absolute coordinate.
    """

    vector: Tensor
    value: Tensor
    unit: float | Tensor = 1.0


def scaled_norm(x: Tensor) -> ScaledNorm:
    """Return the norms along the last axis, without overflow or underflow.

    The square of a float32 number overflows above 1.8e19 and loses digits below 1e-19.
    Rows whose norm is out of range are divided by their largest absolute coordinate.
    Other rows are not changed.
    """
    norm = _row_norms(x)
    least = smallest_reliable_norm(x.dtype)
    if norm.numel() == 0:
        return ScaledNorm(x, norm)
    # reading a value from another device would synchronize with it
    if x.device.type == "cpu":
        smallest, largest = torch.aminmax(norm)
        if least < smallest.item() and largest.item() < math.inf:
            return ScaledNorm(x, norm)
    unit = _row_norms(x, order=math.inf)
    is_ordinary = (norm > least) & (norm < math.inf)
    has_no_unit = (unit == 0) | ~torch.isfinite(unit)
    unit = torch.where(is_ordinary | has_no_unit, 1.0, unit)
    vector = x / unit
    return ScaledNorm(vector, _row_norms(vector), unit)


def _row_norms(x: Tensor, order: float = 2.0) -> Tensor:
    """Return the norms of the given order along the last axis, (..., 1)."""
    return cast(  # torch.linalg has no annotations
        "Tensor",
        torch.linalg.vector_norm(x, ord=order, dim=-1, keepdim=True),  # pyright: ignore[reportUnknownMemberType]
    )


def smallest_reliable_norm(dtype: torch.dtype) -> float:
    """Return the norm below which squares of this precision lose digits."""
    summed = torch.finfo(torch.promote_types(dtype, torch.float32))
    return max(torch.finfo(dtype).tiny, math.sqrt(summed.tiny / summed.eps))


__all__ = ["ScaledNorm", "scaled_norm"]
