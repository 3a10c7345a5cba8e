"""How many messages clients send in a round, and how many bits these have."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import Matrix


def degrees(W: Matrix, axis: int) -> np.ndarray:
    """Return the number of neighbors of each client (m,), excluding itself.

    Axis 0 counts the receivers of its messages (nonzero weights in its column), axis 1
    its senders.
    """
    linked: Any = W != 0
    return (
        np.asarray(linked.sum(axis=axis), dtype=np.float64).ravel() - linked.diagonal()
    )


def messages_sent(matrices: list[Matrix]) -> np.ndarray:
    """Return the number of messages of each client (m,) in some gossip steps."""
    first = matrices[0]
    if all(W is first for W in matrices):
        return len(matrices) * degrees(first, 0)
    return np.sum([degrees(W, 0) for W in matrices], axis=0)


def bits_sent(
    z: Tensor,
    bits: float | Tensor | None,
    messages: np.ndarray,
    total: float | np.ndarray,
) -> float | np.ndarray:
    """Return the bits that all clients of each seed send, a number or an array (S,).

    Parameters
    ----------
    z : (S, m, ...) tensor
        The messages. Without ``bits``, the size of a message is that of one client's
        part.
    bits : float or (S, m) tensor, optional
        Size of one message.
    messages : (S or 1, m) array
        Number of messages of each client.
    total : float or (S,) array
        Their sum.

    Raises
    ------
    InputError
        If ``bits`` is not a finite number >= 0, or a tensor of such numbers.
    """
    if bits is None:
        return 8 * z.element_size() * math.prod(z.shape[2:]) * total
    if isinstance(bits, Tensor):
        if bits[0, 0].numel() != 1:
            raise InputError(
                f"bits has shape {tuple(bits.shape)}: pass a number, or a tensor (S, m)"
                " with one for each client"
            )
        per_client = bits.reshape(bits.shape[:2]).double().cpu().numpy()
        least, sent = per_client.min(), (per_client * messages).sum(-1)
    elif isinstance(bits, Real):
        least, sent = bits, float(bits) * total
    else:
        raise InputError(
            f"bits = {bits!r} must be a number, or a tensor (S, m) with one for each"
            " client"
        )
    if not (least >= 0 and np.isfinite(sent).all()):
        raise InputError(
            f"bits = {bits!r:.60}, the size of a message, must be finite and >= 0"
        )
    return sent


__all__ = ["bits_sent", "degrees", "messages_sent"]
