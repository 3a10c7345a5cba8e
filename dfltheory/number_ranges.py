"""Ranges of numbers, and types of parameters that declare them.

A range is data: constructors check it, and the readers and the JSON schema of
experiment files are derived from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, TypeAlias

from dfltheory.errors import InputError


@dataclass(frozen=True)
class NumberRange:
    """An interval of finite real numbers, or the integers in it.

    Attributes
    ----------
    low, high : float
        Its ends. Infinite ends are not in the range.
    open_low, open_high : bool
        Whether the end itself is excluded.
    integer : bool
        Whether only integers are in it.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and math.isfinite(value)

    def example(self) -> float:
        """Return a number of the range: 1e-3 or, of integers, 1 if it has them."""
        small = 1 if self.integer else 1e-3
        candidates = [small]
        if math.isfinite(self.low):
            first = math.ceil(self.low) if self.integer else self.low
            candidates += [first, first + small]
        if math.isfinite(self.high):
            last = math.floor(self.high) if self.integer else self.high
            candidates += [last, last - small]
        if math.isfinite(self.low) and math.isfinite(self.high):
            candidates.append(self.low + (self.high - self.low) / 2)
        for candidate in candidates:
            if candidate in self:
                return candidate
        raise InputError(f"there is no {self}")

    def __str__(self) -> str:
        """Describe the range, for instance as ``a number in (0, 1]``."""
        kind = "an integer" if self.integer else "a number"
        if math.isfinite(self.low) and math.isfinite(self.high):
            opening = "(" if self.open_low else "["
            closing = ")" if self.open_high else "]"
            return f"{kind} in {opening}{self.low:g}, {self.high:g}{closing}"
        if math.isfinite(self.low):
            return f"{kind} {'>' if self.open_low else '>='} {self.low:g}"
        if math.isfinite(self.high):
            return f"{kind} {'<' if self.open_high else '<='} {self.high:g}"
        return kind


Restriction: TypeAlias = NumberRange | tuple[str, Callable[..., bool]]
"""A range; or, for a set that is no interval, a description and a function of a number
that returns whether it is in the set. JSON schemas can express ranges only.
"""


def checked_number(
    name: str, value: object, allowed: Restriction, integer: bool = False
) -> int | float:
    """Return a number of any library as a Python number.

    Parameters
    ----------
    name : str
        The parameter, for the message.
    value : object
        A finite number of Python or numpy; sweeps over arrays pass the latter.
    allowed : NumberRange or (description, function)
        The numbers that are allowed.
    integer : bool
        Whether only integers are allowed, if ``allowed`` is a function; a NumberRange
        states that itself.

    Raises
    ------
    InputError
        If the value is not an allowed number.
    """
    if isinstance(allowed, NumberRange):
        integer = allowed.integer
        words = str(allowed)
        is_allowed = allowed.__contains__
    else:
        words, is_allowed = allowed
    number = python_number(value, integer)
    if number is None or not (math.isfinite(number) and is_allowed(number)):
        raise InputError(f"{name} = {value!r} must be {words}")
    return number


def python_number(value: object, whole: bool) -> int | float | None:
    """Convert a number of any library to a Python number; return None for other types.

    Booleans are not numbers. With ``whole``, None is returned for floats, too.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return value if isinstance(value, int) else int(value)
    if isinstance(value, Real) and not whole:
        return value if isinstance(value, float) else float(value)
    return None


COUNT = NumberRange(1, 10**9, integer=True)
POSITIVE = NumberRange(0, open_low=True)
NONNEGATIVE = NumberRange(0)

PositiveInt = Annotated[int, NumberRange(1, integer=True)]
NonnegativeInt = Annotated[int, NumberRange(0, integer=True)]
PositiveFloat = Annotated[float, POSITIVE]
NonnegativeFloat = Annotated[float, NONNEGATIVE]

__all__ = [
    "COUNT",
    "NONNEGATIVE",
    "POSITIVE",
    "NonnegativeFloat",
    "NonnegativeInt",
    "PositiveFloat",
    "PositiveInt",
    "NumberRange",
    "Restriction",
    "checked_number",
    "python_number",
]
