"""Expressions and conditions that the prover of inequalities accepts."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from dfltheory.bounds.clauses import REAL_FUNCTIONS, Condition
from dfltheory.bounds.real_numbers import has_poles
from dfltheory.bounds.units import Expr

_PARTS = (sp.Symbol, sp.Rational, sp.NumberSymbol, *REAL_FUNCTIONS)
MOST_DEGREE = 1000
"""Degree above which no polynomial is examined."""


def exact_expression(given: object) -> Expr | None:
    """Return ``given`` as an exact expression of real parts, else None.

    The functions are those of a theorem's formulas.
    """
    try:
        expr = sp.sympify(given, strict=True)
    except sp.SympifyError:
        return None
    if not isinstance(expr, sp.Expr) or has_poles(expr):
        return None
    if not all(symbol.is_real for symbol in expr.free_symbols):
        return None
    for part in sp.preorder_traversal(expr):
        if not isinstance(part, _PARTS) or part.is_real is False:
            return None
    return expr


def exact_condition(given: Condition) -> Condition | None:
    """Return a condition between exact real expressions, else None."""
    left, right = exact_expression(given.left), exact_expression(given.right)
    if left is None or right is None:
        return None
    exact = replace(given, left=left, right=right)
    is_usable = exact_expression(exact.slack) is not None
    return exact if is_usable and degree(exact.slack) <= MOST_DEGREE else None


def degree(expr: Expr) -> int:
    """Return an upper bound of the degree of an expression in its roots."""
    if isinstance(expr, sp.Pow) and isinstance(expr.exp, sp.Rational):
        numerator, denominator = int(expr.exp.p), int(expr.exp.q)
        return degree(expr.base) * max(abs(numerator), denominator)
    degrees = [degree(part) for part in expr.args]
    return sum(degrees) if expr.is_Mul else max(degrees, default=1)


__all__ = ["MOST_DEGREE", "degree", "exact_condition", "exact_expression"]
