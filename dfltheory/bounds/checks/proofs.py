"""Proofs of inequalities on numbers: by form, by signs of coefficients, by the shape of one function.

Three methods, from cheap to dear; each proves or is silent.

* *form*: right - left factors into things that are not negative as they stand (squares, 1 - share^K).
* *coefficients*: both sides are rational. Every variable is sent from its range onto [0, inf) by
  ``x = low + u`` or ``x = (low + high u)/(1 + u)`` and denominators are cleared; the inequality holds where
  no coefficient of the numerator is negative. Where one is, the range is halved and each half tried.
* *shape*: one variable, and a chain of derivatives that ends in a rational function. Its roots are
  isolated, so that every earlier derivative is monotone between known points, and in the end the function
  itself: its least value is one of finitely many, limits at infinity included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds.inequalities.by_form import nonnegative
from dfltheory.bounds.steps import Scalar
from dfltheory.bounds.units import Expr

_DIGITS = 40
_HALVINGS = 5
_CHAIN = 4
_ROUNDING = sp.Float(10, _DIGITS) ** -25


@dataclass(frozen=True)
class Proof:
    """``kind``: form, coefficients or shape; ``how`` in words."""

    kind: str
    how: str


def prove(inequality: Scalar) -> Proof | None:
    """A proof of ``left <= right`` over the whole domain, or None."""
    by_form = prove_by_form(inequality.right - inequality.left)
    if by_form is not None:
        return by_form
    domain = {n: (exact_low(low), exact_high(high)) for n, (low, high) in inequality.domain.items()}
    if (inequality.right - inequality.left).is_rational_function():
        return prove_rational(inequality.right - inequality.left, domain)
    if len(domain) == 1:
        ((name, (low, _)),) = domain.items()
        return prove_by_shape(inequality.left, inequality.right, name, low)
    return None


def exact_low(value: float) -> Expr:
    """A rational number a little below ``value`` (itself where it is whole)."""
    number: Expr = sp.Rational(value)
    return number if number.is_Integer else number - abs(number) / 10**12


def exact_high(value: float) -> Expr:
    """A rational number a little above ``value`` (itself where it is whole or infinite)."""
    return sp.oo if value == math.inf else -exact_low(-value)


# -- form ------------------------------------------------------------------------------------------


def prove_by_form(difference: Expr) -> Proof | None:
    """``difference >= 0`` because its factors say so."""
    if difference == 0:
        return Proof("form", "the two sides are equal")
    for rewrite in (sp.factor, sp.simplify, lambda e: sp.factor(sp.simplify(e))):
        form = rewrite(difference)
        if nonnegative(form):
            return Proof("form", f"right - left = {form}, no factor of which is negative")
    return None


# -- coefficients ----------------------------------------------------------------------------------


def prove_rational(difference: Expr, domain: Mapping[str, tuple[Expr, Expr]]) -> Proof | None:
    """``difference >= 0`` on a box for a rational function, by coefficients and halving."""
    symbols = {s.name: s for s in difference.free_symbols}
    box = {n: domain[n] for n in symbols}
    pieces = _by_halving(difference, symbols, box, _HALVINGS)
    if pieces is None:
        return None
    parts = "" if pieces == 1 else f", on each of {pieces} parts of the range"
    return Proof(
        "coefficients", f"with denominators cleared no coefficient of right - left is negative{parts}"
    )


def _by_halving(
    difference: Expr, symbols: Mapping[str, sp.Symbol], box: Mapping[str, tuple[Expr, Expr]], depth: int
) -> int | None:
    if _no_negative_coefficient(difference, symbols, box):
        return 1
    finite = [n for n in box if box[n][1] is not sp.oo]
    if depth == 0 or not finite:
        return None
    name = max(finite, key=lambda n: box[n][1] - box[n][0])
    low, high = box[name]
    middle = (low + high) / 2
    count = 0
    for half in ((low, middle), (middle, high)):
        pieces = _by_halving(difference, symbols, {**box, name: half}, depth - 1)
        if pieces is None:
            return None
        count += pieces
    return count


def _no_negative_coefficient(
    difference: Expr, symbols: Mapping[str, sp.Symbol], box: Mapping[str, tuple[Expr, Expr]]
) -> bool:
    slack = {n: sp.Symbol(f"u_{n}", nonnegative=True) for n in box}
    for whole in (True, False):
        moved = {
            symbols[n]: low + slack[n] if whole or high is sp.oo else (low + high * slack[n]) / (1 + slack[n])
            for n, (low, high) in box.items()
        }
        over, under = sp.fraction(sp.cancel(sp.together(difference.xreplace(moved))))
        if _one_sign(over, slack) * _one_sign(under, slack) > 0 and _one_sign(under, slack):
            return True
        if over == 0:
            return True
    return False


def _one_sign(expr: Expr, slack: Mapping[str, sp.Symbol]) -> int:
    """+1 or -1 where all coefficients of a polynomial in the slacks have that sign, else 0."""
    if not slack:  # a statement between numbers
        return int(sp.sign(expr)) if expr.is_number else 0
    poly = sp.Poly(expr, *slack.values())
    signs = {sp.sign(c) for c in poly.coeffs()}
    return int(signs.pop()) if len(signs) == 1 else 0


# -- shape -----------------------------------------------------------------------------------------


def prove_by_shape(left: Expr, right: Expr, name: str, low: Expr) -> Proof | None:
    """``left <= right`` for all ``name >= low``, one variable, by the finitely many candidates for a least
    value."""
    symbol = next(s for s in (left - right).free_symbols if s.name == name)
    for function, words in _logarithmic(left, right, symbol, low):
        try:
            least = least_value(function, symbol, low)
        except (NotImplementedError, ValueError, TypeError):
            continue
        if least is not None and least[1] >= 0:
            where, value = least
            place = "in the limit of large" if where is sp.oo else f"at {name} = {sp.N(where, 6)}, of all"
            return Proof("shape", f"{words} has its least value, {sp.N(value, 4)}, {place} {name} >= {low}")
    return None


def _logarithmic(left: Expr, right: Expr, symbol: sp.Symbol, low: Expr) -> list[tuple[Expr, str]]:
    """Functions that are not negative exactly where ``left <= right``; first, where one power a^b with the
    variable in b occurs, log(its bound) - b log(a)."""
    powers = [p for p in (left - right).atoms(sp.Pow) if p.exp.free_symbols]
    made = [(right - left, "right - left")]
    if len(powers) == 1:
        (power,) = powers
        atom = sp.Symbol("atom_power", positive=True)
        linear = sp.Poly(sp.expand((left - right).xreplace({power: atom})), atom)
        if linear.degree() == 1:
            slope, rest = linear.all_coeffs()
            bound = sp.factor(-rest / slope)
            if _positive_beyond(slope, symbol, low) and _positive_beyond(bound, symbol, low):
                over, under = sp.fraction(bound)
                made.insert(
                    0, (sp.log(over) - sp.log(under) - _log_power(power), f"log({bound}) - log({power})")
                )
    return made


def _positive_beyond(expr: Expr, symbol: sp.Symbol, low: Expr) -> bool:
    """Is a rational function of one variable positive from ``low`` on, by the signs of its coefficients?"""
    slack = sp.Symbol("u", nonnegative=True)
    over, under = sp.fraction(sp.cancel(sp.together(expr.xreplace({symbol: low + slack}))))
    return _one_sign(over, {"u": slack}) * _one_sign(under, {"u": slack}) > 0


def _log_power(power: Expr) -> Expr:
    over, under = sp.fraction(sp.together(power.base))
    return power.exp * (sp.log(over) - sp.log(under))


def least_value(function: Expr, symbol: sp.Symbol, low: Expr) -> tuple[Expr, Expr] | None:
    """Where on [low, inf) the function is least, and that value; None where no derivative is rational."""
    chain = [function, sp.diff(function, symbol)]
    while not chain[-1].is_rational_function(symbol):
        if len(chain) > _CHAIN:
            return None
        chain.append(sp.diff(chain[-1], symbol))
    over, under = sp.fraction(sp.together(chain[-1]))
    points = [low, *_roots(over, symbol, low), *_roots(under, symbol, low), sp.oo]
    points = sorted(set(points))
    for derivative in reversed(chain[1:-1]):
        points = _with_roots(derivative, symbol, points)
    values = [(p, _value(function, symbol, p)) for p in points]
    return min(values, key=lambda pair: pair[1])


def _roots(polynomial: Expr, symbol: sp.Symbol, low: Expr) -> list[Expr]:
    if symbol not in polynomial.free_symbols:
        return []
    return [sp.N(r, _DIGITS) for r in sp.real_roots(sp.Poly(polynomial, symbol)) if r > low]


def _value(function: Expr, symbol: sp.Symbol, point: Expr) -> Expr:
    if point is sp.oo:
        return sp.limit(function, symbol, sp.oo)
    value = function.xreplace({symbol: point})
    number = sp.N(value, _DIGITS)
    if not number.is_real:
        raise ValueError(f"{function} is {number} at {symbol} = {point}")
    return sp.S.Zero if abs(number) < _ROUNDING else number


def _with_roots(derivative: Expr, symbol: sp.Symbol, points: list[Expr]) -> list[Expr]:
    """The points and the roots of a function that is monotone between them, found by bisection."""
    added = list(points)
    values = [_value(derivative, symbol, p) for p in points]
    for (a, f), (b, g) in zip(
        zip(points[:-1], values[:-1], strict=True), zip(points[1:], values[1:], strict=True), strict=True
    ):
        if f * g < 0:
            added.append(_bisect(derivative, symbol, a, b, f))
    return sorted(added)


def _bisect(function: Expr, symbol: sp.Symbol, low: Expr, high: Expr, at_low: Expr) -> Expr:
    if high is sp.oo:
        high = 2 * abs(low) + 1
        while _value(function, symbol, high) * at_low > 0:
            high = 2 * high
    for _ in range(120):
        middle = sp.N((low + high) / 2, _DIGITS)
        if _value(function, symbol, middle) * at_low > 0:
            low = middle
        else:
            high = middle
    return sp.N((low + high) / 2, _DIGITS)
