"""Limits of the size of formulas in which definitions are written out.

Definitions that contain each other can make formulas that no memory holds. The sizes
are counted without building anything; then the expansion is built by
:mod:`dfltheory.bounds.limited_formulas`, which refuses large numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sympy as sp

from dfltheory.bounds.clauses import Condition, Definition
from dfltheory.bounds.limited_formulas import NODES, build
from dfltheory.bounds.tree import TREE_FUNCTIONS
from dfltheory.bounds.units import Expr
from dfltheory.documents import short_text
from dfltheory.errors import DFLTheoryError, InputError

DEEPEST = 60
"""The largest depth of an expanded formula."""
TOTAL = 10_000
"""Most parts of all expanded formulas of a statement together."""


def formulas_of(
    parts: Mapping[str, object],
    conditions: Iterable[Condition],
    schedule: Mapping[str, object],
) -> dict[str, object]:
    """Return a statement's formulas except for its definitions.

    The keys are names for error messages, such as ``term noise``.
    """
    formulas = {f"term {name}": part for name, part in parts.items()}
    formulas |= {f"schedule of {name}": rule for name, rule in schedule.items()}
    for condition in conditions:
        formulas[f"left side of {condition.name}"] = condition.left
        formulas[f"right side of {condition.name}"] = condition.right
    return formulas


def check_expansion(
    definitions: Iterable[Definition], formulas: Mapping[str, object]
) -> None:
    """Refuse formulas that are too large once the definitions are put into them.

    Parameters
    ----------
    definitions : each in terms of earlier ones
    formulas : by a name for messages

    Raises
    ------
    InputError
        An expanded formula has more than ``NODES`` parts, is more than ``DEEPEST``
        deep, or has a number that is too large; all of them have more than ``TOTAL``
        parts.
    """
    total = 0
    sizes: dict[sp.Basic, tuple[int, int]] = {}
    expanded: dict[sp.Basic, Expr] = {}
    for definition in definitions:
        expression = sp.sympify(definition.expr)
        place = f"definition {definition.symbol}"
        sizes[definition.symbol] = _checked_size(place, expression, sizes)
        total += sizes[definition.symbol][0]
        expanded[definition.symbol] = _expand(place, expression, expanded)
    for name, formula in formulas.items():
        expression = sp.sympify(formula)
        total += _checked_size(name, expression, sizes)[0]
        if total > TOTAL:
            raise InputError(
                "the formulas with the definitions put into them have more than"
                f" {TOTAL} parts"
            )
        _expand(name, expression, expanded)


def _checked_size(
    place: str, formula: sp.Basic, known: Mapping[sp.Basic, tuple[int, int]]
) -> tuple[int, int]:
    parts, depth = _size(formula, known)
    if parts > NODES or depth > DEEPEST:
        raise InputError(
            f"{place} with the definitions put into it has {short_text(parts)} parts"
            f" and is {depth} deep: at most {NODES} parts, {DEEPEST} deep"
        )
    return parts, depth


def _size(
    formula: sp.Basic, known: Mapping[sp.Basic, tuple[int, int]]
) -> tuple[int, int]:
    """Return the numbers of parts and of levels of a formula.

    A symbol in ``known`` has those of its definition.
    """
    if formula in known:
        return known[formula]
    sizes = [_size(part, known) for part in formula.args]
    parts = sum(size[0] for size in sizes)
    depth = max((size[1] for size in sizes), default=0)
    return parts + 1, depth + 1


def _expand(place: str, formula: Expr, known: Mapping[sp.Basic, Expr]) -> Expr:
    try:
        return _rebuild(formula, known)
    except DFLTheoryError as wrong:
        raise InputError(f"{place} with the definitions put into it: {wrong}") from None


def _rebuild(formula: Expr, known: Mapping[sp.Basic, Expr]) -> Expr:
    """Return the formula with definitions written out, within the limits of size."""
    if formula in known:
        return known[formula]
    if not formula.args or not formula.free_symbols.intersection(known):
        return formula
    parts = [_rebuild(part, known) for part in formula.args]
    name = type(formula).__name__
    return build(name, parts) if name in TREE_FUNCTIONS else formula.func(*parts)


__all__ = ["check_expansion"]
