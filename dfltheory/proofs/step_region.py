"""The region in which declared proof steps should hold.

It proves signs of expressions, and has rational points.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import RuleError, reality
from dfltheory.bounds.units import Expr
from dfltheory.proofs.step_points import Point, rational_points, value_at

_POINTS = 12
_MOST_SQUARES = 3


class StepRegion:
    """The region of a statement: its inequalities and its rational points.

    Parameters
    ----------
    conditions : without definitions
    symbols : of all claims
    glossary : the ranges of quantities
    """

    def __init__(
        self,
        conditions: Sequence[Condition],
        symbols: Iterable[sp.Symbol],
        glossary: Mapping[str, Quantity],
    ):
        self.conditions = tuple(conditions)
        self.glossary = glossary
        self._symbols = frozenset(symbols)
        self._known: dict[tuple[Expr, bool], bool] = {}

    def holds(self, expr: Expr, strict: bool = False) -> bool:
        """Return whether ``expr >= 0`` (``> 0``) is proved in the region."""
        key = (sp.sympify(expr), strict)
        if key not in self._known:
            region = Region(self.conditions, glossary=self.glossary)
            self._known[key] = region.holds(key[0], strict) or (
                not strict and self._by_squares(key[0])
            )
        return self._known[key]

    def _by_squares(self, expr: Expr) -> bool:
        """Return whether 2 x y <= x^2 + y^2 proves it for products subtracted."""
        over, _ = sp.fraction(sp.together(expr))
        symbols = sorted(over.free_symbols, key=str)
        if not symbols or not over.is_polynomial(*symbols):
            return False
        pairs: dict[tuple[Expr, Expr], None] = {}
        for powers, coefficient in sp.Poly(over, *symbols).terms():
            odd = [x for x, n in zip(symbols, powers, strict=True) if n == 1]
            if coefficient.is_negative:
                pairs |= dict.fromkeys(itertools.combinations(odd, 2))
        squares = []
        for x, y in itertools.islice(pairs, _MOST_SQUARES):
            squares.append(Condition("square", 2 * x * y, x**2 + y**2))
        if not squares:
            return False
        region = Region((*self.conditions, *squares), glossary=self.glossary)
        return region.holds(sp.factor(expr))

    def is_defined(self, expr: Expr) -> bool:
        """Return whether it is proved that all powers are real numbers.

        Nothing divides by 0, and no root is that of a negative number.
        """
        for power in sp.sympify(expr).atoms(sp.Pow):
            if self._is_real(power):
                continue
            if not (power.exp.is_integer and self.holds(-power.base, strict=True)):
                return False
        return True

    def _is_real(self, power: sp.Pow) -> bool:
        """Return whether it is proved that a power is a real number."""
        try:
            requirements = reality(power)
        except RuleError:
            return False
        return all(self.holds(sign, strict) for sign, strict in requirements)

    @cached_property
    def points(self) -> list[Point]:
        """Some rational points."""
        return rational_points(
            self.conditions, self._symbols, self.glossary, most=_POINTS
        )

    def negative_at(self, expr: Expr, strict: bool = False) -> Point | None:
        """Return a point at which ``expr >= 0`` (``> 0``) fails."""
        for point in self.points:
            value = value_at(expr, point)
            if value is not None and (value < 0 or (strict and value == 0)):
                return point
        return None


__all__ = ["StepRegion"]
