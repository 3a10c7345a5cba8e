"""Local work, a few clients at a time where that pays: each client works alone, so nothing changes.

Where a server samples clients, only these work: the others are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.tasks.buffers import Buffers
from dfltheory.training.oracle import RoundOracle, SomeClients


class LocalWork:
    """Runs ``algorithm.local_update`` on chunks of clients that fit a processor's cache.

    Nobody else may hold the state that it is given: what a chunk leaves behind is written over what has been
    used up. Of the models there is one copy, with room for one chunk more. Local steps that do not look at x
    again go over it; what comes of others is written from the end where x does not lie, always over clients
    that have done their work.
    """

    def __init__(self, algorithm: Algorithm, chunk: int | None, memory: Buffers):
        self._algorithm, self._chunk, self._memory = algorithm, chunk, memory
        self._models: Tensor | None = None

    def start(self, x: Tensor) -> Tensor:
        """A copy of the models (S, m, d) that a run begins with, in their place."""
        if self._divided(x.shape[1]):
            return self._ends(x)[0].copy_(x)
        return x.clone(memory_format=torch.contiguous_format)

    def own(self, state: Any) -> Any:
        """The same state, no tensor of which lies in another's memory (but z in x's)."""
        shared = set(_tensors(state)) - _alone(state) - {"x", "z"}
        return replace(state, **{name: getattr(state, name).clone() for name in shared}) if shared else state

    def __call__(self, state: Any, grad: RoundOracle | SomeClients) -> tuple[Any, Tensor | None]:
        """The state after local work, and its z if that may be written over, since nobody else has it."""
        sampled = self._sampled(grad) if self._chunk is not None else None
        if self._chunk is None or (sampled is None and not self._divided(state.x.shape[1])):
            return self._algorithm.local_update(state, grad), None
        after = self._work(self._algorithm.local_update, "z", state, grad, sampled)
        return after, after.z

    def finish(self, state: Any, grad: RoundOracle | SomeClients) -> Any:
        """The state after what clients do when the last round is over."""
        finish = self._algorithm.finish
        if type(self._algorithm).finish is Algorithm.finish:
            return state
        divided = self._divided(state.x.shape[1])
        after = self._work(finish, "x", state, grad, None) if divided else finish(state, grad)
        return replace(after, z=after.x)  # where z was, there may be other models now

    def _work(
        self,
        update: Callable[[Any, Any], Any],
        result: str,
        state: Any,
        grad: RoundOracle | SomeClients,
        sampled: list[slice] | None,
    ) -> Any:
        """``update`` on pieces of the clients, whose main result is the field of that name."""
        alone, held = _alone(state), {_storage(tensor) for tensor in _tensors(state).values()}
        held.discard(_storage(state.x))  # where only the result is written, after all else
        into, pieces = self._place(state, sampled, "x" in alone)
        changed, after = {result: into}, state
        in_one_piece = len(into) == 1  # a client's rows
        spare = in_one_piece and "x" in alone and grad.active is None and self._has(state.x)
        for rows in pieces:
            part, some = clients_of(state, rows), grad.of(rows)
            if spare:
                some.spare = part.x
            if in_one_piece and into is not state.x:
                some.room = into[:, rows]
            before, after = after, update(part, some)
            if part.x.ndim == 1 and before is state:  # local steps went over it, the first of all
                into = changed[result] = state.x
            new = {
                name: tensor.clone() if _storage(tensor) in held else tensor  # an old field under a new name
                for name, tensor in ((name, getattr(after, name)) for name in stacked(after))
                if name == result or (name != "x" and tensor is not getattr(part, name))  # x: of no use now
            }
            for name in sorted(new, key=result.__eq__):  # last: another field may be a view of it
                if name not in changed:
                    old = getattr(state, name)
                    changed[name] = self._room(new[name], old, name in alone, state, sampled)
                there = changed[name][:, rows]
                if new[name].data_ptr() != there.data_ptr() or new[name].stride() != there.stride():
                    there.copy_(new[name])  # else it was made there
        whole = {name: getattr(state, name) for name in stacked(after)}  # and no field that became None
        return replace(after, **(whole | changed))

    def _place(self, state: Any, sampled: list[slice] | None, alone: bool) -> tuple[Tensor, Iterable[slice]]:
        """Where the models that the clients work out are written, and in which order the clients work."""
        x, m = state.x, state.x.shape[1]
        if sampled is not None:
            return x if alone else x.clone(), sampled
        if not alone:
            self._models = None
        chunk = self._chunk or m
        pieces = [slice(a, min(a + chunk, m)) for a in range(0, m, chunk)]
        front, back = self._ends(x)
        return (back, reversed(pieces)) if x.data_ptr() == front.data_ptr() else (front, pieces)

    def _has(self, x: Tensor) -> bool:
        """Do these models lie in the memory of m and one chunk more?"""
        return self._models is not None and _storage(x) == _storage(self._models)

    def _divided(self, m: int) -> bool:
        return self._chunk is not None and self._chunk < m

    def _sampled(self, grad: RoundOracle | SomeClients) -> list[slice] | None:
        """The clients that take part in some seed, each a slice of one; None: all, or so many that batches of
        all are no dearer."""
        if grad.active is None:
            return None
        few = grad.active[..., 0].any(0).nonzero()[:, 0].tolist()
        pays = self._chunk == 1 or 2 * len(few) <= grad.active.shape[1]
        return [slice(i, i + 1) for i in few] if pays else None

    def _ends(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The two places of all models (S, m, d) in the memory of m and one chunk more."""
        S, m, d = x.shape
        chunk = self._chunk or m
        if self._models is None or self._models.shape[1] != m + chunk:  # a rank has fewer clients than a run
            self._models = self._memory.empty((S, m + chunk, d), x.dtype, x.device)
        return self._models[:, :m], self._models[:, chunk:]

    def _room(self, new: Tensor, old: Any, alone: bool, state: Any, sampled: list[slice] | None) -> Tensor:
        """Where the clients' new values of a field go: over the old ones, if no other field has them.

        Clients that were not sampled have 0 in a field that was not there before.
        """
        shape = (len(new), state.x.shape[1], *new.shape[2:])
        fits = isinstance(old, Tensor) and old.shape == shape
        if fits and alone and old.dtype == new.dtype:
            return old
        room = self._memory.empty(shape, new.dtype, new.device)
        if fits:
            return room.copy_(old)
        return room if sampled is None else room.zero_()


def _alone(state: Any) -> set[str]:
    """The tensors whose memory no other one has, and each of whose entries has its own place; z is sent, and
    may be x."""
    names_at: dict[int, set[str]] = {}
    for name, tensor in _tensors(state).items():
        names = names_at.setdefault(_storage(tensor), set())
        names.add("x" if name == "z" else name)
        if 0 in tensor.stride():  # expanded: many entries in one place
            names.add("")
    return {name for names in names_at.values() if len(names) == 1 for name in names}


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _tensors(state: Any) -> dict[str, Tensor]:
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def stacked(state: Any) -> list[str]:
    """The names of the state's stacked tensors (S, m, ...)."""
    return [name for name, value in _tensors(state).items() if value.ndim >= 3]


def clients_of(state: Any, rows: slice) -> Any:
    """The state of some clients; a tensor of two names stays one."""
    whole = {name: getattr(state, name) for name in stacked(state)}
    parts = {id(tensor): tensor[:, rows] for tensor in whole.values()}
    return replace(state, **{name: parts[id(tensor)] for name, tensor in whole.items()})


__all__ = ["LocalWork", "clients_of", "stacked"]
