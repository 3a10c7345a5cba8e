"""Evaluation of whether one formula outgrows another along a direction.

An expansion into monomials says what may outgrow what; terms that cancel, or factors
that depend on each other, can make it wrong. Here both formulas are evaluated as they
are written, in many digits, far along the direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import mpmath
import sympy as sp

from dfltheory.bounds.monomials import FRACTION_QUANTITIES, LARGE, Shares
from dfltheory.bounds.rates import Direction
from dfltheory.bounds.units import Expr

_DIGITS = 1500
_PLACES = (100, 200, 400)
"""Distances along the direction, in units of its logarithmic steps."""
_LARGE_T = 10**12
"""Expansions are for large T, also where T does not grow."""
_COUNT = 3
"""Other counts are not 1, where a factor such as K - 1 would be 0."""


def outgrows(
    direction: Direction,
    larger: Expr,
    smaller: Expr,
    shares: Shares = FRACTION_QUANTITIES,
) -> bool:
    """Return whether ``larger / smaller`` grows along a direction.

    It must grow at least at half the rate of the expansion. False if a value is not
    finite or not positive, or if a formula cannot be evaluated with many digits.
    """
    exponents, gain = direction
    symbols = {*larger.free_symbols, *smaller.free_symbols}
    with mpmath.workdps(_DIGITS):
        logarithms = [
            _log_ratio(larger, smaller, _point(symbols, exponents, place, shares))
            for place in _PLACES
        ]
    if any(value is None for value in logarithms):
        return False
    near, middle, far = (float(value or 0.0) for value in logarithms)
    first, second = (_PLACES[1] - _PLACES[0]), (_PLACES[2] - _PLACES[1])
    least = gain / 2
    return middle - near >= least * first and far - middle >= least * second


def _point(
    symbols: Iterable[sp.Symbol],
    exponents: Mapping[str, float],
    place: int,
    shares: Shares,
) -> dict[sp.Symbol, mpmath.mpf]:
    """Return the value of every symbol at ``place`` along the direction.

    A share whose gap vanishes is 1 minus its gap.
    """
    values: dict[sp.Symbol, mpmath.mpf] = {}
    for symbol in symbols:
        gap = exponents.get(f"1 - {symbol.name}", 0.0)
        power = exponents.get(symbol.name, 0.0)
        if gap < 0:
            values[symbol] = 1 - mpmath.exp(gap * place) / 2
        elif symbol.name in shares:
            values[symbol] = mpmath.exp(power * place) / 2
        else:
            values[symbol] = mpmath.exp(power * place)
        if symbol.name in LARGE:
            values[symbol] *= _LARGE_T if symbol.name == "T" else _COUNT
    return values


def _log_ratio(
    larger: Expr, smaller: Expr, point: Mapping[sp.Symbol, mpmath.mpf]
) -> mpmath.mpf | None:
    """Return log(larger / smaller); None if a value is not positive and finite."""
    names = list(point)
    try:
        above, below = (
            sp.lambdify(names, expr, "mpmath", cse=True)(*point.values())
            for expr in (larger, smaller)
        )
        positive = mpmath.isfinite(above) and above > 0 and below > 0
        return mpmath.log(above / below) if positive else None
    except (ArithmeticError, NameError, TypeError, ValueError):
        return None


__all__ = ["outgrows"]
