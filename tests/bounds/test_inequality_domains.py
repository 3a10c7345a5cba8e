"""The prover of inequalities takes no range, whole number or domain for granted.

Each false inequality has a point at which it is false, in exact arithmetic.
"""

from __future__ import annotations

import math

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.by_form import monotone, nonnegative, positive
from dfltheory.bounds.inequalities.region import EVERYWHERE, Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Condition

R = sp.Rational
K, L, lam, alpha, rho, sigma = s.K, s.L, s.lam, s.alpha, s.rho, s.sigma_l
OWN = {
    quantity.name: quantity
    for quantity in (
        Quantity("number", "x", s.ONE, "a number", low=-math.inf),
        Quantity("at_most_two", "y", s.ONE, "a number", low=-math.inf, high=2.0),
        Quantity("signed_count", "n", s.ONE, "whole", low=-math.inf, integer=True),
        Quantity("from_minus_two", "n", s.ONE, "whole", low=-2.0, integer=True),
        Quantity("from_one", "z", s.ONE, "real", low=1.0),
        Quantity("share_or_less", "u", s.ONE, "real", low=-1.0, high=1.0),
    )
}
number, at_most_two, signed_count, from_minus_two, from_one, share_or_less = (
    quantity.symbol for quantity in OWN.values()
)
REGION = Region(glossary=s.with_quantities(OWN.values()))
ROOT = sp.sqrt(lam - R(3, 4) / K)
"""A root whose domain depends on K: it is real for lam >= 3/(4 K)."""


# -- false inequalities


@pytest.mark.parametrize(
    ("expr", "point"),
    [
        # no lower end is not 0
        (number, {number: -1}),
        (number + L, {number: -2, L: 1}),
        (alpha * number + 1, {number: -4, alpha: R(1, 2)}),
        (1 / at_most_two, {at_most_two: -1}),
        (signed_count + 1, {signed_count: -2}),
        (1 - alpha**signed_count, {signed_count: -1, alpha: R(1, 2)}),
        (1 - alpha ** (from_minus_two + 1), {from_minus_two: -2, alpha: R(1, 2)}),
        # no induction over a number that is not whole
        (
            rho**2 - rho / 2 + lam**rho / 4 + 1000 * sigma,
            {rho: R(1, 4), lam: 0, sigma: 0},
        ),
        (
            (rho - R(1, 4)) ** 2 - R(1, 10**5) + lam**rho / 4,
            {rho: R(1, 4), lam: 0},
        ),
        # nor its values one by one
        (
            100 * (from_one - R(3, 2)) ** 2
            - R(1, 10**3)
            + (1 - 1 / from_one) ** from_one / 10**4,
            {from_one: R(3, 2)},
        ),
        # no induction past values at which the expression is not defined
        (
            lam - R(7, 10) + (K + (ROOT / (1 + ROOT)) ** K) / 100 + 1000 * sigma,
            {K: 2, lam: R(2, 5), sigma: 0},
        ),
    ],
)
def test_false_inequality_is_not_proved(expr, point):
    assert expr.subs(point) < 0
    assert not REGION.holds(expr)
    assert not REGION.holds(expr, strict=True)


@pytest.mark.parametrize(
    "expr",
    [
        2 - at_most_two**0 - alpha,
        1 - alpha ** (from_minus_two + 2),
        from_minus_two + 2,
        from_one - 1,
        1 + share_or_less,
        1 - share_or_less,
        K * (1 - alpha) - 1 + alpha**K,
        (1 - 1 / K) ** (K - 1) - R(36787, 10**5),
    ],
)
def test_true_inequality_in_these_ranges_is_proved(expr):
    assert REGION.holds(expr)


@pytest.mark.parametrize(
    ("base", "is_below_one"),
    [
        (1 - 1 / (2 * K), True),
        pytest.param(1 - 1 / sp.sqrt(K), True, marks=pytest.mark.slow),
        pytest.param(1 / (1 + sigma), False, marks=pytest.mark.slow),
        pytest.param(s.delta, False, marks=pytest.mark.slow),
        pytest.param(1 - L, False, marks=pytest.mark.slow),
        (share_or_less, False),
    ],
)
def test_power_of_a_number_below_one_is_below_one(base, is_below_one):
    assert REGION.holds(1 - base**K, strict=True) is is_below_one
    assert REGION.holds((1 - base**K) ** 2, strict=True) is is_below_one


# -- symbols


@pytest.mark.parametrize(
    "impostor",
    [
        sp.Symbol("lam"),
        sp.Symbol("lam", positive=True),
        sp.Symbol("lam", real=True),
        sp.Symbol("delta", nonnegative=True),
    ],
)
def test_symbol_with_the_name_of_a_share_may_be_more_than_one(impostor):
    assert not EVERYWHERE.holds(1 - impostor)
    assert not EVERYWHERE.holds(1 - impostor, strict=True)
    assert not nonnegative(1 - impostor)
    assert not positive(1 - impostor)
    assert EVERYWHERE.holds(1 - s.lam, strict=True)


def test_two_symbols_of_one_name_are_two_quantities():
    other = sp.Symbol("lam", positive=True)
    assert not EVERYWHERE.holds(L + other**2 - lam - lam * L)
    assert EVERYWHERE.holds(L * (1 - lam) + sp.Rational(1, 2) * other**2 + other)


def test_symbol_that_may_be_complex_has_no_sign():
    z = sp.Symbol("z")
    for expr in (L**z, lam**z * L + 1, z * sp.conjugate(z), sp.Abs(z)):
        assert not EVERYWHERE.holds(expr)


def test_power_of_a_share_with_itself_as_exponent_is_not_monotone():
    assert not monotone(lam**lam, "lam", up=False)
    assert not monotone(lam**lam, "lam", up=True)
    assert monotone(lam**K, "K", up=False)
    assert monotone(lam**K, "lam", up=True)


# -- numbers

UNIT = sp.Integer(-1) ** R(1, 3)
"""A complex number of size 1; UNIT - UNIT^2 = 1."""
MUCH = sp.Integer(10) ** 320


@pytest.mark.parametrize(
    "expr",
    [
        UNIT - UNIT**2 - 2,
        UNIT - UNIT**2,
        L + UNIT,
        L**UNIT,
        MUCH * L - 1,
        L / MUCH - 1,
        L ** (10**30) + L - alpha,
        L ** R(1, 10**30) + L - alpha,
        (1 + L**900) ** 900 - 1 - K * L,
        "1 + L**2",
        sp.sqrt(sp.Function("f")(L)),
        sp.sqrt(sp.O(L)) + L,
        sp.sqrt(sp.AccumBounds(-1, 1)) + L,
        sp.Piecewise((L, L > 1), (-L, True)) + L,
    ],
    ids=str,
)
def test_unusual_numbers_are_not_proved_and_raise_no_exception(expr):
    assert EVERYWHERE.holds(expr) is False
    assert EVERYWHERE.holds(expr, strict=True) is False


def test_expression_that_divides_by_zero_everywhere_raises_no_exception():
    zero = sp.Add(L, -L, evaluate=False)
    nowhere = sp.sqrt(sp.Pow(zero, -1, evaluate=False))
    assert not EVERYWHERE.holds(nowhere - 1)


@pytest.mark.parametrize(
    "sides",
    [
        (UNIT - UNIT**2, sp.S.One),
        (L > 1, sp.S.One),
        (sp.true, L),
        (None, L),
        ("nan", L),
        (sp.Matrix([1]), L),
        (sp.oo, sp.oo),
        (0, 1),
        (L, MUCH),
        (L, 1 / MUCH),
        (L ** (10**30), sp.S.One),
    ],
    ids=str,
)
def test_unusual_conditions_prove_nothing_false_and_raise_no_exception(sides):
    region = Region([Condition("unusual", *sides)])
    assert not region.holds(L - lam - 1)
    assert not region.holds(-L)
    assert region.holds(L)


def test_large_bound_of_a_condition_is_used():
    assert Region([Condition("large", L, MUCH)]).holds(MUCH - L)


# -- random inequalities in quantities of every range

SMALL = st.sampled_from([R(1), R(2), R(3), R(1, 2), R(1, 4), R(-1), R(-1, 2)])
COUNTS = (K, signed_count, from_minus_two, rho, from_one)
BASES = (lam, alpha, share_or_less, R(1, 2), R(3, 2))
BOUNDED = (lam, L, share_or_less, at_most_two, number)
VALUES = {
    K: (1, 2, 3, 7),
    signed_count: (-3, -1, 0, 1, 4),
    from_minus_two: (-2, -1, 0, 1, 5),
    rho: (0, R(1, 4), R(1, 2), 1, R(3, 2), 4),
    from_one: (1, R(3, 2), R(9, 4), 3),
    lam: (0, R(1, 16), R(1, 2), R(9, 10)),
    alpha: (0, R(1, 16), R(1, 2), R(9, 10)),
    share_or_less: (-1, R(-1, 2), 0, R(1, 4), 1),
    L: (R(1, 100), R(1, 2), 1, 10),
    at_most_two: (-40, -1, 0, 1, 2),
    number: (-40, -1, 0, R(1, 2), 3),
}


@st.composite
def inequalities(draw):
    """Draw a sum of a power with a symbolic exponent, a square and a product."""
    n = draw(st.sampled_from(COUNTS))
    base = draw(st.sampled_from(BASES))
    exponent = draw(st.sampled_from([n, n, n - 1, n + 1, 2 * n, 2 - n, n / 2]))
    other = draw(st.sampled_from(BOUNDED))
    center = draw(st.sampled_from([R(1, 4), R(1, 2), R(3, 2), R(2)]))
    terms = (
        draw(SMALL) * base**exponent,
        draw(st.sampled_from([0, 1, 10])) * (n - center) ** 2,
        draw(st.sampled_from([0, 1])) * draw(SMALL) * other,
    )
    return sp.Add(*terms, draw(SMALL))


def smallest_value(expr):
    """Return the least real value at rational points of the ranges."""
    symbols = sorted(expr.free_symbols, key=str)
    values = []
    for numbers in sp.utilities.iterables.cartes(*(VALUES[x] for x in symbols)):
        value = expr.subs(dict(zip(symbols, numbers, strict=True)))
        if value.is_real:
            values.append(value)
    return min(values)


def check_inequality(expr):
    if REGION.holds(expr):
        assert smallest_value(expr) >= 0
    if REGION.holds(expr, strict=True):
        assert smallest_value(expr) > 0


@settings(max_examples=25, deadline=None)
@given(inequalities())
def test_nothing_false_is_proved_in_quantities_of_every_range(expr):
    check_inequality(expr)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(inequalities())
def test_nothing_false_is_proved_in_two_thousand_inequalities(expr):
    check_inequality(expr)
