"""Several independent problems of one file, reported as one error.

A :class:`Problems` collects the errors of checks that do not depend on each other, so
that the reader of a file reports every mistake at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from dfltheory.errors import DFLTheoryError, InputError

MAX_PROBLEMS = 50
"""Largest number of problems in one error message."""


class ProblemsError(InputError):
    """Several problems; the message has one line for each.

    Attributes
    ----------
    problems : list of DFLTheoryError
        The problems, each with its place.
    """

    def __init__(self, problems: Sequence[DFLTheoryError]):
        super().__init__()
        self.problems = list(problems)

    def __str__(self) -> str:
        return "\n".join(error_lines(self))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


def error_lines(error: DFLTheoryError) -> list[str]:
    """Return the message of an error, one line for each of its first problems."""
    if not isinstance(error, ProblemsError):
        return [str(error)]
    shown = error.problems[:MAX_PROBLEMS]
    lines = [" ".join(str(problem).split()) for problem in shown]
    if len(error.problems) > MAX_PROBLEMS:
        lines.append(f"and {len(error.problems) - MAX_PROBLEMS} more problems")
    return lines


class Problems:
    """The problems that have been found so far."""

    def __init__(self) -> None:
        self._found: dict[str, DFLTheoryError] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def found(self) -> list[DFLTheoryError]:
        """The problems in the order in which they were found."""
        return list(self._found.values())

    @contextlib.contextmanager
    def collecting(self, place: str = "") -> Iterator[None]:
        """Record an error of this package in place of raising it.

        Parameters
        ----------
        place : str
            Prefix of the message, see :func:`located`.
        """
        try:
            with located(place):
                yield
        except DFLTheoryError as error:
            self.add(error)

    def add(self, error: DFLTheoryError) -> None:
        """Record the problems of an error; equal messages are recorded once."""
        problems = error.problems if isinstance(error, ProblemsError) else [error]
        for problem in problems:
            self._found.setdefault(str(problem), problem)

    def raise_any(self) -> None:
        """Raise the recorded problems as one error; a single one keeps its type."""
        found = self.found
        if len(found) == 1:
            raise found[0]
        if found:
            raise ProblemsError(found)


@contextlib.contextmanager
def located(place: str) -> Iterator[None]:
    """Prefix the messages of this package's errors with a place."""
    try:
        yield
    except ProblemsError as error:
        for problem in error.problems:
            _prefix(problem, place)
        raise
    except DFLTheoryError as error:
        _prefix(error, place)
        raise


def _prefix(error: DFLTheoryError, place: str) -> None:
    """Put a place before the message of an error, unless it starts with the place."""
    if place and not str(error).startswith(place):
        error.args = (f"{place}: {error}",)


__all__ = ["MAX_PROBLEMS", "Problems", "ProblemsError", "error_lines", "located"]
