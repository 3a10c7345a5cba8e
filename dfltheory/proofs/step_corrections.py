"""What premises give instead of a wrong coefficient, term by term."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.units import Expr
from dfltheory.proofs.deduction import Deduction, Witness
from dfltheory.proofs.linear_facts import ONE_MOMENT
from dfltheory.proofs.moment_rows import SIGNED_MOMENTS
from dfltheory.proofs.moments import Moment
from dfltheory.proofs.step_points import Point, value_at
from dfltheory.proofs.step_region import StepRegion

Key = tuple[tuple[str, int], ...]
"""Powers of quantities in a monomial."""
Powers = dict[Expr, Expr]
"""Exponents by factor."""
_NEAR = 3
"""Largest difference of the powers of two terms that are taken as the same."""


@dataclass(frozen=True)
class StepCorrection:
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


@dataclass(frozen=True)
class Where:
    """The region of a statement and the point of a witness.

    ``sums``: those among the factors of the bound.
    """

    region: StepRegion
    point: Point
    sums: tuple[Expr, ...]


def corrections(
    deduction: Deduction, witness: Witness, text: Callable[[Moment], str], bound: Expr
) -> tuple[StepCorrection, ...]:
    """Return the terms of a claim that are smaller than what its premises give.

    Parameters
    ----------
    deduction : a claim with its premises, which does not follow
    witness : where it does not
    text : the name of a moment
    bound : whose factors are preferred

    Returns
    -------
    tuple of Correction
        Empty if the premises give no bound of this form.
    """
    fewest: tuple[StepCorrection, ...] = ()
    where = Where(deduction.region, witness.point, _sums(bound))
    for multipliers in deduction.multipliers(witness.point):
        if not all(map(deduction.region.holds, multipliers)):
            continue
        remainders = deduction.rest(multipliers)
        if not _is_of_this_form(deduction, remainders):
            continue
        needed: list[StepCorrection] = []
        for moment, remainder in remainders.items():
            if _is_negative(remainder, witness.point):
                claimed = sp.sympify(deduction.claim.get(moment, sp.S.Zero))
                needed += _of_moment(claimed, remainder, text(moment), where)
        if needed and (not fewest or len(needed) < len(fewest)):
            fewest = tuple(needed)
    return fewest


def _is_of_this_form(deduction: Deduction, rest: Mapping[Moment, Expr]) -> bool:
    """Return whether only the claim's right-hand side lacks something."""
    for moment, coefficient in rest.items():
        is_of_right_side = moment in deduction.claim and moment not in deduction.left
        if coefficient == 0 or is_of_right_side or moment == ONE_MOMENT:
            continue
        if moment.kind in SIGNED_MOMENTS or not deduction.region.holds(coefficient):
            return False
    return True


def _is_negative(expr: Expr, point: Point) -> bool:
    value = value_at(expr, point)
    return value is not None and value < 0


def _of_moment(
    claimed: Expr, remainder: Expr, moment: str, where: Where
) -> list[StepCorrection]:
    """Return the corrections of a coefficient: one factor of it, or some of its terms.

    ``remainder``: what the premises leave of the claimed coefficient.
    """
    derived = sp.factor(claimed - remainder)
    whole = _by_one_factor(moment, claimed, derived, where)
    if whole is not None:
        return [whole]
    claimed_terms, derived_terms = _by_monomial(claimed), _by_monomial(derived)
    if claimed_terms is None or derived_terms is None:
        return [_correction(moment, claimed, derived)]
    spare = {
        key: part for key, part in claimed_terms.items() if key not in derived_terms
    }
    corrections = []
    for key, part in derived_terms.items():
        before = claimed_terms.get(key, sp.S.Zero)
        if not _is_negative(before - part, where.point):
            continue
        if before == 0 and spare:
            nearest = min(spare, key=lambda other: (_distance(other, key), str(other)))
            if _distance(nearest, key) <= _NEAR:
                before = spare.pop(nearest)
        corrections.append(
            _by_one_factor(moment, before, part, where)
            or _correction(moment, before, part)
        )
    return corrections or [_correction(moment, claimed, derived)]


def _by_one_factor(
    moment: str, claimed: Expr, derived: Expr, where: Where
) -> StepCorrection | None:
    """Return the claimed term with another power of one factor, if that is enough."""
    if claimed == 0:
        return None
    number, before = _factor_product(claimed)
    _, after = _factor_product(derived)
    for base, exponent in _edits(before, after, where.sums):
        powers = {**before, base: exponent}
        changed = number * sp.Mul(*(b**e for b, e in powers.items()))
        if where.region.holds(sp.factor(changed - derived)):
            return _correction(moment, claimed, changed)
    return None


def _edits(
    before: Powers, after: Powers, sums: Sequence[Expr]
) -> Iterator[tuple[Expr, Expr]]:
    """Yield factors with the powers that are tried for them.

    First come symbols and sums of the bound with their powers in what is derived, then
    sums of the bound with the powers of other sums, then all factors that differ.
    """
    different: Powers = {}
    for base in sorted({*before, *after}, key=str):
        exponent = after.get(base, sp.S.Zero)
        if exponent != before.get(base, sp.S.Zero):
            different[base] = exponent
    for base, exponent in different.items():
        if base.is_Symbol or base in sums:
            yield base, exponent
    for base, exponent in different.items():
        if base.is_Add and base not in sums:
            for sum_of_terms in sums:
                yield sum_of_terms, before.get(sum_of_terms, sp.S.Zero) + exponent
    yield from different.items()


def _sums(bound: Expr) -> tuple[Expr, ...]:
    """Return the sums that divide a term of the bound."""
    sums: dict[Expr, None] = {}
    for term in sp.Add.make_args(bound):
        _, powers = _factor_product(term)
        sums |= {b: None for b, e in powers.items() if b.is_Add and e.is_negative}
    return tuple(sums)


def _by_monomial(expr: Expr) -> dict[Key, Expr] | None:
    """Return the terms of a sum by powers of the quantities that divide nothing."""
    over, under = sp.fraction(sp.together(expr))
    free: list[Any] = sorted(over.free_symbols - under.free_symbols, key=str)
    if not free or not over.is_polynomial(*free):
        return None
    terms = {}
    for exponents, coefficient in sp.Poly(over, *free).terms():
        powers = list(zip(free, exponents, strict=True))
        monomial = sp.Mul(*(x**n for x, n in powers))
        key = tuple((x.name, n) for x, n in powers if n)
        terms[key] = sp.factor(coefficient * monomial / under)
    return terms


def _distance(one: Key, other: Key) -> int:
    """Return the sum of the differences of the powers of two monomials."""
    powers, other_powers = dict(one), dict(other)
    names = {*powers, *other_powers}
    return sum(abs(powers.get(n, 0) - other_powers.get(n, 0)) for n in names)


def _correction(moment: str, claimed: Expr, derived: Expr) -> StepCorrection:
    factors = _factors(claimed, derived)
    return StepCorrection(
        moment, _in_positive_factors(claimed), _in_positive_factors(derived), factors
    )


def _in_positive_factors(expr: Expr) -> Expr:
    """Return an expression in factors that are positive for small symbols."""
    number, powers = _factor_product(expr)
    return number * sp.Mul(*(base**exponent for base, exponent in powers.items()))


def _factors(claimed: Expr, derived: Expr) -> tuple[str, ...]:
    """Return the factors that differ, each with both of its powers."""
    if claimed == 0:
        return ()
    claimed_number, claimed_powers = _factor_product(claimed)
    derived_number, derived_powers = _factor_product(derived)
    differences = []
    if claimed_number != derived_number:
        differences.append(f"{claimed_number} should be {derived_number}")
    for base in sorted({*claimed_powers, *derived_powers}, key=str):
        claimed_power = claimed_powers.get(base, sp.S.Zero)
        derived_power = derived_powers.get(base, sp.S.Zero)
        should_be = _power(base, derived_power)
        if claimed_power == derived_power:
            continue
        if claimed_power == 0:
            differences.append(f"the factor {should_be} is missing")
        else:
            differences.append(f"{_power(base, claimed_power)} should be {should_be}")
    return tuple(differences) if len(differences) <= _NEAR else ()


def _factor_product(expr: Expr) -> tuple[Expr, dict[Expr, Expr]]:
    """Return the number and the powers of a product.

    Each sum is turned so that its constant is positive.
    """
    number: Expr = sp.S.One
    powers: dict[Expr, Expr] = {}
    product: Expr = sp.factor(expr)
    for factor in sp.Mul.make_args(product):
        base, exponent = factor.as_base_exp()
        if factor.is_number:
            number *= factor
            continue
        constant = base.subs(dict.fromkeys(base.free_symbols, 0))
        if base.is_Add and constant.is_negative and exponent.is_Integer:
            base = -base
            number *= (-1) ** exponent
        powers[base] = powers.get(base, sp.S.Zero) + exponent
    return number, powers


def _power(base: Expr, exponent: Expr) -> str:
    text = write_formula(base)
    name = text if base.is_Symbol else f"({text})"
    power = write_formula(exponent)
    plain = exponent.is_Integer or exponent.is_Symbol
    return f"{name}^{power if plain else f'({power})'}"


__all__ = ["StepCorrection", "corrections"]
