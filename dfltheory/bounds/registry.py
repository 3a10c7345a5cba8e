"""The registry: every statement by key and variant, found paper by paper at first use.

A paper is a module or a folder in ``dfltheory/bounds/papers/``, or an entry point of the group
``dfltheory.papers`` in anybody's package.  It has a ``PAPER`` (:class:`Paper`) and ``statements()``; a folder
may divide the latter into ``printed``, ``corrected`` and ``proof``, and declares the steps of proofs
(``STEPS``, ``INEQUALITIES``) in ``derivations`` and ``rederivation``, proofs (``SCRIPTS``) in
``script``, and normal forms (``FORMS``) in ``forms``.
Nothing is listed anywhere else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dfltheory.bounds import papers as _papers
from dfltheory.bounds.paper import Paper
from dfltheory.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

GROUP = "dfltheory.papers"
"""The entry points by which other packages bring papers: name = the paper's key, value = its module."""

_STATEMENTS = ("printed", "corrected", "proof")
_DECLARED = ("derivations", "rederivation", "script", "forms")


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
def _parts(name: str) -> dict[str, ModuleType]:
    """The modules of a paper by part: the paper itself as ``""``, and those of a folder that are there."""
    if name not in _modules():
        raise UnknownNameError("paper", name, set(_modules()))
    top = importlib.import_module(_modules()[name])
    within = {n for _, n, _ in pkgutil.iter_modules(getattr(top, "__path__", []))}
    chosen = [part for part in (*_STATEMENTS, *_DECLARED) if part in within]
    return {"": top} | {part: importlib.import_module(f"{top.__name__}.{part}") for part in chosen}


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
    for part, module in _parts(name).items():
        if part not in ("", *_STATEMENTS) or not hasattr(module, "statements"):
            continue
        for theorem in module.statements():
            if not theorem.key.startswith(f"{name}."):
                raise InputError(f"{theorem} is stated in {module.__name__}: its key must begin with {name}.")
            variants = found.setdefault(theorem.key, {})
            if theorem.variant in variants:
                raise InputError(f"{theorem} is stated twice in {_modules()[name]}")
            variants[theorem.variant] = theorem
    return found


def _declared(attribute: str) -> Iterator[Any]:
    for part in _DECLARED:
        for name in _modules():
            yield from getattr(_parts(name).get(part), attribute, ())


def all_steps() -> tuple[Any, ...]:
    """The steps of proofs that are declared: as the papers have them, and as the re-derived proofs do."""
    return tuple(_declared("STEPS"))


def inequalities() -> tuple[Any, ...]:
    """The inequalities on numbers, vectors and matrices that proofs lean on."""
    return tuple(_declared("INEQUALITIES"))


def scripts() -> tuple[Any, ...]:
    """The proofs that are scripts of the kernel (:mod:`dfltheory.bounds.kernel`)."""
    return tuple(_declared("SCRIPTS"))


def forms(paper: str) -> Mapping[str, Any]:
    """The normal forms in which certificates of a paper's steps are looked for, by claim."""
    return getattr(_parts(paper).get("forms"), "FORMS", {})


def keys(paper: str | None = None) -> tuple[str, ...]:
    """The keys of all statements (of one paper)."""
    if paper is not None and paper not in _modules():
        raise UnknownNameError("paper", paper, set(_modules()))
    return tuple(key for name in (_modules() if paper is None else (paper,)) for key in _of_paper(name))


def variants(key: str) -> tuple[str, ...]:
    """The variants of a statement, ``printed`` first where there is one."""
    paper = str(key).split(".")[0]
    if paper not in _modules() or key not in _of_paper(paper):
        raise UnknownNameError("theorem", key, set(keys()))
    return tuple(_of_paper(paper)[key])


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
    return _of_paper(key.split(".")[0])[key][variant]


def statements(paper: str | None = None) -> tuple[Theorem, ...]:
    """Every statement in every variant (of one paper)."""
    return tuple(get(key, variant) for key in keys(paper) for variant in variants(key))


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
    return paper in _modules() and variant in _of_paper(paper).get(key, {})


def registered(theorem: Theorem) -> bool:
    """Is ``theorem`` the object that the registry holds under its key and variant?"""
    key, variant = theorem.key, theorem.variant
    return known(key, variant) and get(key, variant) is theorem


def peers(theorem: Theorem) -> tuple[Theorem, ...]:
    """The registered statements of the paper of ``theorem``; none where it is of no registered paper."""
    paper = theorem.key.split(".")[0]
    return statements(paper) if paper in _modules() else ()
