"""Bounds and conditions whose digits floating point loses.

A factor such as L^2 may underflow where the bound does not, and the difference 1 - (1 -
eta mu)^T cancels for short steps. A run does not violate a bound that only lost digits
make too small, or by a condition that only lost digits meet.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp
from mpmath import mpf
from numpy.typing import ArrayLike

from dfltheory.bounds.clauses import Condition, Number
from dfltheory.bounds.enclosures import ENCLOSURE_DIGITS, Enclosure, Evaluation
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.verdicts.rounding import UNDERFLOW_LIMIT
from dfltheory.verdicts.starts import points_of_starts

AGREEMENT = 1e-9
"""Relative deviation of floating point from 50 digits up to which none is lost."""


def lost_digits(
    theorem: Theorem, values: Mapping[str, Number], nominal: ArrayLike, high: ArrayLike
) -> str | None:
    """Return why floating point does not show that a bound is exceeded.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    values : mapping
        All quantities that it needs; numbers, or (S,) where the starts differ.
    nominal, high : float or array
        The bound in floating point, and its upper end within rounding; numbers, or (S,)
        where the starts differ.

    Returns
    -------
    str or None
        None if a second evaluation at 50 digits agrees with floating point, or if it is
        impossible.
    """
    if underflows(theorem, values, nominal):
        bound = float(np.asarray(nominal, dtype=float).mean())
        return f"the bound {bound:.3g} underflows: its digits are lost"
    points = [point for _, point in points_of_starts(values)]
    ends = np.asarray(high, dtype=float).ravel()
    if len(points) == 1:  # ends of starts that differ by their rounding errors alone
        ends = ends.min(keepdims=True)
    ends = np.broadcast_to(ends, len(points))
    for point, end in zip(points, ends.tolist(), strict=True):
        try:
            reason = _lost_at(theorem, point, end)
        except InputError:  # beyond the limits of the second evaluation
            continue
        if reason is not None:
            return reason
    return None


def underflows(
    theorem: Theorem, values: Mapping[str, Number], bound: ArrayLike
) -> bool:
    """Return whether a bound is too small to keep its digits, but not 0.

    Whether 0 is exact is decided by the formula, in numbers without a least exponent.
    """
    small = np.abs(np.asarray(bound, dtype=float)) < UNDERFLOW_LIMIT
    if not small.any():
        return False
    columns = [np.asarray(values[name], dtype=float) for name in theorem.needs]
    small, *columns = np.broadcast_arrays(small, *columns)
    for k in np.flatnonzero(small.reshape(-1)):
        point: dict[sp.Symbol, sp.Float] = {}
        for name, column in zip(theorem.needs, columns, strict=True):
            point[theorem.symbols[name]] = sp.Float(float(column.reshape(-1)[k]), 30)
        if theorem.bound.xreplace(point).evalf(30) != 0:
            return True
    return False


def _lost_at(theorem: Theorem, point: Mapping[str, float], high: float) -> str | None:
    """Return which formula loses its digits at one start; None if there is none."""
    evaluation = Evaluation(theorem, point)
    exact = evaluation.bound
    if exact.high > mpf(high) and not _agree(high, exact):
        return (
            f"the bound is at most {high:.3g} in floating point, which loses digits,"
            f" and {float(exact.high):.3g} at {ENCLOSURE_DIGITS} digits"
        )
    for condition, left, right in theorem.condition_sides(**point):
        if not _confirmed(evaluation, condition, float(left), float(right)):
            return (
                f"condition {condition.name} holds in floating point, which loses"
                f" digits, and fails at {ENCLOSURE_DIGITS} digits"
            )
    return None


def _confirmed(
    evaluation: Evaluation, condition: Condition, left: float, right: float
) -> bool:
    """Return whether lost digits are not why a condition holds in floating point."""
    exact_left = evaluation.enclosure(condition.left)
    exact_right = evaluation.enclosure(condition.right)
    if exact_left.low <= exact_right.high:
        return True
    return _agree(left, exact_left) and _agree(right, exact_right)


def _agree(value: float, exact: Enclosure) -> bool:
    """Return whether a number of floating point has the digits of an enclosure."""
    number = mpf(value)
    deviation = max(abs(exact.low - number), abs(exact.high - number))
    return bool(deviation <= AGREEMENT * exact.size)


__all__ = ["lost_digits", "underflows"]
