"""What the document of an experiment may say: its sections, their fields, and the options of every name.

One document (a TOML or JSON file, or a mapping) says what is learned, over which network, by which algorithm
and for how long. Each table in it is checked by :meth:`Section.read`, which builds nothing yet.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import torch

from dfltheory import algorithms, tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.documents import short as quoted
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError, one_of, squarable
from dfltheory.files import plain
from dfltheory.own import own
from dfltheory.tasks import registry
from dfltheory.training.setup import network_called, networks

REQUIRED = inspect.Parameter.empty
_LISTS = (tuple, list, Sequence)


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """Errors of this package, of the same type, after the place that they come from."""
    try:
        yield
    except DFLTheoryError as error:
        if where and not str(error).startswith(where):
            error.args = (f"{where}: {error}",)
        raise


def short(value: Any) -> str:
    """A value in a label: names bare, numbers to six digits, tables by their name."""
    if isinstance(value, dict):
        rest = ", ".join(f"{k} = {short(v)}" for k, v in value.items() if k != "name")
        return " ".join(filter(None, [str(value.get("name", "")), f"({rest})" if rest else ""]))
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else str(plain(value))


# -- types in words and as tests ------------------------------------------------------------------------

_WORDS = {int: "an integer", float: "a number", str: "text in quotes", bool: "true or false"}
_WORDS |= {Path: "a file in quotes, from the document's own folder"}
_AS_TEXT = {"dtype": 'a dtype in quotes, as "float32"', "device": 'a device in quotes, as "cpu"'}


def words_of(hint: Any) -> str:
    """A type hint in words: ``int`` -> an integer, ``Literal["a", "b"]`` -> "a" or "b"."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " or ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(filter(None, map(words_of, arguments))))
    if origin in _LISTS:
        return f"a list ({words_of(arguments[0])} each)" if arguments else "a list"
    return _WORDS.get(hint) or _AS_TEXT.get(getattr(hint, "__name__", ""), "")


def fits(value: Any, hint: Any) -> bool:
    """May ``value``, as TOML gives it, be of the type ``hint``?  Without a hint everything may."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is float:
        most = sys.float_info.max  # whole numbers may be beyond
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= most
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (bool, str, Path):
        return isinstance(value, str if hint is Path else hint)
    if origin is Literal:
        return value in arguments
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, a) for a in arguments)
    if origin in _LISTS:
        return isinstance(value, list) and all(fits(v, a) for v in value for a in arguments[:1])
    return getattr(hint, "__name__", "") in _AS_TEXT and isinstance(value, str)


@dataclass(frozen=True)
class Field:
    """One key: what it may hold, in words and as a test, its default (``REQUIRED``: none), what it means."""

    words: str
    fits: Callable[[Any], bool]
    default: Any = None
    help: str = ""
    hint: Any = Any

    @classmethod
    def of(cls, hint: Any, default: Any) -> Field:
        """The field of a parameter with this type hint."""
        return cls(words_of(hint) or "a value of the right type", lambda v: fits(v, hint), default, hint=hint)


# -- names and their options ------------------------------------------------------------------------------


def names_of(section: str) -> list[str]:
    """The names that ``section`` (task, topology, algorithm) knows."""
    return {"task": tasks.names, "algorithm": algorithms.names}.get(section, lambda: sorted(networks()))()


def builder(section: str, name: str) -> Any:
    """What makes the task, topology or algorithm called ``name``, or referred to as MODULE:NAME."""
    if ":" in name and section in ("task", "algorithm"):
        return referred(section, name)
    if section == "algorithm":
        return algorithms.get(name)
    if section == "task":
        made = registry.factory(name)
        return getattr(made, "func", made)
    return network_called(name)


def referred(section: str, reference: str) -> Any:
    """A user's own algorithm class, or what makes a user's own task, from MODULE:NAME or FILE.py:NAME.

    The module is imported, and so its code runs: only who may run code on this machine gets here.
    """
    found = own(reference)
    wanted, right = {
        "algorithm": ("a class of algorithms", isinstance(found, type) and issubclass(found, Algorithm)),
        "task": ("a function or class that makes a task", callable(found)),
    }[section]
    if not right:
        raise InputError(f"{section}.name = {reference!r} is not {wanted}")
    return found


def options_of(section: str, name: str) -> dict[str, Field]:
    """The options of the task, topology or algorithm called ``name``, by name."""
    build: Any = builder(section, name)
    try:
        own = section == "algorithm" or not inspect.isclass(build)
        hints = typing.get_type_hints(build if own else build.__init__)
    except NameError:  # names that are imported for the type checker only
        hints = {}
    if section == "algorithm":
        told, letters = algorithms.spoken(name)[1], fields(builder(section, name))
        return {f.name: Field.of(hints.get(f.name, Any), told.get(f.name, _default(f))) for f in letters}
    leave_out = {"m", "name", "graph"} if section == "topology" else {"name"}
    return {
        p.name: Field.of(hints.get(p.name, Any), p.default)
        for p in inspect.signature(build).parameters.values()
        if p.name not in leave_out and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }


def _default(f: Any) -> Any:
    default = f.default_factory() if f.default_factory is not MISSING else f.default
    return REQUIRED if default is MISSING else default


def standard_name(section: str, name: str) -> str:
    """The one spelling of a name that may be spelled in several ways ("DFedSAM", "two-cliques")."""
    if ":" in name:
        return name
    if section == "algorithm":
        return builder(section, name).__name__.lower()
    return name.replace("-", "_") if section == "topology" else name


def name_of(kind: type[Algorithm]) -> str:
    """What a document calls a class of algorithms: its name, or MODULE:CLASS for a user's own."""
    if algorithms.ALGORITHMS.get(kind.__name__.lower()) is kind:
        return kind.__name__.lower()
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        raise InputError(
            f"the algorithm {kind.__qualname__} is in no module that could be imported again: "
            "move its class to the top of a module of its own"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def converted(section: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as Python wants them: files and lines write dtypes and devices as text, tuples as lists."""
    known, made = options_of(section, name), {}
    for option, value in given.items():
        place, hint = f"{section}.{option}", known[option].hint
        wanted = {hint, *typing.get_args(hint)}
        squarable(place, value)
        if torch.dtype in wanted and isinstance(value, str):
            value = _dtype(place, value)
        elif torch.device in wanted and isinstance(value, str):
            value = _device(place, value)
        elif isinstance(value, list) and "tuple" in str(hint):
            value = tuple(value)
        made[option] = value
    return made


def _dtype(what: str, text: str) -> Any:
    found = getattr(torch, text.removeprefix("torch."), None)  # records have torch's own spelling
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise InputError(f"{what} = {text!r} is not a real torch dtype such as float32")
    return found


def _device(what: str, text: str) -> Any:
    try:
        found = torch.device(text)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as wrong:  # torch raises any of them
        raise InputError(f"{what} = {text!r} is not a device that torch can use here: use cpu") from wrong
    return found


# -- sections ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """A table of the document: its own fields; with ``open`` also the options of what it names."""

    title: str
    help: str
    fields: Mapping[str, Field]
    open: bool = False

    def read(self, table: Any, filled: Callable[[str], set[str]] = lambda name: set()) -> dict[str, Any]:
        """The table with the defaults of its own fields filled in, or one line that names the field.

        ``filled`` says of a name which of its required options are given later.
        """
        if not isinstance(table, Mapping):
            raise InputError(f"{self.title} = {quoted(table)} must be a section, [{self.title}]")
        further = {key: value for key, value in table.items() if key not in self.fields}
        if further and not self.open:
            raise UnknownNameError(f"field of [{self.title}]", next(iter(further)), set(self.fields))
        for name, field in self.fields.items():
            if field.default is REQUIRED and name not in table:
                raise InputError(f"[{self.title}] lacks {name}: give {field.words} ({field.help})")
            if name in table and not field.fits(table[name]):
                raise InputError(f"{self.title}.{name} = {quoted(table[name])} must be {field.words}")
        own = {n: table.get(n, f.default) for n, f in self.fields.items()}
        own = {n: v for n, v in own.items() if v is not None}
        if self.open and "name" in own:
            self._check_options(own["name"], further, filled)
        return {**own, **further}

    def _check_options(self, name: str, given: Mapping[str, Any], filled: Callable[[str], set[str]]) -> None:
        with located(f"[{self.title}]"):
            known = options_of(self.title, name)
            for option in given:
                one_of(f"option of the {self.title} {name}", option, known)
            missing = {n for n, f in known.items() if f.default is REQUIRED and n not in given}
        for option, value in given.items():
            absent = value is None and known[option].default is None  # as records write it
            if not absent and not known[option].fits(value):
                raise InputError(f"{self.title}.{option} = {quoted(value)} must be {known[option].words}")
        lacking = [n for n in known if n in missing - filled(name)]
        if lacking:
            how = ": give it, or [theorem] with schedule = true" if self.title == "algorithm" else ""
            raise InputError(f"[{self.title}] lacks {', '.join(lacking)}, which {name} needs{how}")


def whole(least: int) -> tuple[str, Callable[[Any], bool]]:
    """Words and test of the integers >= ``least``."""
    return f"an integer >= {least}", lambda v: fits(v, int) and v >= least


def _indices(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(whole(0)[1](v) for v in value) and len(set(value)) == len(value)
    return whole(1)[1](value)


def _numbers(value: Any) -> bool:
    """Numbers, or lists of them that are all of one shape."""
    while fits(value, list[list[Any]]) and value and len(set(map(len, value))) == 1:
        value = [entry for row in value for entry in row]
    return bool(value) and fits(value, list[float])


NAME = ("a name in quotes", lambda v: isinstance(v, str) and v.strip() != "")
TRUTH = ("true or false", lambda v: isinstance(v, bool))

SECTIONS: dict[str, Section] = {
    "task": Section(
        "task",
        "The learning problem. All further keys are options of the task of that name.",
        {
            "name": Field(
                *NAME,
                REQUIRED,
                "which task, as `dfltheory train --help` lists them; MODULE:NAME or FILE.py:NAME for a "
                "function or class of your own that makes one",
            )
        },
        open=True,
    ),
    "topology": Section(
        "topology",
        "The network: a topology or a sequence by name, or a matrix in a file. It has as many clients as the "
        "task. All further keys are options of the topology of that name. Algorithms with a server have no "
        "network: the section does not count for them.",
        {
            "name": Field(*NAME, help="which topology, as `dfltheory topology` lists them"),
            "file": Field(
                *NAME,
                help="in place of a name, a mixing matrix or edge list; the path is relative to the "
                "experiment file",
            ),
            "matrix": Field(
                "a list of rows of numbers",
                lambda v: bool(v) and fits(v, list[list[float]]) and all(len(r) == len(v) for r in v),
                help="in place of a name or file, the mixing matrix itself",
            ),
            "matrices": Field(
                "a list of matrices",
                lambda v: bool(v) and fits(v, list[list[list[float]]]),
                help="in place of a matrix, those of a period of rounds, over and over",
            ),
            "weights": Field(
                *NAME,
                help="weight rule; without it Metropolis weights, column-stochastic ones on directed graphs",
            ),
        },
        open=True,
    ),
    "algorithm": Section(
        "algorithm",
        "The algorithm. All further keys are its hyperparameters, in the papers' letters.",
        {
            "name": Field(
                *NAME,
                REQUIRED,
                "which algorithm, lower case, as in dfedsam; MODULE:CLASS or FILE.py:CLASS for your own",
            )
        },
        open=True,
    ),
    "run": Section(
        "run",
        "How long, how often, and from which root of chance.",
        {
            "rounds": Field(*whole(1), 100, "rounds T"),
            "seeds": Field(
                "an integer >= 1, or a list of different indices",
                _indices,
                1,
                "independent runs S, or which of them; confidence intervals are over them",
            ),
            "seed": Field(*whole(0), 0, "root of all chance of the runs (the task has a seed of its own)"),
            "x0": Field(
                "a list of numbers, or one for each client",
                _numbers,
                help="where the models start: d numbers, or m lists of them; without it the task's own start",
            ),
            "evaluate_every": Field(*whole(1), 1, "measure rounds 0, n, 2n, ... and the last"),
            "keep_models": Field(*TRUTH, False, "keep the final models (seeds, m, d) in a sweep's cells"),
        },
    ),
}
"""The sections that describe one run, in the order in which people write them."""

__all__ = [
    "NAME",
    "REQUIRED",
    "SECTIONS",
    "TRUTH",
    "Field",
    "Section",
    "builder",
    "converted",
    "fits",
    "located",
    "name_of",
    "names_of",
    "options_of",
    "referred",
    "short",
    "standard_name",
    "whole",
    "words_of",
]
