"""Exceptions of this package, and checks of arguments that raise them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TypeVar

GivenName = TypeVar("GivenName")

_MOST_CHARACTERS = 1500
"""Largest number of characters of a message."""
_MOST_LISTED = 40
"""Largest number of known names that a message lists in full."""


def shown(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return untrusted text, safe to print.

    It is shortened to ``most`` characters, and nonprintable characters except line
    breaks are escaped.
    """
    text = text if len(text) <= most else f"{text[:most]}..."
    characters = list(text)
    for index, character in enumerate(characters):
        if not character.isprintable() and character != "\n":
            characters[index] = character.encode("unicode_escape").decode()
    return "".join(characters)


class DFLTheoryError(ValueError):
    """Base class of all exceptions that this package raises deliberately.

    The message states what is wrong, the place, the value, the tolerance if there is
    one, and what to do::

        row 3 sums to 1.1667, not 1 (tolerance 1e-10): divide each row by its sum

    Quoted text is escaped and shortened by :func:`shown`.
    """

    def __init__(self, message: object = ""):
        super().__init__(shown(str(message)))


class InputError(DFLTheoryError):
    """An argument, option or field has an invalid value or shape."""


class UnsupportedError(InputError):
    """An algorithm uses a method that the environment of its rounds does not implement.

    Attributes
    ----------
    method : str
        The method, as the algorithm calls it: ``grad.uniform``, ``mix.gather``.
    environment : str
        Name of the code that executes the round, for example ``training``.
    """

    def __init__(self, method: str, environment: str):
        super().__init__(
            f"{environment} does not support {method}, which this algorithm uses;"
            " docs/guides/algorithm.md lists the methods that each environment"
            " supports"
        )
        self.method = method
        self.environment = environment

    def __reduce__(self) -> tuple[type[UnsupportedError], tuple[str, str]]:
        return type(self), (self.method, self.environment)


class UnknownNameError(DFLTheoryError):
    """A name (theorem, topology, task, algorithm, field) is unknown.

    The message lists similar names, or the known ones if none is similar.

    Parameters
    ----------
    what : str
        What the name is for, in the singular: "no WHAT is called ...".
    name : object
        The unknown name.
    known : list, tuple or set of str
        The names that exist.
    """

    def __init__(
        self, what: str, name: object, known: list[str] | tuple[str, ...] | set[str]
    ):
        import difflib

        quoted = repr(name) if len(repr(name)) <= 100 else f"{repr(name)[:100]}..."
        near = difflib.get_close_matches(
            str(name)[:100], sorted(known), n=3, cutoff=0.5
        ) or _with_part(str(name), known)
        listed = sorted(known)
        if len(listed) > _MOST_LISTED:
            listed = [*listed[:5], f"... ({len(listed)} in all)"]
        hint = f"known: {', '.join(listed)}"
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        super().__init__(f"no {what} is called {quoted}; {hint}")


def _with_part(part: str, names: Iterable[str]) -> list[str]:
    """Return the first three names that contain ``part``, in any case."""
    if not part:
        return []
    return [name for name in sorted(names) if part.lower() in name.lower()][:3]


class GraphError(DFLTheoryError):
    """A graph or a mixing matrix breaks a law, such as connectedness or symmetry."""


class ConditionError(DFLTheoryError):
    """A condition of a theorem fails at the given constants."""


class DataError(DFLTheoryError):
    """A data file is missing, damaged or in an unexpected format."""


class MissingExtraError(DFLTheoryError):
    """A package of an optional extra is not installed.

    Parameters
    ----------
    purpose : str
        What needs the extra, as the subject of the message.
    extra : str
        Name of the extra in pyproject.toml.
    """

    def __init__(self, purpose: str, extra: str):
        super().__init__(
            f"{purpose} needs the extra [{extra}]: pip install '.[{extra}]'"
        )


class DivergenceError(DFLTheoryError):
    """A run diverged.

    Attributes
    ----------
    history : History
        The record of the rounds until then.
    """

    def __init__(self, message: str, history: object = None):
        super().__init__(message)
        self.history = history


LARGEST_WHOLE = 2**63 - 1
"""Largest integer of torch and numpy."""


def whole_number(name: str, value: object, at_least: int, more: str = "") -> int:
    """Return an integer of any library as an int.

    Parameters
    ----------
    name : str
        Name of the argument in messages.
    value : object
        The integer; Booleans and floats are rejected.
    at_least : int
        Smallest allowed value.
    more : str
        End of the message, for example ", or None for all examples".

    Raises
    ------
    InputError
        If the value is not an integer >= ``at_least``, or exceeds 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise InputError(f"{name} = {value!r} must be an integer >= {at_least}{more}")
    if int(value) > LARGEST_WHOLE:
        raise InputError(
            f"{name} = {value} does not fit into 64 bits: use a smaller number"
        )
    return int(value)


def squarable(name: str, value: object) -> None:
    """Raise InputError if the square of a nonzero float overflows or underflows."""
    if isinstance(value, float) and value and not 1e-150 <= abs(value) <= 1e150:
        raise InputError(
            f"{name} = {value!r} is outside of [1e-150, 1e150], so its square is not a"
            " float"
        )


def checked_name(what: str, name: GivenName, known: Iterable[str]) -> GivenName:
    """Return ``name``; raise UnknownNameError unless it is one of ``known``.

    ``what`` is what the name is for, as in :class:`UnknownNameError`.
    """
    names = set(known)
    if name not in names:
        raise UnknownNameError(what, name, names)
    return name


__all__ = [
    "LARGEST_WHOLE",
    "DFLTheoryError",
    "InputError",
    "UnsupportedError",
    "UnknownNameError",
    "GraphError",
    "ConditionError",
    "DataError",
    "DivergenceError",
    "MissingExtraError",
    "checked_name",
    "shown",
    "squarable",
    "whole_number",
]
