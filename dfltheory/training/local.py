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

    def __init__(self, algorithm: Algorithm, chunk: int | None, memory: Buffers):
        self._algorithm, self._chunk, self._memory = algorithm, chunk, memory

    def __call__(self, state: Any, grad: RoundOracle | SomeClients) -> Any:
        m = state.x.shape[1]
        if self._chunk is None or self._chunk >= m:
            return self._algorithm.local_update(state, grad)
        changed, after = {"z": self._like(state.z)}, state
        for begin in range(0, m, self._chunk):
            rows = slice(begin, min(begin + self._chunk, m))
            part, some = clients_of(state, rows), grad.of(rows)
            some.room = changed["z"][:, rows] if state.z.shape[0] == 1 else None  # in one piece
            after = self._algorithm.local_update(part, some)
            for name in sorted(stacked(after), key="z".__eq__):  # z last: another field may be a view of it
                new = getattr(after, name)
                if name == "z" or new is not getattr(part, name):
                    if name not in changed:
                        changed[name] = self._like(getattr(state, name))
                    into = changed[name][:, rows]
                    if new.data_ptr() != into.data_ptr():  # else it was made there
                        into.copy_(new)
        whole = {name: getattr(state, name) for name in stacked(state)}
        return replace(after, **(whole | changed))

    def _like(self, tensor: Tensor) -> Tensor:
        return self._memory.empty(tuple(tensor.shape), tensor.dtype, tensor.device)


def stacked(state: Any) -> list[str]:
    """The names of the state's stacked tensors (S, m, ...)."""
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return [name for name, value in values.items() if isinstance(value, Tensor) and value.ndim == 3]


def clients_of(state: Any, rows: slice) -> Any:
    """The state of some clients."""
    return replace(state, **{name: getattr(state, name)[:, rows] for name in stacked(state)})


__all__ = ["LocalWork", "clients_of", "stacked"]
