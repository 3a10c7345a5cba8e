"""How many messages the clients send in a round, and how many bits these take."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import Matrix


def degrees(W: Any, axis: int) -> np.ndarray:
    """Return the number of neighbors of every client, without itself, (m,).

    Axis 0 counts the receivers of its messages (nonzero weights of its column), axis 1
    its senders.
    """
    linked = W != 0
    return (
        np.asarray(linked.sum(axis=axis), dtype=np.float64).ravel() - linked.diagonal()
    )


def messages_sent(matrices: list[Matrix]) -> np.ndarray:
    """Return the number of messages of each client in these gossip steps, (m,)."""
    first = matrices[0]
    if all(W is first for W in matrices):
        return len(matrices) * degrees(first, 0)
    return np.sum([degrees(W, 0) for W in matrices], axis=0)


def bits_sent(
    z: Tensor, bits: float | Tensor | None, messages: np.ndarray, total: np.ndarray
) -> Any:
    """Return the bits that all clients of each seed send, a number or an array (S,).

    Parameters
    ----------
    z : (S, m, ...) tensor
        What is sent. Without ``bits`` a message has the size of one client's part of
        it.
    bits : float or (S, m) tensor, optional
        Size of one message.
    messages : (S or 1, m) array
        Number of messages of each client.
    total : (S or 1,) array
        Their sum.

    Raises
    ------
    InputError
        If ``bits`` is no finite number >= 0, or no tensor of such numbers.
    """
    if bits is None:
        return 8 * z.element_size() * math.prod(z.shape[2:]) * total
    if isinstance(bits, Tensor):
        if bits[0, 0].numel() != 1:
            raise InputError(
                f"bits has shape {tuple(bits.shape)}: give a number, or each client's"
                " (S, m)"
            )
        each = bits.reshape(bits.shape[:2]).double().cpu().numpy()
        least, sent = each.min(), (each * messages).sum(-1)
    elif isinstance(bits, Real):
        least, sent = bits, float(bits) * total
    else:
        raise InputError(
            f"bits = {bits!r} must be a number, or each client's own in a tensor (S, m)"
        )
    if not (least >= 0 and np.isfinite(sent).all()):
        raise InputError(
            f"bits = {bits!r:.60} must be finite and >= 0: it is the size of a message"
        )
    return sent


__all__ = ["bits_sent", "degrees", "messages_sent"]
