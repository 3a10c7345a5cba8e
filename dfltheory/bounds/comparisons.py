"""Conditions as comparisons, such as ``sigma_g == 0``, and as inequalities.

Both sides of a condition must have the same unit, but 0 has none. A comparison of x
with 0 is therefore stored as one of x with its double or its half: ``x <= 0`` as ``2 x
<= x``, and ``x > 0`` as ``x/2 < x``.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.formulas import Relation


def comparison_conditions(
    name: str, left: Expr, relation: Relation, right: Expr
) -> tuple[Condition, ...]:
    """Return the conditions that a comparison is equivalent to.

    An equality is two inequalities, except for x == 0 if x cannot be negative: then
    x <= 0 suffices.
    """
    if relation in (">=", ">"):
        return _at_most(name, right, left, strict=relation == ">")
    if relation in ("<=", "<"):
        return _at_most(name, left, right, strict=relation == "<")
    if left.is_zero and right.free_symbols:
        left, right = right, left
    if right.is_zero and left.free_symbols:
        right, left = left, 2 * left
        if right.is_nonnegative:
            return (Condition(name, left, right),)
    return (Condition(name, left, right), Condition(name, right, left))


def _at_most(name: str, left: Expr, right: Expr, strict: bool) -> tuple[Condition, ...]:
    """Return ``left <= right`` as a condition whose sides have the same unit."""
    if left.is_zero and right.free_symbols:
        left = right / 2
    elif right.is_zero and left.free_symbols:
        left, right = 2 * left, left
    return (Condition(name, left, right, strict),)


def comparisons_of(conditions: Sequence[Condition]) -> list[tuple[str, str]]:
    """Return the name and the text of each condition.

    Two neighboring conditions that are an equality together become one comparison.
    """
    comparisons: list[tuple[str, str]] = []
    position = 0
    while position < len(conditions):
        condition = conditions[position]
        position += 1
        if position < len(conditions) and _are_equality(
            condition, conditions[position]
        ):
            position += 1
            comparisons.append(
                (condition.name, _text(condition.left, "==", condition.right))
            )
        else:
            comparisons.append((condition.name, _comparison(condition)))
    return comparisons


def _are_equality(first: Condition, second: Condition) -> bool:
    plain = not (first.strict or second.strict) and first.name == second.name
    return plain and (first.left, first.right) == (second.right, second.left)


def _comparison(condition: Condition) -> str:
    left, sign, right = condition.comparison
    return _text(sp.sympify(left, strict=True), sign, sp.sympify(right, strict=True))


def _text(left: Expr, sign: str, right: Expr) -> str:
    return f"{write_formula(left)} {sign} {write_formula(right)}"


__all__ = ["comparisons_of", "comparison_conditions"]
