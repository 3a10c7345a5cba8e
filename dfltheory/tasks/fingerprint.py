"""What an object was made of, as a short text that is the same in every process: for checkpoints."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import types
from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn


def arguments(kind: type, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, str]:
    """Argument -> fingerprint for a call of a class, defaults among them; empty where the call is wrong."""
    try:
        call = _signature(kind).bind(*given, **named)
    except TypeError:  # which the class itself will tell
        return {}
    call.apply_defaults()
    return {name: fingerprint(value) for name, value in call.arguments.items()}


@functools.lru_cache(maxsize=256)
def _signature(kind: type) -> inspect.Signature:
    return inspect.signature(types.MethodType(kind.__init__, kind))


def fingerprint(value: Any) -> str:
    """16 hexadecimal digits of the SHA-256 of a value: numbers, text, arrays, modules, functions, records.

    Numbers of all libraries are the same numbers. A function counts with its code, what it encloses, and the
    functions and plain values of its module that it names; a module of torch with its attributes and the
    code of ``forward``; a record with its fields, other values with what a copy of them is made from. Of what
    can be gone through only once (an iterator) the type alone counts.
    """
    digest = hashlib.sha256()
    _feed(digest, value, ())
    return digest.hexdigest()[:16]


def own_code(kind: type) -> str | None:
    """The fingerprint of the rules and plain values of a user's class; None where all of it is known code."""
    own = [c for c in kind.__mro__ if c.__module__.partition(".")[0] not in _KNOWN]
    return fingerprint([list(_rules(c)) for c in own]) if own else None


def _rules(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in sorted(vars(kind).items()):
        match member:
            case staticmethod() | classmethod():
                rule = member.__func__
            case property():
                rule = member.fget
            case functools.cached_property():
                rule = member.func
            case _:
                rule = member
        if inspect.isfunction(rule) or (not name.startswith("__") and isinstance(rule, _PLAIN)):
            yield name, rule


_KNOWN = {"builtins", "abc", "typing", "collections", "dfltheory", "torch"}

_OF_MODULES = frozenset(vars(nn.Module()))
_PLAIN = (bool, int, float, complex, str, bytes, tuple, np.ndarray, np.number, Tensor)


def _feed(digest: Any, value: Any, inside: tuple[int, ...]) -> None:
    def tell(*words: Any) -> None:
        digest.update(("\0".join(map(str, words)) + "\1").encode())

    def each(values: Any) -> None:
        for one in values:
            _feed(digest, one, (*inside, id(value)))

    if id(value) in inside:
        tell("itself", inside.index(id(value)))
    elif value is None or isinstance(value, (bool, str, bytes, torch.dtype, torch.device, type)):
        tell(type(value).__name__, value)
    elif isinstance(value, os.PathLike):
        tell("path", os.fspath(value))
    elif isinstance(value, (int, float, np.number)):
        number = value.item() if isinstance(value, np.generic) else value
        tell("number", int(number) if number == number // 1 else float(number).hex())
    elif isinstance(value, Tensor) and value.layout != torch.strided:
        sparse = value.to_sparse_coo().coalesce()
        tell(value.layout, tuple(value.shape))
        each([sparse.indices(), sparse.values()])
    elif isinstance(value, Tensor):
        plain = value.detach().cpu().contiguous()
        tell("array", str(plain.dtype).removeprefix("torch."), tuple(plain.shape))
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        tell("array", value.dtype, value.shape)
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif hasattr(value, "tocoo"):  # scipy's, which notes beside its numbers what it has found out about them
        entries = sp.coo_array(value)
        tell("sparse", type(value).__name__, entries.shape)
        each([*entries.coords, entries.data])
    elif isinstance(value, nx.Graph):
        tell("graph", value.is_directed(), value.is_multigraph())
        each([list(value.nodes(data=True)), list(value.edges(data=True)), value.graph])
    elif isinstance(value, Mapping):
        tell("mapping", len(value))
        each(value.items())
    elif isinstance(value, (list, tuple, range)):
        tell("sequence", len(value))
        each(value)
    elif isinstance(value, (set, frozenset)):
        tell("set", *sorted(map(fingerprint, value)))
    elif isinstance(value, nn.Module):
        tell(type(value).__qualname__, value)
        each(value.state_dict().items())
        for part in value.modules():
            each((k, v) for k, v in vars(part).items() if k not in _OF_MODULES)
            if not type(part).__module__.startswith("torch."):
                each([type(part).forward])
    elif inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = set[str]()
        for code in _codes(value.__code__):
            tell(value.__qualname__, code.co_code.hex(), code.co_names)
            each([c for c in code.co_consts if not inspect.iscode(c)])
            names.update(code.co_names)
        each([value.__defaults__, value.__kwdefaults__, *cells])
        for name in sorted(names & value.__globals__.keys()):
            named = value.__globals__[name]
            own = inspect.isfunction(named) and named.__globals__ is value.__globals__
            if own or isinstance(named, _PLAIN):
                each([name, named])
    elif inspect.ismethod(value):
        each([value.__func__, value.__self__])
    elif inspect.isbuiltin(value):
        tell("built-in", value.__module__, value.__qualname__)
    elif isinstance(value, functools.partial):
        each([value.func, value.args, value.keywords])
    else:
        kind = type(value)
        tell(kind.__module__, kind.__qualname__)
        if not hasattr(value, "__next__"):
            each(_parts(value))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions that are made inside it."""
    yield code
    for inner in filter(inspect.iscode, code.co_consts):
        yield from _codes(inner)


def _parts(value: Any) -> Iterator[Any]:
    """What tells a record from others of its class; cached properties were computed since."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        yield value.tolist()
    elif isinstance(value, torch.Generator):
        yield value.get_state()
    kept = getattr(value, "__dict__", {})
    computed = functools.cached_property
    yield from ((k, v) for k, v in kept.items() if not isinstance(getattr(kind, k, None), computed))
    slots = [n for c in kind.__mro__ for n in _names(c.__dict__.get("__slots__", ()))]
    slots = [n for n in slots if n not in ("__dict__", "__weakref__")]
    yield from ((n, getattr(value, n)) for n in slots if hasattr(value, n))
    if (not kept and not slots and kind.__reduce__ is not object.__reduce__) or kind is complex:
        try:
            _, *made = value.__reduce_ex__(2)
        except (TypeError, ValueError):  # no copy can be made of it
            return
        yield from (list(part) if hasattr(part, "__next__") else part for part in made)


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)
