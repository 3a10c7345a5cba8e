"""Units: how quantities and expressions scale.

Under f -> c f, x -> s x a quantity of unit c^a s^b is multiplied by c^a s^b. Problems
with two blocks F(u, v) have two lengths: u -> s u and v -> r v. A statement whose terms
all have the unit of its left-hand side says the same in all systems of units. A sum of
different units says something else in each of them, and the statement must hold in all.
That is possible (``2 x y <= x^2 + y^2``), unless in a limit of units nothing is left of
the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp
from sympy import Expr


@dataclass(frozen=True)
class Unit:
    """A unit c^f s^x r^v: exponents of the scales of f, x (or u) and v."""

    f: Fraction = Fraction(0)
    x: Fraction = Fraction(0)
    v: Fraction = Fraction(0)

    def __mul__(self, other: Unit) -> Unit:
        return Unit(self.f + other.f, self.x + other.x, self.v + other.v)

    def __truediv__(self, other: Unit) -> Unit:
        return Unit(self.f - other.f, self.x - other.x, self.v - other.v)

    def __pow__(self, power: Fraction | int) -> Unit:
        return Unit(self.f * power, self.x * power, self.v * power)

    @property
    def scales(self) -> tuple[tuple[str, Fraction], ...]:
        """The scales c, s and r, each with its exponent in the unit."""
        return (("c", self.f), ("s", self.x), ("r", self.v))

    def __str__(self) -> str:
        parts: list[str] = []
        for name, exponent in self.scales:
            if exponent:
                parts.append(name if exponent == 1 else f"{name}^{exponent}")
        return " ".join(parts) or "1"


def unit(f: int = 0, x: int = 0, v: int = 0) -> Unit:
    """Return the unit c^f s^x r^v with whole exponents."""
    return Unit(Fraction(f), Fraction(x), Fraction(v))


ONE = unit()


@dataclass(frozen=True)
class Clash:
    """A subexpression that combines quantities of different units."""

    where: Expr
    what: str

    def __str__(self) -> str:
        return f"{self.what} in {self.where}"


class UnitInference:
    """Computes units of expressions.

    Parameters
    ----------
    units : the unit of every symbol, by its name

    Attributes
    ----------
    clashes : the clashes inside the expressions examined so far; none is an error
    """

    def __init__(self, units: Mapping[str, Unit]):
        self.units = units
        self.clashes: list[Clash] = []

    def of(self, expr: Expr) -> Unit:
        """Return the unit of ``expr``.

        If the terms of a sum have different units, it is that of the first term.
        """
        if isinstance(expr, sp.Symbol):
            return self.units[expr.name]
        if expr.is_number:
            return ONE
        if isinstance(expr, sp.Mul):
            product = ONE
            for factor in expr.args:
                product = product * self.of(factor)
            return product
        if isinstance(expr, sp.Pow):
            return self._power(expr)
        if isinstance(expr, (sp.Add, sp.Max, sp.Min)):
            return self._sum(expr)
        if isinstance(expr, sp.Abs):
            return self.of(expr.args[0])
        for argument in expr.args:  # exp, log, ...: pure numbers in, a pure number out
            if self.of(argument) != ONE:
                self.clashes.append(
                    Clash(
                        expr,
                        f"{type(expr).__name__} of a quantity with unit"
                        f" {self.of(argument)}",
                    )
                )
        return ONE

    def _power(self, expr: sp.Pow) -> Unit:
        base, exponent = self.of(expr.base), expr.exp
        if self.of(exponent) != ONE:
            self.clashes.append(Clash(expr, f"exponent with unit {self.of(exponent)}"))
        if isinstance(exponent, sp.Rational):
            return base ** Fraction(int(exponent.p), int(exponent.q))
        if base != ONE:
            self.clashes.append(
                Clash(expr, f"a quantity with unit {base} to the power {exponent}")
            )
        return ONE

    def _sum(self, expr: Expr) -> Unit:
        terms = sorted(expr.args, key=sp.default_sort_key)
        units = [self.of(term) for term in terms]
        first, first_unit = terms[0], units[0]
        for term, unit in zip(terms, units, strict=True):
            if unit != first_unit:
                self.clashes.append(
                    Clash(
                        expr,
                        f"{first} has unit {first_unit} but {term} has unit {unit}",
                    )
                )
        return first_unit
