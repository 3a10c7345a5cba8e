"""Numerical evaluation of a statement: its terms and the sides of its conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import Condition, Number, Truth, symbol_names
from dfltheory.bounds.symbols import PAPER_SYMBOLS
from dfltheory.errors import ConditionError, InputError, UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CONDITION_ROUNDING = 16 * np.finfo(float).eps
"""A condition ``left <= right`` holds if left exceeds right by at most this share of
the larger side.
"""

GivenValues = Mapping[str, object]
Arrays = Mapping[str, np.ndarray]


class Judged(NamedTuple):
    """A condition at some points: its sides, and where it holds."""

    condition: Condition
    left: np.ndarray
    right: np.ndarray
    holds: np.ndarray


class Evaluator:
    """Evaluates a statement at values of its quantities by name, numbers or arrays.

    Parameters
    ----------
    statement : a :class:`~dfltheory.bounds.statement.Statement`, whose module imports
    this one
    """

    def __init__(self, statement: Any):
        self.statement = statement
        self.stable = tuple(d for d in statement.definitions if d.numeric is not None)
        """Definitions that a function evaluates, as their formulas lose digits."""

    @cached_property
    def _terms(self) -> Callable[..., list[object]]:
        return self._compiled(self.statement.parts.values())

    @cached_property
    def _sides(self) -> Callable[..., list[object]]:
        return self._compiled(
            side for c in self.statement.conditions for side in (c.left, c.right)
        )

    def _compiled(self, formulas: Iterable[Expr]) -> Callable[..., list[object]]:
        """Return the function of all quantities that evaluates these formulas."""
        plain: dict[Expr, Expr] = {}
        for definition in self.statement.definitions:
            if definition.numeric is None:
                plain[definition.symbol] = definition.expr.xreplace(plain)
        return sp.lambdify(
            [*self.statement.symbols.values(), *(d.symbol for d in self.stable)],
            [formula.xreplace(plain) for formula in formulas],
            modules="numpy",
            cse=True,
        )

    def terms(self, where: str, values: GivenValues) -> dict[str, Number]:
        """Return the values of the named terms.

        At points at which a condition fails, ``where`` = ``raise`` raises
        ConditionError, ``nan`` returns nan, and ``ignore`` evaluates the terms.
        """
        arrays, shape = self._inputs(values)
        admissible = np.asarray(True)
        for judged in self._judge(arrays) if where != "ignore" else ():
            if where == "raise" and not np.all(judged.holds):
                raise ConditionError(self._failure(judged, arrays))
            admissible = admissible & judged.holds
        with np.errstate(all="ignore"):
            terms = self._terms(*arrays.values())
        admissible_terms = [
            np.where(admissible, np.asarray(term, dtype=float), np.nan)
            for term in terms
        ]
        return {
            name: _as_scalar_or_array(term, shape)
            for name, term in zip(self.statement.parts, admissible_terms, strict=True)
        }

    def conditions(self, values: GivenValues) -> list[tuple[Condition, Number, Truth]]:
        """Return each condition with its slack and whether it holds."""
        arrays, shape = self._inputs(values)
        with np.errstate(invalid="ignore"):  # infinite on both sides
            return [
                (
                    c,
                    _as_scalar_or_array(right - left, shape),
                    _as_scalar_or_array(holds, shape),
                )
                for c, left, right, holds in self._judge(arrays)
            ]

    def sides(self, values: GivenValues) -> list[tuple[Condition, Number, Number]]:
        """Return each condition with the values of its left and its right side."""
        arrays, shape = self._inputs(values)
        return [
            (
                judged.condition,
                _as_scalar_or_array(judged.left, shape),
                _as_scalar_or_array(judged.right, shape),
            )
            for judged in self._judge(arrays)
        ]

    def _inputs(
        self, values: GivenValues
    ) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
        """Return the arguments of the compiled formulas and their common shape."""
        statement, glossary = self.statement, self.statement.glossary
        for name in values:
            if name not in glossary:
                known = (
                    {PAPER_SYMBOLS[name]} if name in PAPER_SYMBOLS else set(glossary)
                )
                raise UnknownNameError("quantity of the glossary", name, known)
        needs = tuple(statement.symbols)
        arrays = {
            name: glossary[name].check(values[name]) for name in needs if name in values
        }
        missing = [name for name in needs if name not in values]
        if missing:
            raise InputError(
                f"{statement} needs {', '.join(needs)}; missing: {', '.join(missing)}"
            )
        try:
            shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{n} {a.shape}" for n, a in arrays.items() if a.ndim)
            raise InputError(
                f"the arrays given to {statement} do not broadcast together: {shapes}"
            ) from None
        with np.errstate(all="ignore"):
            for definition in self.stable:
                assert definition.numeric is not None
                arguments = (arrays[name] for name in definition.takes)
                arrays[definition.symbol.name] = definition.numeric(*arguments)
        return arrays, shape

    def _judge(self, arrays: Arrays) -> list[Judged]:
        """Return the sides of each condition, and where it holds."""
        judged: list[Judged] = []
        with np.errstate(all="ignore"):
            sides = [
                np.asarray(side, dtype=float) for side in self._sides(*arrays.values())
            ]
            for c, left, right in zip(
                self.statement.conditions, sides[::2], sides[1::2], strict=True
            ):
                allowance = CONDITION_ROUNDING * np.maximum(np.abs(left), np.abs(right))
                # the allowance of an infinite left side is infinite, too
                holds = (
                    left < right
                    if c.strict
                    else (left <= right + allowance) & (left < np.inf)
                )
                judged.append(Judged(c, left, right, holds))
        return judged

    def _failure(self, judged: Judged, arrays: Arrays) -> str:
        """Describe the first point at which a condition fails."""
        condition, statement = judged.condition, self.statement
        left, right, holds = np.broadcast_arrays(*judged[1:])
        place = (
            np.unravel_index(int(np.argmin(holds)), holds.shape) if holds.ndim else ()
        )
        free = symbol_names([statement.expand(condition.slack)])
        names = sorted(free, key=list(statement.glossary).index)
        values_text = ", ".join(
            f"{n} = {np.broadcast_to(arrays[n], holds.shape)[place]:g}" for n in names
        )
        sign = ">=" if condition.strict else ">"
        where = f" at index {tuple(map(int, place))}" if holds.ndim else ""
        left_side = _with_value(condition.left, left[place])
        right_side = _with_value(condition.right, right[place])
        return (
            f"condition '{condition.name}' of {statement} fails{where}: {left_side}"
            f" {sign} {right_side} ({values_text})"
        )


def _with_value(side: Expr, value: float) -> str:
    return f"{value:.6g}" if side.is_number else f"{side} = {value:.6g}"


def _as_scalar_or_array(value: ArrayLike, shape: tuple[int, ...]) -> Any:
    """Return a Python scalar for a number, else an array of the common shape."""
    array = np.array(np.broadcast_to(value, shape))
    return array if shape else array.item()


__all__ = ["CONDITION_ROUNDING", "Evaluator"]
