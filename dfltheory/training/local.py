"""Local work, a few clients at a time where that pays: each client works alone, so nothing changes.

Where a server samples clients, only these work: the others are left as they are.
"""

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
        m, sampled = state.x.shape[1], self._sampled(grad)
        if self._chunk is None or (sampled is None and self._chunk >= m):
            return self._algorithm.local_update(state, grad)
        pieces = sampled or [slice(a, min(a + self._chunk, m)) for a in range(0, m, self._chunk)]
        changed, after = {"z": self._like(state.z)}, state
        if sampled is not None:
            changed["z"].copy_(state.x)
        for rows in pieces:
            part, some = clients_of(state, rows), grad.of(rows)
            some.room = changed["z"][:, rows] if state.z.shape[0] == 1 else None  # in one piece
            after = self._algorithm.local_update(part, some)
            for name in sorted(stacked(after), key="z".__eq__):  # z last: another field may be a view of it
                new = getattr(after, name)
                if name == "z" or new is not getattr(part, name):
                    if name not in changed:
                        changed[name] = self._like(getattr(state, name))
                        if sampled is not None:
                            changed[name].copy_(getattr(state, name))
                    into = changed[name][:, rows]
                    if new.data_ptr() != into.data_ptr():  # else it was made there
                        into.copy_(new)
        whole = {name: getattr(state, name) for name in stacked(state)}
        return replace(after, **(whole | changed))

    @staticmethod
    def _sampled(grad: RoundOracle | SomeClients) -> list[slice] | None:
        """The clients that take part, each a slice of one; None: all, or so many that a batch of all is no
        dearer, or not the same in every seed."""
        if grad.active is None or grad.active.shape[0] > 1:
            return None
        few = grad.active[0, :, 0].nonzero()[:, 0].tolist()
        return [slice(i, i + 1) for i in few] if 2 * len(few) <= grad.active.shape[1] else None

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
