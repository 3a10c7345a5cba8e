"""Refuted lines of a paper: named functions with witnesses at which they are false.

A paper's ``refuted_lines.py`` registers functions with :meth:`RefutedLines.refutes`. A
function returns both sides of one line, from its witness in ``witnesses.json``: a
finite problem, numbers, or a point at which two formulas are evaluated. Its docstring
states the place and the claim, which is ``left <= right`` unless ``equality`` is set.
:meth:`RefutedLines.evaluate` evaluates them, in rational numbers where both sides are
rational.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.errors import InputError, UnknownNameError
from validation.papers.finite_problems import FiniteProblem, exact

Pair = tuple[Any, Any]
"""Left and right side of a line."""
Sides = Callable[..., Pair]
RoundSides = Callable[[Any, Any, int], Pair]
"""Both sides in one round, from a problem, a recorded run and the round."""
TOLERANCE = 1e-9
"""Relative excess of the left side from which a line counts as refuted in floating
point.
"""


def worst(pairs: Iterable[Pair]) -> Pair:
    """Return the pair whose left side exceeds its right side most."""
    return max(pairs, key=_excess)


def _excess(pair: Pair) -> Any:
    left, right = pair
    return left - right


def in_worst_round(run: str) -> Callable[[RoundSides], Sides]:
    """Decorate the sides in round t of a run: evaluate the round of largest excess.

    Parameters
    ----------
    run : str
        Name of the run: a property of the finite problem.
    """

    def decorate(sides: RoundSides) -> Sides:
        @wraps(sides)
        def worst_sides(problem: FiniteProblem) -> Pair:
            recorded = getattr(problem, run)
            return worst(sides(problem, recorded, t) for t in range(problem.T))

        return worst_sides

    return decorate


def in_all_rounds(run: str, first: int = 0) -> Callable[[RoundSides], Sides]:
    """Decorate the sides in round t of a run: return those of all rounds as arrays.

    Parameters
    ----------
    run : str
        Name of the run: a property of the finite problem.
    first : int
        First round that is evaluated.
    """

    def decorate(sides: RoundSides) -> Sides:
        @wraps(sides)
        def all_sides(problem: FiniteProblem) -> Pair:
            recorded = getattr(problem, run)
            rounds = range(first, problem.T)
            left, right = zip(*(sides(problem, recorded, t) for t in rounds))
            return np.array(left), np.array(right)

        return all_sides

    return decorate


@dataclass(frozen=True)
class Evaluation:
    """Both sides of a line at its witness.

    ``equality``: the line claims that they are equal.
    """

    place: str
    left: Any
    right: Any
    equality: bool

    @property
    def refuted(self) -> bool:
        """Whether the line is false at its witness."""
        left, right = self.left, self.right
        if self.equality:
            deviation = np.max(np.abs(np.asarray(left) - np.asarray(right)))
            size = np.max(np.abs(np.asarray(left))) + np.max(np.abs(np.asarray(right)))
            return bool(deviation > TOLERANCE * size)
        return bool(left > right + TOLERANCE * abs(right))

    def __str__(self) -> str:
        """Return both sides as text."""
        if isinstance(self.left, np.ndarray):
            deviation = float(np.max(np.abs(self.left - self.right)))
            return f"{self.place}: the sides differ by {deviation:.6g}"
        sign = "!=" if self.equality else ">"
        return (
            f"{self.place}: left {float(self.left):.6g} {sign} right"
            f" {float(self.right):.6g}"
        )


@dataclass(frozen=True)
class RefutedLine:
    """A line that is false, and the function that evaluates its sides."""

    place: str
    sides: Sides
    equality: bool = False
    under: str = ""
    """The statement whose conditions the point of two formulas satisfies."""


class RefutedLines:
    """The refuted lines of one paper, by place, and the classes of their problems."""

    def __init__(
        self, paper: str, problems: Iterable[type[FiniteProblem]] = (FiniteProblem,)
    ) -> None:
        self.paper = paper
        self.problems = {problem.__name__: problem for problem in problems}
        self.by_place: dict[str, RefutedLine] = {}
        self.corrections: dict[str, RefutedLine] = {}

    def refutes(
        self, *places: str, equality: bool = False, under: str = ""
    ) -> Callable[[Sides], Sides]:
        """Register a function under the places of the lines that it evaluates."""

        def register(function: Sides) -> Sides:
            for place in places:
                if place in self.by_place:
                    raise InputError(f"{place} of {self.paper} has two functions")
                self.by_place[place] = RefutedLine(place, function, equality, under)
            return function

        return register

    def corrects(
        self, *places: str, equality: bool = False
    ) -> Callable[[Sides], Sides]:
        """Register a function that evaluates the sides of these lines as corrected."""

        def register(function: Sides) -> Sides:
            for place in places:
                self.corrections[place] = RefutedLine(place, function, equality)
            return function

        return register

    @cached_property
    def witnesses(self) -> dict[str, Any]:
        """The witness of each line, by place."""
        file = Path(__file__).parent / self.paper / "witnesses.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def arguments(self, place: str) -> dict[str, Any]:
        """Return the arguments that the witness of a line gives to its function."""
        return {
            name: self._value(value)
            for name, value in self.witnesses.get(place, {}).items()
        }

    def evaluate(self, place: str) -> Evaluation:
        """Both sides of a line at its witness.

        Raises
        ------
        UnknownNameError
            No function is registered for this place.
        """
        return self._evaluated(place, self.by_place)

    def evaluate_corrected(self, place: str) -> Evaluation:
        """Both sides of a line as corrected, at the witness of the printed line.

        Raises
        ------
        UnknownNameError
            No corrected function is registered for this place.
        """
        return self._evaluated(place, self.corrections)

    def exact_arguments(self, place: str) -> dict[str, Any]:
        """Return the arguments of a line in rational numbers, where they have them."""
        return {name: exact(value) for name, value in self.arguments(place).items()}

    def _evaluated(self, place: str, lines: Mapping[str, RefutedLine]) -> Evaluation:
        if place not in lines:
            raise UnknownNameError("refuted line", place, set(lines))
        line, arguments = lines[place], self.arguments(place)
        point = arguments.pop("point", None)
        if point is not None:
            left, right = (_substituted(side, point) for side in line.sides())
        else:
            left, right = _evaluated(line.sides, arguments)
        return Evaluation(place, left, right, line.equality)

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return np.array(value, dtype=float)
        if isinstance(value, str):
            return Fraction(value)
        if isinstance(value, Mapping) and "problem" in value:
            given = {name: _number(v) for name, v in value.items() if name != "problem"}
            return self.problems[value["problem"]](**given)
        return value


def _number(value: Any) -> Any:
    return np.array(value, dtype=float) if isinstance(value, list) else value


def _evaluated(sides: Sides, arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return both sides in rational numbers, or in floating point."""
    try:
        return sides(**{name: exact(value) for name, value in arguments.items()})
    except (TypeError, AttributeError):  # roots and logarithms of rational numbers
        return sides(**arguments)


def _substituted(side: Any, point: Mapping[str, str]) -> Any:
    """Return the value of a formula at a point, which names its symbols."""
    expression = sp.sympify(side)
    values = {
        symbol: sp.Rational(point[symbol.name]) for symbol in expression.free_symbols
    }
    return expression.subs(values)


def refuted_lines(paper: str) -> RefutedLines:
    """Return the lines that ``validation/papers/PAPER/refuted_lines.py`` registers."""
    return importlib.import_module(f"validation.papers.{paper}.refuted_lines").LINES


__all__ = ["Evaluation", "RefutedLine", "RefutedLines", "refuted_lines"]
