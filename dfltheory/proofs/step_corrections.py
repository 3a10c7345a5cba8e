"""What premises give in the place of a wrong coefficient, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.units import Expr
from dfltheory.proofs.deduction import SIGNED, Deduction, Witness
from dfltheory.proofs.linear_facts import ONE
from dfltheory.proofs.moments import Moment
from dfltheory.proofs.step_points import Point, value_at

Key = tuple[tuple[str, int], ...]
"""Powers of quantities in a monomial."""
_NEAR = 3
"""Largest difference of the powers of two terms that are taken as the same."""


@dataclass(frozen=True)
class Correction:
    """A term of a claim that is too small.

    Attributes
    ----------
    moment : the name of the moment that it multiplies; ``1`` for constants
    claimed, derived : the term, and what the premises give
    factors : what differs, as ``(1 - lam)^(-1) should be (1 - lam)^(-2)``
    """

    moment: str
    claimed: Expr
    derived: Expr
    factors: tuple[str, ...]

    def __str__(self) -> str:
        of = "" if self.moment == "1" else f" of {self.moment}"
        if self.claimed == 0:
            return f"add the term {write_formula(self.derived)}{of}"
        text = (
            f"the term {write_formula(self.claimed)}{of} should be"
            f" {write_formula(self.derived)}"
        )
        return f"{text}: {' and '.join(self.factors)}" if self.factors else text


def corrections(
    deduction: Deduction, witness: Witness, names: Mapping[Moment, str]
) -> tuple[Correction, ...]:
    """The terms of a claim that are smaller than what its premises give.

    Parameters
    ----------
    deduction : a claim with its premises, which does not follow
    witness : where it does not
    names : of the moments

    Returns
    -------
    tuple of Correction
        Empty where the premises give no bound of this form.
    """
    best: tuple[Correction, ...] = ()
    for multipliers in deduction.multipliers(loose=True):
        if not all(map(deduction.region.holds, multipliers)):
            continue
        rest = deduction.rest(multipliers)
        if not _is_of_this_form(deduction, rest):
            continue
        found = [
            correction
            for moment, left in rest.items()
            if _is_negative(left, witness.point)
            for correction in _terms(
                sp.sympify(deduction.claim.get(moment, sp.S.Zero)),
                left,
                names.get(moment, str(moment)),
                witness.point,
            )
        ]
        if found and (not best or len(found) < len(best)):
            best = tuple(found)
    return best


def _is_of_this_form(deduction: Deduction, rest: Mapping[Moment, Expr]) -> bool:
    """Is only in the claim's own moments something missing?"""
    for moment, left in rest.items():
        if left == 0 or moment in deduction.claim or moment == ONE:
            continue
        if moment.kind in SIGNED or not deduction.region.holds(left):
            return False
    return True


def _is_negative(left: Expr, point: Point) -> bool:
    value = value_at(left, point)
    return value is not None and value < 0


def _terms(claimed: Expr, left: Expr, moment: str, point: Point) -> list[Correction]:
    """The coefficient of one moment: as a whole, or by its terms where the others
    agree.
    """
    derived = sp.factor(claimed - left)
    own, wanted = _by_monomial(claimed), _by_monomial(derived)
    if own is None or wanted is None:
        return [_correction(moment, sp.factor(claimed), derived)]
    short = {
        key: part
        for key, part in wanted.items()
        if _is_negative(own.get(key, sp.S.Zero) - part, point)
    }
    spare = {key: part for key, part in own.items() if key not in wanted}
    found = []
    for key, part in short.items():
        before = own.get(key, sp.S.Zero)
        if before == 0 and spare:
            nearest = min(spare, key=lambda other: (_distance(other, key), str(other)))
            if _distance(nearest, key) <= _NEAR:
                before = spare.pop(nearest)
        found.append(_correction(moment, sp.factor(before), sp.factor(part)))
    return found or [_correction(moment, sp.factor(claimed), derived)]


def _by_monomial(expr: Expr) -> dict[Key, Expr] | None:
    """The terms of a sum by their powers of the quantities that divide nothing."""
    over, under = sp.fraction(sp.together(expr))
    free = sorted(over.free_symbols - under.free_symbols, key=str)
    if not free or not over.is_polynomial(*free):
        return None
    found = {}
    for powers, coefficient in sp.Poly(over, *free).terms():
        monomial = sp.Mul(*(x**n for x, n in zip(free, powers, strict=True)))
        key = tuple((x.name, n) for x, n in zip(free, powers, strict=True) if n)
        found[key] = sp.factor(coefficient * monomial / under)
    return found


def _distance(one: Key, other: Key) -> int:
    powers, others = dict(one), dict(other)
    return sum(
        abs(powers.get(name, 0) - others.get(name, 0)) for name in {*powers, *others}
    )


def _correction(moment: str, claimed: Expr, derived: Expr) -> Correction:
    return Correction(moment, claimed, derived, _factors(claimed, derived))


def _factors(claimed: Expr, derived: Expr) -> tuple[str, ...]:
    """The factors that differ, each with both of its powers."""
    if claimed == 0:
        return ()
    before, after = _powers(claimed), _powers(derived)
    found = []
    numbers = [before.pop(None), after.pop(None)]
    if numbers[0] != numbers[1]:
        found.append(f"{numbers[0]} should be {numbers[1]}")
    for base in sorted({*before, *after}, key=str):
        own, wanted = (powers.get(base, sp.S.Zero) for powers in (before, after))
        if own == wanted:
            continue
        texts = [_power(base, exponent) for exponent in (own, wanted)]
        found.append(f"{texts[0]} should be {texts[1]}")
    return tuple(found) if len(found) <= 3 else ()


def _powers(expr: Expr) -> dict[Expr | None, Expr]:
    """The exponents of the factors, each sum turned so that its constant is positive;
    under None the number.
    """
    number: Expr = sp.S.One
    powers: dict[Expr | None, Expr] = {}
    for factor in sp.Mul.make_args(sp.factor(expr)):
        base, exponent = factor.as_base_exp()
        if factor.is_number:
            number *= factor
            continue
        if base.is_Add and base.subs(dict.fromkeys(base.free_symbols, 0)).is_negative:
            base = -base
            number *= (-1) ** exponent
        powers[base] = powers.get(base, sp.S.Zero) + exponent
    powers[None] = number
    return powers


def _power(base: Expr, exponent: Expr) -> str:
    text = write_formula(base)
    return f"{text if base.is_Symbol else f'({text})'}^{_exponent(exponent)}"


def _exponent(exponent: Expr) -> str:
    text = write_formula(exponent)
    return text if exponent.is_Integer or exponent.is_Symbol else f"({text})"


__all__ = ["Correction", "corrections"]
