"""Local work for some clients at a time, and checks of states.

Clients are independent, so the result does not depend on the division into parts.
Clients that do not participate keep their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

import numpy as np
from torch import Tensor

from dfltheory.algorithms.base import State, replace
from dfltheory.errors import InputError
from dfltheory.tasks.task import Clients, number_of
from dfltheory.training.oracle import RoundOracle

Update = Callable[[State, RoundOracle], State]
"""A function that performs the local work of some clients."""


def in_pieces(
    update: Update, state: State, grad: RoundOracle, chunk: int | None
) -> State:
    """Return ``update(state, grad)``, computed for some clients at a time.

    Parameters
    ----------
    update : callable
        Performs the local work of the clients of a state.
    state : State
    grad : RoundOracle
        The gradients of this round.
    chunk : int, optional
        Number of clients at a time; None for all.
    """
    m = state.x.shape[1]
    if chunk is not None and grad.active is not None:
        participating = _participating(grad.active, chunk)
        return _update_parts(update, state, grad, participating, others_unchanged=True)
    if chunk is None or chunk >= m:
        return update(state, grad)
    parts = [slice(start, min(start + chunk, m)) for start in range(0, m, chunk)]
    return _update_parts(update, state, grad, parts, others_unchanged=False)


def _update_parts(
    update: Update,
    state: State,
    grad: RoundOracle,
    parts: Sequence[Clients],
    others_unchanged: bool,
) -> State:
    """Return the state in which each part of the clients has been updated in turn."""
    m = state.x.shape[1]
    part, after = state, state
    changed: dict[str, Tensor] = {}
    for rows in parts:
        arcs = grad.edges.part(rows) if state.per_edge else rows
        part = clients_of(state, rows, arcs)
        after = update(part, grad.of(rows))
        for name, new in tensors(after).items():
            places, n = (arcs, len(grad.edges)) if name in state.per_edge else (rows, m)
            if new.ndim < 2 or new.shape[1] != number_of(places):
                continue  # common to all clients
            if name not in changed:
                if new is getattr(part, name, None):
                    continue
                # the field was not changed by earlier parts or inactive clients
                unchanged = n
                if not others_unchanged and isinstance(places, slice):
                    unchanged = places.start
                changed[name] = _with_old_values(
                    new, getattr(state, name), n, unchanged
                )
            changed[name][:, places] = new
    same = [
        name for name in stacked(state) if getattr(after, name) is getattr(part, name)
    ]
    return replace(after, **({name: getattr(state, name) for name in same} | changed))


def _participating(active: Tensor, size: int) -> list[Clients]:
    """Return the clients that participate for any seed, at most ``size`` at a time.

    Single clients are slices, which need no copies.
    """
    clients = active[..., 0].any(0).nonzero()[:, 0]
    if size == 1:
        return [slice(i, i + 1) for i in clients.tolist()]
    return list(clients.split(size))


def _with_old_values(new: Tensor, old: object, n: int, unchanged: int) -> Tensor:
    """Return a tensor for n clients or arcs, with the first old values or 0."""
    values = new.new_empty(len(new), n, *new.shape[2:])
    if isinstance(old, Tensor) and old.shape == values.shape:
        values[:, :unchanged] = old[:, :unchanged]
    else:
        values[:, :unchanged] = 0
    return values


def tensors(state: State) -> dict[str, Tensor]:
    """Return the fields of a state that are tensors."""
    values = ((f.name, getattr(state, f.name)) for f in fields(state))
    return {name: value for name, value in values if isinstance(value, Tensor)}


def stacked(state: State) -> list[str]:
    """Return the names of the fields per client (S, m, ...) and per arc (S, E, ...)."""
    m, per_edge = state.x.shape[1], state.per_edge
    names = []
    for name, value in tensors(state).items():
        if name in per_edge or (value.ndim >= 2 and value.shape[1] == m):
            names.append(name)
    return names


def check_returned_state(state: object, like: Tensor, where: str) -> State:
    """Check and return a state that was returned by ``where``.

    Raises
    ------
    InputError
        If it is not a ``State``, has attributes that are not fields, or its x and z do
        not fit ``like``.
    """
    if not isinstance(state, State):
        raise InputError(
            f"{where} returns a {type(state).__name__}: it must return a State, for"
            " example replace(state, ...)"
        )
    undeclared = sorted(vars(state).keys() - {f.name for f in fields(state)})
    if undeclared:
        raise InputError(
            f"{where}: {', '.join(undeclared)} is not a field of"
            f" {type(state).__name__}, so checkpoints would not store it: declare it"
            " in a subclass of State, and set it in init"
        )
    for name, value in (("x", state.x), ("z", state.z)):
        if not isinstance(value, Tensor):
            raise InputError(
                f"{where}: the state's {name} is {value!r:.40}: it must be a tensor"
                f" {tuple(like.shape)}"
            )
        if value.shape != like.shape:
            shape = tuple(value.shape)
            raise InputError(
                f"{where}: the state's {name} has shape {shape}: it must be"
                f" {tuple(like.shape)}"
            )
    if state.x.dtype != like.dtype:
        raise InputError(
            f"{where}: the state's x has type {state.x.dtype}: it must be the task's"
            f" {like.dtype}"
        )
    return state


def check_shapes(state: State, grad: RoundOracle) -> None:
    """Raise InputError unless every tensor is per client, per arc, or common to all."""
    S, m = state.x.shape[:2]
    for name, value in tensors(state).items():
        place = f"{type(state).__name__}: {name}"
        shape = tuple(value.shape)
        if name in state.per_edge:
            arcs = (S, len(grad.edges))
            if shape[:2] != arcs:
                raise InputError(
                    f"{place} is per_edge and has shape {shape}: it must start with"
                    f" {arcs}, as from grad.edges.own and mix.gather"
                )
        elif value.ndim >= 2 and (shape[0] != S or shape[1] not in (1, m)):
            raise InputError(
                f"{place} has shape {shape}: it must be ({S}, {m}, ...) for values of"
                f" clients, or ({S}, 1, ...) or have at most one axis for common"
                " values; list values of arcs in per_edge of the state's class"
            )


def kept_values(state: State) -> dict[str, object]:
    """Return the fields of a state that are not tensors, for a checkpoint.

    Raises
    ------
    InputError
        If a field is not a tensor, a number, a string, a flag or a slice.
    """
    kept = {}
    for f in fields(state):
        value = getattr(state, f.name)
        if isinstance(value, Tensor):
            continue
        if isinstance(value, slice):  # the shared coordinates, for example
            kept[f.name] = {"slice": [value.start, value.stop, value.step]}
        elif isinstance(value, (list, tuple, dict)) or not is_storable(value):
            raise InputError(
                f"{type(state).__name__}: {f.name} is a {type(value).__name__}, which"
                " checkpoints cannot store: make it a tensor or a number"
            )
        else:
            kept[f.name] = value
    return kept


def is_storable(value: object) -> bool:
    """Return whether a value consists only of None, Booleans, numbers and strings."""
    if isinstance(value, (list, tuple)):
        return all(is_storable(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_storable(v) for k, v in value.items())
    return value is None or isinstance(value, (bool, int, float, str, np.generic))


def clients_of(state: State, rows: Clients, arcs: Clients | None = None) -> State:
    """Return the state of some clients.

    Fields that share a tensor still share one.

    Parameters
    ----------
    state : State
    rows : slice or tensor of int
        The clients.
    arcs : slice or tensor of int, optional
        The arcs into them, for fields with one entry for each arc.
    """
    parts: dict[int, Tensor] = {}
    selected: dict[str, Tensor] = {}
    for name in stacked(state):
        tensor = getattr(state, name)
        if id(tensor) not in parts:
            parts[id(tensor)] = tensor[:, arcs if name in state.per_edge else rows]
        selected[name] = parts[id(tensor)]
    return replace(state, **selected)


__all__ = [
    "check_shapes",
    "check_returned_state",
    "clients_of",
    "in_pieces",
    "is_storable",
    "kept_values",
    "stacked",
    "tensors",
]
