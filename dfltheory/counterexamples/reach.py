"""Statements that the search can treat, and the hyperparameters that it draws or fixes.

Both follow from a theorem's scope, by the rules of
:mod:`dfltheory.verdicts.applicability`, so that the theorem covers every
counterexample. Other statements are rejected with an error message; the search never
substitutes another algorithm. Assumptions that are stated only in words are ignored.
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
from dfltheory.verdicts.hyperparameters import (
    absent_values,
    quantities_of,
    unrestricted_steps,
)

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SEARCHED_MEASURES: dict[bool, tuple[str, ...]] = {
    False: ("grad_norm_sq", "grad_norm_sq_w", "consensus", "loss", "f_gap", "dist_sq"),
    True: ("two_block", "two_block_next", "two_block_weighted"),
}
"""Left-hand sides that the search can measure, for one block and for two."""


CONVEX = frozenset(("mu", "mu_each", "x_star_sq", "sigma_star", "Gamma"))
"""Quantities of convex problems that the search computes."""

NETWORK = frozenset(("lam", "lam_min", "delta", "C", "q", "window"))
"""Constants of a candidate's network."""

OF_EVERY_CANDIDATE = NETWORK | {
    *("m", "T", "rho", "rho0", "S2", "f0_gap", "x0_sq", "x0_spread")
}
"""Quantities of the glossary that every candidate has."""

OF_BLOCKS: dict[bool, frozenset[str]] = {
    False: CONVEX | {"L", "sigma_l", "sigma_g", "beta", "B"},
    True: frozenset(("L_u", "L_v", "L_uv", "L_vu", "chi"))
    | {"sigma_l", "sigma_u", "sigma_v", "delta_u"},
}
"""Constants of the search's problems of one block and of two."""


def searches_convex(theorem: Theorem) -> bool:
    """Return whether the search is restricted to convex problems.

    It is if the statement contains a strong-convexity constant.
    """
    return bool({"mu", "mu_each"} & set(theorem.needs))


class CodeNeededError(InputError):
    """A file refers to third-party code that it does not contain."""

    def __init__(self, what: str):
        super().__init__(
            f"{what} is third-party code, which the file does not contain: give the"
            " file of the theorem, too, as in `dfltheory falsify FILE.py:NAME --replay"
            " COUNTEREXAMPLE`"
        )


def searched_algorithm(theorem: Theorem) -> type[Algorithm]:
    """Return the class of the first, most general algorithm of the scope."""
    return class_of(theorem.scope.algorithms[0])


def class_of(named: str | type, known: Iterable[str | type] = ()) -> type[Algorithm]:
    """Return an algorithm class, given as a class or by name.

    Parameters
    ----------
    named : str or type
        A class, the name of an algorithm of the package, or ``MODULE:NAME`` of an
        imported third-party class. How the module was imported does not matter, see
        :func:`~dfltheory.own.own_name`.
    known : iterable of str or type
        Classes that take precedence over imported ones of the same name, such as those
        in the scope of a given theorem.

    Raises
    ------
    CodeNeededError
        The class has not been imported, or several imported classes have its name.
    InputError
        The package has no algorithm of that name.
    """
    from dfltheory import algorithms

    if isinstance(named, type):
        return named
    if ":" in named:
        known_classes = [
            kind
            for kind in known
            if isinstance(kind, type)
            and own_name(reference_to(kind)) == own_name(named)
        ]
        classes = known_classes or _imported(*named.split(":", 1))
        if len(classes) == 1:
            return classes[0]
        raise CodeNeededError(f"the algorithm {named}")
    try:
        return algorithms.get(named)
    except UnknownNameError:
        raise InputError(
            f"falsify cannot simulate {named}, which is not an algorithm of the"
            " package: name its class in the scope"
        ) from None


def reference_to(kind: type) -> str:
    """Return ``MODULE:NAME`` of a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _imported(module: str, name: str) -> list[type[Algorithm]]:
    """Return the algorithms of that name in an imported module.

    If the module has none, modules that are the same up to how they were imported are
    searched.
    """
    exact = _attribute(module, name)
    if exact is not None:
        return [exact]
    wanted = own_name(f"{module}:{name}")
    modules = [
        module_name
        for module_name in [*sys.modules]
        if own_name(f"{module_name}:{name}") == wanted
    ]
    classes = {_attribute(module_name, name) for module_name in modules}
    return [kind for kind in classes if kind is not None]


def _attribute(module: str, name: str) -> type[Algorithm] | None:
    """Return the algorithm of that name in an imported module, if there is one."""
    value: object = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    if isinstance(value, type) and issubclass(value, Algorithm):
        return value
    return None


def with_classes(theorem: Theorem) -> Theorem:
    """Return a theorem from a file with third-party classes in place of their names."""
    algorithms = []
    for algorithm in theorem.scope.algorithms:
        third_party = isinstance(algorithm, str) and ":" in algorithm
        algorithms.append(class_of(algorithm) if third_party else algorithm)
    scope = replace(theorem.scope, algorithms=tuple(algorithms))
    return replace(theorem, scope=scope)


def hyperparameters(theorem: Theorem) -> tuple[dict[str, Quantity], dict[str, Any]]:
    """Return the hyperparameters that the search draws, and those that are fixed.

    Both are fields of the algorithm. The first dictionary contains glossary entries,
    the second one values.

    Raises
    ------
    InputError
        Neither the scope nor the bound contains a field that has no neutral value.
    """
    cls, scope = searched_algorithm(theorem), theorem.scope
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
                free[f.name] = _quantity(theorem, name)
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
            entry, value = theorem.glossary.get(name), absent[name]
            is_count = entry is not None and entry.integer
            # the neutral value of a count may be a float: Q = 1.0
            fixed[f.name] = (
                int(value) if is_count and isinstance(value, float) else value
            )
        else:
            raise InputError(
                f"falsify cannot search {theorem}: it does not specify {name} (see"
                " Scope.hyperparameters)"
            )
    return free, fixed


def _quantity(theorem: Theorem, name: str) -> Quantity:
    """Return the quantity that a hyperparameter is; InputError if it is none."""
    if name not in theorem.glossary:
        raise InputError(
            f"falsify cannot search {theorem}: it covers every {name}, of which the"
            " search knows no range; give it a value in Scope.hyperparameters"
        )
    return theorem.glossary[name]


def unknown(theorem: Theorem) -> list[str]:
    """Return the quantities of a theorem that the search can neither compute nor draw.

    It draws hyperparameters that are step sizes, counts, numbers in [0, 1], or a
    radius.
    """
    cls = searched_algorithm(theorem)
    fields_of_algorithm = {cls.glossary.get(f.name, f.name) for f in fields(cls)} | {
        *cls.summed_up
    }
    drawn = {
        n
        for n in fields_of_algorithm & set(theorem.needs)
        if _drawn(theorem.glossary[n])
    }
    constants = OF_EVERY_CANDIDATE | OF_BLOCKS[theorem.scope.two_blocks]
    computed = constants | set(cls.implied)
    formulas = {n for n in theorem.needs if isinstance(theorem.glossary[n].of, str)}
    return sorted(set(theorem.needs) - computed - drawn - formulas)


def _drawn(quantity: Quantity) -> bool:
    """Return whether the search can draw a hyperparameter."""
    return (
        quantity.step
        or quantity.integer
        or quantity.high == 1
        or quantity.unit == LENGTH
    )


def refuse_unsearchable(theorem: Theorem) -> None:
    """Raise InputError, with the reason, if the search cannot treat the statement."""
    scope, cls = theorem.scope, searched_algorithm(theorem)
    why = None
    measures = SEARCHED_MEASURES[scope.two_blocks]
    if theorem.lhs.measure not in measures:
        why = (
            f"bounds {theorem.lhs.measure}, and the search can measure only"
            f" {', '.join(measures)}"
        )
    elif (scope.network == "none") is cls.needs_topology:
        why = (
            f"assumes {'no' if cls.needs_topology else 'a'} network, but"
            f" {cls.__name__} needs {'one' if cls.needs_topology else 'none'}"
        )
    elif theorem.lhs.measure == "dist_sq" and not searches_convex(theorem):
        why = "bounds dist_sq, but contains no strong-convexity constant"
    elif CONVEX & set(theorem.needs) and not searches_convex(theorem):
        names = ", ".join(sorted(CONVEX & set(theorem.needs)))
        why = f"contains {names}, but no strong-convexity constant"
    elif scope.bounded_gradients and scope.two_blocks:
        why = (
            "assumes bounded gradients, but those of the search's two-block problems"
            " are unbounded"
        )
    if why is not None:
        raise InputError(f"falsify cannot search {theorem}: it {why}")
    free, fixed = hyperparameters(theorem)
    if names := unknown(theorem):
        raise InputError(
            f"falsify cannot search {theorem}: it cannot compute {', '.join(names)}"
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
    "SEARCHED_MEASURES",
    "searched_algorithm",
    "refuse_unsearchable",
    "class_of",
    "searches_convex",
    "hyperparameters",
    "reference_to",
    "unknown",
    "with_classes",
]
