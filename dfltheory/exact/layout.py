"""Conversion between states of an algorithm and one vector for each client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import State, replace
from dfltheory.training.local import tensors


@dataclass(frozen=True, eq=False)
class StateLayout:
    """The tensors of a state (S, m, ...) that form the vector of each client.

    Attributes
    ----------
    shapes : dict
        Maps the name of a tensor to its shape for one client, in the order of the
        vector.
    """

    shapes: dict[str, tuple[int, ...]]

    @classmethod
    def of_state(cls, state: State, names: list[str]) -> StateLayout:
        """Return the layout of the named tensors of a state."""
        return cls({name: tuple(getattr(state, name).shape[2:]) for name in names})

    @property
    def widths(self) -> list[int]:
        """Number of entries of each tensor, for one client."""
        return [int(np.prod(shape)) for shape in self.shapes.values()]

    @property
    def width(self) -> int:
        """Length of the vector."""
        return sum(self.widths)

    def vector(self, state: State) -> Tensor:
        """Return the vectors of a state, (S, m, width)."""
        parts = [getattr(state, name).flatten(2).double() for name in self.shapes]
        return torch.cat(parts, -1)

    def state(self, template: State, vector: Tensor) -> State:
        """Return the template with the given vectors (S, m, width).

        Other tensors are repeated S times. If z is not part of the vector, it is x.
        """
        S = len(vector)
        new: dict[str, Tensor] = {}
        for (name, shape), part in zip(
            self.shapes.items(), vector.split(self.widths, -1)
        ):
            new[name] = part.clone().unflatten(-1, shape)
        new.setdefault("z", new["x"])
        for name, value in tensors(template).items():
            if value.ndim >= 3 and name not in new:
                new[name] = value[:1].expand(S, *value.shape[1:]).clone()
        return replace(template, **new)


def clients_tensors(state: State) -> list[str]:
    """Return the names of the nonempty tensors of clients (S, m, ...)."""
    return [
        name
        for name, value in tensors(state).items()
        if value.ndim >= 3 and value.numel()
    ]


__all__ = ["StateLayout", "clients_tensors"]
