"""Proofs of inequalities wherever some conditions hold, in exact arithmetic.

An expression becomes a quotient of polynomials (:mod:`.rewriting`), whose factors have
a sign by their Bernstein coefficients and by the conditions (:mod:`.polynomials`), or
by induction over a whole number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import sympy as sp
from sympy.polys.polyerrors import BasePolynomialError

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.by_form import Glossary, nonnegative, positive
from dfltheory.bounds.inequalities.exact_expressions import (
    MOST_DEGREE,
    degree,
    exact_condition,
    exact_expression,
)
from dfltheory.bounds.inequalities.polynomials import (
    Box,
    SignFact,
    Terms,
    VariableRange,
    is_nonnegative,
    is_positive,
)
from dfltheory.bounds.inequalities.rewriting import (
    NoProofError,
    Rewriting,
    is_whole,
    least_value,
)
from dfltheory.bounds.inequalities.samples import (
    SAMPLE_ROUNDING,
    box_points,
    is_nonnegative_at,
    region_points,
    relative_values,
)
from dfltheory.bounds.inequalities.tightening import tightened
from dfltheory.bounds.real_numbers import RuleError, reality
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr

_MOST_OPERATIONS = 2000
"""Operations of the longest expression that is tried."""
_FIRST = 20
"""Values of a whole number that are tried one by one, before all others together."""


class LimitError(Exception):
    """No proof was found within the :class:`Allowance`."""


@dataclass
class Allowance:
    """How many inequalities may still be examined, by all regions that share it.

    It counts work in place of seconds, so that an answer is the same on every machine.
    """

    left: int

    def use(self) -> None:
        """Count one inequality.

        Raises
        ------
        LimitError
            If none is left.
        """
        if self.left <= 0:
            raise LimitError
        self.left -= 1


class Region:
    """Where the conditions hold and each quantity is in its range.

    Parameters
    ----------
    conditions : in the glossary's symbols; one whose sides are not exact, real
        expressions, such as NaN, is not used
    intervals : those of symbols that are not quantities of the glossary, or have other
        ends
    inductions : how many inductions a proof may nest
    glossary : the ranges of quantities; ``Theorem.glossary`` has those that a theorem
        adds
    allowance : how many inequalities may be examined; None: any number
    """

    def __init__(
        self,
        conditions: Iterable[Condition] = (),
        intervals: Mapping[sp.Symbol, VariableRange] = MappingProxyType({}),
        inductions: int = 1,
        glossary: Glossary = GLOSSARY,
        allowance: Allowance | None = None,
    ):
        self.conditions = tuple(filter(None, map(exact_condition, conditions)))
        self.intervals = intervals
        self.inductions = inductions
        self.glossary = glossary
        self.allowance = allowance

    def holds(self, expr: Expr, strict: bool = False) -> bool:
        """Return whether ``expr >= 0`` (``> 0``) is proved in the region.

        Points at which it is not defined do not count. Expressions that are not exact
        and real are not proved.

        Raises
        ------
        LimitError
            If the allowance is used up.
        """
        if self.allowance is not None:
            self.allowance.use()
        exact = exact_expression(expr)
        if exact is None:
            return False
        if positive(exact, self.glossary) or (
            nonnegative(exact, self.glossary) and not strict
        ):
            return True
        if sp.count_ops(exact) > _MOST_OPERATIONS:
            return False
        return (
            self._by_factors(exact, strict)
            or (not strict and self._one_by_one(exact))
            or self._is_one_minus_power(exact)
            or self._by_parts(exact, strict)
        )

    def under(
        self, conditions: Iterable[Condition], inductions: int | None = None
    ) -> Region:
        """Return the region of the same quantities under other conditions.

        ``inductions`` is that of this region by default.
        """
        most = self.inductions if inductions is None else inductions
        return Region(conditions, self.intervals, most, self.glossary, self.allowance)

    def rational(self) -> Region:
        """Return the region of the conditions without roots and symbolic exponents."""
        return self.under(filter(_is_rational, self.conditions))

    def at(self, n: sp.Symbol, value: int) -> Region:
        """Return the part of the region in which a quantity has a value."""
        return self.under(
            Condition(c.name, c.left.subs(n, value), c.right.subs(n, value), c.strict)
            for c in self.conditions
        )

    def _by_factors(self, expr: Expr, strict: bool) -> bool:
        if degree(expr) > MOST_DEGREE:
            return False
        try:
            return _Quotient(expr, self).has_sign(strict)
        except (NoProofError, BasePolynomialError):
            return False

    def _by_parts(self, expr: Expr, strict: bool) -> bool:
        """Return whether an expression is nonnegative because its parts are.

        The parts are the factors of a product, the base of a power, or a sum without
        the terms that are proved nonnegative.
        """
        if expr.is_Mul:
            return all(self.holds(factor, strict) for factor in expr.args)
        if isinstance(expr, sp.Pow) and expr.exp.is_number:
            return self.holds(expr.base, strict)
        if not expr.is_Add:
            return False
        uncertain_terms = [
            t
            for t in expr.args
            if t.is_number or t.could_extract_minus_sign() or not self.holds(t)
        ]
        return len(uncertain_terms) < len(expr.args) and self.holds(
            sp.Add(*uncertain_terms), strict
        )

    def _is_one_minus_power(self, expr: Expr) -> bool:
        """Return whether it is 1 - b^n with 0 <= b < 1 and n > 0, which is positive."""
        power = 1 - expr
        return (
            isinstance(power, sp.Pow)
            and bool(power.exp.is_positive)
            and self.holds(power.base)
            and self.holds(1 - power.base, strict=True)
        )

    def _one_by_one(self, expr: Expr) -> bool:
        """Return whether an expression with (1 - 1/n)^n is proved nonnegative.

        At the first values of the whole number n it is examined one by one, and then
        for all larger ones together.
        """
        counts = {
            n
            for p in _powers(expr)
            for n in p.exp.free_symbols
            if sp.expand(n * (1 - p.base)) == 1
        }
        if len(counts) != 1:
            return False
        (n,) = counts
        if not is_whole(n, self.glossary):
            return False
        try:
            first = least_value(n, self.glossary)
        except NoProofError:
            return False
        later = Condition("later", sp.Integer(first + _FIRST), n)
        beyond = self.under((*self.conditions, later))
        return beyond._by_factors(expr, strict=False) and all(
            self.at(n, value).holds(expr.subs(n, value))
            for value in range(first, first + _FIRST)
        )


EVERYWHERE = Region()
"""No condition: each quantity is in its range."""


class _Quotient:
    """An expression as a quotient of polynomials, and the conditions as polynomials."""

    def __init__(self, expr: Expr, region: Region):
        self.region = region
        slacks = [c.slack for c in region.conditions]
        rational = region.rational().holds
        self.rewriting = Rewriting(
            [expr, *slacks], rational, region.intervals, region.glossary
        )
        rewritten = sp.together(self.rewriting.of(expr))
        self.numerator, self.denominator = sp.fraction(rewritten)
        known = [(fact, False) for fact in self.rewriting.facts]
        known += [(self.rewriting.of(c.slack), c.strict) for c in region.conditions]
        parts = (self.numerator, self.denominator, *(e for e, _ in known))
        free = {symbol for e in parts for symbol in e.free_symbols}
        self.symbols = sorted(free, key=str) or [sp.Dummy(nonnegative=True)]
        intervals = [self.rewriting.interval(symbol) for symbol in self.symbols]
        points = region_points(self.rewriting, self.symbols)
        # signs of denominators and factors of conditions, without other conditions
        self.box = Box(
            intervals, (), is_nonnegative_at(points), is_nonnegative_at(points)
        )
        terms_and_strictness = [(self._fact(expr), strict) for expr, strict in known]
        facts = [
            SignFact(terms, strict) for terms, strict in terms_and_strictness if terms
        ]
        intervals = [tightened(x, i, facts) for i, x in enumerate(intervals)]
        on_box = box_points(intervals)
        for fact in facts:
            points = points[relative_values(fact.terms, points) >= -SAMPLE_ROUNDING]
        self.box = Box(
            intervals, facts, is_nonnegative_at(points), is_nonnegative_at(on_box)
        )

    def has_sign(self, strict: bool) -> bool:
        """Return whether the quotient is proved to be positive, or nonnegative.

        It must be positive where ``strict``.
        """
        return (
            self._sign(self.denominator, strict) * self._sign(self.numerator, strict)
            > 0
        )

    def _sign(self, whole: Expr, strict: bool) -> int:
        """Return the proved sign of a polynomial: 1, -1 or 0.

        It is 1 if the polynomial is proved to have no negative value (``strict``: no
        value <= 0), -1 if this is proved for its negative, else 0.
        """
        poly = self._poly(whole)
        if poly.is_zero:
            return int(not strict)
        if self._is_proved(poly, strict):
            return 1
        number, factors = poly.factor_list()
        sign = 1 if number > 0 else -1
        for factor, power in factors:
            factor_sign = (
                1
                if self._is_proved(factor, strict)
                else -int(self._is_proved(-factor, strict))
            )
            if factor_sign == 0 and (strict or power % 2):
                return 0
            sign *= factor_sign if power % 2 else 1
        return sign

    def _is_proved(self, poly: sp.Poly, strict: bool) -> bool:
        prove = is_positive if strict else is_nonnegative
        terms = poly.as_dict(native=True)
        if not self.box.possible(terms):
            return False
        return prove(terms, self.box) or self._by_induction(poly, strict)

    def _by_induction(self, poly: sp.Poly, strict: bool) -> bool:
        """Prove a sign by induction over the whole number in an exponent.

        From its least value on, the polynomial does not decrease from n to n + 1. Only
        conditions that do not depend on n are used, as they hold for all n. No value of
        n is left out because the expression is not defined there.
        """
        expr = self.rewriting.back(poly.as_expr())
        counts = {n for p in _powers(expr) for n in p.exp.free_symbols}
        if not self.region.inductions or len(counts) != 1:
            return False
        (n,) = counts
        if not is_whole(n, self.region.glossary):
            return False
        growth = sp.expand(expr.subs(n, n + 1) - expr)
        conditions = (
            c for c in self.region.conditions if n not in c.slack.free_symbols
        )
        free = self.region.under(conditions, self.region.inductions - 1)
        least = sp.Integer(least_value(n, self.region.glossary))
        return (
            free.holds(expr.subs(n, least), strict)
            and free.holds(growth)
            and _is_defined(expr, n, free)
        )

    def _poly(self, expr: Expr) -> sp.Poly:
        if expr.has(sp.Float):
            raise NoProofError(f"{expr} has floating-point numbers")
        return sp.Poly(expr, *self.symbols, domain="QQ")

    def _fact(self, known: Expr) -> Terms | None:
        """Return a polynomial that is not negative where ``known`` is not.

        It is its numerator without the factors that are positive; None if the sign of
        its denominator is unknown.
        """
        over, under = sp.fraction(sp.together(known))
        sign = self._sign(under, strict=False)
        poly = self._poly(over)
        if not sign or poly.is_zero:
            return None
        number, factors = poly.factor_list()
        rest = self._poly(sp.Integer(sign if number > 0 else -sign))
        for factor, power in factors:
            if self._is_proved(-factor, strict=True):
                rest *= (-1) ** power
            elif not self._is_proved(factor, strict=True):
                rest *= factor**power
        return rest.as_dict(native=True)


def _is_defined(expr: Expr, n: sp.Symbol, region: Region) -> bool:
    """Return whether every power with ``n`` in it is proved to be a real number."""
    for power in expr.atoms(sp.Pow):
        if n not in power.free_symbols:
            continue
        try:
            requirements = reality(power)
        except RuleError:
            return False
        if not all(region.holds(sign, strict) for sign, strict in requirements):
            return False
    return True


def _is_rational(condition: Condition) -> bool:
    """Return whether a condition has no roots and no symbolic exponents."""
    return all(power.exp.is_Integer for power in condition.slack.atoms(sp.Pow))


def _powers(expr: Expr) -> list[sp.Pow]:
    """Return the powers with symbols in their exponents."""
    return [p for p in expr.atoms(sp.Pow) if p.exp.free_symbols]


__all__ = ["EVERYWHERE", "Allowance", "LimitError", "Region"]
