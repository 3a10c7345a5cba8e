"""The registry: statements by key and variant, found paper by paper at first use.

A paper is a module or a folder in ``dfltheory/bounds/papers/``, or an entry point of the group
``dfltheory.papers`` in any installed package. It has a ``PAPER`` (:class:`Paper`) and ``statements()``; a
folder may divide the latter into ``printed`` and ``corrected``. The functions of this module are methods of
:data:`REGISTRY`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
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

_PARTS = ("printed", "corrected")
"""Modules of a paper's folder that may hold statements."""
_MAIN = ("theorem", "corollary", "rate", "lower bound")
"""Kinds of statements that ``keys`` lists."""

Statements = Mapping[str, Mapping[str, "Theorem"]]
"""Statements by key and variant."""


class Registry:
    """Statements by key and variant.

    Parameters
    ----------
    added : statements that are registered in addition to those of the papers
    """

    def __init__(self, added: Iterable[Theorem] = ()):
        self.added = tuple(added)
        self._modules: dict[str, str] = {}
        self._loaded: dict[str, Statements] = {}

    def including(self, added: Iterable[Theorem]) -> Registry:
        """A registry with further statements, as the lemmas of a paper that a case study states."""
        larger = Registry((*self.added, *added))
        larger._modules, larger._loaded = self._modules, self._loaded
        return larger

    def clear(self) -> None:
        """Forget which papers were found and what was read: the next call looks for them again."""
        self._modules.clear()
        self._loaded.clear()

    # -- papers ----------------------------------------------------------------------------------------

    def discover(self) -> Mapping[str, str]:
        """Papers, by the first word of their keys, and their modules; the package's own first.

        Raises
        ------
        InputError
            Two papers have the same name.
        """
        if not self._modules:
            self._modules.update(_found_modules())
        return self._modules

    def papers(self) -> tuple[str, ...]:
        """The names of papers: the first words of keys."""
        return tuple(self.discover())

    def paper(self, name: str) -> Paper:
        """Title, citation and provenance of a paper."""
        module = importlib.import_module(self._module(name))
        known = getattr(module, "PAPER", None)
        if not isinstance(known, Paper):
            raise InputError(f"{module.__name__} has no PAPER = Paper(title, citation): give it")
        return known

    def load(self, paper: str) -> Statements:
        """The statements of a paper by key and variant; they are read at the first call.

        Raises
        ------
        UnknownNameError
            There is no such paper.
        InputError
            A key does not begin with the paper's name, or a statement is given twice.
        """
        module = self._module(paper)
        if paper not in self._loaded:
            self._loaded[paper] = _read(paper, module)
        own = self._loaded[paper]
        added = [theorem for theorem in self.added if _paper_of(theorem.key) == paper]
        if not added:
            return own
        larger = {key: dict(variants) for key, variants in own.items()}
        for theorem in added:
            larger.setdefault(theorem.key, {})[theorem.variant] = theorem
        return larger

    def _module(self, paper: str) -> str:
        modules = self.discover()
        if paper not in modules:
            raise UnknownNameError("paper", paper, set(modules))
        return modules[paper]

    # -- statements ------------------------------------------------------------------------------------

    def keys(self, paper: str | None = None, *, all: bool = False) -> tuple[str, ...]:
        """The keys of theorems, corollaries, rates and lower bounds (of one paper); with ``all`` also of
        lemmas.

        >>> bounds.keys("lian2017")   # doctest: +SKIP
        ('lian2017.rate',)
        """
        found = []
        for name in self.papers() if paper is None else (paper,):
            for key, variants in self.load(name).items():
                if all or any(theorem.kind in _MAIN for theorem in variants.values()):
                    found.append(key)
        return tuple(found)

    def variants(self, key: str) -> tuple[str, ...]:
        """The variants of a statement, ``printed`` first where there is one."""
        return tuple(self._variants(key))

    def get(self, key: str, variant: str = "printed") -> Theorem:
        """The statement ``key`` in ``variant``.

        Raises
        ------
        UnknownNameError
            There is no such statement, or it has no such variant.
        """
        variants = self._variants(key)
        if variant not in variants:
            raise UnknownNameError(f"variant of {key}", variant, list(variants))
        return variants[variant]

    def _variants(self, key: str) -> Mapping[str, Theorem]:
        paper = _paper_of(str(key))
        variants = self.load(paper).get(key) if paper in self.discover() else None
        if variants is None:
            raise UnknownNameError("theorem", key, set(self.keys(all=True)))
        return variants

    def statements(self, paper: str | None = None) -> tuple[Theorem, ...]:
        """Every statement in every variant (of one paper)."""
        names = self.papers() if paper is None else (paper,)
        loaded = (variants for name in names for variants in self.load(name).values())
        return tuple(theorem for variants in loaded for theorem in variants.values())

    def resting_on(self, networks: Iterable[str]) -> tuple[str, ...]:
        """The theorems and corollaries that assume one of these laws of the network, as their scopes name
        them.

        >>> bounds.resting_on(graphs.check_mixing_matrix(W).breaks)   # doctest: +SKIP
        """
        first = (self.get(key, self.variants(key)[0]) for key in self.keys())
        wanted = set(networks)
        kinds = ("theorem", "corollary")
        return tuple(t.key for t in first if t.kind in kinds and t.scope.network in wanted)

    def known(self, key: str, variant: str) -> bool:
        """Is there a registered statement of this key and variant?"""
        paper = _paper_of(key)
        return paper in self.discover() and variant in self.load(paper).get(key, {})

    def registered(self, theorem: Theorem) -> bool:
        """Is ``theorem`` the object that is registered under its key and variant?"""
        key, variant = theorem.key, theorem.variant
        return self.known(key, variant) and self.get(key, variant) is theorem

    def peers(self, theorem: Theorem) -> tuple[Theorem, ...]:
        """The registered statements of the paper of ``theorem``; none if it is of no registered paper."""
        paper = _paper_of(theorem.key)
        return self.statements(paper) if paper in self.discover() else ()


def _paper_of(key: str) -> str:
    return key.split(".")[0]


def _found_modules() -> dict[str, str]:
    """Paper -> its module; the package's own first, by name."""
    own = (name for _, name, _ in pkgutil.iter_modules(_papers.__path__))
    found = {name: f"{_papers.__name__}.{name}" for name in own}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        if point.name in found:
            raise InputError(
                f"two papers are called {point.name!r}: {found[point.name]} and {point.value}; rename one"
            )
        found[point.name] = point.value
    return found


def _modules_of(name: str) -> Iterator[ModuleType]:
    """The modules of a paper that may hold its statements: the paper itself, and modules of its folder."""
    top = importlib.import_module(name)
    yield top
    within = {module for _, module, _ in pkgutil.iter_modules(getattr(top, "__path__", []))}
    for part in _PARTS:
        if part in within:
            yield importlib.import_module(f"{name}.{part}")


def _read(paper: str, name: str) -> Statements:
    found: dict[str, dict[str, Theorem]] = {}
    for module in _modules_of(name):
        if not hasattr(module, "statements"):
            continue
        for theorem in module.statements():
            if _paper_of(theorem.key) != paper:
                raise InputError(
                    f"{theorem} is stated in {module.__name__}: its key must begin with {paper}."
                )
            variants = found.setdefault(theorem.key, {})
            if theorem.variant in variants:
                raise InputError(f"{theorem} is stated twice in {name}")
            variants[theorem.variant] = theorem
    return found


REGISTRY = Registry()
"""The statements of the package and of installed packages."""

papers = REGISTRY.papers
paper = REGISTRY.paper
keys = REGISTRY.keys
variants = REGISTRY.variants
get = REGISTRY.get
statements = REGISTRY.statements
resting_on = REGISTRY.resting_on
known = REGISTRY.known
registered = REGISTRY.registered
peers = REGISTRY.peers
