"""Units and ranges of quantities as theorem files write them.

For example, ``c*s^-2`` and ``[0, 1)``.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import NamedTuple

from dfltheory.bounds.units import Unit
from dfltheory.errors import InputError

_FACTOR = re.compile(r"\s*([*/]?)\s*([csv])(?:\^(-?\d{1,2}|\(-?\d{1,2}/\d{1,2}\)))?\s*")
_RANGE = re.compile(r"\s*([\[(])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([\])])\s*")


class QuantityRange(NamedTuple):
    """The admissible values of a quantity."""

    low: float
    high: float
    open_low: bool
    open_high: bool


def read_unit(text: str) -> Unit:
    """Return the unit of a text such as ``c^2*s^-2``, ``c/s`` or ``1``."""
    if text.strip() == "1":
        return Unit()
    exponents = {"c": Fraction(0), "s": Fraction(0), "v": Fraction(0)}
    position = 0
    while position < len(text):
        factor = _FACTOR.match(text, position)
        if factor is None:
            break
        written = (factor[3] or "1").strip("()")
        if written.endswith(("/0", "/00")):
            break
        power = Fraction(written)
        exponents[factor[2]] += -power if factor[1] == "/" else power
        position = factor.end()
    if position < len(text) or not text.strip():
        raise InputError(
            f"{text[:60]!r} is not a unit: write 1 or a product of powers of c, s, v,"
            " for example c^2*s^-2"
        )
    return Unit(exponents["c"], exponents["s"], exponents["v"])


def write_unit(unit: Unit) -> str:
    """Return the text of a unit."""
    exponents = {"c": unit.f, "s": unit.x, "v": unit.v}
    factors = [
        _power(name, exponent) for name, exponent in exponents.items() if exponent
    ]
    return "*".join(factors) or "1"


def _power(name: str, exponent: Fraction) -> str:
    if exponent == 1:
        return name
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"


def read_range(text: str) -> QuantityRange:
    """Return the interval that ``text`` is, as ``[0, 1)`` or ``(0, inf)``."""
    match = _RANGE.fullmatch(text)
    try:
        low, high = (
            (float(match[2]), float(match[3])) if match else (math.nan, math.nan)
        )
    except ValueError:
        low = high = math.nan
    if match is None or not low <= high or low == math.inf:
        raise InputError(
            f"{text[:60]!r} is not a range: write an interval such as [0, 1) or"
            " (0, inf)"
        )
    return QuantityRange(
        low,
        high,
        match[1] == "(" and low > -math.inf,
        match[4] == ")" and high < math.inf,
    )


def write_range(interval: QuantityRange) -> str:
    """Return the text of an interval; an infinite end is always open."""
    left = "(" if interval.open_low or interval.low == -math.inf else "["
    right = ")" if interval.open_high or interval.high == math.inf else "]"
    return f"{left}{_end(interval.low)}, {_end(interval.high)}{right}"


def _end(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


__all__ = ["QuantityRange", "read_range", "read_unit", "write_range", "write_unit"]
