"""Does an inequality between moments follow from others?

Moments are taken as numbers: squares, roots and constants are not negative, inner
products and values of f may have any sign. An inequality follows if it is a sum of the
premises with multipliers that are not negative, and of moments that are not negative.

Multipliers are found at a rational point of the region by a linear program, computed as
formulas from its active rows, and their signs are proved wherever the conditions hold
(:class:`~dfltheory.bounds.inequalities.region.Region`). If at some rational point the
program has no solution, there are values of the moments at which all premises hold and
the inequality does not: a witness in fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.symbols import Quantity
from dfltheory.bounds.units import Expr
from dfltheory.proofs.linear_facts import ONE
from dfltheory.proofs.linear_programs import minimum
from dfltheory.proofs.moments import Moment
from dfltheory.proofs.step_points import (
    Point,
    approximate_value,
    rational_points,
    value_at,
)

Slack = Mapping[Moment, Expr]
"""A linear form that is not negative where an inequality holds."""
Numbers = dict[Moment, Fraction]

_POINTS, _GENERIC = 12, 4
"""Points in all, and those at which multipliers are computed."""
_BOXES = (10, 10**4, 10**9)
"""Largest values of the moments in a witness: the first box that has one."""
_SIZES = tuple(
    map(Fraction, ("0", "1/1000", "1/100", "1/10", "1/2", "1", "2", "10", "1000"))
)
"""Values of a root that are tried together with its square."""
_MOST_SQUARES = 3
SIGNED = ("value", "inner")
"""Kinds of moments that may be negative."""


@dataclass(frozen=True)
class Witness:
    """A point, and values of the moments: all premises hold, the inequality does not.

    ``left_over``: right - left of the inequality, which is negative; ``symbols``: the
    quantities in the inequality and its premises.
    """

    point: Point
    values: Numbers
    left_over: Fraction
    symbols: frozenset[sp.Symbol]


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
        """Is ``expr >= 0`` (``> 0``) proved in the region?"""
        key = (sp.sympify(expr), strict)
        if key not in self._known:
            region = Region(self.conditions, glossary=self.glossary)
            self._known[key] = region.holds(key[0], strict) or (
                not strict and self._by_squares(key[0])
            )
        return self._known[key]

    def _by_squares(self, expr: Expr) -> bool:
        """Is it proved with 2 x y <= x^2 + y^2 for the products that it subtracts?"""
        over, _ = sp.fraction(sp.together(expr))
        symbols = sorted(over.free_symbols, key=str)
        if not symbols or not over.is_polynomial(*symbols):
            return False
        pairs: dict[tuple[Expr, Expr], None] = {}
        for powers, coefficient in sp.Poly(over, *symbols).terms():
            odd = [x for x, n in zip(symbols, powers, strict=True) if n == 1]
            if coefficient.is_negative:
                pairs |= dict.fromkeys(itertools.combinations(odd, 2))
        squares = [
            Condition("square", 2 * x * y, x**2 + y**2)
            for x, y in list(pairs)[:_MOST_SQUARES]
        ]
        if not squares:
            return False
        region = Region((*self.conditions, *squares), glossary=self.glossary)
        return region.holds(sp.factor(expr))

    def is_defined(self, expr: Expr) -> bool:
        """Is it proved that nothing in an expression divides by 0?"""
        for power in sp.sympify(expr).atoms(sp.Pow):
            if power.exp.is_nonnegative or power.base.is_positive:
                continue
            if not any(
                self.holds(base, strict=True) for base in (power.base, -power.base)
            ):
                return False
        return True

    @cached_property
    def points(self) -> list[Point]:
        """Some rational points."""
        return rational_points(
            self.conditions, self._symbols, self.glossary, most=_POINTS
        )

    def negative_at(self, expr: Expr, strict: bool = False) -> Point | None:
        """A point at which ``expr >= 0`` (``> 0``) fails."""
        for point in self.points:
            value = value_at(expr, point)
            if value is not None and (value < 0 or (strict and value == 0)):
                return point
        return None


@dataclass(frozen=True)
class _AtPoint:
    """Everything in numbers at one point; rows are moments. ``pinned``: the places of
    moments with an irrational coefficient, here 0.
    """

    moments: tuple[Moment, ...]
    claim: tuple[Fraction, ...]
    premises: tuple[tuple[Fraction, ...], ...]
    pinned: tuple[int, ...] = ()


class Deduction:
    """One inequality, and those from which it shall follow.

    Parameters
    ----------
    claim : its slack
    premises : their slacks
    region : where it shall hold
    left : the moments of the claim's left-hand side
    """

    def __init__(
        self,
        claim: Slack,
        premises: Sequence[Slack],
        region: StepRegion,
        left: Iterable[Moment] = (),
    ):
        self.claim = claim
        self.left = frozenset(left)
        self.premises = tuple(premises)
        self.region = region
        found = dict.fromkeys(claim)
        for premise in self.premises:
            found |= dict.fromkeys(premise)
        found[ONE] = None
        self.moments = tuple(found)

    def witness(self) -> Witness | None:
        """Values at which it does not follow; None where none were found."""
        for point in self.region.points:
            there = self._exactly_at(point)
            found = None if there is None else _counterexample(there)
            if there is not None and found is not None:
                found = _with_squares(there, found)
            if found is not None:
                values = dict(zip(self.moments, found, strict=True))
                left = sum(
                    (c * x for c, x in zip(there.claim, found, strict=True)),
                    Fraction(0),
                )
                return Witness(point, values, left, self._symbols())
        return None

    def _symbols(self) -> frozenset[sp.Symbol]:
        found: set[sp.Symbol] = set()
        for slack in (self.claim, *self.premises):
            for coefficient in slack.values():
                found |= sp.sympify(coefficient).free_symbols
        return frozenset(found)

    def proved(self) -> bool:
        """Is it proved to follow?"""
        return any(self._is_proof(multipliers) for multipliers in self.multipliers())

    def multipliers(self, loose: bool = False) -> Iterator[tuple[Expr, ...]]:
        """Candidates for the multipliers of the premises, as formulas.

        ``loose``: coefficients of the claim may be too small; as little as possible.
        """
        seen: set[tuple[Expr, ...]] = set()
        for point in self.region.points[-_GENERIC:]:
            there = self._nearly_at(point)
            if there is None:
                continue
            for numbers in self._solutions(there, loose):
                candidate = self._symbolic(there, numbers)
                if candidate is not None and candidate not in seen:
                    seen.add(candidate)
                    yield candidate

    def rest(self, multipliers: Sequence[Expr]) -> dict[Moment, Expr]:
        """The claim's slack less the sum of the premises'."""
        total = {}
        for moment in self.moments:
            used = [
                weight * premise.get(moment, sp.S.Zero)
                for weight, premise in zip(multipliers, self.premises, strict=True)
            ]
            total[moment] = sp.cancel(
                sp.sympify(self.claim.get(moment, sp.S.Zero)) - sp.Add(*used)
            )
        return total

    def _is_proof(self, multipliers: Sequence[Expr]) -> bool:
        if not all(map(self.region.holds, multipliers)):
            return False
        used = [
            c
            for weight, premise in zip(multipliers, self.premises, strict=True)
            if weight != 0
            for c in premise.values()
        ]
        if not all(map(self.region.is_defined, (*multipliers, *used))):
            return False
        for moment, left in self.rest(multipliers).items():
            if left == 0:
                continue
            if moment.kind in SIGNED or not self.region.holds(left):
                return False
        return True

    def _exactly_at(self, point: Point) -> _AtPoint | None:
        """Everything at a point; None where a constant is irrational."""
        rows = self._rows(point, value_at)
        pinned = [
            place
            for place in range(len(self.moments))
            if any(row[place] is None for row in rows)
        ]
        if self.moments.index(ONE) in pinned:
            return None
        filled = [tuple(x or Fraction(0) for x in row) for row in rows]
        return _AtPoint(self.moments, filled[0], tuple(filled[1:]), tuple(pinned))

    def _nearly_at(self, point: Point) -> _AtPoint | None:
        """Everything at a point, irrational numbers rounded."""
        rows = self._rows(point, approximate_value)
        filled = [tuple(x for x in row if x is not None) for row in rows]
        if any(len(row) < len(self.moments) for row in filled):
            return None
        return _AtPoint(self.moments, filled[0], tuple(filled[1:]))

    def _rows(
        self, point: Point, value: Callable[[Expr, Point], Fraction | None]
    ) -> list[list[Fraction | None]]:
        return [
            [value(slack.get(m, sp.S.Zero), point) for m in self.moments]
            for slack in (self.claim, *self.premises)
        ]

    def _symbolic(
        self, there: _AtPoint, numbers: Sequence[Fraction]
    ) -> tuple[Expr, ...] | None:
        """Multipliers as formulas: those that are not 0 solve the rows in which nothing
        is left over at the point, first of the moments that the claim does not have.
        """
        used = [i for i, number in enumerate(numbers) if number != 0]
        if not used:
            return (sp.S.Zero,) * len(numbers)
        rows = [j for j in range(len(self.moments)) if _left(there, numbers, j) == 0]
        rows.sort(key=self._is_of_claim)
        chosen = _independent(
            [[there.premises[i][j] for i in used] for j in rows], len(used)
        )
        if chosen is None:
            return None
        kept = [self.moments[rows[position]] for position in chosen]
        matrix = sp.Matrix(
            [[self.premises[i].get(m, sp.S.Zero) for i in used] for m in kept]
        )
        target = sp.Matrix([sp.sympify(self.claim.get(m, sp.S.Zero)) for m in kept])
        try:
            solved = matrix.LUsolve(target)
        except (ValueError, ZeroDivisionError):  # singular as formulas
            return None
        found = [sp.S.Zero] * len(numbers)
        for i, formula in zip(used, solved, strict=True):
            found[i] = sp.factor(formula)
        return tuple(found)

    def _solutions(self, there: _AtPoint, loose: bool) -> Iterator[list[Fraction]]:
        places = range(len(self.moments))
        if not loose:
            absent = [j for j in places if self.moments[j] not in self.claim]
            yield from _tight_solutions(there, absent)
            return
        kept = [j for j in places if self._may_change(self.moments[j])]
        yield from _loose_solution(there, kept)

    def _may_change(self, moment: Moment) -> bool:
        """Is it a moment of the claim's right-hand side, or the constant?"""
        right = moment in self.claim and moment not in self.left
        return moment.kind not in SIGNED and (right or moment == ONE)

    def _is_of_claim(self, row: int) -> bool:
        return self.moments[row] in self.claim


def _left(there: _AtPoint, numbers: Sequence[Fraction], row: int) -> Fraction:
    used = sum(
        (n * premise[row] for n, premise in zip(numbers, there.premises, strict=True)),
        Fraction(0),
    )
    return there.claim[row] - used


def _independent(rows: Sequence[Sequence[Fraction]], count: int) -> list[int] | None:
    """The first ``count`` rows that are linearly independent."""
    chosen: list[int] = []
    for position in range(len(rows)):
        tried = [rows[i] for i in (*chosen, position)]
        exact = sp.Matrix(
            [[sp.Rational(x.numerator, x.denominator) for x in r] for r in tried]
        )
        if exact.rank() == len(tried):
            chosen.append(position)
        if len(chosen) == count:
            return chosen
    return None


def _programs(
    there: _AtPoint, extra: Sequence[int] = ()
) -> tuple[list[tuple[list[Fraction], Fraction]], ...]:
    """Rows of the linear program for the multipliers: what is left over is not
    negative, or 0 for moments with signs. ``extra``: moments for which a further
    variable may be added.
    """
    at_most, equal = [], []
    for place, moment in enumerate(there.moments):
        row = [premise[place] for premise in there.premises]
        row += [Fraction(-1 if place == own else 0) for own in extra]
        rows = equal if moment.kind in SIGNED else at_most
        rows.append((row, there.claim[place]))
    return at_most, equal


def _tight_solutions(
    there: _AtPoint, absent: Sequence[int]
) -> Iterator[list[Fraction]]:
    """Multipliers with the least sum, and with least left over in some moments."""
    count = len(there.premises)
    if not count:
        yield []
        return
    spare = [
        -sum((premise[place] for place in absent), Fraction(0))
        for premise in there.premises
    ]
    for costs in ([Fraction(1)] * count, spare):
        found = minimum(costs, *_programs(there))
        if found is not None:
            yield found[1]


def _loose_solution(there: _AtPoint, loose: Sequence[int]) -> Iterator[list[Fraction]]:
    """Multipliers with which the claim's coefficients of some moments are exceeded as
    little as possible, each in its own size.
    """
    count = len(there.premises)
    costs = [Fraction(0)] * count
    costs += [1 / (abs(there.claim[place]) or Fraction(1)) for place in loose]
    found = minimum(costs, *_programs(there, loose))
    if found is not None:
        yield found[1][:count]


def _with_squares(there: _AtPoint, values: list[Fraction]) -> list[Fraction] | None:
    """A counterexample in which each square is the square of its root; None where none
    was found.
    """
    pairs = _roots_and_squares(there.moments)
    if all(values[square] == values[of] ** 2 for of, square in pairs):
        return values
    for size in _SIZES:
        if {place for pair in pairs for place in pair} & set(there.pinned):
            return None
        fixed = {of: size for of, _ in pairs} | {sq: size**2 for _, sq in pairs}
        found = _counterexample(there, fixed)
        if found is not None:
            return found
    return None


def _roots_and_squares(moments: Sequence[Moment]) -> list[tuple[int, int]]:
    """The places of a root and of its square, where both occur."""
    places = {moment: place for place, moment in enumerate(moments)}
    return [
        (place, places[replace(moment, kind="sq")])
        for moment, place in places.items()
        if moment.kind == "root" and replace(moment, kind="sq") in places
    ]


def _counterexample(
    there: _AtPoint, fixed: Mapping[int, Fraction] = MappingProxyType({})
) -> list[Fraction] | None:
    """Values of the moments at which all premises hold and the claim does not.

    ``fixed``: values of some moments, by their places.
    """
    any_size = _within(there, fixed, _BOXES[-1])
    if any_size is None:
        return None
    for largest in _BOXES[:-1]:
        values = _within(there, fixed, largest)
        if values is not None:
            return values
    return any_size


def _within(
    there: _AtPoint, fixed: Mapping[int, Fraction], largest: int
) -> list[Fraction] | None:
    known = {place: Fraction(0) for place in there.pinned}
    known |= {there.moments.index(ONE): Fraction(1), **fixed}
    at_most = [
        ([-value for value in premise], Fraction(0)) for premise in there.premises
    ]
    count = len(there.moments)
    equal = [
        ([Fraction(int(j == place)) for j in range(count)], value)
        for place, value in known.items()
    ]
    bounds = [(-largest if m.kind in SIGNED else 0, largest) for m in there.moments]
    found = minimum(there.claim, at_most, equal, bounds)
    if found is None or found[0] >= 0:
        return None
    values = found[1]
    premises_hold = all(
        sum((c * x for c, x in zip(premise, values, strict=True)), Fraction(0)) >= 0
        for premise in there.premises
    )
    return values if premises_hold else None


__all__ = ["SIGNED", "Deduction", "Slack", "StepRegion", "Witness"]
