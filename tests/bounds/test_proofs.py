"""Provers of inequalities: each proves a true statement by its method, and never a false one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given
from hypothesis import strategies as st

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.checks.inequalities import check_inequalities, refute
from dfltheory.bounds.checks.proofs import exact_high, exact_low, least_value, prove
from dfltheory.bounds.inequalities.by_form import nonnegative, positive
from dfltheory.bounds.steps import Matrices, Scalar

x, y, k = (sp.Symbol(n, positive=True) for n in ("x", "y", "k"))
R = sp.Rational
GROWTH = (1 + 1 / (k - 1)) ** k


def scalar(left, right, **domain):
    return Scalar("key", "place", "says", left, sp.sympify(right), domain)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "kind"),
    [
        (scalar(x * y, (x**2 + y**2) / 2, x=(0.01, 10), y=(0.01, 10)), "form"),
        (scalar(1 - s.alpha**s.K, 1, alpha=(0, 1), K=(1, 9)), "form"),
        (scalar(x * (1 - x), R(1, 4) + x / 100, x=(0, 1)), "coefficients"),
        (scalar(x / (1 + x) ** 2, R(1, 4) + R(1, 1000), x=(0, 5)), "coefficients"),
        (scalar(x * y * (1 - x), y**2 + x / 10 + R(1, 10), x=(0, 1), y=(0, 2)), "coefficients"),
        (scalar(GROWTH, 4, k=(2, 1e6)), "shape"),
        (scalar((1 + 1 / k) ** k, sp.E, k=(1, 1e6)), "shape"),
        (scalar(sp.log(x), x - 1, x=(0.5, 1e6)), "shape"),
        pytest.param(scalar(k * ((1 + 1 / k) ** k - 1), 2 * k, k=(1, 1e6)), "shape", marks=pytest.mark.slow),
    ],
)
def test_what_is_true_is_proved_and_a_little_less_is_not(true, kind):
    proof = prove(true)
    assert proof is not None
    assert proof.kind == kind
    assert refute(true) is None
    points = [true.domain[n] for n in true.domain]
    inside = {
        n: (2 * low + min(high, low + 9)) / 3 for n, (low, high) in zip(true.domain, points, strict=True)
    }
    at = {v: inside[v.name] for v in (true.left - true.right).free_symbols}
    gap = float((true.right - true.left).subs(at))
    assert prove(replace(true, right=true.right - R(round(gap * 1000) + 1, 1000))) is None


def test_the_constant_of_the_papers_is_not_the_best():
    for right, holds in ((5, True), (4, True), (R(39, 10), False)):
        assert (prove(scalar(GROWTH, right, k=(2, 1e6))) is not None) is holds
        assert (refute(scalar(GROWTH, right, k=(2, 1e6))) is None) is holds
    where, value = least_value(sp.log(5) - k * sp.log(k / (k - 1)), k, sp.Integer(2))
    assert where == 2
    assert float(value) == pytest.approx(np.log(5 / 4))


def test_a_least_value_between_the_ends_and_one_in_the_limit():
    where, value = least_value(x - 1 - sp.log(x), x, R(1, 2))
    assert float(where) == pytest.approx(1, abs=1e-12)
    assert value == 0
    where, value = least_value(x * sp.log(1 + 1 / x), x, sp.Integer(2))
    assert float(where) == 2
    where, value = least_value(-x * sp.log(1 + 1 / x), x, sp.Integer(2))
    assert where is sp.oo
    assert value == -1


def test_a_least_value_at_a_root_that_only_bisection_finds():
    where, value = least_value(x * sp.log(x), x, R(1, 10))
    assert float(where) == pytest.approx(np.exp(-1), abs=1e-12)
    assert float(value) == pytest.approx(-np.exp(-1), abs=1e-12)
    assert prove(scalar(-R(37, 100), x * sp.log(x), x=(0.1, 10))) is not None
    assert prove(scalar(-R(36, 100), x * sp.log(x), x=(0.1, 10))) is None


def test_nothing_is_proved_across_a_pole():
    assert prove(scalar(1 / (x - 1), 10**9, x=(0.5, 2))) is None
    assert prove(scalar(sp.log(k - 3), k, k=(2, 1e6))) is None


def test_ends_are_rounded_outwards():
    low = 1 - np.exp(-1)
    assert exact_low(low) < low < exact_high(low)
    assert exact_low(2.0) == exact_high(2.0) == 2


@example(0, 0, -1)  # between numbers
@example(0, 0, 1)
@given(st.integers(-8, 8), st.integers(-8, 8), st.integers(-8, 8))
def test_a_quadratic_is_never_proved_where_it_is_negative_somewhere(a, b, c):
    least = min(a * v * v + b * v + c for v in np.linspace(0, 1, 201))
    proof = prove(scalar(sp.S.Zero, a * x**2 + b * x + c, x=(0, 1)))
    assert proof is None or least >= 0
    assert proof is not None or least <= 0.31


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


# -- declared inequalities ---------------------------------------------------------------------------


def test_what_is_only_searched_says_so():
    hard = Scalar("wang2021.lemma_1", "p", "sine", sp.sin(x), x, {"x": (0.01, 10)})
    (finding,) = check_inequalities(bounds.get("wang2021.lemma_1"), [hard])
    assert finding.evidence["certificate"] == "searched"
    assert "not refuted at 20000 points; no proof" in finding.message


def test_a_textbook_is_cited_and_still_searched():
    def judged(factor, textbook):
        claim = Matrices(
            "wang2021.lemma_1",
            "p",
            "||W|| <= c",
            "mixing",
            lambda W, n: np.linalg.norm(W, 2),
            lambda W, n: factor,
            textbook=textbook,
        )
        (finding,) = check_inequalities(bounds.get("wang2021.lemma_1"), [claim])
        return finding

    assert judged(1.0, "Horn and Johnson").evidence["certificate"] == "textbook"
    assert "Horn and Johnson" in judged(1.0, "Horn and Johnson").message
    assert judged(1.0, "").evidence["certificate"] == "searched"
    assert judged(0.99, "Horn and Johnson").severity == "error"
