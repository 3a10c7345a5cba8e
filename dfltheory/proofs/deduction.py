"""Decide whether an inequality between moments follows from others.

Moments are taken as numbers: squares, roots and constants are not negative, inner
products and values of f may have any sign. An inequality follows if it is a sum of the
premises with multipliers that are not negative, and of moments that are not negative.

Multipliers are found at a rational point of the region by a linear program, computed as
formulas from its active rows, and their signs are proved wherever the conditions hold
(:class:`~dfltheory.proofs.step_region.StepRegion`). If at some rational point the
program has no solution, there are values of the moments at which all premises hold and
the inequality does not: a witness in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp
from sympy.polys.matrices import DomainMatrix
from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

from dfltheory.bounds.units import Expr
from dfltheory.proofs.linear_facts import ONE_MOMENT
from dfltheory.proofs.linear_programs import scalar_product
from dfltheory.proofs.moment_rows import (
    SIGNED_MOMENTS,
    MomentRows,
    counterexample,
    left_over,
    loose_solution,
    tight_solutions,
)
from dfltheory.proofs.moments import Moment
from dfltheory.proofs.step_points import Point, approximate_value, value_at
from dfltheory.proofs.step_region import StepRegion

Slack = Mapping[Moment, Expr]
"""A linear form that is not negative where an inequality holds."""
MomentNumbers = dict[Moment, Fraction]

_GENERIC = 4
"""Points at which multipliers are computed."""
_MOST_USED = 8
"""Most premises of one step that are multiplied by formulas."""


@dataclass(frozen=True)
class Witness:
    """Values at which all premises hold and the inequality does not.

    Attributes
    ----------
    point : values of the symbols
    values : values of the moments
    left_over : right - left of the inequality, which is negative
    symbols : the symbols of the inequality and its premises
    """

    point: Point
    values: MomentNumbers
    left_over: Fraction
    symbols: frozenset[sp.Symbol]


class Deduction:
    """An inequality (the claim), and the inequalities from which it should follow.

    Parameters
    ----------
    claim : right-hand minus left-hand side of the claim
    premises : the same of each premise
    region : where the claim should hold
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
        moments = dict.fromkeys(claim)
        for premise in self.premises:
            moments |= dict.fromkeys(premise)
        moments[ONE_MOMENT] = None
        self.moments = tuple(moments)

    def witness(self) -> Witness | None:
        """Return values at which the claim does not follow; None if none were found."""
        for point in self.region.points:
            at_point = self._exactly_at(point)
            if at_point is None:
                continue
            moment_values = counterexample(at_point)
            if moment_values is None:
                continue
            values = dict(zip(self.moments, moment_values, strict=True))
            negative = scalar_product(at_point.claim, moment_values)
            return Witness(point, values, negative, self._symbols())
        return None

    def _symbols(self) -> frozenset[sp.Symbol]:
        symbols: set[sp.Symbol] = set()
        for slack in (self.claim, *self.premises):
            for coefficient in slack.values():
                symbols |= sp.sympify(coefficient).free_symbols
        return frozenset(symbols)

    def proved(self) -> bool:
        """Return whether the claim is proved to follow."""
        return any(self._is_proof(multipliers) for multipliers in self.multipliers())

    def multipliers(self, failing: Point | None = None) -> Iterator[tuple[Expr, ...]]:
        """Yield candidates for the multipliers of the premises, as formulas.

        Parameters
        ----------
        failing : a point at which the claim does not follow. The multipliers then give
            coefficients that exceed the claim's by as little as possible. None: no
            coefficient may exceed the claim's.
        """
        points = self.region.points[-_GENERIC:] if failing is None else [failing]
        seen: set[tuple[Expr, ...]] = set()
        for point in points:
            at_point = self._rounded_rows_at(point)
            if at_point is None:
                continue
            for numbers in self._solutions(at_point, failing is not None):
                candidate = self._symbolic(at_point, numbers)
                if candidate is not None and candidate not in seen:
                    seen.add(candidate)
                    yield candidate

    def rest(self, multipliers: Sequence[Expr]) -> dict[Moment, Expr]:
        """Return the claim's slack less the sum of the premises' slacks."""
        rest = {}
        for moment in self.moments:
            claimed = sp.sympify(self.claim.get(moment, sp.S.Zero))
            used = []
            for weight, premise in zip(multipliers, self.premises, strict=True):
                used.append(weight * premise.get(moment, sp.S.Zero))
            rest[moment] = sp.cancel(claimed - sp.Add(*used))
        return rest

    def _is_proof(self, multipliers: Sequence[Expr]) -> bool:
        """Return whether the premises with these multipliers prove the claim."""
        if not all(map(self.region.holds, multipliers)):
            return False
        formulas = list(multipliers)
        for weight, premise in zip(multipliers, self.premises, strict=True):
            if weight != 0:
                formulas += premise.values()
        if not all(map(self.region.is_defined, formulas)):
            return False
        for moment, coefficient in self.rest(multipliers).items():
            if coefficient == 0:
                continue
            if moment.kind in SIGNED_MOMENTS or not self.region.holds(coefficient):
                return False
        return True

    def _exactly_at(self, point: Point) -> MomentRows | None:
        """Return the claim and the premises at a point, in exact numbers.

        A moment with an irrational coefficient is pinned. None if a constant is
        irrational.
        """
        rows = self._rows(point, value_at)
        columns = zip(*rows, strict=True)
        pinned = [place for place, column in enumerate(columns) if None in column]
        if self.moments.index(ONE_MOMENT) in pinned:
            return None
        claim, *premises = map(_with_zeros, rows)
        return MomentRows(self.moments, claim, tuple(premises), tuple(pinned))

    def _rounded_rows_at(self, point: Point) -> MomentRows | None:
        """Return the claim and the premises at a point, irrational numbers rounded.

        None if a coefficient is not a real number.
        """
        rows = self._rows(point, approximate_value)
        real_rows = []
        for row in rows:
            numbers = tuple(x for x in row if x is not None)
            if len(numbers) < len(row):
                return None
            real_rows.append(numbers)
        claim, *premises = real_rows
        return MomentRows(self.moments, claim, tuple(premises))

    def _rows(
        self, point: Point, value: Callable[[Expr, Point], Fraction | None]
    ) -> list[list[Fraction | None]]:
        """Return the coefficients of the claim, then those of each premise."""
        rows = []
        for slack in (self.claim, *self.premises):
            coefficients = [slack.get(moment, sp.S.Zero) for moment in self.moments]
            rows.append([value(coefficient, point) for coefficient in coefficients])
        return rows

    def _symbolic(
        self, at_point: MomentRows, numbers: Sequence[Fraction]
    ) -> tuple[Expr, ...] | None:
        """Return multipliers as formulas, from their values at a point.

        Those that are not 0 solve linear equations: in as many moments, the sum of the
        premises equals the claim. These are moments of which nothing is left over at
        the point, first those that the claim does not have.
        """
        used = [i for i, number in enumerate(numbers) if number != 0]
        if not used:
            return (sp.S.Zero,) * len(numbers)
        if len(used) > _MOST_USED:
            return None
        places = range(len(self.moments))
        tight = [j for j in places if left_over(at_point, numbers, j) == 0]
        tight.sort(key=self._is_of_claim)
        used_premises = [at_point.premises[i] for i in used]
        columns = list(zip(*used_premises, strict=True))
        chosen = _independent_rows([columns[j] for j in tight], len(used))
        if chosen is None:
            return None
        moments = [self.moments[tight[position]] for position in chosen]
        solved = self._solve_for_multipliers(used, moments)
        if solved is None:
            return None
        multipliers: list[Expr] = [sp.S.Zero] * len(numbers)
        for i, formula in zip(used, solved, strict=True):
            multipliers[i] = sp.factor(formula)
        return tuple(multipliers)

    def _solve_for_multipliers(
        self, used: Sequence[int], moments: Sequence[Moment]
    ) -> list[Expr] | None:
        """Return multipliers of the used premises that give the claim in some moments.

        None if they are not unique.
        """
        coefficients, claimed = [], []
        for moment in moments:
            row = [self.premises[i].get(moment, sp.S.Zero) for i in used]
            coefficients.append(row)
            claimed.append(sp.sympify(self.claim.get(moment, sp.S.Zero)))
        return _solve_linear_system(sp.Matrix(coefficients), sp.Matrix(claimed))

    def _solutions(self, at_point: MomentRows, loose: bool) -> Iterator[list[Fraction]]:
        """Yield multipliers in numbers; ``loose``: the claim may be exceeded."""
        places = range(len(self.moments))
        if not loose:
            absent = [j for j in places if self.moments[j] not in self.claim]
            yield from tight_solutions(at_point, absent)
            return
        changeable = [j for j in places if self._may_change(self.moments[j])]
        solution = loose_solution(at_point, changeable)
        if solution is not None:
            yield solution

    def _may_change(self, moment: Moment) -> bool:
        """Return whether a moment is on the claim's right-hand side, or constant."""
        right = moment in self.claim and moment not in self.left
        return moment.kind not in SIGNED_MOMENTS and (right or moment == ONE_MOMENT)

    def _is_of_claim(self, row: int) -> bool:
        return self.moments[row] in self.claim


def _with_zeros(row: Iterable[Fraction | None]) -> tuple[Fraction, ...]:
    """Return a row with 0 for numbers that are not known."""
    return tuple(x or Fraction(0) for x in row)


def _solve_linear_system(matrix: sp.Matrix, target: sp.Matrix) -> list[Expr] | None:
    """Return the solution of a square linear system, as quotients of polynomials."""
    augmented = DomainMatrix.from_Matrix(matrix.row_join(target)).to_field()
    count = matrix.shape[0]
    try:
        solution = augmented[:, :count].lu_solve(augmented[:, count:])
    except DMNonInvertibleMatrixError:
        return None
    return [sp.sympify(value) for value in solution.to_Matrix()]


def _independent_rows(
    rows: Sequence[Sequence[Fraction]], count: int
) -> list[int] | None:
    """Return the first ``count`` rows that are linearly independent."""
    chosen: list[int] = []
    chosen_rows: list[list[sp.Rational]] = []
    for position, row in enumerate(rows):
        exact = [sp.Rational(x.numerator, x.denominator) for x in row]
        tried = [*chosen_rows, exact]
        if sp.Matrix(tried).rank() == len(tried):
            chosen.append(position)
            chosen_rows = tried
        if len(chosen) == count:
            return chosen
    return None


__all__ = ["Deduction", "Slack", "Witness"]
