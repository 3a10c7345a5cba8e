"""Derivations as data: which displays a display cites, and the algebra that is claimed to lead to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr

Cited = str | Expr
"""A statement's key (``dfedsam.eq_20``, or with a variant ``...:appendix``), or an expression."""


def cited(source: Cited) -> Expr:
    """The bound that is cited, in glossary symbols."""
    if not isinstance(source, str):
        return sp.sympify(source)
    key, _, variant = source.partition(":")
    return registry.get(key, variant or "printed").bound


@dataclass(frozen=True)
class Plus:
    """Add ``times`` the cited bound."""

    source: Cited
    times: Expr = 1

    def apply(self, expr: Expr) -> Expr:
        return expr + self.times * cited(self.source)

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return []


@dataclass(frozen=True)
class Times:
    """Multiply by a positive factor."""

    factor: Expr

    def apply(self, expr: Expr) -> Expr:
        return expr * self.factor

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"multiplies by {self.factor}", self.factor)]


@dataclass(frozen=True)
class Replace:
    """Put the cited bound in the place of a quantity; right only where its coefficient is not negative."""

    name: str
    source: Cited

    def apply(self, expr: Expr) -> Expr:
        return expr.xreplace({GLOSSARY[self.name].symbol: cited(self.source)})

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"replaces {self.name} by a bound of it", sp.diff(expr, GLOSSARY[self.name].symbol))]


@dataclass(frozen=True)
class Solve:
    """From ``quantity <= a + b quantity`` to ``quantity <= a/(1 - b)``; right only where b < 1."""

    name: str

    def _parts(self, expr: Expr) -> tuple[Expr, Expr]:
        symbol = GLOSSARY[self.name].symbol
        slope = sp.diff(expr, symbol)
        return expr.xreplace({symbol: sp.S.Zero}), slope

    def apply(self, expr: Expr) -> Expr:
        rest, slope = self._parts(expr)
        return rest / (1 - slope)

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"divides by 1 - ({self.name}'s coefficient)", 1 - self._parts(expr)[1])]


@dataclass(frozen=True)
class Telescope:
    """Sum a descent ``f^{t+1} - f^t <= -c G + r`` over T rounds and divide by c T; powers q^(2t) sum to
    at most
    1/(1 - q^2)."""

    name: str

    def _slope(self, expr: Expr) -> Expr:
        return -sp.diff(expr, GLOSSARY[self.name].symbol)

    def apply(self, expr: Expr) -> Expr:
        T, q, t = (GLOSSARY[n].symbol for n in ("T", "q", "t"))
        slope = self._slope(expr)
        rest = expr.xreplace({GLOSSARY[self.name].symbol: sp.S.Zero})
        mean = rest.xreplace({q ** (2 * t): 1 / (T * (1 - q**2))})
        return (GLOSSARY["f0_gap"].symbol / T + mean) / slope

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"divides by {self.name}'s coefficient", self._slope(expr))]


Operation = Plus | Times | Replace | Solve | Telescope


@dataclass(frozen=True)
class Step:
    """``claim`` is said to follow from ``start`` by ``operations`` wherever the conditions of ``under``
    hold."""

    claim: str
    says: str
    start: Cited
    operations: tuple[Operation, ...] = ()
    under: str | None = None

    @property
    def theorem(self) -> Theorem:
        key, _, variant = self.claim.partition(":")
        return registry.get(key, variant or "printed")

    def derived(self) -> tuple[Expr, list[tuple[str, Expr]]]:
        """What the operations give, and what must be non-negative for them to be right."""
        expr = cited(self.start)
        demands: list[tuple[str, Expr]] = []
        for operation in self.operations:
            demands += operation.needs(expr)
            expr = operation.apply(expr)
        return expr, demands


@dataclass(frozen=True)
class Scalar:
    """``left <= right`` for all values of the named quantities in their domains ``(low, high)``; whole
    numbers
    where ``whole`` says so."""

    key: str
    place: str
    says: str
    left: Expr
    right: Expr
    domain: dict[str, tuple[float, float]]
    whole: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrices:
    """``left(sample) <= right(sample)`` for every sample of a family of matrices or vectors."""

    key: str
    place: str
    says: str
    family: str
    left: Callable[..., float]
    right: Callable[..., float]


Inequality = Scalar | Matrices

__all__ = [
    "Cited",
    "Inequality",
    "Matrices",
    "Operation",
    "Plus",
    "Replace",
    "Scalar",
    "Solve",
    "Step",
    "Telescope",
    "Times",
    "cited",
]
