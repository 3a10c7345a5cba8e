"""Derivations as data: which displays a display cites, and the algebra that is claimed to lead to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.regions import conditions_of
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
    """Put ``times`` the cited bound in the place of a quantity; right only where its coefficient is not
    negative."""

    name: str
    source: Cited
    times: Expr = 1

    def apply(self, expr: Expr) -> Expr:
        return expr.xreplace({GLOSSARY[self.name].symbol: self.times * cited(self.source)})

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"replaces {self.name} by a bound of it", sp.diff(expr, GLOSSARY[self.name].symbol))]


@dataclass(frozen=True)
class Share:
    """What a descent leaves before a quantity: minus its coefficient, times a positive factor."""

    name: str
    times: Expr = 1

    def apply(self, expr: Expr) -> Expr:
        return sp.expand(-self.times * sp.diff(expr, GLOSSARY[self.name].symbol))

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"multiplies by {self.times}", self.times)]


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
class Squared:
    """Square a bound of a root: (a_1 + ... + a_n)^2 <= n (a_1^2 + ... + a_n^2); no term may be negative."""

    def apply(self, expr: Expr) -> Expr:
        terms = sp.Add.make_args(expr)
        return len(terms) * sp.Add(*(term**2 for term in terms))

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"squares {term}", term) for term in sp.Add.make_args(expr)]


@dataclass(frozen=True)
class Average:
    """The mean over T rounds: powers q^(2t) sum to at most 1/(1 - q^2), and q^(2 floor(t/B)) to
    B/(1 - q^2); right only where these have coefficients that are not negative."""

    def apply(self, expr: Expr) -> Expr:
        T, q = GLOSSARY["T"].symbol, GLOSSARY["q"].symbol
        return expr.xreplace({power: times / (T * (1 - q**2)) for power, times in _DECAY.items()})

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        whole = sp.expand(expr)
        return [(f"averages {p}", whole.coeff(p)) for p in _DECAY if whole.has(p)]


_q, _t, _B = (GLOSSARY[n].symbol for n in ("q", "t", "window"))
_DECAY: dict[Expr, Expr] = {_q ** (2 * _t): sp.S.One, _q ** (2 * sp.floor(_t / _B)): _B}
"""Powers that decay with t, and (1 - q^2) times what they sum to."""


def _as_it_is(slope: Expr) -> Expr:
    return slope


@dataclass(frozen=True)
class Telescope:
    """Sum a descent ``f^{t+1} - f^t <= -sum_j c_j G_j + r`` over T rounds and divide by T c_j: then
    ``sum_j w_j G_j <= sum_j (w_j/c_j) (f0_gap/T + mean of r)``, the mean as in ``Average``.

    ``weights`` maps the names of the G_j to w_j; ``settled`` is what stands for c_j.
    """

    weights: Mapping[str, Expr]
    settled: Callable[[Expr], Expr] = _as_it_is

    def _slopes(self, expr: Expr) -> dict[str, Expr]:
        return {name: self.settled(-sp.diff(expr, GLOSSARY[name].symbol)) for name in self.weights}

    def apply(self, expr: Expr) -> Expr:
        rest = expr.xreplace({GLOSSARY[name].symbol: sp.S.Zero for name in self.weights})
        share = sp.Add(*(self.weights[name] / slope for name, slope in self._slopes(expr).items()))
        return (GLOSSARY["f0_gap"].symbol / GLOSSARY["T"].symbol + Average().apply(rest)) * share

    def needs(self, expr: Expr) -> list[tuple[str, Expr]]:
        return [(f"divides by {name}'s coefficient", slope) for name, slope in self._slopes(expr).items()]


Operation = Plus | Times | Replace | Share | Solve | Squared | Telescope | Average


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

    def conditions(self, stated: Sequence[Condition] | None = None) -> tuple[Condition, ...]:
        """The conditions under which the step is claimed, ``stated`` in place of the claim's own."""
        stated = conditions_of(self.theorem) if stated is None else stated
        key, _, variant = (self.under or "").partition(":")
        return (*stated, *(conditions_of(registry.get(key, variant or "printed")) if key else ()))

    def derived(self) -> tuple[Expr, list[tuple[str, Expr]]]:
        """What the operations give, and what must be non-negative for them to be right; with ``given``."""
        expr = cited(self.start)
        demands: list[tuple[str, Expr]] = []
        for operation in self.operations:
            demands += operation.needs(expr)
            expr = operation.apply(expr)
        return expr, demands + self.given()

    def given(self) -> list[tuple[str, Expr]]:
        """The conditions of the statements that the step cites."""
        found = inherited(self.start)
        for operation in self.operations:
            if isinstance(operation, Plus | Replace):
                found += inherited(operation.source)
        return list(dict(found).items())


def inherited(source: Cited) -> list[tuple[str, Expr]]:
    """The conditions of a cited statement, as what is not negative where they hold; of an equation that has
    none those of what its steps cite."""
    if not isinstance(source, str):
        return []
    key, _, variant = source.partition(":")
    theorem = registry.get(key, variant or "printed")
    if theorem.kind == "equation" and not theorem.conditions:
        return [g for step in registry.all_steps() if step.theorem is theorem for g in step.given()]
    return [(f"cites {theorem}, which demands {c.name}", theorem.expand(c.slack)) for c in theorem.conditions]


def cites(step: Step) -> tuple[Theorem, ...]:
    """The registered statements that a step starts from or puts in."""
    sources = (step.start, *(o.source for o in step.operations if isinstance(o, Plus | Replace)))
    found = [source.partition(":") for source in sources if isinstance(source, str)]
    return tuple(registry.get(key, variant or "printed") for key, _, variant in found)


@dataclass(frozen=True, eq=False)
class Scalar:
    """``left <= right`` for all values of the named quantities in their domains ``(low, high)``; whole
    numbers where ``whole`` says so."""

    key: str
    place: str
    says: str
    left: Expr
    right: Expr
    domain: dict[str, tuple[float, float]]
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Matrices:
    """``left(*sample) <= right(*sample)`` for every sample of a family of matrices or vectors: ``mixing``,
    ``vectors``, or one in words whose samples ``draw`` makes; ``textbook`` is where it is proved."""

    key: str
    place: str
    says: str
    family: str
    left: Callable[..., float]
    right: Callable[..., float]
    draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]] | None = None
    textbook: str = ""


Inequality = Scalar | Matrices
