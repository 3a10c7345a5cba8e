"""The identity of a run: its arguments, class names and source of user code.

A description of a value consists of JSON types and is the same in every process.
Numbers and text are their own descriptions. Arrays and tensors are described by dtype,
shape and bytes; functions and objects by their qualified name, the values that they
contain, and, unless they come from a known library, their source code.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import inspect
import json
import os
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

LIBRARIES = sys.stdlib_module_names | {
    "dfltheory",
    "networkx",
    "numpy",
    "scipy",
    "torch",
}
"""Packages whose classes and functions are identified by their names only."""

PLAIN_TYPES = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    np.ndarray,
    np.number,
    Tensor,
)
"""Types of class attributes and module constants that are part of the code's identity.
"""

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A JSON value."""

Describe = Callable[[object], Json]
Code = type | types.FunctionType


def value_digest(value: object) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of a value's description.

    Values that differ only in the order of keys, or like 1 and 1.0, have equal digests.
    """
    text = json.dumps(
        value_description(value),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def argument_digests(
    kind: type, positional: tuple[object, ...], named: Mapping[str, object]
) -> dict[str, str]:
    """Return the digests of the arguments of a class, by name, defaults included.

    The result is empty if the arguments do not fit the signature, in which case the
    class itself raises an error.
    """
    try:
        call = _signature(kind).bind(*positional, **named)
    except TypeError:
        return {}
    call.apply_defaults()
    return {name: value_digest(value) for name, value in call.arguments.items()}


@functools.lru_cache(maxsize=256)
def _signature(kind: type) -> inspect.Signature:
    return inspect.signature(types.MethodType(kind.__init__, kind))


# -- descriptions of values


def value_description(value: object, parents: tuple[int, ...] = ()) -> Json:
    """Return a description of a value in JSON types.

    ``parents`` are the ids of the values that contain it.
    """
    if id(value) in parents:
        return {"!parent": parents.index(id(value))}
    return _describe(
        value, functools.partial(value_description, parents=(*parents, id(value)))
    )


@functools.singledispatch
def _describe(value: object, part: Describe) -> Json:
    """Describe an object by its class and its state for copying.

    Cached properties are omitted. An object that cannot be copied, such as a generator,
    is described by its class only.
    """
    description: dict[str, Json] = {"!object": part(type(value))}
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is not None:
        return description | {"wrapped": part(wrapped)}
    try:
        reduced = value.__reduce_ex__(2)
    except (TypeError, ValueError, RuntimeError):
        return description
    if isinstance(reduced, str):
        return description | {"name": reduced}
    arguments = [argument for argument in reduced[1] if not isinstance(argument, type)]
    state, items, pairs = (*reduced[2:5], None, None, None)[:3]
    return description | {
        "arguments": part(arguments),
        "state": part(_without_cached(type(value), state)),
        "items": part(list(items or ())),
        "pairs": part(list(pairs or ())),
    }


def _without_cached(kind: type, state: object) -> object:
    """Return the state of an object without its cached properties."""
    if not isinstance(state, dict):
        return state
    return {
        name: value
        for name, value in state.items()
        if not isinstance(getattr(kind, name, None), functools.cached_property)
    }


@_describe.register(types.NoneType)
@_describe.register(bool)
@_describe.register(str)
@_describe.register(int)
def _(value: bool | int | str | None, part: Describe) -> Json:
    return value


@_describe.register
def _(value: float, part: Describe) -> Json:
    return int(value) if value.is_integer() else float(value)


@_describe.register
def _(value: np.generic, part: Describe) -> Json:
    number = value.item()
    return repr(number) if isinstance(number, np.generic) else part(number)


@_describe.register
def _(value: complex, part: Describe) -> Json:
    return {"!complex": [part(value.real), part(value.imag)]}


@_describe.register
def _(value: bytes, part: Describe) -> Json:
    return {"!bytes": hashlib.sha256(value).hexdigest()}


@_describe.register
def _(value: torch.dtype | torch.device, part: Describe) -> Json:
    return {"!torch": str(value)}


@_describe.register
def _(value: os.PathLike, part: Describe) -> Json:
    return {"!path": os.fspath(value)}


@_describe.register
def _(value: np.ndarray, part: Describe) -> Json:
    if value.dtype.hasobject:
        return {
            "!array": [str(value.dtype), list(value.shape)],
            "values": part(value.tolist()),
        }
    content = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    return {
        "!array": [
            str(value.dtype),
            list(value.shape),
            hashlib.sha256(content).hexdigest(),
        ]
    }


@_describe.register
def _(value: Tensor, part: Describe) -> Json:
    if value.layout != torch.strided:
        entries = value.detach().to_sparse_coo().coalesce()
        parts = [part(entries.indices()), part(entries.values())]
        return {"!sparse": [str(value.layout), list(value.shape), *parts]}
    plain = value.detach().cpu().contiguous()
    content = plain.reshape(-1).view(torch.uint8).numpy().data
    dtype = str(plain.dtype).removeprefix("torch.")
    return {"!array": [dtype, list(plain.shape), hashlib.sha256(content).hexdigest()]}


@_describe.register
def _(value: sp.sparray | sp.spmatrix, part: Describe) -> Json:
    matrix: Any = value  # the stubs of scipy accept no abstract class
    entries = sp.coo_array(matrix)
    parts = [part(np.asarray(column)) for column in (*entries.coords, entries.data)]
    return {"!sparse": [type(value).__name__, list(entries.shape), *parts]}


@_describe.register
def _(value: nx.Graph, part: Describe) -> Json:
    parts = [list(value.nodes(data=True)), list(value.edges(data=True)), value.graph]
    return {"!graph": [value.is_directed(), value.is_multigraph(), part(parts)]}


@_describe.register(list)
@_describe.register(tuple)
@_describe.register(range)
@_describe.register(collections.deque)
def _(value: Iterable[object], part: Describe) -> Json:
    return [part(item) for item in value]


@_describe.register
def _(value: set | frozenset, part: Describe) -> Json:
    return {"!set": [*sorted(map(value_digest, value))]}


@_describe.register
def _(value: Mapping, part: Describe) -> Json:
    if all(isinstance(key, str) for key in value):
        return {key: part(item) for key, item in value.items()}
    return {"!mapping": [[part(key), part(item)] for key, item in value.items()]}


@_describe.register
def _(value: type, part: Describe) -> Json:
    return {"!class": _qualified(value), "source": source_digest(value)}


@_describe.register
def _(value: types.FunctionType, part: Describe) -> Json:
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    holds = [value.__defaults__, value.__kwdefaults__, *cells]
    return {
        "!function": _qualified(value),
        "source": source_digest(value),
        "holds": part(holds),
    }


@_describe.register
def _(value: types.BuiltinFunctionType, part: Describe) -> Json:
    return {"!function": _qualified(value)}


@_describe.register
def _(value: types.MethodType, part: Describe) -> Json:
    return {"!method": [part(value.__func__), part(value.__self__)]}


@_describe.register
def _(value: functools.partial, part: Describe) -> Json:
    return {"!partial": [part(value.func), part(value.args), part(value.keywords)]}


def _qualified(code: Code | types.BuiltinFunctionType) -> str:
    """Return the module and qualified name of a class or function."""
    return f"{code.__module__}.{code.__qualname__}"


# -- the source of the user's code


@functools.lru_cache(maxsize=256)
def source_digest(code: Code) -> str | None:
    """Return the digest of the source of a class or function, or None for libraries.

    It covers base classes, and the functions, classes and plain constants of the same
    module that the code uses, directly or indirectly.
    """
    bases = code.__mro__ if isinstance(code, type) else (code,)
    waiting: list[Code] = [base for base in bases if not _of_library(base)]
    if not waiting:
        return None
    texts: list[object] = []
    known = set(map(id, waiting))
    while waiting:
        definition = waiting.pop(0)
        texts.append(_qualified(definition))
        for function_or_value in _members(definition):
            if not inspect.isfunction(function_or_value):
                texts.append(function_or_value)
                continue
            texts.append(_source(function_or_value))
            for name, value in _named_in_module(function_or_value):
                if not isinstance(value, Code):
                    texts.append([name, value])
                elif id(value) not in known:
                    known.add(id(value))
                    waiting.append(value)
    return value_digest(texts)


def _of_library(code: Code) -> bool:
    """Return whether code belongs to a package of LIBRARIES."""
    return str(code.__module__).partition(".")[0] in LIBRARIES


def _members(definition: Code) -> Iterator[types.FunctionType | list[object]]:
    """Yield the function itself, or the functions and named plain values of a class."""
    if not isinstance(definition, type):
        yield definition
        return
    for name, member in sorted(vars(definition).items()):
        function = _function_of(member)
        if function is not None:
            yield function
        elif isinstance(member, PLAIN_TYPES) and not name.startswith("__"):
            yield [name, member]


def _function_of(member: object) -> types.FunctionType | None:
    """Return the function behind a method, static method, class method or property."""
    for attribute in ("__func__", "fget", "func", "__wrapped__"):
        member = getattr(member, attribute, member)
    return member if inspect.isfunction(member) else None


def _named_in_module(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the objects of its own module that a function uses."""
    names: set[str] = set()
    for code in _codes(function.__code__):
        names.update(code.co_names)
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        defined_here = getattr(value, "__module__", None) == function.__module__
        if isinstance(value, PLAIN_TYPES) or (isinstance(value, Code) and defined_here):
            yield name, value


def _source(function: types.FunctionType) -> object:
    """Return the source of a function, or its bytecode if it has no separate source."""
    if function.__name__ != "<lambda>":
        try:
            return textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            pass
    bytecode = []
    for code in _codes(function.__code__):
        constants = [c for c in code.co_consts if not inspect.iscode(c)]
        bytecode.append([code.co_code, code.co_names, constants])
    return bytecode


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code object and those of nested functions."""
    yield code
    for inner in filter(inspect.iscode, code.co_consts):
        yield from _codes(inner)


__all__ = [
    "Json",
    "argument_digests",
    "value_description",
    "source_digest",
    "value_digest",
]
