"""The prover of inequalities: proved inequalities hold at random points, and wrong
constants are not proved.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import QQ

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities import polynomials
from dfltheory.bounds.inequalities.by_form import nonnegative, positive
from dfltheory.bounds.inequalities.polynomials import SignFact, VariableRange
from dfltheory.bounds.inequalities.region import (
    EVERYWHERE,
    Allowance,
    LimitError,
    Region,
    _Quotient,
)
from dfltheory.bounds.inequalities.rewriting import NoProofError, Rewriting
from dfltheory.bounds.inequalities.samples import box_points
from dfltheory.bounds.regions import admissible_points, values_at
from dfltheory.bounds.theorem import Condition
from dfltheory.checks import monotone as monotone_check
from dfltheory.checks.monotone import check_monotone

R = sp.Rational
K, T, Q, L, lam, alpha, q = s.K, s.T, s.Q, s.L, s.lam, s.alpha, s.q
eta, pen, rho, sigma = s.eta, s.lam_admm, s.rho, s.sigma_l
X, Y, Z = sp.symbols("x:3", nonnegative=True)
LATE = Condition("T >= 64 K", 64 * K, T)
FAST = Condition("eta K L <= 1/8", 8 * eta * K * L, sp.S.One)
SMALL = Condition("eta <= lam_admm", eta, pen)
SPREAD = Condition(
    "eta K L lam^Q <= (1 - lam^Q)/8", 8 * eta * K * L * lam**Q, 1 - lam**Q
)
GAP = Condition("1024 <= T (1 - lam)^2", sp.Integer(1024), T * (1 - lam) ** 2)
CONDITIONS = (LATE, FAST, SMALL, SPREAD, GAP)
WEIGHT = (K - alpha * (1 - alpha**K) / (1 - alpha)) / (1 - alpha)
"""sum_{k=1..K} (1 - alpha^k)/(1 - alpha)"""
KEPT, BEFORE = (1 - 1 / K) ** K, (1 - 1 / K) ** (K - 1)


def least(expr, conditions=(), size=2000, seed=0):
    """Return the smallest value, relative to the sum of the terms' sizes, at random
    points of the region.
    """
    expr = sp.sympify(expr)
    names = {x.name for x in expr.free_symbols} or {"L"}
    points = admissible_points(names, conditions, size, np.random.default_rng(seed))
    value, *terms = values_at([expr, *sp.Add.make_args(expr)], points)
    scale = np.sum(np.abs(terms), axis=0)
    relative = value[np.isfinite(value)] / np.maximum(scale[np.isfinite(value)], 1e-300)
    return float(np.min(relative, initial=np.inf))


# -- what is proved, and is not with a wrong constant


def constant(c):
    """Return (conditions, expression), which is nonnegative for c = 1 and not for c >
    1.
    """
    return {
        "sums of monomials": ((), (K + 1) ** 2 - 4 * c * K),
        "roots of monomials": ((LATE,), 1 - 8 * c * sp.sqrt(K) / sp.sqrt(T)),
        "roots of counts": ((), K - c * sp.sqrt(K)),
        "roots of quotients": ((), sp.sqrt(1 / (1 - q**2)) - c / sp.sqrt(1 - q**2)),
        "third roots": ((), T - c * sp.cbrt(T)),
        "boxes": ((FAST,), 1 - 8 * c * eta * L),
        "powers of a share": (
            (SPREAD,),
            1 - lam**Q - 8 * c * eta * K * L * lam ** (2 * Q),
        ),
        "products of a condition": ((GAP,), 1 - 32 * c / (sp.sqrt(T) * (1 - lam))),
        "another condition": ((GAP,), 1 - lam - 32 * c / sp.sqrt(T)),
        "sums of powers": ((), WEIGHT - c),
        "means of powers": ((), K - c * (1 - alpha**K) / (1 - alpha)),
        "Bernoulli": ((), K * (1 - alpha) - c * (1 - alpha**K)),
        "Bernoulli from above": (
            (SMALL,),
            1 - (1 - eta / pen) ** K * (1 + c * K * eta / pen),
        ),
        "powers of 1 - 1/K": (
            (),
            R(18463, 10000) - c * (KEPT / (1 - KEPT) + 2 - 2 * BEFORE),
        ),
        "powers of 1 - 1/K with K": (
            (),
            R(10, 9) - c * (1 + KEPT) / ((1 - KEPT) * (2 - 1 / K)),
        ),
        "maxima": ((), sp.Max(K, T) - c * K),
        "minima": ((), K - c * sp.Min(K, T)),
        "squares": ((), (L * rho + sigma) ** 2 - 4 * c * L * rho * sigma),
    }


NAMES = list(constant(sp.S.One))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", NAMES)
def test_inequalities_of_every_kind_are_proved(name):
    conditions, expr = constant(sp.S.One)[name]
    assert Region(conditions).holds(expr)
    assert least(expr, conditions) >= -1e-9


@pytest.mark.drawn(4)
@pytest.mark.parametrize("name", NAMES)
def test_with_a_constant_two_percent_larger_they_are_not(name):
    conditions, expr = constant(R(102, 100))[name]
    assert not Region(conditions).holds(expr)


@pytest.mark.parametrize(
    "name", ["roots of monomials", "boxes", "powers of a share", "another condition"]
)
def test_without_the_condition_they_are_not(name):
    _, expr = constant(sp.S.One)[name]
    assert not EVERYWHERE.holds(expr)


def test_equal_expressions_are_proved_to_be_at_most_each_other_and_not_less():
    spread = sp.expand((L * rho + sigma) ** 2)
    for difference in (spread - (L * rho + sigma) ** 2, lam ** (2 * Q) - (lam**Q) ** 2):
        assert EVERYWHERE.holds(difference)
        assert not EVERYWHERE.holds(difference, strict=True)


# -- strict inequalities


@pytest.mark.parametrize(
    ("expr", "conditions", "strict"),
    [
        (1 - lam, (), True),  # lam < 1
        (1 - s.delta, (), False),  # delta may be 1
        (K - 1, (), False),
        (L, (), True),
        (rho, (), False),
        (pen - eta, (SMALL,), False),
        (2 * pen - eta, (SMALL,), True),
        (pen - eta, (Condition("eta < lam_admm", eta, pen, strict=True),), True),
        (L * (pen - eta), (Condition("eta < lam_admm", eta, pen, strict=True),), True),
        (sigma**2 + L, (), True),
        (lam - lam**Q, (), False),
        (WEIGHT, (), True),
    ],
)
def test_positive_is_more_than_not_negative(expr, conditions, strict):
    assert Region(conditions).holds(expr)
    assert Region(conditions).holds(expr, strict=True) is strict


# -- nothing else


@pytest.mark.parametrize(
    "expr",
    [
        sp.nan,
        sp.oo,
        sp.zoo,
        sp.I**2 * L,
        1.5 * L,
        sp.Float(0.5),
        sp.Symbol("x"),
        sp.exp(-L) - 1,
    ],
)
def test_what_is_no_rational_expression_is_not_proved(expr):
    assert not EVERYWHERE.holds(expr)


def test_symbols_without_a_sign_are_not_taken_for_nonnegative():
    x = sp.Symbol("x", real=True)
    assert not EVERYWHERE.holds(x + 1)
    assert not EVERYWHERE.holds(s.GLOSSARY["lam_min"].symbol)
    assert EVERYWHERE.holds(1 + s.GLOSSARY["lam_min"].symbol)


def test_quantities_have_the_ranges_of_the_regions_glossary():
    quantity = s.Quantity("y", "y", s.ONE, "a share", high=1.0)
    y = quantity.symbol
    assert not EVERYWHERE.holds(2 - y - y**2)
    assert Region(glossary=s.with_quantities((quantity,))).holds(2 - y - y**2)
    count = s.Quantity("n_own", "n", s.ONE, "a count", low=1, integer=True)
    n = count.symbol
    assert not EVERYWHERE.holds(n - 1)
    assert Region(glossary=s.with_quantities((count,))).holds(n - 1)


def test_induction_uses_no_condition_on_the_whole_number():
    """The expression is 14 at K = 1 and increases for K >= 5, where the condition
    begins, but is < 0 at K = 5.
    """
    late = Condition("K >= 5", sp.Integer(5), K)
    assert not Region((late,)).holds((K - 5) ** 2 - 2 + alpha**K)


@pytest.mark.parametrize(
    ("expr", "conditions", "true"),
    [
        (alpha - alpha**K, (), True),
        (alpha - alpha ** (K - 1), (), False),  # K = 1
        (1 - alpha ** (2 - K), (), False),  # K = 3
        (sp.sqrt(K) - 1, (), True),
        (sp.sqrt(K) - R(3, 2), (), False),
        (R(36788, 10**5) - KEPT, (), True),
        (R(367, 1000) - KEPT, (), False),  # 1/e = 0.36788
        (BEFORE - R(36787, 10**5), (), True),
        (BEFORE - R(369, 1000), (), False),
        (R(1482911, 2**20) - L, (Condition("L^2 <= 2", L**2, sp.Integer(2)),), True),
        (R(1482910, 2**20) - L, (Condition("L^2 <= 2", L**2, sp.Integer(2)),), False),
        # L < 1
        (
            sigma - L + 1,
            (Condition("1 <= sigma/(L - 1)", sp.S.One, sigma / (L - 1)),),
            False,
        ),
        (
            L - K,
            (
                Condition("L > 5", sp.Integer(5), L, strict=True),
                Condition("K <= 4", K, sp.Integer(4)),
            ),
            True,
        ),
    ],
)
def test_ends_of_intervals_are_exact(expr, conditions, true):
    assert Region(conditions).holds(expr) is true


def test_a_power_with_a_base_out_of_its_range_is_refused():
    for expr in ((1 + L) ** K, (1 - eta * L) ** K):
        region = Region()
        with pytest.raises(NoProofError):
            Rewriting([1 - expr, (1 - eta * L) ** K], region.holds)
        assert not region.holds(1 - expr)
    assert Region((FAST,)).holds(1 - (1 - eta * L) ** K)


def test_what_stands_for_an_expression_is_it_again():
    exprs = (
        lam ** (2 * Q) * sp.sqrt(K / T),
        sp.Max(K, sp.sqrt(1 - q)),
        (1 - eta / pen) ** (K - 1),
    )
    rewriting = Rewriting(exprs, Region((SMALL,)).holds)
    for expr in exprs:
        there = rewriting.of(expr)
        assert not there.has(sp.Max)
        assert all(p.exp.is_Integer for p in there.atoms(sp.Pow))
        assert sp.simplify(rewriting.back(there) - expr) == 0


REWRITTEN = (
    KEPT,
    BEFORE,
    alpha**K,
    alpha ** (2 - K) + alpha**K,
    alpha ** (K - 1) + alpha ** (2 * K),
    lam ** (2 * Q - 1),
    (1 - eta / pen) ** K,
    sp.sqrt(K / T),
    sp.cbrt(T),
    sp.sqrt(s.delta),
    sp.sqrt(1 - q**2),
    sp.sqrt(sigma**2 + L),
    sp.Max(K, 1 + sigma),
    sp.Min(K, L),
)


@pytest.mark.parametrize("expr", REWRITTEN)
def test_variables_that_stand_for_expressions_are_in_their_intervals_and_meet_their_facts(
    expr,
):
    rewriting = Rewriting([expr], Region((SMALL,)).holds)
    points = admissible_points(
        {x.name for x in expr.free_symbols}, (SMALL,), 3000, np.random.default_rng(0)
    )
    small = {
        name: np.minimum(v, 3.0) if name in ("K", "Q", "T") else v
        for name, v in points.items()
    }
    points = {name: np.concatenate([v, small[name]]) for name, v in points.items()}
    assert rewriting.meanings
    for variable in rewriting.meanings:
        assert variable.is_real
        (values,) = values_at([rewriting.back(variable)], points)
        interval, values = rewriting.interval(variable), values[np.isfinite(values)]
        assert values.min() >= float(interval.low) - 1e-12
        assert interval.high is None or values.max() <= float(interval.high) + 1e-12
    for fact in rewriting.facts:
        (values,) = values_at([rewriting.back(fact)], points)
        assert np.nanmin(values) >= -1e-9


def test_sign_of_a_product_follows_from_its_factors():
    """The form (X - Y)^2 X vanishes inside of the box, where no expansion decides."""
    square = sp.expand((X - Y) ** 2 * X)
    for factor in (1, sp.Rational(1, 2), 3):
        assert _Quotient(square, EVERYWHERE)._sign(factor * square, False) == 1
        assert _Quotient(square, EVERYWHERE)._sign(-factor * square, False) == -1
        assert _Quotient(square, EVERYWHERE)._sign(factor * square, True) == 0


def test_random_points_of_an_unbounded_interval_are_small_and_large():
    points = box_points([VariableRange()])[:, 0]
    assert 0 < points.min() < 0.01
    assert points.max() > 1000
    assert np.median(points) < 100


# -- random inequalities

SMALL_NUMBERS = st.integers(-4, 4)
ATOMS = (
    L,
    lam,
    q,
    K,
    sp.sqrt(K),
    sp.sqrt(T),
    alpha**K,
    alpha ** (K - 1),
    lam**Q,
    sp.sqrt(1 - q),
    eta * L,
    1 - eta / pen,
)


@st.composite
def expressions(draw):
    """Return a quotient of sums of a few products of atoms with small integer
    coefficients.
    """

    def total():
        terms = [
            draw(SMALL_NUMBERS)
            * sp.Mul(*draw(st.lists(st.sampled_from(ATOMS), max_size=2)))
            for _ in range(3)
        ]
        return sp.Add(*terms)

    over, under = total(), total()
    return over if under == 0 or draw(st.booleans()) else over / under


def check_claims(expr, conditions):
    """Check that claims about an expression and its negative hold at random points."""
    region = Region(conditions)
    for claim in (expr, -expr):
        if region.holds(claim):
            assert least(claim, conditions) >= -1e-9
        if region.holds(claim, strict=True):
            assert least(claim, conditions) > -1e-9
            assert not region.holds(-claim)


SOME_CONDITIONS = st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True)


@settings(max_examples=6, deadline=None)
@given(expressions(), SOME_CONDITIONS)
def test_what_is_claimed_of_random_expressions_holds_at_random_points(expr, conditions):
    check_claims(expr, conditions)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(expressions(), SOME_CONDITIONS)
def test_what_is_claimed_of_many_random_expressions_holds_at_random_points(
    expr, conditions
):
    check_claims(expr, conditions)


TERMS = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * 2),
    st.integers(-5, 5).filter(bool),
    min_size=1,
    max_size=5,
)
INTERVALS = st.sampled_from(
    [
        VariableRange(),
        VariableRange(QQ(1)),
        VariableRange(high=QQ(1)),
        VariableRange(QQ(1, 2), QQ(3)),
        VariableRange(QQ(-1), QQ(1)),
    ]
)


def exact(terms):
    return {exponents: QQ(number) for exponents, number in terms.items()}


def values(terms, points):
    return sum(
        number * points[:, 0] ** i * points[:, 1] ** j
        for (i, j), number in terms.items()
    )


def box(intervals, rng, size=4000):
    """Return points of a box, including its ends."""
    columns = []
    for interval in intervals:
        low = float(interval.low)
        width = 1.0 if interval.high is None else float(interval.high) - low
        share = np.round(rng.beta(0.5, 0.5, size), 3)
        columns.append(
            low
            + (
                width * share
                if interval.high is not None
                else 10.0 ** (4 * share - 2) - 0.01
            )
        )
    return np.stack(columns, axis=1)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    TERMS, INTERVALS, INTERVALS, st.lists(st.tuples(TERMS, st.booleans()), max_size=2)
)
def test_signs_of_random_polynomials_are_those_at_random_points(
    terms, first, second, facts
):
    intervals = [first, second]
    points = box(intervals, np.random.default_rng(0))
    known = [SignFact(exact(fact), strict) for fact, strict in facts]
    for fact, strict in facts:
        there = values(fact, points)
        points = points[there > 1e-12 if strict else there >= 0]
    found = values(terms, points)
    if polynomials.is_nonnegative(exact(terms), polynomials.Box(intervals, known)):
        assert np.min(found, initial=0) >= -1e-9
    if polynomials.is_positive(exact(terms), polynomials.Box(intervals, known)):
        assert np.min(found, initial=1) > 0


@settings(max_examples=100, deadline=None)
@given(TERMS, st.tuples(INTERVALS, INTERVALS))
def test_bernstein_coefficients_are_those_of_the_polynomial(terms, intervals):
    """The combination of basis polynomials with the coefficients is the polynomial."""
    points = box(intervals, np.random.default_rng(1), 20)
    table = polynomials._bernstein(exact(terms), intervals)
    degrees = polynomials._degrees(terms, 2)
    total = np.zeros(len(points))
    for exponents, number in table.items():
        product = float(number) * np.ones(len(points))
        for column, k, d, interval in zip(
            points.T, exponents, degrees, intervals, strict=True
        ):
            t = column - float(interval.low)
            if interval.high is None:
                product *= t**k
            else:
                t = t / float(interval.high - interval.low)
                product *= math.comb(d, k) * t**k * (1 - t) ** (d - k)
        total += product.astype(float)
    np.testing.assert_allclose(total, values(terms, points), rtol=1e-9, atol=1e-9)


def test_a_polynomial_that_no_end_of_its_box_excludes_is_not_positive():
    """On [0, 1) x (0, 1], x y is 0 at x = 0, whereas x + y has no zero."""
    closed, opened = (
        VariableRange(high=QQ(1), open_high=True),
        VariableRange(high=QQ(1), open_low=True),
    )
    assert not polynomials.is_positive(
        {(1, 1): QQ(1)}, polynomials.Box([closed, opened])
    )
    assert polynomials.is_positive(
        {(1, 0): QQ(1), (0, 1): QQ(1)}, polynomials.Box([closed, opened])
    )
    assert polynomials.is_positive({(1, 1): QQ(1)}, polynomials.Box([opened, opened]))
    one_less = {(0, 0): QQ(1), (1, 0): QQ(-1)}
    assert polynomials.is_positive(one_less, polynomials.Box([closed, closed]))
    assert not polynomials.is_positive(one_less, polynomials.Box([opened, opened]))


# -- in the audit


def test_the_audit_proves_that_a_bound_rises_with_its_constants_and_says_where_it_samples():
    """DFedADMM's bound contains powers of 1 - eta/lam_admm, which lie in [0, 1] only
    under its conditions.
    """
    (note,) = check_monotone(
        registry.get("dfedadmm.theorem_1", "corrected_second_moment")
    )
    proved = note.message.split(": ", 1)[1].removesuffix(" (proved)")
    assert set(proved.split(", ")) == {
        "T",
        "rho",
        "L",
        "sigma_l",
        "S2",
        "f0_gap",
        "lam",
    }


def test_the_audit_does_not_prove_what_is_false():
    """If the noise of Theorem A is subtracted, the bound decreases with sigma_l, which
    is reported.
    """
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")
    parts = {**theorem.parts, "wrong": -2 * theorem.parts["noise"]}
    (warning,) = (
        f for f in check_monotone(replace(theorem, parts=parts)) if f.place == "sigma_l"
    )
    assert warning.severity == "warning"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (2 * s.K - 1, True),
        (2 / s.K - 1, False),
        (1 - s.lam**s.Q, True),
        (s.lam**s.Q - 1, False),
        ((s.alpha**s.K - 1) / (s.alpha - 1) ** 2, False),
        (-(s.alpha**s.K - 1) / (s.alpha - 1) ** 2, True),
        (-((s.alpha**s.K - 1) ** 3), True),
        (s.L - s.eta, False),
        (s.K - 2, False),
        (1 - s.lam - s.alpha, False),
        (2 - s.lam - s.alpha**s.K, True),
        (s.m * s.K - 1, True),
    ],
)
def test_signs_by_form(expr, expected):
    assert nonnegative(expr) is expected


def test_strict_signs_by_form():
    assert positive(1 - s.lam**s.Q)
    assert positive((1 - s.lam) ** 2 * s.L / s.K)
    assert not positive(s.sigma_l)
    assert not positive(1 - s.delta)  # delta may be 1
    assert not positive(1 - s.L)


def test_region_raises_when_its_allowance_is_used_up():
    region = Region(allowance=Allowance(1))
    assert region.holds(s.L * s.eta)
    with pytest.raises(LimitError):
        region.under(()).holds(s.L * s.eta)


def test_monotonicity_that_takes_too_long_is_not_decided(monkeypatch):
    monkeypatch.setattr(monotone_check, "_MOST_INEQUALITIES", 0)
    theorem = registry.get("dfedadmm.theorem_1", "corrected")
    (finding,) = check_monotone(theorem)
    assert "not decided" in finding.message
    assert finding.severity == "note"
