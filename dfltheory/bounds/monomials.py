"""Formulas as sums of monomials: products of powers of quantities and gaps.

A gap is 1 minus a quantity between 0 and 1, for example 1 - lam. Factors that lie
between two positive constants are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import sympy as sp

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr

Shares = frozenset[str]
FRACTION_QUANTITIES: Shares = frozenset(
    name for name, entry in GLOSSARY.items() if entry.is_share
)
"""Quantities between 0 and 1."""

LARGE = ("T", "K", "m", "Q", "K_u", "K_v")
"""Quantities that are at least 1 and may be arbitrarily large."""


@dataclass(frozen=True)
class Monomial:
    """``coefficient * product of atom**exponent``.

    Atoms are symbols or gaps such as ``1 - lam``.
    """

    coefficient: Expr
    exponents: tuple[tuple[str, Fraction], ...]

    @property
    def added(self) -> bool:
        """Whether the coefficient is known to be positive."""
        return self.coefficient.is_positive is True

    def __getitem__(self, atom: str) -> Fraction:
        return dict(self.exponents).get(atom, Fraction(0))

    def without(self, atoms: Iterable[str]) -> Monomial:
        """Return the monomial without the factors of some atoms."""
        hidden = set(atoms)
        return Monomial(
            self.coefficient,
            tuple((a, e) for a, e in self.exponents if a not in hidden),
        )

    def __str__(self) -> str:
        above = [_power_text(n, e) for n, e in self.exponents if e > 0]
        below = [_power_text(n, -e) for n, e in self.exponents if e < 0]
        numerator = " ".join(above) or "1"
        return numerator if not below else f"{numerator} / ({' '.join(below)})"


def _power_text(name: str, exponent: Fraction) -> str:
    base = name if name.isidentifier() else f"({name})"
    if exponent == 1:
        return base
    if exponent.denominator == 1:
        return f"{base}^{exponent}"
    return f"{base}^({exponent})"


def _fraction(number: Expr) -> Fraction:
    rational = sp.Rational(number)
    return Fraction(int(rational.p), int(rational.q))


_SIZES = (2, 10, 10**3, 10**5, 10**6)
"""Values of a large quantity at which orders are measured; the last two as 1 : 10."""


@cache
def own_order(base: Expr) -> dict[str, Fraction] | None:
    """Return the order K^e of a function of one large quantity, as {name: e}.

    It is measured at five values. The result is None if the function has no such order,
    or depends on other quantities.
    """
    names = {s.name for s in base.free_symbols}
    if len(names) != 1 or not names <= set(LARGE):
        return None
    name = names.pop()
    function = sp.lambdify(GLOSSARY[name].symbol, base, modules="numpy")
    with np.errstate(all="ignore"):
        values = [abs(float(function(np.float64(n)))) for n in _SIZES]
    if not all(0 < v < np.inf for v in values):
        return None
    power = Fraction(round(2 * np.log10(values[-1] / values[-2])), 2)
    ratios = [v / n ** float(power) for v, n in zip(values, _SIZES, strict=True)]
    return {name: power} if max(ratios) < 30 * min(ratios) else None


def _atom(base: Expr, shares: Shares) -> dict[str, Fraction]:
    """Return a factor as powers of atoms of the same order.

    2K - 1 is of order K, 1 + q of order 1; a sum without a simpler order is one atom.
    """
    if isinstance(base, sp.Symbol):
        return {base.name: Fraction(1)}
    order = own_order(base)
    if order is not None:
        return {n: e for n, e in order.items() if e}
    if (
        base.is_Add
        and all(symbol.name in shares for symbol in base.free_symbols)
        and all(not term.could_extract_minus_sign() for term in base.args)
    ):
        return {}
    factored = sp.factor(base) if base.is_Add else base
    if factored.is_Mul or factored.is_Pow:
        return _atoms(factored, shares)[0]
    constant = base.as_coeff_Add()[0]
    negative = constant.is_negative if constant else base.could_extract_minus_sign()
    return {str(-base if negative else base): Fraction(1)}


def _powers(product: Expr, outer: Expr = sp.S.One) -> Iterator[tuple[Expr, Expr]]:
    """Yield (base, exponent) of every factor.

    Powers of products, powers of powers, and powers with a sum as the exponent are
    split, which is exact since all factors are nonnegative.
    """
    for factor in sp.Mul.make_args(product):
        base, power = factor.as_base_exp()
        if base.is_Mul or base.is_Pow:
            yield from _powers(base, power * outer)
        else:
            # m^(2 - 2 Q): m^2 and m^(-2 Q)
            for part in sp.Add.make_args(sp.expand(power * outer)):
                yield base, part


def _atoms(product: Expr, shares: Shares) -> tuple[dict[str, Fraction], Expr]:
    """Return the exponents of the atoms of a product, and its number."""
    exponents: dict[str, Fraction] = {}
    number: Expr = sp.S.One
    for base, power in _powers(product):
        if base.is_number and power.is_number:
            number *= base**power
            continue
        if not power.is_Rational:  # lam^(2Q): atom lam^Q, exponent 2
            times, power = power.as_coeff_Mul()
            atoms = {str(base**power): _fraction(times)}
        else:
            atoms = {
                name: e * _fraction(power) for name, e in _atom(base, shares).items()
            }
        for name, e in atoms.items():
            exponents[name] = exponents.get(name, Fraction(0)) + e
    return {n: e for n, e in exponents.items() if e}, number


def gapped(expr: Expr, shares: Shares) -> Expr:
    """Return ``expr`` with each gap, such as 1 - lam, as one symbol.

    Roots of sums of nonnegative terms become sums of roots, which have the same order.
    """

    def is_sum_of_share(part: Expr) -> bool:
        names = [symbol.name for symbol in part.free_symbols]
        return part.is_Add and len(names) == 1 and names[0] in shares

    return expr.replace(is_sum_of_share, _gap_of).replace(_is_root_of_sum, _roots)


def _is_root_of_sum(part: Expr) -> bool:
    if not (isinstance(part, sp.Pow) and part.base.is_Add and part.exp.is_Rational):
        return False
    return bool(part.exp.is_positive) and not part.exp.is_Integer


def _roots(root: sp.Pow) -> Expr:
    """Return the sum of the roots of the terms under a root."""
    return sp.Add(*(term**root.exp for term in root.base.args))


def _gap_of(share_sum: Expr) -> Expr:
    """Return a polynomial in one share, factored, with its gap as one symbol.

    2 - 2 lam becomes 2 times the symbol named ``1 - lam``.
    """
    share = next(iter(share_sum.free_symbols))
    gap = sp.Symbol(f"1 - {share.name}", positive=True)
    return sp.factor(share_sum).xreplace({1 - share: gap, share - 1: -gap})


@cache
def without_cancellation(expr: Expr) -> Expr:
    """Return ``expr`` with sums and quotients over one denominator and in lowest terms.

    This is done from the inside out, for each sum that contains a difference, and for
    each quotient by a sum. (1 + lam^2)/(1 - lam^2) - 1 becomes 2 lam^2/(1 - lam^2). A
    long sum stays as it is: what is concluded from its terms needs another proof.
    """
    if expr.is_Atom or not expr.args:
        return expr
    args = [without_cancellation(argument) for argument in expr.args]
    rebuilt = expr.func(*args)
    has_sums = rebuilt.is_Add or (rebuilt.is_Mul and _divides_by_a_sum(rebuilt))
    if not has_sums or not _may_cancel(rebuilt) or sp.count_ops(rebuilt) > _LONG:
        return rebuilt
    return sp.factor(rebuilt)


_LONG = 150
"""Operations of the longest sum that is put over one denominator."""


def _divides_by_a_sum(expr: Expr) -> bool:
    return any(p.base.is_Add and p.exp.is_negative for p in expr.atoms(sp.Pow))


def _may_cancel(expr: Expr) -> bool:
    """Return whether terms of an expression may cancel.

    They may in a sum with a difference in it, and in a product with sums above and
    below.
    """
    if expr.is_Mul:
        over, under = expr.as_numer_denom()
        return over.has(sp.Add) and under.has(sp.Add)
    return any(term.could_extract_minus_sign() for term in expr.args)


@cache
def monomials(expr: Expr, shares: Shares = FRACTION_QUANTITIES) -> tuple[Monomial, ...]:
    """Return the monomials of a sum of products.

    Terms with the same exponents are summed, positive and negative ones separately:
    they have the same order, but their factors need not be equal, so that they need not
    cancel.
    """
    coefficients: dict[tuple[bool, tuple[tuple[str, Fraction], ...]], Expr] = {}
    for term in sp.Add.make_args(sp.expand(gapped(expr, shares))):
        exponents, number = _atoms(sp.powdenest(term, force=True), shares)
        key = (number.is_positive is True, tuple(sorted(exponents.items())))
        coefficients[key] = coefficients.get(key, sp.S.Zero) + number
    return tuple(
        Monomial(c, powers) for (_, powers), c in coefficients.items() if c != 0
    )


__all__ = [
    "LARGE",
    "Monomial",
    "FRACTION_QUANTITIES",
    "Shares",
    "gapped",
    "monomials",
    "own_order",
    "without_cancellation",
]
