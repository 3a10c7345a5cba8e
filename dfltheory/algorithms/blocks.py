"""Partial personalization: x_i = (u_i, v_i); clients exchange u and keep v."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import (
    Algorithm,
    Mix,
    Oracle,
    State,
    replace,
    taking_part,
)
from dfltheory.algorithms.local_steps import Index, is_empty, local_steps

Phase = tuple[Index | None, float, int, float]
"""Local steps on one block: coordinates (None for all), step size, number of steps, SAM
radius.
"""

_LEAST_WIDTH = 4096
"""Smallest number of coordinates of a part, except the last one."""


def block_coordinates(shared: Index | None, d: int) -> tuple[Index, Index]:
    """Return the coordinates of u and of v.

    Parameters
    ----------
    shared : Index or None
        Coordinates of u; None means all, so that v is empty.
    d : int
        Number of coordinates.

    Returns
    -------
    pair of Index
        Slices where possible.
    """
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


def empty_tensor() -> Tensor:
    """Return a tensor without entries, the default of fields that ``init`` sets."""
    return torch.empty(0)


def exchange(z: Tensor, shared: Index | None, mix: Mix, times: int = 1) -> Tensor:
    """Return models whose shared block is mixed.

    Parameters
    ----------
    z : (S, m, d) tensor
        Models (u, v).
    shared : Index or None
        Coordinates of u; None means all.
    mix : Mix
        The network.
    times : int
        Number of gossip steps.

    Returns
    -------
    (S, m, d) tensor
        (mixed u, v).
    """
    u, v = block_coordinates(shared, z.shape[-1])
    if is_empty(v):
        return mix(z, times=times)
    if is_empty(u):
        return z
    mixed = z.clone()
    for part in parts(u):
        mixed[..., part] = mix(z[..., part].contiguous(), times=times)
    return mixed


def parts(index: Index, at_most: int = 32) -> Sequence[Index]:
    """Divide an index into parts, which limits the memory of temporary copies.

    Parameters
    ----------
    index : Index
        The coordinates; a slice has both ends, and step 1.
    at_most : int
        Largest number of parts.

    Returns
    -------
    sequence of Index
        The parts in order.
    """
    is_slice = isinstance(index, slice)
    begin, end = (index.start, index.stop) if is_slice else (0, len(index))
    width = max(_LEAST_WIDTH, math.ceil((end - begin) / at_most))
    slices = [slice(a, min(a + width, end)) for a in range(begin, end, width)]
    if isinstance(index, slice):
        return slices
    return [index[part] for part in slices]


@dataclass(frozen=True, eq=False)
class SharedState(State):
    """State with ``shared``, the coordinates that clients exchange; None means all."""

    shared: Index | None = None


SharedStateType = TypeVar("SharedStateType", bound=SharedState)


@dataclass(frozen=True)
class Phased(Algorithm[SharedStateType]):
    """Local work in phases, then an exchange of the shared block.

    Each phase changes one block. By default there is one phase on all coordinates.
    """

    implied: ClassVar = {"rho": 0.0, "fresh": True}

    def init(self, x0: Tensor, grad: Oracle) -> SharedStateType | SharedState:
        """Return the initial state; only personalized algorithms set ``shared``."""
        return SharedState(x=x0, z=x0, shared=grad.shared if self.personal else None)

    def phases(self, u: Index, v: Index) -> Iterable[Phase]:
        """Return the phases of a round for shared coordinates u and personal v."""
        return [
            (
                None,
                self.hyperparameter("eta"),
                self.hyperparameter("K"),
                self.hyperparameter("rho"),
            )
        ]

    def local_update(self, state: SharedStateType, grad: Oracle) -> SharedStateType:
        """Return the state with z, the models after the local steps of all phases."""
        batch = None if self.hyperparameter("fresh") else (grad.sample(),)
        y = grad.begin(state.x)
        alpha = self.hyperparameter("alpha")
        for block, eta, K, rho in self.phases(
            *block_coordinates(grad.shared, y.shape[-1])
        ):
            local_steps(
                self,
                grad,
                y,
                eta=eta,
                K=K,
                rho=rho,
                alpha=alpha,
                block=block,
                batch=batch,
            )
        return replace(state, z=taking_part(grad, y, state.x))

    def communicate(self, state: SharedStateType, mix: Mix) -> SharedStateType:
        """Return the state with x, the models after the exchange of z."""
        return replace(state, x=exchange(state.z, state.shared, mix))


__all__ = [
    "Phased",
    "SharedState",
    "block_coordinates",
    "empty_tensor",
    "exchange",
    "parts",
]
