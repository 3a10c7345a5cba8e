"""The errors of this package: one line each, that says the law, the place, the value and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

_MOST = 1500


def shown(text: str, most: int = _MOST) -> str:
    """Text of unknown origin for a terminal: what is not printable comes out escaped, and the rest is cut."""
    text = text if len(text) <= most else f"{text[:most]}..."
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class DFLTheoryError(ValueError):
    """Base of every error that this package raises on purpose.

    The message is one line. It names the law that was broken, the place, the value found there, the
    tolerance where there is one, and what to do::

        row 3 sums to 1.1667, not 1 (tolerance 1e-10): divide each row by its sum

    What it quotes may come from anywhere: see :func:`shown`.
    """

    def __init__(self, message: object = ""):
        super().__init__(shown(str(message)))


class InputError(DFLTheoryError):
    """An argument, option or field is out of its range or of the wrong shape."""


class UnknownNameError(DFLTheoryError):
    """A name (theorem, topology, task, algorithm, field) is not known; the message lists the nearest."""

    def __init__(self, what: str, name: object, known: list[str] | tuple[str, ...] | set[str]):
        import difflib

        said = repr(name) if len(repr(name)) <= 100 else f"{repr(name)[:100]}..."
        near = difflib.get_close_matches(str(name)[:100], sorted(known), n=3, cutoff=0.5)
        listed = sorted(known)
        some = ", ".join(listed if len(listed) <= 40 else [*listed[:5], f"... ({len(listed)} in all)"])
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {some}"
        super().__init__(f"no {what} is called {said}; {hint}")


class GraphError(DFLTheoryError):
    """A graph or a mixing matrix breaks a law (connected, stochastic, symmetric, finite...)."""


class ConditionError(DFLTheoryError):
    """A condition of a theorem fails at the given constants, so that the theorem claims nothing there."""


class DataError(DFLTheoryError):
    """Real data is missing, damaged or of another form than its official files."""


class MissingExtraError(DFLTheoryError):
    """A package of an optional extra is not installed."""

    def __init__(self, purpose: str, extra: str):
        super().__init__(f"{purpose} needs the extra [{extra}]: pip install '.[{extra}]'")


class DivergenceError(DFLTheoryError):
    """A run left the finite numbers; the history up to there is in ``.history``."""

    def __init__(self, message: str, history: object = None):
        super().__init__(message)
        self.history = history


LARGEST_WHOLE = 2**63 - 1
"""What torch and numpy hold of whole numbers."""


def whole_number(name: str, value: Any, at_least: int, more: str = "") -> int:
    """``value`` of any library (numpy's too) as an int, or one clear line unless it is one >= at_least."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise InputError(f"{name} = {value!r} must be an integer >= {at_least}{more}")
    if int(value) > LARGEST_WHOLE:
        raise InputError(f"{name} = {value} does not fit into 64 bits: give a smaller number")
    return int(value)


def squarable(name: str, value: Any) -> None:
    """One clear line unless a float is 0 or its square is one too."""
    if isinstance(value, float) and value and not 1e-150 <= abs(value) <= 1e150:
        raise InputError(f"{name} = {value!r} is beyond what floats can square: take 1e-150 to 1e150")


def one_of(what: str, name: Any, known: Iterable[str]) -> Any:
    """``name``, or one clear line unless it is one of the ``known``."""
    if name not in (names := set(known)):
        raise UnknownNameError(what, name, names)
    return name


__all__ = [
    "LARGEST_WHOLE",
    "DFLTheoryError",
    "InputError",
    "UnknownNameError",
    "GraphError",
    "ConditionError",
    "DataError",
    "DivergenceError",
    "one_of",
    "squarable",
    "whole_number",
]
