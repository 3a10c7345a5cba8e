"""Random points of a box, at which polynomials are tried before a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp
from sympy.external.gmpy import MPQ

from dfltheory.bounds.inequalities.polynomials import Terms, VariableRange
from dfltheory.bounds.inequalities.rewriting import (
    NoProofError,
    Rewriting,
    is_whole,
)
from dfltheory.bounds.real_numbers import has_poles

_POINTS = 300
_FIRST_POINTS = 20
"""Points that are tried before all others: most polynomials are negative at one."""
SAMPLE_ROUNDING = 1e-9
"""Relative values above minus this are taken for nonnegative."""


def region_points(rewriting: Rewriting, symbols: Sequence[sp.Symbol]) -> np.ndarray:
    """Return random points of the region, (points, variables).

    A variable that stands for an expression has the value of that expression.

    Raises
    ------
    NoProofError
        Such an expression divides by 0 everywhere.
    """
    meanings = [rewriting.back(symbol) for symbol in symbols]
    free = sorted({x for meaning in meanings for x in meaning.free_symbols}, key=str)
    rng = np.random.default_rng(0)
    drawn = [
        _draw(rewriting.interval(symbol), is_whole(symbol, rewriting.glossary), rng)
        for symbol in free
    ]
    # different symbols may have the same name
    dummies = {symbol: sp.Dummy(real=True) for symbol in free}
    formulas = [meaning.xreplace(dummies) for meaning in meanings]
    if any(map(has_poles, formulas)):
        raise NoProofError("an expression divides by 0")
    with np.errstate(all="ignore"):
        columns = sp.lambdify([*dummies.values()], formulas, modules="numpy")(*drawn)
        points = np.stack(
            [np.broadcast_to(column, _POINTS) for column in columns], axis=1
        )
    return points[np.isfinite(points).all(axis=1)]


def _draw(interval: VariableRange, whole: bool, rng: np.random.Generator) -> np.ndarray:
    """Return ``_POINTS`` random values in an interval, many near its ends."""
    low = _rounded(interval.low)
    if interval.high is not None:
        return low + (_rounded(interval.high) - low) * rng.beta(0.5, 0.5, _POINTS)
    values = low + 10.0 ** rng.uniform(-3, 4, _POINTS)
    return np.floor(values) if whole else values


def box_points(intervals: Sequence[VariableRange]) -> np.ndarray:
    """Return random points of a box, (points, variables), many near its corners."""
    rng = np.random.default_rng(0)
    return np.stack([_draw(x, False, rng) for x in intervals], axis=1)


def is_nonnegative_at(points: np.ndarray) -> Callable[[Terms], bool]:
    """Return a test of whether a polynomial is nonnegative at these points."""
    first, others = points[:_FIRST_POINTS], points[_FIRST_POINTS:]

    def is_possible(terms: Terms) -> bool:
        return all(
            not len(some)
            or float(relative_values(terms, some).min()) >= -SAMPLE_ROUNDING
            for some in (first, others)
        )

    return is_possible


def relative_values(terms: Terms, points: np.ndarray) -> np.ndarray:
    """Return the values of a polynomial relative to the sum of its terms' sizes."""
    exponents = np.array([*terms]).reshape(len(terms), points.shape[1])
    with np.errstate(all="ignore"):
        powers = points[:, None, :] ** exponents  # (points, terms, variables)
        coefficients = np.array([_rounded(c) for c in terms.values()])
        products = powers.prod(axis=2) * coefficients
        return np.nan_to_num(products.sum(axis=1) / np.abs(products).sum(axis=1))


def _rounded(number: MPQ) -> float:
    """Return a rational number in floating point, infinity if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


__all__ = [
    "SAMPLE_ROUNDING",
    "box_points",
    "is_nonnegative_at",
    "region_points",
    "relative_values",
]
