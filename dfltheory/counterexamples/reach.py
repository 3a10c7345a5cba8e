"""What the search fixes and what it draws, by a theorem's scope alone.

The rules are those of :mod:`dfltheory.verdicts.applicability`, so that the theorem
covers every counterexample. A statement that the search cannot treat is rejected with
an error message; it is never searched with another algorithm. Assumptions in words are
not read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.scope import ANY
from dfltheory.bounds.symbols import GLOSSARY, LENGTH, STEP
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.own import own_name
from dfltheory.verdicts.applicability import (
    absent_values,
    quantities_of,
    unrestricted_steps,
)

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

MEASURES: dict[bool, tuple[str, ...]] = {
    False: ("grad_norm_sq", "grad_norm_sq_w", "consensus", "loss", "f_gap", "dist_sq"),
    True: ("two_block", "two_block_next", "two_block_weighted"),
}
"""The left-hand sides that the search measures, for one block and for two."""


CONVEX = frozenset(("mu", "mu_each", "x_star_sq", "sigma_star", "Gamma"))
"""Quantities of convex problems that the search computes."""

NOT_COMPUTED = frozenset(("dist_now", "gap_now", "offset"))
"""Quantities of the glossary that the search does not compute."""


def convex(theorem: Theorem) -> bool:
    """Return whether only convex problems are drawn for the theorem.

    They are if it contains a strong-convexity constant.
    """
    return bool({"mu", "mu_each"} & set(theorem.needs))


class CodeNeededError(InputError):
    """A file refers to third-party code, which it does not contain."""

    def __init__(self, what: str):
        super().__init__(
            f"{what} is third-party code, which the file does not contain: name the"
            " theorem's own file too, as in `dfltheory falsify FILE.py:NAME --replay"
            " COUNTEREXAMPLE`"
        )


def algorithm_class(theorem: Theorem) -> type[Algorithm]:
    """Return the most general algorithm of the scope.

    It is a class of the package by name, or a third-party class.
    """
    return class_of(theorem.scope.algorithms[0])


def class_of(named: str | type, known: Iterable[str | type] = ()) -> type[Algorithm]:
    """Return the class that a scope names.

    It is the given class itself, the package's by name, or an imported third-party
    class.

    Parameters
    ----------
    named : str or type
        ``MODULE:NAME`` for a third-party class. How its module was imported does not
        matter, see :func:`~dfltheory.own.own_name`.
    known : iterable of str or type
        Classes that are preferred to others of the same own name: those of the scope of
        a given theorem.

    Raises
    ------
    CodeNeededError
        No imported module has that class, or several have one.
    InputError
        The package has no algorithm of that name.
    """
    from dfltheory import algorithms

    if isinstance(named, type):
        return named
    if ":" in named:
        given = [
            kind
            for kind in known
            if isinstance(kind, type)
            and own_name(reference_to(kind)) == own_name(named)
        ]
        found = given or _imported(*named.split(":", 1))
        if len(found) == 1:
            return found[0]
        raise CodeNeededError(f"the algorithm {named}")
    try:
        return algorithms.get(named)
    except UnknownNameError:
        raise InputError(
            f"falsify cannot simulate {named}, which the package does not have: name"
            " its class in the scope"
        ) from None


def reference_to(kind: type) -> str:
    """``MODULE:NAME`` of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _imported(module: str, name: str) -> list[type[Algorithm]]:
    """Return the algorithms of that name in that module.

    Without one these are those in modules of the same own name.
    """
    exact = _attribute(module, name)
    if exact is not None:
        return [exact]
    wanted = own_name(f"{module}:{name}")
    places = [
        place for place in [*sys.modules] if own_name(f"{place}:{name}") == wanted
    ]
    found = {_attribute(place, name) for place in places}
    return [kind for kind in found if kind is not None]


def _attribute(module: str, name: str) -> type[Algorithm] | None:
    """Return the algorithm of that name in an imported module."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, Algorithm):
        return found
    return None


def with_classes(theorem: Theorem) -> Theorem:
    """Return the theorem of a file with third-party classes.

    The classes replace their names in its scope.
    """
    algorithms = []
    for named in theorem.scope.algorithms:
        third_party = isinstance(named, str) and ":" in named
        algorithms.append(class_of(named) if third_party else named)
    scope = replace(theorem.scope, algorithms=tuple(algorithms))
    return replace(theorem, scope=scope)


def hyperparameters(theorem: Theorem) -> tuple[dict[str, Quantity], dict[str, Any]]:
    """Return the hyperparameters that the search draws, and those that are fixed.

    They are fields of the algorithm. Fields that are drawn have their glossary entries,
    fixed ones their values.

    Raises
    ------
    InputError
        A field that neither the scope nor the bound contains, and that has no value at
        which it is absent.
    """
    cls, scope = algorithm_class(theorem), theorem.scope
    absent = absent_values(theorem)
    contained = quantities_of(theorem) | unrestricted_steps(theorem, cls)
    summands: set[str] = set()
    for total in contained & set(cls.summed_up):
        summands |= set(cls.summed_up[total][0])
    free: dict[str, Quantity] = {}
    fixed: dict[str, Any] = {}
    for f in fields(cls):
        name = cls.glossary.get(f.name, f.name)
        required = [
            scope.hyperparameters[n]
            for n in (name, f.name)
            if n in scope.hyperparameters
        ]
        if required and required[0] == ANY:
            if f.default is MISSING:
                free[f.name] = theorem.glossary[name]
            else:
                fixed[f.name] = f.default  # one of the values that the statement covers
        elif required:
            fixed[f.name] = required[0]
        elif f.name in summands:
            if f.default is not MISSING:
                fixed[f.name] = f.default
        elif name in contained:
            free[f.name] = theorem.glossary[name]
        elif name in absent:
            entry = theorem.glossary.get(name)
            is_count = entry is not None and entry.integer
            fixed[f.name] = int(absent[name]) if is_count else absent[name]
        else:
            raise InputError(
                f"falsify cannot search {theorem}: it does not say at which {name} (see"
                " Scope.hyperparameters)"
            )
    return free, fixed


def unknown(theorem: Theorem) -> list[str]:
    """Return what the theorem needs that the search can neither compute nor draw.

    It draws hyperparameters: a step size, a count, a share, or a radius.
    """
    cls = algorithm_class(theorem)
    own = {cls.glossary.get(f.name, f.name) for f in fields(cls)} | {*cls.summed_up}
    drawn = {n for n in own & set(theorem.needs) if _drawn(theorem.glossary[n])}
    computed = GLOSSARY.keys() - NOT_COMPUTED
    formulas = {n for n in theorem.needs if isinstance(theorem.glossary[n].of, str)}
    return sorted(set(theorem.needs) - computed - drawn - formulas)


def _drawn(quantity: Quantity) -> bool:
    """Whether the search can draw a hyperparameter."""
    return (
        quantity.step
        or quantity.integer
        or quantity.high == 1
        or quantity.unit == LENGTH
    )


def check(theorem: Theorem) -> None:
    """Raise InputError if the search cannot treat the statement."""
    scope, cls = theorem.scope, algorithm_class(theorem)
    why = None
    measures = MEASURES[scope.two_blocks]
    if theorem.lhs.measure not in measures:
        why = (
            f"is about {theorem.lhs.measure}, and the search measures"
            f" {', '.join(measures)}"
        )
    elif (scope.network == "none") is cls.needs_topology:
        why = (
            f"is about {'no' if cls.needs_topology else 'a'} network, which"
            f" {cls.__name__} does not fit"
        )
    elif theorem.lhs.measure == "dist_sq" and not convex(theorem):
        why = "is about dist_sq, and does not say how convex f is"
    elif scope.bounded_gradients and scope.two_blocks:
        why = (
            "assumes bounded gradients, and the two-block problems of the search have"
            " none"
        )
    if why is not None:
        raise InputError(f"falsify cannot search {theorem}: it {why}")
    free, fixed = hyperparameters(theorem)
    if names := unknown(theorem):
        raise InputError(
            f"falsify cannot search {theorem}: it does not know {', '.join(names)}"
        )
    held = [
        name
        for name in fixed
        if name in theorem.glossary and theorem.glossary[name].step
    ]
    odd = [
        n
        for n, q in free.items()
        if q.step and q.unit not in (STEP, GLOSSARY["eta_v"].unit)
    ]
    if held or odd:
        raise InputError(
            f"falsify cannot search {theorem}: the step size {(held or odd)[0]} cannot"
            " be fixed"
        )


__all__ = [
    "CONVEX",
    "CodeNeededError",
    "MEASURES",
    "algorithm_class",
    "check",
    "class_of",
    "convex",
    "hyperparameters",
    "reference_to",
    "unknown",
    "with_classes",
]
