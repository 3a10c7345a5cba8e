"""Readers of saved files, which validate the type of each field.

File content is untrusted. A reader is a function of a place, such as
``theorem.lhs.start``, and a value. It returns the validated value, or raises an
InputError that names the place and the value. Functions of this module create readers,
or combine them.
"""

from __future__ import annotations

import math
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeGuard, TypeVar

from dfltheory.errors import DFLTheoryError, InputError

ReadValue = TypeVar("ReadValue")
Read: TypeAlias = Callable[[str, object], ReadValue]
"""A reader: a function of a place and of the value at this place in a file."""

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


class WrittenNumber(float):
    """A number of a JSON file that preserves its digits.

    It is used by ``json.loads(text, parse_float=WrittenNumber)``. Its value is the
    double nearest to the digits; ``fraction`` is the rational number that they denote.

    Raises
    ------
    InputError
        More than 400 digits, or an exponent beyond 400.
    """

    DIGITS = 400

    def __new__(cls, text: str) -> WrittenNumber:
        """Create the double nearest to the digits of ``text``, and store the text."""
        written = super().__new__(cls, text)
        written._text = text
        return written

    _text: str

    @property
    def fraction(self) -> Fraction:
        """The rational number that the digits denote.

        Raises
        ------
        InputError
            More than 400 digits, or an exponent beyond 400.
        """
        digits = Decimal(self._text)
        limited = (
            len(self._text) <= self.DIGITS
            and digits.is_finite()
            and abs(digits.adjusted()) <= self.DIGITS
        )
        must(
            "a number",
            self._text,
            limited,
            f"of at most {self.DIGITS} digits, and an exponent of that size",
        )
        return Fraction(digits)


def short_text(value: object) -> str:
    """Return a short text of a value of any length, for messages."""
    return _REPR.repr(value)


def is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether a value is a mapping whose names are text."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def is_sequence(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Return whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def must(place: str, value: ReadValue, fits: bool, words: str) -> ReadValue:
    """Return the value; raise InputError with ``words`` unless it ``fits``."""
    if not fits:
        raise _refusal(place, value, words)
    return value


def _refusal(place: str, value: object, words: str) -> InputError:
    """Return the error that states what a value must be."""
    return InputError(f"{place} = {short_text(value)} must be {words}")


def number(low: float = -math.inf, high: float = math.inf) -> Read[float]:
    """Return a reader of finite numbers (not bool) in [low, high]."""

    def read(place: str, value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _refusal(place, value, "a number")
        # rejects nan, and integers of any length
        inside = low <= value <= high and abs(value) < math.inf
        return float(must(place, value, inside, f"a number in [{low:g}, {high:g}]"))

    return read


def any_number(place: str, value: object) -> float:
    """Read a number, or "NaN", "Infinity" or "-Infinity", which JSON lacks as numbers.

    Every nan is the same object, so that documents compare equal after a round trip.
    """
    if value == "NaN":
        return math.nan
    if isinstance(value, str) and value in ("Infinity", "-Infinity"):
        return float(value)
    return number(-sys.float_info.max, sys.float_info.max)(place, value)


def anything(place: str, value: object) -> object:
    """Return any value unchanged."""
    return value


def text(place: str, value: object) -> str:
    """Read text of any length."""
    if not isinstance(value, str):
        raise _refusal(place, value, "text")
    return value


def whole(low: int, high: int) -> Read[int]:
    """Return a reader of integers in [low, high]."""

    def read(place: str, value: object) -> int:
        is_flag = isinstance(value, bool)
        if not isinstance(value, int) or is_flag or not low <= value <= high:
            raise _refusal(place, value, f"an integer in [{low}, {high}]")
        return value

    return read


def truth(place: str, value: object) -> bool:
    """Read a Boolean."""
    if not isinstance(value, bool):
        raise _refusal(place, value, "true or false")
    return value


def line(most: int, pattern: str | None = None, words: str = "a line") -> Read[str]:
    """Return a reader of text of at most ``most`` characters.

    The text must match ``pattern``, or be printable if there is none.
    """

    def fits(value: str) -> bool:
        if len(value) > most:
            return False
        if pattern is None:
            return value.isprintable()
        return re.fullmatch(pattern, value) is not None

    def read(place: str, value: object) -> str:
        if not isinstance(value, str) or not fits(value):
            raise _refusal(place, value, f"{words} of at most {most} characters")
        return value

    return read


def one_of(*known: str) -> Read[str]:
    """Return a reader of one of the given texts."""

    def read(place: str, value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise _refusal(place, value, f"one of {', '.join(known)}")
        return value

    return read


def maybe(kind: Read[ReadValue]) -> Read[ReadValue | None]:
    """Return a reader of None, or of a value of another reader."""

    def read(place: str, value: object) -> ReadValue | None:
        return None if value is None else kind(place, value)

    return read


def rows(item: Read[ReadValue], most: int, least: int = 0) -> Read[list[ReadValue]]:
    """Return a reader of lists of ``least`` to ``most`` items."""
    length = f"{least} to {most}" if least else f"at most {most}"

    def read(place: str, value: object) -> list[ReadValue]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise _refusal(place, value, f"a list of {length}")
        return [item(f"{place}[{k}]", one) for k, one in enumerate(value)]

    return read


def tuple_of(
    item: Read[ReadValue], most: int, least: int = 0
) -> Read[tuple[ReadValue, ...]]:
    """Return a reader of lists of ``least`` to ``most`` items, as tuples."""
    read_list = rows(item, most, least)

    def read(place: str, value: object) -> tuple[ReadValue, ...]:
        return tuple(read_list(place, value))

    return read


def mapping(
    item: Read[ReadValue], most: int, name: Read[str]
) -> Read[dict[str, ReadValue]]:
    """Return a reader of at most ``most`` fields whose names ``name`` accepts."""

    def read(place: str, value: object) -> dict[str, ReadValue]:
        if not isinstance(value, dict) or len(value) > most:
            raise _refusal(place, value, f"at most {most} fields")
        return {
            name(f"a name in {place}", n): item(f"{place}.{n}", v)
            for n, v in value.items()
        }

    return read


def record(
    required: Mapping[str, Read[object]],
    optional: Mapping[str, Read[object]] | None = None,
) -> Read[dict[str, Any]]:
    """Return a reader of objects with required and optional fields only."""
    known = {**required, **(optional or {})}

    def read(place: str, value: object) -> dict[str, Any]:
        given = named(place, value, required, optional or {})
        return {n: known[n](f"{place}.{n}".lstrip("."), v) for n, v in given.items()}

    return read


def named(
    place: str,
    value: object,
    required: Iterable[str],
    optional: Iterable[str] | None = (),
) -> dict[str, Any]:
    """Return the fields of an object unchanged.

    Required fields must be present; other fields must be optional (None: any).
    """
    known, what = [*required, *(optional or ())], place or "the document"
    if not isinstance(value, dict):
        raise _refusal(what, value, f"fields: {', '.join(known)}")
    for name in value:
        if name not in known and optional is not None:
            raise InputError(f"{what} has no field {short_text(name)}")
    for name in required:
        if name not in value:
            raise InputError(f"{what} lacks the field {name}")
    return value


def build_record(
    place: str, make: Callable[..., ReadValue], values: Mapping[str, object]
) -> ReadValue:
    """Return ``make(**values)``; its errors are reported with their place."""
    try:
        return make(**values)
    except DFLTheoryError as wrong:
        raise InputError(f"{place}: {wrong}") from None


__all__ = [
    "Read",
    "WrittenNumber",
    "any_number",
    "anything",
    "build_record",
    "line",
    "mapping",
    "maybe",
    "must",
    "named",
    "number",
    "one_of",
    "record",
    "rows",
    "short_text",
    "text",
    "truth",
    "tuple_of",
    "whole",
]
