"""Names and options of tasks, topologies and algorithms in documents."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from dataclasses import Field as DataclassField
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import torch
from pydantic import AfterValidator, Field, WithJsonSchema

from dfltheory import algorithms, tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError, squarable
from dfltheory.number_ranges import NumberRange, Restriction
from dfltheory.own import own
from dfltheory.tasks import registry
from dfltheory.training.setup import network_builders, network_called

_REQUIRED = inspect.Parameter.empty
_LISTS = (tuple, list, Sequence)


def _text(meaning: str) -> object:
    """Return the type of text with this description in JSON schemas."""
    return Annotated[str, WithJsonSchema({"type": "string", "description": meaning})]


def _reject(value: object) -> object:
    """Raise ValueError, because a document must not contain the value."""
    raise ValueError("must not be in files: it can be set only in Python code")


_PLAIN: dict[object, object] = {
    Any: Any,
    int: int,
    float: float,
    bool: bool,
    str: str,
    Path: _text("a file, relative to the folder of the document"),
    torch.dtype: _text('a dtype, as "float32"'),
    torch.device: _text('a device, as "cpu"'),
}
"""Maps the type of a parameter to the type of its value in a document."""
_CODE_ONLY = Annotated[Any, AfterValidator(_reject)]
"""The type of values that documents cannot contain."""


def document_type(hint: object, allowed: Restriction | None = None) -> object:
    """Return the type that a parameter has in documents.

    Parameters
    ----------
    hint : object
        Its type hint in Python.
    allowed : NumberRange or (description, function), optional
        The numbers that it may be.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return document_type(arguments[0], range_in(hint))
    if allowed is not None and hint in (int, float, Any):
        return _restricted(hint, allowed)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return hint
    if origin in (typing.Union, types.UnionType):
        return _union(arguments, allowed)
    if origin in _LISTS:
        return list[document_type(arguments[0])]
    return list[Any] if hint in _LISTS else _CODE_ONLY


def range_in(hint: object) -> NumberRange | None:
    """Return the range in a hint such as ``Annotated[int, NumberRange(1)]``."""
    metadata = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    ranges = [entry for entry in metadata if isinstance(entry, NumberRange)]
    return ranges[0] if ranges else None


def _restricted(hint: object, allowed: Restriction) -> object:
    """Return the type of numbers within a range, or those that a function accepts."""
    kind = int if hint is int else float
    if not isinstance(allowed, NumberRange):
        return Annotated[kind, AfterValidator(partial(_check_number, allowed))]
    if allowed.integer:
        kind = int
    low = allowed.low if math.isfinite(allowed.low) else None
    high = allowed.high if math.isfinite(allowed.high) else None
    ends = Field(
        gt=low if allowed.open_low else None,
        ge=None if allowed.open_low else low,
        lt=high if allowed.open_high else None,
        le=None if allowed.open_high else high,
    )
    return Annotated[kind, ends]


def _check_number(allowed: tuple[str, Callable[..., bool]], value: float) -> float:
    words, is_allowed = allowed
    if not is_allowed(value):
        raise ValueError(f"must be {words}")
    return value


def _union(arguments: Sequence[object], allowed: Restriction | None) -> object:
    """Return the union of the alternatives that documents can contain."""
    written: list[object] = []
    for argument in arguments:
        written_type = None
        if argument is not type(None):
            written_type = document_type(argument, allowed)
        if written_type is not _CODE_ONLY and written_type not in written:
            written.append(written_type)
    return typing.Union[tuple(written)] if written else _CODE_ONLY  # noqa: UP007


@dataclass(frozen=True)
class Option:
    """An option of a task, topology or algorithm.

    Attributes
    ----------
    hint : object
        Type hint of the parameter.
    default : object
        Default of the parameter, if it is not required.
    required : bool
        Whether the parameter has no default.
    document_type : object
        Its type in documents, with the range of numbers that it declares.
    allowed : NumberRange or None
        The range of numbers that it declares.
    """

    hint: object
    default: object
    required: bool
    document_type: object
    allowed: NumberRange | None = None

    @classmethod
    def of(
        cls, hint: object, default: object, allowed: Restriction | None = None
    ) -> Option:
        """Return the option for a parameter.

        Parameters
        ----------
        hint : object
            Its type hint, possibly annotated with a range.
        default : object
            Its default, or ``inspect.Parameter.empty``.
        allowed : NumberRange or (description, function), optional
            A range that is declared elsewhere.
        """
        required = default is _REQUIRED
        return cls(
            _without_ranges(hint),
            None if required else default,
            required,
            document_type(hint, allowed),
            allowed if isinstance(allowed, NumberRange) else _declared_range(hint),
        )

    @property
    def placeholder(self) -> float:
        """A number that the option may have, small if it may be small."""
        if self.allowed is not None:
            return self.allowed.example()
        takes_fractions = float in (self.hint, *typing.get_args(self.hint))
        return 1e-3 if takes_fractions else 1


def _declared_range(hint: object) -> NumberRange | None:
    """Return the range in a type hint, or in one of the types of a union."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return range_in(hint)
    ranges = map(range_in, typing.get_args(hint))
    return next((declared for declared in ranges if declared is not None), None)


def _without_ranges(hint: object) -> object:
    """Return a type hint without annotations."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(_without_ranges, arguments))]  # noqa: UP007
    return hint


def section_names(section: str) -> list[str]:
    """Return the names that a section (task, topology, algorithm) accepts."""
    if section == "task":
        return tasks.names()
    if section == "algorithm":
        return algorithms.names()
    return sorted(network_builders())


@overload
def builder(section: Literal["algorithm"], name: str) -> type[Algorithm]: ...


@overload
def builder(section: str, name: str) -> Callable[..., object]: ...


def builder(section: str, name: str) -> Callable[..., object]:
    """Return the function or class that creates a named task, topology or algorithm."""
    if section == "algorithm":
        return algorithm_class(name)
    if section == "task":
        return _task_builder(name)
    return network_called(name)


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the class of a built-in or user-defined algorithm.

    Parameters
    ----------
    name : str
        A name, or MODULE:NAME or FILE.py:NAME, which imports the module and so runs its
        code.

    Raises
    ------
    InputError
        If the reference is not an algorithm class, or the document must not name code.
    """
    if ":" not in name:
        return algorithms.get(name)
    kind = own(name)
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise InputError(f"algorithm.name = {name!r} is not a class of algorithms")
    return kind


def _task_builder(name: str) -> Callable[..., object]:
    """Return the function or class that creates a built-in or user-defined task."""
    if ":" not in name:
        factory = registry.factory(name)
        return getattr(factory, "func", factory)
    build = own(name)
    if not callable(build):
        raise InputError(
            f"task.name = {name!r} is not a function or class that creates a task"
        )
    return build


def options_of(section: str, name: str) -> dict[str, Option]:
    """Return the options of a named task, topology or algorithm, by name."""
    build = builder(section, name)
    hints = _type_hints(build, section)
    if section == "algorithm":
        defaults = {f.name: _default(f) for f in fields(algorithm_class(name))}
        defaults |= algorithms.resolve_alias(name)[1]
        declared = algorithm_class(name).ranges
        return {
            option: Option.of(hints.get(option, Any), default, declared.get(option))
            for option, default in defaults.items()
        }
    left_out = {"m", "name", "graph"} if section == "topology" else {"name"}
    return {
        parameter.name: Option.of(hints.get(parameter.name, Any), parameter.default)
        for parameter in inspect.signature(build).parameters.values()
        if parameter.name not in left_out
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }


@cache
def _type_hints(build: Callable[..., object], section: str) -> dict[str, object]:
    """Return the type hints of fields or parameters; empty if they cannot be read."""
    of_fields = section == "algorithm" or not inspect.isclass(build)
    try:
        return typing.get_type_hints(
            build if of_fields else build.__init__, include_extras=True
        )
    except NameError:  # annotations that are imported only for type checking
        return {}


def _default(field: DataclassField[object]) -> object:
    """Return the default of a field, or ``_REQUIRED``."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _REQUIRED if field.default is MISSING else field.default


def standard_name(section: str, name: str) -> str:
    """Return the canonical spelling of a name such as "DFedSAM" or "two-cliques"."""
    if ":" in name:
        return name
    if section == "algorithm":
        return algorithm_class(name).__name__.lower()
    return name.replace("-", "_") if section == "topology" else name


def algorithm_name(kind: type[Algorithm]) -> str:
    """Return the name of an algorithm class; MODULE:CLASS if user-defined."""
    name = kind.__name__.lower()
    if algorithms.ALGORITHMS.get(name) is kind:
        return name
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        raise InputError(
            f"the algorithm {kind.__qualname__} is not in an importable module: move"
            " its class to the top level of a module"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def converted(section: str, name: str, given: Mapping[str, object]) -> dict[str, Any]:
    """Convert the options of a document to Python objects.

    Documents contain dtypes and devices as text, and tuples as lists.

    Parameters
    ----------
    section : str
        Section of the document: "task", "topology" or "algorithm".
    name : str
        Name of the task, topology or algorithm.
    given : mapping
        The options of the document.
    """
    known = options_of(section, name)
    values = {}
    for option, value in given.items():
        place, hint = f"{section}.{option}", known[option].hint
        squarable(place, value)
        values[option] = _python_value(place, value, hint)
    return values


def _python_value(place: str, value: object, hint: object) -> object:
    """Convert one value of a document to the type that the option takes."""
    accepted = {hint, *typing.get_args(hint)}
    if isinstance(value, str) and torch.dtype in accepted:
        return _dtype(place, value)
    if isinstance(value, str) and torch.device in accepted:
        return _device(place, value)
    if isinstance(value, list) and "tuple" in str(hint):
        return tuple(value)
    return value


def _dtype(place: str, text: str) -> torch.dtype:
    """Return a floating-point dtype by name."""
    # records contain torch's spelling, "torch.float32"
    dtype = getattr(torch, text.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise InputError(
            f"{place} = {text!r} is not a real torch dtype such as float32"
        )
    return dtype


def _device(place: str, text: str) -> torch.device:
    """Return a device by name, after allocating memory on it."""
    try:
        device = torch.device(text)
        torch.zeros(1, device=device)
    # torch may raise any of these
    except (RuntimeError, AssertionError, NotImplementedError) as wrong:
        raise InputError(
            f"{place} = {text!r} is not a device that torch can use here: use cpu"
        ) from wrong
    return device


__all__ = [
    "Option",
    "algorithm_class",
    "builder",
    "converted",
    "document_type",
    "algorithm_name",
    "section_names",
    "options_of",
    "standard_name",
]
