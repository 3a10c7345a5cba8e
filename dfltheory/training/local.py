"""Local work, a few clients at a time where that pays: each client works alone, so nothing changes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.tasks.buffers import Buffers
from dfltheory.training.oracle import RoundOracle, SomeClients


class LocalWork:
    """Runs ``algorithm.local_update`` on chunks of clients that fit a processor's cache.

    What a chunk leaves behind is written into whole tensors, whose memory is that of earlier rounds.
    """

    def __init__(self, algorithm: Algorithm, chunk: int | None):
        self._algorithm, self._chunk = algorithm, chunk
        self._buffers = Buffers()

    def __call__(self, state: Any, grad: RoundOracle | SomeClients) -> Any:
        m = state.x.shape[1]
        if self._chunk is None or self._chunk >= m:
            return self._algorithm.local_update(state, grad)
        changed: dict[str, Tensor] = {}
        for begin in range(0, m, self._chunk):
            rows = slice(begin, min(begin + self._chunk, m))
            part = clients_of(state, rows)
            after = self._algorithm.local_update(part, grad.of(rows))
            for name in stacked(after):
                if getattr(after, name) is not getattr(part, name):
                    if name not in changed:
                        like = getattr(state, name)
                        changed[name] = self._buffers.empty(tuple(like.shape), like.dtype, like.device)
                    changed[name][:, rows] = getattr(after, name)
        return replace(state, **changed)


def stacked(state: Any) -> list[str]:
    """The names of the state's stacked tensors (S, m, ...)."""
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return [name for name, value in values.items() if isinstance(value, Tensor) and value.ndim == 3]


def clients_of(state: Any, rows: slice) -> Any:
    """The state of some clients."""
    return replace(state, **{name: getattr(state, name)[:, rows] for name in stacked(state)})


__all__ = ["LocalWork", "clients_of", "stacked"]
