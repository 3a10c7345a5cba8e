"""Large tensors whose memory is used again: fresh pages cost more than what is written into them."""

from __future__ import annotations

import sys

import numpy as np
import torch

_WORTH_IT = 1 << 20
"""Bytes from which a buffer is kept: below, the allocator keeps its memory itself."""

_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}


class Buffers:
    """Gives out empty tensors, and gives one out again when nothing refers to its memory any more.

    The memory is numpy's, and every torch view of it holds one reference to the array: the reference count
    tells for certain whether a tensor, or any view of it, is still alive somewhere. Nobody has to hand
    anything back, and nothing that somebody holds is ever overwritten.
    """

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []

    def empty(
        self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> torch.Tensor:
        """An uninitialized tensor of that shape."""
        size = int(np.prod(shape)) * dtype.itemsize
        if size < _WORTH_IT or dtype not in _NUMPY or torch.device(device).type != "cpu":
            return torch.empty(shape, dtype=dtype, device=device)
        for k in range(len(self._arrays)):
            fits = self._arrays[k].shape == tuple(shape) and self._arrays[k].dtype == _NUMPY[dtype]
            if fits and sys.getrefcount(self._arrays[k]) == _UNUSED:
                return torch.from_numpy(self._arrays[k])
        self._arrays.append(np.empty(shape, dtype=_NUMPY[dtype]))
        return torch.from_numpy(self._arrays[-1])

    def release(self) -> None:
        """Give the memory back that nothing refers to."""
        self._arrays = [array for array in self._arrays if sys.getrefcount(array) > _UNUSED + 1]


def taken(tensor: torch.Tensor) -> torch.Tensor:
    """What lies in a tensor, which is empty itself from now on: something else will be written there, and who
    looks for the old values by the old name shall be told."""
    values = tensor.detach()
    tensor.resize_(0)
    return values


def _count_of_an_unused_array() -> int:
    """What sys.getrefcount says of an array that a list alone holds."""
    arrays = [np.empty(1)]
    return sys.getrefcount(arrays[0])


_UNUSED = _count_of_an_unused_array()

__all__ = ["Buffers", "taken"]
