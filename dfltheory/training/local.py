"""Local work, a few clients at a time where that pays: each client works alone, so nothing changes.

Where a server samples clients, only these work: the others are left as they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any
from weakref import WeakValueDictionary

from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.tasks.buffers import Buffers
from dfltheory.training.oracle import RoundOracle, SomeClients


class LocalWork:
    """Runs ``algorithm.local_update`` on chunks of clients that fit a processor's cache.

    What a chunk leaves behind is written into whole tensors, whose memory is that of earlier rounds. Where
    nobody else sees the states (``alone``), what a client keeps to itself is written over what it kept.
    """

    def __init__(self, algorithm: Algorithm, chunk: int | None, memory: Buffers, alone: bool = False):
        self._algorithm, self._chunk, self._memory, self._alone = algorithm, chunk, memory, alone
        self._kept: WeakValueDictionary[str, Tensor] = WeakValueDictionary()

    def __call__(self, state: Any, grad: RoundOracle | SomeClients) -> Any:
        m, sampled = state.x.shape[1], self._sampled(grad)
        if self._chunk is None or (sampled is None and self._chunk >= m):
            return self._algorithm.local_update(state, grad)
        pieces = sampled or [slice(a, min(a + self._chunk, m)) for a in range(0, m, self._chunk)]
        changed, after = {"z": self._whole(state.z, m)}, state
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
                        changed[name] = self._room(name, new, state, sampled is not None)
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

    def own(self, state: Any) -> Any:
        """The same state, whose tensors this work may write over: but for those that share their memory."""
        tensors = {name: getattr(state, name) for name in stacked(state)}
        users = Counter(tensor.data_ptr() for tensor in tensors.values())
        self._kept.update({name: t for name, t in tensors.items() if users[t.data_ptr()] == 1})
        return state

    def _room(self, name: str, new: Tensor, state: Any, some: bool) -> Tensor:
        """Where the clients' new values of a field go: over the old ones, which stay if only some work."""
        old: Tensor | None = getattr(state, name)
        if self._alone and old is not None and old is self._kept.get(name):
            return old
        room = self._kept[name] = self._whole(new, state.x.shape[1])
        return room.copy_(getattr(state, name)) if some else room

    def _whole(self, part: Tensor, m: int) -> Tensor:
        """Room for all m clients' parts of this kind."""
        return self._memory.empty((len(part), m, *part.shape[2:]), part.dtype, part.device)


def stacked(state: Any) -> list[str]:
    """The names of the state's stacked tensors (S, m, ...)."""
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return [name for name, value in values.items() if isinstance(value, Tensor) and value.ndim == 3]


def clients_of(state: Any, rows: slice) -> Any:
    """The state of some clients."""
    return replace(state, **{name: getattr(state, name)[:, rows] for name in stacked(state)})


__all__ = ["LocalWork", "clients_of", "stacked"]
