"""The registry: every statement by key and variant, found paper by paper at first use.

A paper is a module or a folder in ``dfltheory/bounds/papers/``, or an entry point of the group
``dfltheory.papers`` in any installed package.  It has a ``PAPER`` (:class:`Paper`) and ``statements()``; a
folder may divide the latter into ``printed`` and ``corrected``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING

from dfltheory.bounds import papers as _papers
from dfltheory.bounds.paper import Paper
from dfltheory.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

GROUP = "dfltheory.papers"
"""The entry points by which other packages bring papers: name = the paper's key, value = its module."""

_STATEMENTS = ("printed", "corrected")
_MAIN = ("theorem", "corollary", "rate", "lower bound")
"""Kinds of statements that ``keys`` lists."""
_ADDED: ContextVar[tuple[Theorem, ...]] = ContextVar("added", default=())


@cache
def _modules() -> dict[str, str]:
    """Paper (the first word of its keys) -> its module; the package's own first, by name."""
    found = {name: f"{_papers.__name__}.{name}" for _, name, _ in pkgutil.iter_modules(_papers.__path__)}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        if point.name in found:
            raise InputError(
                f"two papers are called {point.name!r}: {found[point.name]} and {point.value}; rename one"
            )
        found[point.name] = point.value
    return found


@cache
def _part(name: str, part: str) -> ModuleType | None:
    """One module of a paper: the paper itself as ``""``, a module of its folder, or None."""
    if name not in _modules():
        raise UnknownNameError("paper", name, set(_modules()))
    top = importlib.import_module(_modules()[name])
    if not part:
        return top
    within = {module for _, module, _ in pkgutil.iter_modules(getattr(top, "__path__", []))}
    return importlib.import_module(f"{top.__name__}.{part}") if part in within else None


def papers() -> tuple[str, ...]:
    """The papers' names: the first words of keys."""
    return tuple(_modules())


def paper(name: str) -> Paper:
    """What is said of a paper once."""
    if name not in _modules():
        raise UnknownNameError("paper", name, set(_modules()))
    module = importlib.import_module(_modules()[name])
    known = getattr(module, "PAPER", None)
    if not isinstance(known, Paper):
        raise InputError(f"{module.__name__} has no PAPER = Paper(title, citation): give it")
    return known


@cache
def _of_paper(name: str) -> dict[str, dict[str, Theorem]]:
    found: dict[str, dict[str, Theorem]] = {}
    for part in ("", *_STATEMENTS):
        module = _part(name, part)
        if module is None or not hasattr(module, "statements"):
            continue
        for theorem in module.statements():
            if not theorem.key.startswith(f"{name}."):
                raise InputError(f"{theorem} is stated in {module.__name__}: its key must begin with {name}.")
            variants = found.setdefault(theorem.key, {})
            if theorem.variant in variants:
                raise InputError(f"{theorem} is stated twice in {_modules()[name]}")
            variants[theorem.variant] = theorem
    return found


def _stated(name: str) -> dict[str, dict[str, Theorem]]:
    """The statements of a paper by key and variant, those of :func:`including` among them."""
    own = _of_paper(name)
    added = [theorem for theorem in _ADDED.get() if theorem.key.startswith(f"{name}.")]
    if not added:
        return own
    stated = {key: dict(variants) for key, variants in own.items()}
    for theorem in added:
        stated.setdefault(theorem.key, {})[theorem.variant] = theorem
    return stated


@contextmanager
def including(added: Iterable[Theorem]) -> Iterator[None]:
    """Within: these statements are registered as well, as the lemmas of a paper that a case study states."""
    token = _ADDED.set((*_ADDED.get(), *added))
    try:
        yield
    finally:
        _ADDED.reset(token)


def keys(paper: str | None = None, *, all: bool = False) -> tuple[str, ...]:
    """The keys of theorems, corollaries, rates and lower bounds (of one paper); with ``all`` also of lemmas.

    >>> bounds.keys("lian2017")   # doctest: +SKIP
    ('lian2017.rate',)
    """
    if paper is not None and paper not in _modules():
        raise UnknownNameError("paper", paper, set(_modules()))
    found = []
    for name in _modules() if paper is None else (paper,):
        for key, variants in _stated(name).items():
            if all or any(theorem.kind in _MAIN for theorem in variants.values()):
                found.append(key)
    return tuple(found)


def variants(key: str) -> tuple[str, ...]:
    """The variants of a statement, ``printed`` first where there is one."""
    paper = str(key).split(".")[0]
    if paper not in _modules() or key not in _stated(paper):
        raise UnknownNameError("theorem", key, set(keys(all=True)))
    return tuple(_stated(paper)[key])


def get(key: str, variant: str = "printed") -> Theorem:
    """The statement ``key`` in ``variant``.

    Raises
    ------
    UnknownNameError
        No statement is called so, or it has no such variant; the nearest names are told.
    """
    known = variants(key)
    if variant not in known:
        raise UnknownNameError(f"variant of {key}", variant, list(known))
    return _stated(key.split(".")[0])[key][variant]


def statements(paper: str | None = None) -> tuple[Theorem, ...]:
    """Every statement in every variant (of one paper)."""
    return tuple(get(key, variant) for key in keys(paper, all=True) for variant in variants(key))


def resting_on(networks: Iterable[str]) -> tuple[str, ...]:
    """The theorems and corollaries that assume one of these laws of the network, as their scopes name them.

    >>> bounds.resting_on(graphs.check_mixing_matrix(W).breaks)   # doctest: +SKIP
    """
    first = (get(key, variants(key)[0]) for key in keys())
    wanted = set(networks)
    return tuple(t.key for t in first if t.kind in ("theorem", "corollary") and t.scope.network in wanted)


def known(key: str, variant: str) -> bool:
    """Is there a registered statement of this key and variant?"""
    paper = key.split(".")[0]
    return paper in _modules() and variant in _stated(paper).get(key, {})


def registered(theorem: Theorem) -> bool:
    """Is ``theorem`` the object that the registry holds under its key and variant?"""
    key, variant = theorem.key, theorem.variant
    return known(key, variant) and get(key, variant) is theorem


def peers(theorem: Theorem) -> tuple[Theorem, ...]:
    """The registered statements of the paper of ``theorem``; none where it is of no registered paper."""
    paper = theorem.key.split(".")[0]
    return statements(paper) if paper in _modules() else ()
