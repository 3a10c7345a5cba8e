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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.files import read_json
from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
    exact,
)

Scalar = Number | Fraction
Side = Scalar | Array | Expr
Pair = tuple[Scalar, Scalar]
"""Left and right side of a line."""
Formulas = tuple[Expr, Expr]
Arrays = tuple[Array, Array]
Sides = Callable[..., Pair | Formulas | Arrays]
PairOfRound = Callable[[FiniteProblem, Recording, int], Pair]
"""Both sides in one round, from a problem, a recorded run and the round."""
ArraysOfRound = Callable[[FiniteProblem, Recording, int], Pair | Arrays]
PairOfProblem = Callable[[FiniteProblem], Pair]
ArraysOfProblem = Callable[[FiniteProblem], Arrays]
Json = bool | int | float | str | list["Json"] | dict[str, "Json"]
Argument = Json | Fraction | Array | FiniteProblem
TOLERANCE = 1e-9
"""Relative excess of the left side from which a line counts as refuted in floating
point.
"""


def worst(pairs: Iterable[Pair]) -> Pair:
    """Return the pair whose left side exceeds its right side most."""
    return max(pairs, key=_excess)


def _excess(pair: Pair) -> Scalar:
    left, right = pair
    return left - right


def in_worst_round(
    run: str,
) -> Callable[[PairOfRound], Callable[[FiniteProblem], Pair]]:
    """Decorate the sides in round t of a run: evaluate the round of largest excess.

    Parameters
    ----------
    run : str
        Name of the run: a property of the finite problem.
    """

    def decorate(sides: PairOfRound) -> PairOfProblem:
        @wraps(sides)
        def worst_sides(problem: FiniteProblem) -> Pair:
            recorded = getattr(problem, run)
            return worst(sides(problem, recorded, t) for t in range(problem.T))

        return worst_sides

    return decorate


def in_all_rounds(
    run: str, first: int = 0
) -> Callable[[ArraysOfRound], ArraysOfProblem]:
    """Decorate the sides in round t of a run: return those of all rounds as arrays.

    Parameters
    ----------
    run : str
        Name of the run: a property of the finite problem.
    first : int
        First round that is evaluated.
    """

    def decorate(sides: ArraysOfRound) -> ArraysOfProblem:
        @wraps(sides)
        def all_sides(problem: FiniteProblem) -> Arrays:
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
    left: Side
    right: Side
    equality: bool

    @property
    def deviation(self) -> Number:
        """The largest absolute difference of the sides."""
        return np.max(np.abs(np.asarray(self.left) - np.asarray(self.right)))

    @property
    def refuted(self) -> bool:
        """Whether the line is false at its witness."""
        left, right = np.asarray(self.left), np.asarray(self.right)
        if self.equality:
            size = np.max(np.abs(left)) + np.max(np.abs(right))
            return bool(self.deviation > TOLERANCE * size)
        return bool(left > right + TOLERANCE * abs(right))

    def __str__(self) -> str:
        """Return both sides as text."""
        if isinstance(self.left, np.ndarray):
            return f"{self.place}: the sides differ by {float(self.deviation):.6g}"
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
    def witnesses(self) -> dict[str, dict[str, Json]]:
        """The witness of each line, by place."""
        return read_json(Path(__file__).parent / self.paper / "witnesses.json")

    def arguments(self, place: str) -> dict[str, Argument]:
        """Return the arguments that the witness of a line gives to its function."""
        witness = self.witnesses.get(place, {})
        return {name: self._value(value) for name, value in witness.items()}

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

    def exact_arguments(self, place: str) -> dict[str, object]:
        """Return the arguments of a line in rational numbers, where they have them."""
        return {name: exact(value) for name, value in self.arguments(place).items()}

    def _evaluated(self, place: str, lines: Mapping[str, RefutedLine]) -> Evaluation:
        if place not in lines:
            raise UnknownNameError("refuted line", place, set(lines))
        line, arguments = lines[place], self.arguments(place)
        point = arguments.get("point")
        if isinstance(point, dict):
            left, right = (
                substituted(sp.sympify(side), point) for side in line.sides()
            )
        else:
            try:
                left, right = line.sides(**self.exact_arguments(place))
            except (TypeError, AttributeError):  # roots and logarithms
                left, right = line.sides(**arguments)
        return Evaluation(place, left, right, line.equality)

    def _value(self, value: Json) -> Argument:
        if isinstance(value, list):
            return np.array(value, dtype=float)
        if isinstance(value, str):
            return Fraction(value)
        if isinstance(value, dict) and "problem" in value:
            fields = {name: _array(v) for name, v in value.items() if name != "problem"}
            return self.problems[str(value["problem"])](**fields)
        return value


def _array(value: Json) -> Any:
    return np.array(value, dtype=float) if isinstance(value, list) else value


def substituted(formula: object, point: Mapping[str, object]) -> Expr:
    """Return the value of a formula at a point, which names its symbols."""
    expression = sp.sympify(formula)
    values = {s: sp.sympify(point[str(s)]) for s in expression.free_symbols}
    return expression.xreplace(values)


def refuted_lines(paper: str) -> RefutedLines:
    """Return the lines that ``validation/papers/PAPER/refuted_lines.py`` registers."""
    return importlib.import_module(f"validation.papers.{paper}.refuted_lines").LINES


__all__ = ["Evaluation", "RefutedLine", "RefutedLines", "refuted_lines"]
