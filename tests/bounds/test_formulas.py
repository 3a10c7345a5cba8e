"""Every formula of the registry agrees with an independent transcription of the text in
plain floats.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given
from hypothesis import strategies as st

from tests.bounds.text.points import point
from tests.bounds.texts import STATEMENTS, of_all
from validation.papers import statement

TERMS, CONDITIONS, SCHEDULES = (
    of_all("TERMS"),
    of_all("CONDITIONS"),
    of_all("SCHEDULES"),
)
DEFINITIONS = of_all("DEFINITIONS")


def named(items):
    return [pytest.param(*name, id=".".join(name)) for name in sorted(items)]


def test_every_statement_has_an_independent_twin():
    assert set(TERMS) == {(t.key, t.variant) for t in STATEMENTS}


@pytest.mark.drawn(6)
@pytest.mark.parametrize(("key", "variant"), named(TERMS))
@example(seed=1950256782)  # eta within 1e-5 of lam_admm: 1 - gamma would cancel
@given(seed=st.integers(0, 2**32))
def test_terms_agree_to_1e_12(key, variant, seed):
    theorem = statement(f"{key}:{variant}")
    values = point(random.Random(seed), theorem.needs)
    expected = TERMS[key, variant](**values)
    found = theorem.evaluate_terms(where="ignore", **values)
    assert set(found) == set(expected)
    total = math.fsum(expected.values())
    for name, value in expected.items():
        # subnormal below
        assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-300), name
    assert theorem.evaluate(where="ignore", **values) == pytest.approx(
        total, rel=1e-12, abs=1e-13 * sum(map(abs, expected.values())) + 1e-300
    )


@pytest.mark.drawn(25)
@pytest.mark.parametrize(("key", "variant"), named(TERMS))
def test_arrays_give_what_numbers_give(key, variant):
    theorem = statement(f"{key}:{variant}")
    rng = random.Random(1)
    columns = [point(rng, theorem.needs) for _ in range(7)]
    arrays = {name: np.array([c[name] for c in columns]) for name in theorem.needs}
    together = np.broadcast_to(theorem.evaluate(where="ignore", **arrays), (7,))
    alone = [theorem.evaluate(where="ignore", **c) for c in columns]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.drawn(25)
@pytest.mark.parametrize(("key", "variant"), named(TERMS))
def test_conditions_agree(key, variant):
    theorem = statement(f"{key}:{variant}")
    expected = CONDITIONS.get((key, variant), lambda **_: [])
    for seed in range(8):
        values = point(random.Random(seed), theorem.needs)
        found = theorem.check_conditions(**values)
        pairs = expected(**values)
        assert len(found) == len(pairs)
        for (condition, slack, ok), (left, right) in zip(found, pairs, strict=True):
            assert slack == pytest.approx(right - left, rel=1e-11, abs=1e-12), condition
            assert ok == (
                left < right if condition.strict else left <= right * (1 + 1e-14)
            ), condition


@pytest.mark.drawn(15)
@pytest.mark.parametrize(("key", "variant"), named(SCHEDULES))
def test_schedules_agree(key, variant):
    theorem = statement(f"{key}:{variant}")
    names = {s.name for e in theorem.schedule.values() for s in e.free_symbols}
    for seed in range(4):
        values = point(random.Random(seed), names)
        expected = SCHEDULES[key, variant](
            **{**values, **{n: 1.0 for n in ("rho0",) if n not in values}}
        )
        for name, expr in theorem.schedule.items():
            assert float(
                expr.subs({s: values[s.name] for s in expr.free_symbols})
            ) == pytest.approx(expected[name], rel=1e-12)


def test_statements_without_conditions_or_schedule_in_the_text_have_none_in_the_registry():
    for theorem in STATEMENTS:
        name = (theorem.key, theorem.variant)
        assert bool(theorem.conditions) == (name in CONDITIONS), theorem
        assert bool(theorem.schedule) == (name in SCHEDULES), theorem


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("K", [1, 2, 7])
def test_momentum_sums_do_not_cancel_near_one(alpha, K):
    """Compares the quantities in theorems with exact rational sums of the weights."""
    from fractions import Fraction

    from validation.papers.dfedsgpsm.notation import AT, AT_BEFORE, DBAR, SUM_C2

    a = Fraction(alpha)
    weights = [sum(a**j for j in range(K - s + 1)) for s in range(1, K + 1)]
    before = [sum(a**j for j in range(K - s)) for s in range(1, K)]

    def total(steps):
        return sum(
            (sum((a**j for j in range(n)), Fraction(0)) for n in range(1, steps + 1)),
            Fraction(0),
        )

    exact = (
        total(K),
        sum(before, Fraction(0)),
        sum(w * w for w in weights),
        sum(w * total(s) for s, w in enumerate(weights)) / total(K),
    )
    for definition, value in zip((AT, AT_BEFORE, SUM_C2, DBAR), exact, strict=True):
        found = definition.numeric(np.float64(alpha), np.float64(K))
        assert float(found) == pytest.approx(float(value), rel=1e-13), definition.symbol


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99, 1 - 2.0**-20])
def test_momentum_sums_of_a_billion_steps(alpha):
    """Compares with closed forms in 60 digits, for more steps than can be summed
    directly.
    """
    import mpmath

    from dfltheory.bounds import symbols as s
    from validation.papers.dfedsgpsm.notation import AT, AT_BEFORE, DBAR, SUM_C2

    K = np.array([10**9, 3, 10**9 - 1])  # together with few steps, in one array
    for definition in (AT, AT_BEFORE, SUM_C2, DBAR):
        found = definition.numeric(np.float64(alpha), K)
        closed = sp.lambdify([s.alpha, s.K], definition.expr, "mpmath")
        with mpmath.workdps(60):
            exact = [
                float(closed(mpmath.mpf(alpha), mpmath.mpf(k))) for k in K.tolist()
            ]
        assert found == pytest.approx(exact, rel=1e-9), definition.symbol


NUMERIC = {
    f"{theorem.key.split('.')[0]}.{d.symbol}": d
    for theorem in STATEMENTS
    for d in theorem.definitions
    if d.numeric
}


def test_momentum_sums_of_more_steps_than_64_bits_count():
    from dfltheory.momentum import _sums

    few, many = (
        _sums(np.array([0.5, 0.0]), np.array([2.0**52, 2.0**52])),
        _sums(0.5, 2.0**63),
    )
    # c tends to 2, at and sum c^2 grow with K, U and D with its square
    assert many == pytest.approx(
        few[0] * 2.0 ** np.array([0, 11, 11, 22, 22]), rel=1e-12
    )
    assert np.isnan(_sums(0.5, np.array([np.inf, np.nan, -1.0]))).all()


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", sorted(NUMERIC))
@given(seed=st.integers(0, 2**32))
def test_numbers_of_a_definition_are_those_of_its_formula(name, seed):
    definition = NUMERIC[name]
    values = point(
        random.Random(seed),
        {s.name for s in definition.expr.free_symbols} | set(definition.takes),
    )
    exact = definition.expr.subs(
        {s: sp.Rational(values[s.name]) for s in definition.expr.free_symbols}
    )
    with np.errstate(all="ignore"):
        number = float(
            definition.numeric(*(np.float64(values[n]) for n in definition.takes))
        )
    assert number == pytest.approx(float(exact), rel=1e-9)


def test_a_schedule_names_every_step_that_its_theorem_has():
    steps = {"eta", "rho", "lam_admm", "eta_u", "eta_v"}
    for theorem in STATEMENTS:
        if theorem.kind == "corollary" and theorem.of is not None and not theorem.order:
            base = statement(":".join(theorem.of))
            assert steps & set(base.needs) == steps & {*theorem.schedule}, theorem


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("ratio", [1e-12, 0.25, 1.0, 1.5])
def test_dual_weights_do_not_cancel_and_cover_every_ratio(K, ratio):
    from fractions import Fraction

    from validation.papers.dfedadmm.notation import GAMMA, THETA, P

    r = Fraction(ratio)
    gamma = 1 - (1 - r) ** K
    exact = (gamma, (1 - gamma) / gamma, 1 - (1 - r) ** (K - 1))
    for definition, value in zip((GAMMA, THETA, P), exact, strict=True):
        with np.errstate(all="ignore"):
            found = definition.numeric(
                np.float64(ratio), np.float64(1.0), np.float64(K)
            )
        assert float(found) == pytest.approx(float(value), rel=1e-13, abs=0), (
            definition.symbol
        )


@pytest.mark.parametrize(("key", "variant"), named(DEFINITIONS))
def test_definitions_that_no_term_uses_are_the_text_s_too(key, variant):
    theorem = statement(f"{key}:{variant}")
    symbols = {d.symbol.name: d.symbol for d in theorem.definitions}
    for name, formula in DEFINITIONS[key, variant].items():
        expr = theorem.expand(symbols[name])
        values = point(random.Random(3), {s.name for s in expr.free_symbols})
        assert float(
            expr.subs({s: values[s.name] for s in expr.free_symbols})
        ) == pytest.approx(formula(**values))
