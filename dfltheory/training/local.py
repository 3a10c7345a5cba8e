"""Local work, a few clients at a time where that pays: each client works alone, so nothing changes.

Where some clients rest (a server samples, or the network wakes two), only the others work: those keep what
they have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from torch import Tensor

from dfltheory.algorithms.base import State, replace
from dfltheory.errors import InputError
from dfltheory.training.oracle import RoundOracle


def in_pieces(update: Callable[[Any, Any], Any], state: Any, grad: RoundOracle, chunk: int | None) -> Any:
    """``update(state, grad)``, for ``chunk`` clients at a time (``None``: all at once)."""
    m = state.x.shape[1]
    sampled = None if chunk is None else _sampled(grad, chunk, m)
    size = chunk or m
    if sampled is None and size >= m:
        return update(state, grad)
    pieces = [slice(a, min(a + size, m)) for a in range(0, m, size)] if sampled is None else sampled
    part, after, changed = state, state, {}
    for rows in pieces:
        arcs = grad.edges.part(rows) if state.per_edge else rows
        part = clients_of(state, rows, arcs)
        after = update(part, grad.of(rows))
        for name, new in tensors(after).items():
            here, n = (arcs, len(grad.edges)) if name in state.per_edge else (rows, m)
            if new.ndim < 2 or new.shape[1] != here.stop - here.start:
                continue  # common to all clients
            if name not in changed:
                if new is getattr(part, name, None):
                    continue
                # those before this piece have not changed it, nor have those who do not take part
                changed[name] = _room(new, getattr(state, name), n, here.start if sampled is None else n)
            changed[name][:, here] = new
    same = [name for name in stacked(state) if getattr(after, name) is getattr(part, name)]
    return replace(after, **({name: getattr(state, name) for name in same} | changed))


def _sampled(grad: RoundOracle, chunk: int, m: int) -> list[slice] | None:
    """The clients that take part in some seed, each a slice; None: all, or so many that all at once pay."""
    if grad.active is None:
        return None
    few = grad.active[..., 0].any(0).nonzero()[:, 0].tolist()
    return [slice(i, i + 1) for i in few] if chunk == 1 or 2 * len(few) <= m else None


def _room(new: Tensor, old: Any, n: int, kept: int) -> Tensor:
    """Memory for a field's values of n clients or arcs; the first ``kept`` have their old ones, or 0."""
    room = new.new_empty(len(new), n, *new.shape[2:])
    fits = isinstance(old, Tensor) and old.shape == room.shape
    room[:, :kept] = old[:, :kept] if fits else 0
    return room


def tensors(state: Any) -> dict[str, Tensor]:
    """The fields of a state that are tensors."""
    values = ((f.name, getattr(state, f.name)) for f in fields(state))
    return {name: value for name, value in values if isinstance(value, Tensor)}


def stacked(state: Any) -> list[str]:
    """The names of the fields that are the clients' own: tensors (S, m, ...), and those per edge."""
    m, per_edge = state.x.shape[1], state.per_edge
    return [n for n, v in tensors(state).items() if n in per_edge or (v.ndim >= 2 and v.shape[1] == m)]


def check_state(state: Any, like: Tensor, where: str) -> Any:
    """The state that ``where`` returns, or one clear line unless it is one whose x and z fit ``like``."""
    if not isinstance(state, State):
        raise InputError(
            f"{where} returns a {type(state).__name__}: return a State, as replace(state, ...) is"
        )
    if hidden := sorted(vars(state).keys() - {f.name for f in fields(state)}):
        raise InputError(
            f"{where}: {', '.join(hidden)} is no field of {type(state).__name__}, and no checkpoint would"
            " keep it: declare it in a subclass of State, and make it in init"
        )
    for name, value in (("x", state.x), ("z", state.z)):
        if not isinstance(value, Tensor) or value.shape != like.shape:
            told = f"has shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"is {value!r:.40}"
            raise InputError(f"{where}: the state's {name} {told}: give a tensor {tuple(like.shape)}")
    if state.x.dtype != like.dtype:
        raise InputError(f"{where}: the state's x is of {state.x.dtype}: give the task's {like.dtype}")
    return state


def check_shapes(state: Any, grad: RoundOracle) -> None:
    """One clear line unless every tensor is each client's own, or of each arc, or common to all."""
    S, m = state.x.shape[:2]
    for name, value in tensors(state).items():
        if name in state.per_edge:
            fits, kind = value.shape[:2] == (S, len(grad.edges)), "is per_edge and "
            wanted = f"{(S, len(grad.edges))} and more axes, as grad.edges.own and mix.gather do"
        else:
            fits, kind = value.ndim < 2 or (value.shape[0] == S and value.shape[1] in (1, m)), ""
            wanted = (
                f"({S}, {m}, ...), each client's own, or ({S}, 1, ...) or at most one axis, common to all;"
                " what is kept for every arc of the network is named in per_edge of the state's class"
            )
        if not fits:
            told = f"{name} {kind}has shape {tuple(value.shape)}"
            raise InputError(f"{type(state).__name__}: {told}: give {wanted}")


def clients_of(state: Any, rows: slice, arcs: slice | None = None) -> Any:
    """The state of some clients, ``arcs`` those that end at them; a tensor of two names stays one."""
    whole = {
        name: (getattr(state, name), arcs if name in state.per_edge else rows) for name in stacked(state)
    }
    parts = {id(tensor): tensor[:, places] for tensor, places in whole.values()}
    return replace(state, **{name: parts[id(tensor)] for name, (tensor, _) in whole.items()})


__all__ = ["check_shapes", "check_state", "clients_of", "in_pieces", "stacked", "tensors"]
