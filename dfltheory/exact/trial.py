"""Records of a probed round: its calls of ``mix``, and where a state is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import State
from dfltheory.exact.layout import clients_tensors
from dfltheory.exact.moments import Affine


@dataclass(frozen=True, eq=False)
class Readout:
    """The points at which a state is measured.

    Attributes
    ----------
    models : Affine
        The clients' models.
    mean, auxiliary : pair of arrays
        The mean and the auxiliary point as (J, offset) with J (d, m, width);
        ``auxiliary`` may be None.
    """

    models: Affine
    mean: tuple[np.ndarray, np.ndarray]
    auxiliary: tuple[np.ndarray, np.ndarray] | None


@dataclass(frozen=True, eq=False)
class MixCall:
    """One call of ``mix``.

    Attributes
    ----------
    z : Tensor
        The message.
    times, after : int
        Number of gossip steps, and of earlier gossip steps in this round.
    result : Tensor or None
        The result, if it does not depend on the models and the noise.
    """

    z: Tensor
    times: int
    after: int
    result: Tensor | None


@dataclass(frozen=True, eq=False)
class Trial:
    """One round at two random points.

    Attributes
    ----------
    sent, after : State
        The states after local work and after the round, with the two points on the axis
        of the seeds.
    calls : list of Call
        The calls of ``mix``, in order.
    """

    sent: State
    after: State
    calls: list[MixCall]

    def fingerprint(self) -> bytes:
        """Return all numbers as bytes; equal bytes mean equal maps."""
        parts = []
        for state in (self.sent, self.after):
            parts += [getattr(state, name) for name in clients_tensors(state)]
        parts += [call.z for call in self.calls]
        numbers = b"".join(part.contiguous().numpy().tobytes() for part in parts)
        return numbers + repr([call.times for call in self.calls]).encode()


def equal_at_both_points(z: object) -> bool:
    """Return whether a tensor is the same at both random points."""
    return isinstance(z, Tensor) and torch.equal(z[:1].expand_as(z), z)


__all__ = ["MixCall", "Readout", "Trial", "equal_at_both_points"]
