"""The registry: statements by key and variant, found paper by paper at first use.

A paper of the package is a theorem file ``dfltheory/bounds/papers/PAPER.toml``. A paper
of another package is an entry point of the group ``dfltheory.papers``: a module with a
``PAPER`` (:class:`Paper`) and ``statements()``; a folder may divide the latter into
modules ``printed`` and ``corrected``. The functions of this module are methods of
:data:`REGISTRY`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from dfltheory.bounds.paper import Paper
from dfltheory.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from dfltheory.bounds.package_file import PackageFile
    from dfltheory.bounds.theorem import Theorem

FOLDER = Path(__file__).parent / "papers"
"""The theorem files of the package."""
PAPERS_GROUP = "dfltheory.papers"
"""The entry points by which other packages bring papers: name = the paper's key, value
= its module.
"""

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
        self._papers: dict[str, Paper] = {}
        self._files: dict[str, PackageFile] = {}

    def including(self, added: Iterable[Theorem]) -> Registry:
        """Return a registry with further statements, which shares what is read."""
        larger = Registry((*self.added, *added))
        larger._modules, larger._loaded = self._modules, self._loaded
        larger._papers, larger._files = self._papers, self._files
        return larger

    def clear(self) -> None:
        """Forget which papers were found and what was read."""
        self._modules.clear()
        self._loaded.clear()
        self._papers.clear()
        self._files.clear()

    # -- papers

    def discover(self) -> Mapping[str, str]:
        """Return the file or module of each paper, by the first word of its keys.

        Papers of the package come first.

        Raises
        ------
        InputError
            Two papers have the same name.
        """
        if not self._modules:
            self._modules.update(_found_modules())
        return self._modules

    def papers(self) -> tuple[str, ...]:
        """Return the names of papers: the first words of keys."""
        return tuple(self.discover())

    def paper(self, name: str) -> Paper:
        """Return title, citation and provenance of a paper."""
        self.load(name)
        return self._papers[name]

    def load(self, paper: str) -> Statements:
        """Return the statements of a paper by key and variant.

        They are read at the first call.

        Raises
        ------
        UnknownNameError
            There is no such paper.
        InputError
            A key does not begin with the paper's name, or a statement is given twice.
        """
        place = self._module(paper)
        if paper not in self._loaded:
            file = self._file(paper)
            known, theorems = (
                _of_module(place) if file is None else (file.paper, file.theorems())
            )
            self._loaded[paper] = _by_name(paper, place, theorems)
            self._papers[paper] = known
        read_statements = self._loaded[paper]
        added = [theorem for theorem in self.added if _paper_of(theorem.key) == paper]
        if not added:
            return read_statements
        larger = {key: dict(variants) for key, variants in read_statements.items()}
        for theorem in added:
            larger.setdefault(theorem.key, {})[theorem.variant] = theorem
        return larger

    def _module(self, paper: str) -> str:
        own_files = _own_files()
        # entry points of other packages are read only if needed
        places = own_files if paper in own_files else self.discover()
        if paper not in places:
            raise UnknownNameError("paper", paper, set(places))
        return places[paper]

    def _file(self, paper: str) -> PackageFile | None:
        """Return the theorem file of a paper of the package."""
        if paper not in _own_files():
            return None
        if paper not in self._files:
            from dfltheory.bounds.package_file import PackageFile  # imports SymPy

            self._files[paper] = PackageFile(Path(_own_files()[paper]))
        return self._files[paper]

    def _has(self, paper: str) -> bool:
        return paper in _own_files() or paper in self.discover()

    # -- statements

    def keys(self, paper: str | None = None, *, all: bool = False) -> tuple[str, ...]:
        """Return the keys of theorems, corollaries, rates and lower bounds.

        With ``all`` also those of lemmas and controls; controls are also listed if
        their paper is named.

        >>> bounds.keys("lian2017")   # doctest: +SKIP
        ('lian2017.rate',)
        """
        listed_keys: list[str] = []
        for name in self.papers() if paper is None else (paper,):
            for key, variants in self.load(name).items():
                listed = [
                    t for t in variants.values() if paper is not None or not t.control
                ]
                if all or any(theorem.kind in _MAIN for theorem in listed):
                    listed_keys.append(key)
        return tuple(listed_keys)

    def variants(self, key: str) -> tuple[str, ...]:
        """Return the variants of a statement, ``printed`` first if there is one."""
        return tuple(self._variants(key))

    def get(self, key: str, variant: str = "printed") -> Theorem:
        """Return the statement ``key`` in ``variant``.

        Raises
        ------
        UnknownNameError
            There is no such statement, or it has no such variant.
        """
        for theorem in self.added:
            if (theorem.key, theorem.variant) == (key, variant):
                return theorem
        file = self._file(_paper_of(str(key)))
        theorem_of_file = None if file is None else file.find(key, variant)
        if theorem_of_file is not None:
            return theorem_of_file
        variants = self._variants(key)
        if variant not in variants:
            raise UnknownNameError(f"variant of {key}", variant, list(variants))
        return variants[variant]

    def _variants(self, key: str) -> Mapping[str, Theorem]:
        paper = _paper_of(str(key))
        variants = self.load(paper).get(key) if self._has(paper) else None
        if variants is None:
            raise UnknownNameError("theorem", key, set(self.keys(all=True)))
        return variants

    def statements(self, paper: str | None = None) -> tuple[Theorem, ...]:
        """Return every variant of every statement, of one paper if it is given."""
        names = self.papers() if paper is None else (paper,)
        loaded = (variants for name in names for variants in self.load(name).values())
        return tuple(theorem for variants in loaded for theorem in variants.values())

    def resting_on(self, networks: Iterable[str]) -> tuple[str, ...]:
        """Return the keys of theorems and corollaries that assume one of these laws.

        ``networks`` are names of laws, see :data:`dfltheory.bounds.scope.LAWS`.

        >>> bounds.resting_on(graphs.check_mixing_matrix(W).breaks)   # doctest: +SKIP
        """
        first = (self.get(key, self.variants(key)[0]) for key in self.keys())
        wanted = set(networks)
        kinds = ("theorem", "corollary")
        return tuple(
            t.key for t in first if t.kind in kinds and t.scope.network in wanted
        )

    def known(self, key: str, variant: str) -> bool:
        """Return whether there is a registered statement of this key and variant."""
        paper = _paper_of(key)
        return self._has(paper) and variant in self.load(paper).get(key, {})

    def registered(self, theorem: Theorem) -> bool:
        """Return whether ``theorem`` itself is registered under its key and variant."""
        key, variant = theorem.key, theorem.variant
        return self.known(key, variant) and self.get(key, variant) is theorem

    def peers(self, theorem: Theorem) -> tuple[Theorem, ...]:
        """Return all registered statements of the paper of ``theorem``.

        The result is empty if the paper is not registered.
        """
        paper = _paper_of(theorem.key)
        return self.statements(paper) if self._has(paper) else ()


def _paper_of(key: str) -> str:
    return key.split(".")[0]


@cache
def _own_files() -> Mapping[str, str]:
    """Return the package's papers and their theorem files, by name."""
    files = sorted(FOLDER.glob("*.toml"))
    return MappingProxyType({path.stem: str(path) for path in files})


def _found_modules() -> dict[str, str]:
    """Return the file or module of each paper; those of the package come first."""
    from importlib.metadata import entry_points  # slow to import

    places = dict(_own_files())
    for point in sorted(entry_points(group=PAPERS_GROUP), key=attrgetter("name")):
        if point.name in places:
            raise InputError(
                f"two papers are called {point.name!r}: {places[point.name]} and"
                f" {point.value}; rename one"
            )
        places[point.name] = point.value
    return places


def _modules_of(name: str) -> Iterator[ModuleType]:
    """Return the modules of a paper that may hold its statements."""
    top = importlib.import_module(name)
    yield top
    within = {
        module for _, module, _ in pkgutil.iter_modules(getattr(top, "__path__", []))
    }
    for part in _PARTS:
        if part in within:
            yield importlib.import_module(f"{name}.{part}")


def _of_module(name: str) -> tuple[Paper, list[Theorem]]:
    """Return the paper and the statements in a module of another package."""
    modules = list(_modules_of(name))
    known = getattr(modules[0], "PAPER", None)
    if not isinstance(known, Paper):
        raise InputError(
            f"module {name} does not define PAPER: add PAPER = Paper(title, citation)"
        )
    for module in modules:
        refuse_loose_steps(module.__name__, module)
    stated = (module for module in modules if hasattr(module, "statements"))
    return known, [theorem for module in stated for theorem in module.statements()]


def refuse_loose_steps(place: str, module: object) -> None:
    """Raise InputError if a module has a ``STEPS``, which belongs to no statement."""
    if hasattr(module, "STEPS"):
        raise InputError(
            f"{place} defines STEPS, which no statement uses: pass the steps of a proof"
            " as Theorem(..., steps=(ProofStep(...),), moments={...}), or write them"
            " as [[statement.steps]] of a theorem file"
        )


def _by_name(paper: str, place: str, theorems: Iterable[Theorem]) -> Statements:
    """Return the statements of a paper by key and variant."""
    statements: dict[str, dict[str, Theorem]] = {}
    for theorem in theorems:
        if _paper_of(theorem.key) != paper:
            raise InputError(
                f"{theorem} is stated in {place}: its key must begin with {paper}."
            )
        variants = statements.setdefault(theorem.key, {})
        if theorem.variant in variants:
            raise InputError(
                f"{theorem} is stated twice in {place}: rename the key or the variant"
            )
        variants[theorem.variant] = theorem
    return statements


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
