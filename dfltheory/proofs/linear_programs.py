"""Small linear programs in rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp
from sympy.solvers.simplex import InfeasibleLPError, UnboundedLPError, linprog

FractionRow = Sequence[Fraction]
Rows = Sequence[tuple[FractionRow, Fraction]]
VariableBounds = tuple[int | None, int | None]


def minimum(
    costs: FractionRow,
    at_most: Rows,
    equal: Rows = (),
    bounds: Sequence[VariableBounds] | None = None,
) -> tuple[Fraction, list[Fraction]] | None:
    """Return the least value of ``costs`` where rows are at most, or equal to, numbers.

    Parameters
    ----------
    costs : one number for each variable
    at_most, equal : pairs of a row of coefficients and a number
    bounds : the ends of each variable; None: all are not negative

    Returns
    -------
    pair or None
        The least value and a minimizer; None if there is none.
    """
    # SymPy cannot treat a program without any row in at_most: 0 <= 0 changes nothing
    nothing = ([Fraction(0)] * len(costs), Fraction(0))
    A, b = _system(at_most or [nothing])
    A_eq, b_eq = _system(equal)
    objective = sp.Matrix([_numbers(costs)])
    try:
        least, minimizer = linprog(objective, A, b, A_eq, b_eq, bounds=bounds)
    except (InfeasibleLPError, UnboundedLPError):
        return None
    return _fraction(least), [_fraction(value) for value in minimizer]


def scalar_product(one: FractionRow, other: FractionRow) -> Fraction:
    """Return the sum of the products of the entries of two rows."""
    products = [x * y for x, y in zip(one, other, strict=True)]
    return sum(products, Fraction(0))


def _system(rows: Rows) -> tuple[sp.Matrix | None, sp.Matrix | None]:
    """Return the matrix of coefficients and the right-hand side; None without rows."""
    if not rows:
        return None, None
    coefficients = [_numbers(row) for row, _ in rows]
    limits = _numbers([number for _, number in rows])
    return sp.Matrix(coefficients), sp.Matrix(limits)


def _numbers(row: FractionRow) -> list[sp.Expr]:
    return [sp.Rational(value.numerator, value.denominator) for value in row]


def _fraction(value: sp.Rational | int) -> Fraction:
    return Fraction(str(value))


__all__ = ["minimum", "scalar_product"]
