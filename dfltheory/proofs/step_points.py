"""Rational points of the region where a statement's conditions hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import values_at
from dfltheory.bounds.tree import at_numbers
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

Point = Mapping[sp.Symbol, Fraction]

_TRIED = 20_000
_LONG = 4
_SHARES = ("0", "1/2", "1/4", "3/5", "4/5", "9/10", "99/100", "999/1000", "1")
_SIZES = ("0", "1/10", "1/2", "1", "1", "2", "3", "10", "100")
_STEPS = ("1", "1/2", "1/4", "1/10", "1/20", "1/100", "1/1000")
_COUNTS = ("0", "1", "2", "3", "4", "5", "9", "16", "25", "100", "10000")


def rational_points(
    conditions: Sequence[Condition],
    symbols: Iterable[sp.Symbol],
    glossary: Mapping[str, Quantity],
    most: int,
) -> list[Point]:
    """Return at most ``most`` points at which every condition holds, exactly.

    They are points of few digits, points close to where a condition fails, and others.

    Parameters
    ----------
    conditions : without definitions
    symbols : what is given a value, next to the symbols of the conditions
    glossary : the ranges of quantities
    """
    free_symbols = set(symbols)
    for condition in conditions:
        free_symbols |= sp.sympify(condition.slack).free_symbols
    ordered = sorted(free_symbols, key=str)
    rng = np.random.default_rng(0)
    drawn: dict[sp.Symbol, np.ndarray] = {
        x: rng.choice(_choices(x, glossary), _TRIED) for x in ordered
    }
    inside, close = _inside_and_close(drawn, conditions)
    any_points = _at_indices(drawn, inside[: 20 * most])
    close_points = _at_indices(drawn, close[: 20 * most])
    simple = sorted(any_points, key=_complexity)
    simple_close = sorted(close_points, key=_complexity)
    third = most // 3
    return [
        *_admissible(simple, conditions, most - 2 * third),
        *_admissible(simple_close, conditions, third),
        *_admissible(any_points, conditions, third),
    ]


def _inside_and_close(
    drawn: Mapping[sp.Symbol, np.ndarray], conditions: Sequence[Condition]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of points at which all conditions hold in floating point.

    They are listed twice: in the order drawn, and first those that are closest to a
    point where a condition fails.
    """
    columns = {x.name: values.astype(float) for x, values in drawn.items()}
    all_hold = np.ones(_TRIED, dtype=bool)
    nearest = np.full(_TRIED, np.inf)
    for condition in conditions:
        slack, right = values_at([condition.slack, condition.right], columns)
        all_hold &= slack >= -1e-12
        with np.errstate(all="ignore"):
            nearest = np.fmin(nearest, np.abs(slack / right))
    inside = np.flatnonzero(all_hold)
    return inside, inside[np.argsort(nearest[inside], kind="stable")]


def _at_indices(
    drawn: Mapping[sp.Symbol, np.ndarray], indices: Iterable[int]
) -> list[Point]:
    points = []
    for i in indices:
        point = {symbol: values[i] for symbol, values in drawn.items()}
        points.append(point)
    return points


def _admissible(
    candidates: Iterable[Point], conditions: Sequence[Condition], most: int
) -> list[Point]:
    points: list[Point] = []
    for point in candidates:
        if len(points) == most:
            break
        if all(_holds(c, point) for c in conditions):
            points.append(point)
    return points


def _complexity(point: Point) -> int:
    """Return the number of characters of the values.

    Expressions often degenerate at 0 and 1, so these count as long.
    """
    special = [x for x in point.values() if x in (0, 1)]
    others = [x for x in point.values() if x not in (0, 1)]
    return _LONG * len(special) + sum(len(str(x)) for x in others)


def _choices(symbol: sp.Symbol, glossary: Mapping[str, Quantity]) -> np.ndarray:
    """Return simple values in the range of a quantity."""
    entry = glossary.get(symbol.name)
    if entry is None:
        texts, low, high = _COUNTS, 0.0, float("inf")
    else:
        low, high = entry.low, entry.high
        texts = _STEPS if entry.step else _SIZES
        if entry.integer:
            texts = _COUNTS
        texts = _SHARES if high == 1 else texts
    numbers = [Fraction(text) for text in texts]
    if entry is not None and entry.high != 1 and not entry.integer and low > 0:
        numbers += [Fraction(low) + number for number in numbers]
    if symbol.name == "m":  # one client has no network
        low = 2.0
    inside = [n for n in numbers if low <= n <= high]
    if entry is not None and entry.open_low:
        inside = [n for n in inside if n != low]
    if entry is not None and entry.open_high:
        inside = [n for n in inside if n != high]
    return np.array(inside or [Fraction(low)], dtype=object)


def _holds(condition: Condition, point: Point) -> bool:
    slack = value_at(condition.slack, point)
    if slack is None:
        return False
    return slack > 0 if condition.strict else slack >= 0


def value_at(expr: Expr, point: Point) -> Fraction | None:
    """Return the value of an expression at a point; None if it is not rational."""
    numbers = {
        symbol: sp.Rational(value.numerator, value.denominator)
        for symbol, value in point.items()
    }
    try:
        value = at_numbers(sp.sympify(expr), numbers)
    except (InputError, ZeroDivisionError, TypeError):
        return None
    if not isinstance(value, sp.Rational) or not value.is_finite:
        return None
    return Fraction(int(value.p), int(value.q))


def approximate_value(expr: Expr, point: Point) -> Fraction | None:
    """Return the value of an expression at a point.

    Irrational values have 30 digits; None if it is not a real number.
    """
    known = value_at(expr, point)
    if known is not None:
        return known
    numbers = {x: sp.Rational(v.numerator, v.denominator) for x, v in point.items()}
    try:
        value = sp.N(sp.sympify(expr).xreplace(numbers), 30)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return Fraction(str(value)) if value.is_Float and value.is_finite else None


__all__ = ["Point", "approximate_value", "rational_points", "value_at"]
