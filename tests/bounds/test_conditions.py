"""Conditions and vacuous regions: proofs, witnesses, contradictions, and the horizon
from which a bound is nonvacuous.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import (
    admissible_points,
    draw_values,
    expanded_conditions,
    points_of,
    values_at,
)
from dfltheory.bounds.symbols import with_quantities
from dfltheory.bounds.theorem import Condition
from dfltheory.checks.conditions import check_conditions
from dfltheory.checks.everyday import everyday
from dfltheory.checks.logarithms import contradiction, log_sum_lower_bound, monomial
from dfltheory.checks.satisfiable import check_satisfiable, small_steps
from dfltheory.checks.vacuous import (
    first_useful_round,
    trivial,
    useful_round,
    vacuous,
    vacuous_until,
)
from dfltheory.cli import run

ONE = sp.Integer(1)
GOOD = bounds.get("dfedsam.theorem_4_5", "corrected")
STEP = Condition("8 eta K L <= 1", 8 * s.eta * s.K * s.L, ONE)


def planted(conditions=None, **parts):
    return replace(
        GOOD,
        parts={**GOOD.parts, **parts},
        conditions=GOOD.conditions if conditions is None else conditions,
    )


def errors(findings):
    return [f for f in findings if f.severity == "error"]


def test_admissible_points_satisfy_every_condition_and_points_outside_were_drawn():
    conditions = (
        Condition("eta L <= 1", s.eta * s.L, ONE),
        Condition("rho < eta", s.rho, s.eta, strict=True),
    )
    names, glossary = ("eta", "L", "rho"), bounds.GLOSSARY
    points = admissible_points(
        names, conditions, 200, np.random.default_rng(0), glossary
    )
    assert len(points["eta"]) == 200
    assert np.all(points["eta"] * points["L"] <= 1)
    assert np.all(points["rho"] < points["eta"])
    free = draw_values(names, 200, np.random.default_rng(0), glossary)
    assert not np.all(free["eta"] * free["L"] <= 1)
    assert not np.all(free["rho"] < free["eta"])


# -- satisfiable


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        (t.key, t.variant)
        for t in bounds.statements()
        if t.kind in ("theorem", "corollary")
        and t.conditions
        and not {"lam_min", "offset"} & {*t.needs}
        and not t.quantities
        and not any(sp.sympify(c.slack).has(sp.floor) for c in t.conditions)
    ],
)
def test_every_statement_of_the_registry_is_proved_to_have_steps(key, variant):
    """At random constants, all conditions hold along the reported direction for a small
    e.

    At lam_min = -1, which the glossary admits but Definition 1 does not, DGD has no
    admissible step. Offsets, ranges of computed quantities and integer numbers of
    rounds are not conditions on small step sizes.
    """
    theorem = bounds.get(key, variant)
    (finding,) = check_satisfiable(theorem)
    assert (finding.severity, finding.evidence["certificate"]) == ("note", "proved")
    way = small_steps(expanded_conditions(theorem))
    points = draw_values(theorem.needs, 200, np.random.default_rng(7), theorem.glossary)
    # such as convexity of f
    slack_values = values_at([theorem.expand(c.slack) for c in way.demands], points)
    inside = np.all(
        [
            (v > 0) if c.strict else (v >= 0)
            for c, v in zip(way.demands, slack_values, strict=True)
        ],
        axis=0,
    )
    points = {n: v[np.broadcast_to(inside, 200)] for n, v in points.items()}
    e = 1e-30
    for name, value in way.steps.items():
        small = value.xreplace(
            {x: sp.Float(e) for x in value.free_symbols if x.name == "e_small"}
        )
        points[name] = values_at([small], points)[0]
    if way.long:
        points["T"] = np.full(len(points["T"]), e**-2)
    demanded = [c.name for c in way.demands]
    for c, _, ok in theorem.check_conditions(**points):
        assert c.name in demanded or np.all(ok), c


def test_a_condition_that_no_small_step_meets_is_not_proved():
    low = Condition("eta >= 1/(100 K L)", ONE, 100 * s.eta * s.K * s.L)
    assert small_steps((STEP, low)) is None
    (finding,) = check_satisfiable(planted(conditions=(STEP, low)))
    assert finding.evidence["certificate"] == "witness"
    assert small_steps((Condition("eta < eta", s.eta, s.eta, strict=True),)) is None
    assert small_steps((Condition("eta <= eta", s.eta, s.eta),)) is not None
    # K may be 1
    assert small_steps((Condition("1 + eta L <= K", 1 + s.eta * s.L, s.K),)) is None
    # K may be 1
    assert small_steps((Condition("2 eta <= K eta", 2 * s.eta, s.K * s.eta),)) is None


@pytest.mark.parametrize(("low", "proved"), [(0.0, True), (0.5, False)])
def test_a_step_with_a_positive_least_value_is_not_small(low, proved):
    own = Quantity("own", "x", s.GLOSSARY["eta"].unit, "a step", low=low, step=True)
    glossary = with_quantities((own,))
    small = Condition("own L <= 1", own.symbol * s.L, ONE)
    way = small_steps((small,), glossary)
    assert way is not None
    assert (small in way.demands) is not proved
    assert ("own" in way.steps) is proved
    equal = [
        Condition("eta <= own", s.eta, own.symbol),
        Condition("own <= eta", own.symbol, s.eta),
    ]
    assert (small_steps((STEP, *equal), glossary) is not None) is proved


def test_a_step_that_an_equality_fixes_is_in_its_range_for_small_steps():
    own = Quantity("own", "x", s.GLOSSARY["eta"].unit, "a step", low=0.5, step=True)
    glossary = with_quantities((own,))
    equal = [
        Condition("own <= eta + 1", own.symbol, s.eta + 1),
        Condition("eta + 1 <= own", s.eta + 1, own.symbol),
    ]
    assert small_steps(equal, glossary) is not None
    high = Condition("own <= 3/4", own.symbol, sp.Rational(3, 4))
    assert small_steps((*equal, high), glossary) is None


def test_demands_on_the_constants_alone_are_named():
    way = small_steps((STEP, Condition("m >= 2", sp.Integer(2), s.m)))
    assert [c.name for c in way.demands] == ["m >= 2"]
    assert "m >= 2" in str(way)


def test_conditions_that_exclude_each_other():
    torn = (STEP, Condition("1 <= eta K L", ONE, s.eta * s.K * s.L))
    (finding,) = check_conditions(planted(conditions=torn))
    assert finding.severity == "error"
    assert finding.evidence["certificate"] == "proved"
    assert "says 8 <= 1" in finding.message
    hidden = (
        Condition("a", s.lam_admm, 2 * s.eta),
        Condition("b", 3 * s.eta, s.lam_admm),
    )
    assert "says 1.5 <= 1" in contradiction(hidden)
    assert contradiction((STEP, Condition("c", ONE, 9 * s.eta * s.K * s.L))) is None
    curved = (STEP, Condition("d", 2 * s.eta * s.L + ONE, (s.eta * s.L) ** 2))
    (finding,) = check_conditions(planted(conditions=curved))
    assert finding.severity == "error"
    assert "cannot be met together" in finding.message


def test_linear_programs_in_logarithms():
    assert monomial(3 * s.eta * s.K**2 / s.L) == (
        {"eta": 1, "K": 2, "L": -1},
        pytest.approx(np.log(3)),
    )
    assert monomial(s.eta + s.L) is None
    assert monomial(-s.eta) is None
    assert monomial(s.lam**s.Q) is None
    rows = [("8 eta K L <= 1", {"eta": ONE, "K": ONE, "L": ONE}, np.log(8))]
    value, used = log_sum_lower_bound({"eta": -ONE, "K": -ONE, "L": -ONE}, rows)
    assert np.exp(value) == pytest.approx(8)
    assert list(used) == ["8 eta K L <= 1"]
    assert (
        log_sum_lower_bound({"eta": ONE}, rows) is None
    )  # eta may be arbitrarily small
    value, used = log_sum_lower_bound({"K": ONE}, rows)  # K >= 1
    assert value == pytest.approx(0)


# -- denominators


def test_a_denominator_that_may_vanish():
    assert errors(check_conditions(GOOD)) == []
    risky = planted(
        noise=s.sigma_l**2 / (1 - 4 * s.eta * s.L * s.K) * s.eta * s.L, conditions=()
    )
    assert any("denominator" in f.message for f in errors(check_conditions(risky)))


# -- vacuous


def test_vacuous_everywhere():
    points = points_of(GOOD, 500)
    assert [f.severity for f in vacuous(GOOD, points)] == ["note"]
    empty = planted(optimization=GOOD.parts["optimization"] + 3 * s.L * s.f0_gap)
    (finding,) = vacuous(empty, points)
    assert finding.severity == "warning"
    words, value = trivial(GOOD)
    assert value == 2 * s.L * s.f0_gap
    assert "start" in words
    found = [f for f in first_useful_round(empty) if "first" in f.evidence]
    assert [f.severity for f in found] == ["warning"]
    assert found[0].evidence["first"] == np.inf


def test_vacuous_up_to_a_horizon_for_all_constants():
    _, known = trivial(GOOD)
    assert vacuous_until(GOOD, known) == (8, "optimization", ("eta <= 1/(8 K L)",))
    printed = bounds.get("dfedsam.theorem_4_5")
    until, term, _ = vacuous_until(printed, known)
    assert (until, term) == (10, "optimization")
    for theorem, T in ((GOOD, 9), (printed, 10)):
        points = {**points_of(theorem, 1500), "T": np.full(1500, float(T))}
        (limit,) = values_at([known], points)
        assert np.all(theorem.evaluate(where="ignore", **points) >= limit)
    free = planted(conditions=())
    assert vacuous_until(free, known) is None
    half = planted(optimization=GOOD.parts["optimization"] / 2)
    assert vacuous_until(half, known)[0] == 4


def test_the_first_useful_round_is_where_the_best_step_puts_it():
    _, known = trivial(GOOD)
    values = everyday(n for n in GOOD.needs if n not in ("T", "eta"))
    useful = useful_round(GOOD, known, values)

    def best(T):
        return GOOD.best_step(**values, T=T)[1] / (2 * values["L"] * values["f0_gap"])

    assert best(useful.first) < 1
    assert best(useful.before["T"]) <= useful.ratio <= best(useful.before["T"]) * 1.05
    assert useful.ratio >= 1
    assert useful.term == "optimization"


def test_the_command_of_a_vacuous_point_shows_it(capsys):
    found = [f for f in first_useful_round(GOOD) if "shown_by" in f.evidence]
    assert len(found) == 1
    words = shlex.split(found[0].evidence["shown_by"])
    assert words[0] == "dfltheory"
    assert run(words[1:]) == 0
    value = float(capsys.readouterr().out.splitlines()[0].rpartition(": ")[2])
    assert value == pytest.approx(2 * found[0].evidence["ratio"], rel=1e-4)
