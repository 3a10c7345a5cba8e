"""Small linear programs in rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp
from sympy.solvers.simplex import InfeasibleLPError, UnboundedLPError, linprog

Row = Sequence[Fraction]
Rows = Sequence[tuple[Row, Fraction]]
Bounds = tuple[int | None, int | None]


def minimum(
    costs: Row,
    at_most: Rows,
    equal: Rows = (),
    bounds: Sequence[Bounds] | None = None,
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
    matrices = []
    # SymPy cannot treat a program without any row in at_most: 0 <= 0 changes nothing
    nothing = ([Fraction(0)] * len(costs), Fraction(0))
    for rows in (at_most or [nothing], equal):
        matrices += [
            sp.Matrix([_numbers(row) for row, _ in rows]) if rows else None,
            sp.Matrix(_numbers([number for _, number in rows])) if rows else None,
        ]
    try:
        least, where = linprog(sp.Matrix([_numbers(costs)]), *matrices, bounds=bounds)
    except (InfeasibleLPError, UnboundedLPError):
        return None
    return _fraction(least), [_fraction(value) for value in where]


def _numbers(row: Row) -> list[sp.Expr]:
    return [sp.Rational(value.numerator, value.denominator) for value in row]


def _fraction(value: sp.Rational | int) -> Fraction:
    return Fraction(str(value))


__all__ = ["minimum"]
