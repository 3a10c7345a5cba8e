"""Intervals of variables that follow from facts in one variable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp
from sympy import QQ
from sympy.external.gmpy import MPQ

from dfltheory.bounds.inequalities.polynomials import SignFact, Terms, VariableRange

_GRID = QQ(1, 2**20)
"""Roots are rounded to multiples of this."""


def tightened(
    interval: VariableRange, i: int, facts: Iterable[SignFact]
) -> VariableRange:
    """Return the interval of variable ``i`` with the ends that follow from facts.

    Facts of the form a x^d + b >= 0 are used.
    """
    for fact in (fact.terms for fact in facts):
        degree = _degree_in_one(fact, i)
        if degree is None:
            continue
        slope = next(c for exponents, c in fact.items() if exponents[i])
        start = next((c for exponents, c in fact.items() if not exponents[i]), QQ(0))
        bound = -start / slope
        if bound < 0 or interval.low < 0:
            continue
        below = _root_below(bound, degree)
        exact = below**degree == bound
        if slope > 0 and below > interval.low:
            interval = replace(interval, low=below, open_low=not exact)
        above = below if exact else below + _GRID
        if slope < 0 and (interval.high is None or above < interval.high):
            interval = replace(interval, high=above, open_high=not exact)
    return interval


def _degree_in_one(fact: Terms, i: int) -> int | None:
    """Return d if a polynomial has the form a x^d + b for the variable ``i``."""
    degrees = {exponents[i] for exponents in fact} - {0}
    in_x_alone = all(sum(exponents) in (0, exponents[i]) for exponents in fact)
    if len(fact) > 2 or len(degrees) != 1 or not in_x_alone:
        return None
    return degrees.pop()


def _root_below(number: MPQ, degree: int) -> MPQ:
    """Return the largest multiple of the grid whose power is at most ``number``."""
    root, _ = sp.integer_nthroot(int(number / _GRID**degree), degree)
    return QQ(int(root)) * _GRID


__all__ = ["tightened"]
