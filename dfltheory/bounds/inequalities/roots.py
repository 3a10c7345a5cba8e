"""Square roots of conditions between products: a <= b gives sqrt(a) <= sqrt(b)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.units import Expr

_DIGITS = 10**4
"""Square roots of numbers are rounded to fractions over this number."""


def root_conditions(
    conditions: Iterable[Condition], is_nonnegative: Callable[[Expr], bool]
) -> list[Condition]:
    """Return the square roots of conditions whose sides are products.

    Parameters
    ----------
    conditions : inequalities; those with a factor of unknown sign have no root here
    is_nonnegative : proves that a factor is not negative where the conditions hold

    Returns
    -------
    list
        ``sqrt(left) <= sqrt(right)``, with square roots of numbers rounded down on the
        left and up on the right, so that each follows from its condition.
    """
    roots: list[Condition] = []
    for condition in conditions:
        left = _root(condition.left, math.floor, is_nonnegative)
        right = _root(condition.right, math.ceil, is_nonnegative)
        if left is not None and right is not None:
            roots.append(Condition(f"root of {condition.name}", left, right))
    return roots


def _root(
    side: Expr,
    rounded: Callable[[Expr], int],
    is_nonnegative: Callable[[Expr], bool],
) -> Expr | None:
    """Return the square root of a product of nonnegative factors, or a bound of it."""
    number, product = sp.factor(side).as_coeff_Mul()
    if not number.is_Rational or number < 0:
        return None
    share = sp.Rational(rounded(sp.sqrt(number * _DIGITS**2)), _DIGITS)
    root: Expr = share
    for base, exponent in product.as_powers_dict().items():
        size = -base if exponent.is_even and is_nonnegative(-base) else base
        if not exponent.is_Rational or not is_nonnegative(size):
            return None
        root *= size ** (exponent / 2)
    return root


def with_roots(
    conditions: Iterable[Condition], glossary: Mapping[str, Quantity]
) -> Region:
    """Return where conditions hold, with the square roots of those between products."""
    stated = tuple(conditions)
    region = Region(stated, glossary=glossary)
    return Region((*stated, *root_conditions(stated, region.holds)), glossary=glossary)


__all__ = ["root_conditions", "with_roots"]
