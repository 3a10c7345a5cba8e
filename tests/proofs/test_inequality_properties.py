"""The prover of inequalities on random polynomials.

Proved inequalities hold exactly at rational points of the box. The share of true
inequalities that are proved is checked, and so is the treatment of unknown values.
"""

from __future__ import annotations

import itertools
import random

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import QQ

from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.polynomials import (
    Box,
    VariableRange,
    is_nonnegative,
    is_positive,
)
from dfltheory.bounds.inequalities.region import EVERYWHERE, Region
from dfltheory.bounds.theorem import Condition

FRACTIONS = st.builds(QQ, st.integers(-6, 6), st.integers(1, 4))
SHARES = [QQ(n, 12) for n in range(13)]
"""Positions of points in a bounded interval, as shares of its width."""
DISTANCES = [QQ(0), QQ(1, 7), QQ(1, 2), QQ(1), QQ(3, 2), QQ(3), QQ(10)]
"""Positions of points in an interval without an upper end."""


@st.composite
def intervals(draw):
    low = draw(st.sampled_from([QQ(0), QQ(0), QQ(1), QQ(-1), QQ(-1, 2), QQ(2, 3)]))
    width = draw(st.sampled_from([None, QQ(1), QQ(1, 8), QQ(5, 2)]))
    high = None if width is None else low + width
    return VariableRange(low, high, draw(st.booleans()), draw(st.booleans()))


def added(*polynomials):
    """Return the sum of polynomials."""
    total = {}
    for terms in polynomials:
        for exponents, c in terms.items():
            total[exponents] = total.get(exponents, QQ(0)) + c
    return {exponents: c for exponents, c in total.items() if c}


def product(one, other):
    """Return the product of two polynomials."""
    total = {}
    for (a, x), (b, y) in itertools.product(one.items(), other.items()):
        exponents = tuple(i + j for i, j in zip(a, b, strict=True))
        total[exponents] = total.get(exponents, QQ(0)) + x * y
    return total


@st.composite
def problems(draw):
    """Draw a polynomial and its box.

    The polynomial is arbitrary, or a square plus or minus a small constant, whose
    minimum is near 0.
    """
    size = draw(st.integers(1, 3))
    exponents = st.tuples(*[st.integers(0, 3 if size == 1 else 2)] * size)
    terms = st.dictionaries(exponents, FRACTIONS, min_size=1, max_size=4)
    polynomial = draw(terms)
    if draw(st.booleans()):
        shift = {(0,) * size: QQ(draw(st.integers(-3, 3)), 100)}
        polynomial = added(product(polynomial, polynomial), shift)
    kept = {e: c for e, c in polynomial.items() if c}
    return kept, [draw(intervals()) for _ in range(size)]


def points_of(interval):
    """Return rational points of an interval, without excluded ends."""
    if interval.high is None:
        found = [interval.low + d for d in DISTANCES]
    else:
        width = interval.high - interval.low
        found = [interval.low + share * width for share in SHARES]
    ends = {interval.low: interval.open_low, interval.high: interval.open_high}
    return [x for x in found if not ends.get(x, False)]


def least_value(terms, box):
    """Return the smallest value at the rational points of a box."""
    values = []
    for point in itertools.product(*map(points_of, box)):
        value = QQ(0)
        for exponents, c in terms.items():
            for x, e in zip(point, exponents, strict=True):
                c = c * x**e
            value += c
        values.append(value)
    return min(values)


def check_claims(problem):
    terms, box = problem
    least = None
    if is_nonnegative(terms, Box(box)):
        least = least_value(terms, box)
        assert least >= 0
    if is_positive(terms, Box(box)):
        assert (least_value(terms, box) if least is None else least) > 0


@settings(max_examples=100, deadline=None)
@given(problems())
def test_nothing_negative_is_proved_on_a_box(problem):
    check_claims(problem)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(problems())
def test_nothing_negative_is_proved_on_ten_thousand_boxes(problem):
    check_claims(problem)


# -- power


def true_inequalities(count, seed):
    """Draw polynomials that are nonnegative on their box by construction.

    They are sums, with positive coefficients, of squares and products of distances from
    the ends.
    """
    rng = random.Random(seed)
    box = [VariableRange(QQ(0), QQ(1)), VariableRange(QQ(1))]
    distances = [{(1, 0): QQ(1)}, {(0, 0): QQ(1), (1, 0): QQ(-1)}]
    distances.append({(0, 1): QQ(1), (0, 0): QQ(-1)})
    found = []
    for _ in range(count):
        total = {(0, 0): QQ(rng.randint(0, 4), 4)}
        for _ in range(rng.randint(1, 3)):
            factor = {(0, 0): QQ(rng.randint(1, 5))}
            for distance in rng.choices(distances, k=rng.randint(1, 3)):
                factor = product(factor, distance)
            total = added(total, factor)
        if rng.random() < 0.5:
            line = {(0, 0): QQ(rng.randint(-2, 2)), (1, 0): QQ(rng.randint(-3, 3))}
            line[0, 1] = QQ(rng.randint(-2, 2))
            total = added(total, product(line, line))
        found.append((total, box))
    return found


LEAST_POWER = 0.925
"""Share of the fixed set that is proved; it must not decrease."""


def test_power_does_not_fall():
    problems_ = true_inequalities(400, 1)
    proved = sum(is_nonnegative(terms, Box(box)) for terms, box in problems_)
    assert proved / len(problems_) >= LEAST_POWER


@pytest.mark.slow
def test_fixed_set_is_of_true_inequalities():
    for terms, box in true_inequalities(400, 1):
        assert least_value(terms, box) >= 0


# -- unknown values

UNKNOWN = [
    *(sp.nan, sp.zoo, sp.oo, sp.I, sp.nan * s.L, sp.oo * s.L, s.L**sp.nan),
    *(sp.Float("nan"), float("nan"), float("inf"), None, s.L > 1, sp.true),
    *(sp.Symbol("unknown"), sp.sqrt(-1 - s.L), sp.Matrix([1]), 1j, "nan", "2 +"),
]


@pytest.mark.parametrize("value", UNKNOWN, ids=str)
@pytest.mark.parametrize("strict", [False, True])
def test_unknown_values_are_not_proved(value, strict):
    assert EVERYWHERE.holds(value, strict) is False


@pytest.mark.parametrize(
    "value", [x for x in UNKNOWN if isinstance(x, sp.Expr)], ids=str
)
@pytest.mark.parametrize("left", [True, False])
def test_unknown_conditions_prove_nothing(value, left):
    sides = (value, sp.S.One) if left else (sp.S.One, value)
    assert not Region([Condition("unknown", *sides)]).holds(s.eta - 1)
