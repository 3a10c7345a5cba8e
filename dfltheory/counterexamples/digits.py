"""Fractions of any length as text.

They need functions of their own, since ``str`` rejects integers of more than 4,300
digits.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import sympy as sp

SHOWN = 10**300
"""Fractions with larger numerators or denominators are abbreviated."""


def short_fraction(value: Fraction, digits: int = 15) -> str:
    """Return the fraction as text, abbreviated to ``digits`` digits if it is long."""
    fits = max(value.denominator, abs(value.numerator)) < SHOWN
    return str(value) if fits else f"{about(value, digits)}..."


def about(value: Fraction, digits: int) -> str:
    """Return a decimal number as text, with an exponent of any size."""
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        return str(sp.N(sp.Rational(value.numerator, value.denominator), digits))


def all_digits(value: Fraction) -> str:
    """Return the fraction as text with all of its digits."""
    over, under = (f"{Decimal(n):f}" for n in (value.numerator, value.denominator))
    return over if under == "1" else f"{over}/{under}"


__all__ = ["about", "short_fraction", "all_digits"]
