"""Limits and special cases: each law finds a planted error, and reports nothing on a
right statement.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.regions import points_of
from dfltheory.bounds.theorem import Condition
from dfltheory.checks.agreement import compare_values
from dfltheory.checks.extremes import check_extremes, limits
from dfltheory.checks.floors import check_floors
from dfltheory.checks.simpler import check_simpler, mechanisms
from dfltheory.checks.special import (
    ends_of_ranges,
    sam_fixed_point_in_order,
    simplest_case,
    vanishing_left_side,
)
from dfltheory.errors import InputError

GOOD = bounds.get("dfedsam.theorem_4_5", "corrected")
POINTS = points_of(GOOD, 300)
MOMENTUM = bounds.get("dfedsgpsm.theorem_1", "corrected")


def planted(theorem=GOOD, **parts):
    return replace(theorem, parts={**theorem.parts, **parts})


# -- ends of ranges


@pytest.mark.parametrize(
    ("term", "name"),
    [
        (s.eta * s.L * s.sigma_l**2 / (s.m - 1), "m"),
        (s.f0_gap / (s.eta * (s.K - 1) * s.T), "K"),
        (s.L**2 * s.rho**3 / sp.sin(s.rho) ** 2 * s.rho, "rho"),
        (s.eta * s.L * s.sigma_g**4 / s.sigma_l**2, "sigma_l"),
        (s.eta * s.L * s.sigma_l**2 / s.lam, "lam"),
        (s.eta * s.L * s.sigma_l**2 * sp.sign(s.sigma_g), "sigma_g"),
    ],
)
def test_a_bound_must_be_a_number_and_a_limit_at_the_ends(term, name):
    assert list(ends_of_ranges(GOOD, POINTS)) == []
    found = list(ends_of_ranges(planted(more=term), POINTS))
    assert [(f.severity, f.place) for f in found] == [("warning", name)]


def test_consensus_of_a_lemma_vanishes_with_the_step():
    lemma = bounds.get("wang2021.lemma_2")
    lemma = replace(lemma, scope=replace(lemma.scope, common_start=True))
    points = points_of(lemma, 200)
    assert list(vanishing_left_side(lemma, points)) == []
    stays = planted(lemma, more=s.sigma_l**2 / s.L**2)
    (finding,) = vanishing_left_side(stays, points)
    assert (finding.severity, finding.place) == ("warning", "bound")
    assert finding in [replace(f, **UNNAMED) for f in check_extremes(stays)]


UNNAMED = {"check": "", "key": "", "variant": ""}
"""The fields of a finding that the check fills in."""


def test_momentum_going_to_zero():
    points = points_of(MOMENTUM, 200)
    assert list(ends_of_ranges(MOMENTUM, points)) == []
    odd = planted(MOMENTUM, noise=s.eta * s.L * s.sigma_l**2 / s.alpha)
    assert [f.place for f in ends_of_ranges(odd, points)] == ["alpha"]


# -- gradient descent


def test_the_simplest_case_is_gradient_descent():
    assert list(simplest_case(GOOD, POINTS)) == []
    floor = planted(
        drift=(s.eta * s.K * s.L) ** 2 * s.L * s.f0_gap
        + s.eta**2 * s.L**2 * s.T * s.L**2
    )
    (finding,) = simplest_case(floor, POINTS)
    assert finding.severity == "warning"
    assert list(finding.evidence["terms"]) == ["drift"]
    point = finding.evidence["point"]
    assert {point[n] for n in ("m", "K")} == {1.0}
    assert {point[n] for n in ("lam", "rho", "sigma_l", "sigma_g", "f0_gap")} == {0.0}


def test_dual_variables_are_absent_after_one_step_of_equal_size():
    theorem = bounds.get("dfedadmm.theorem_1", "corrected")
    assert list(simplest_case(theorem, points_of(theorem, 200))) == []
    loose = bounds.get("dfedadmm.theorem_1", "corrected_any_penalty")
    assert [f.severity for f in simplest_case(loose, points_of(loose, 200))] == [
        "warning"
    ]


# -- SAM


def sam_floors(theorem):
    found = check_floors(theorem)
    return [f for f in found if f.evidence["term"] == "SAM's fixed point"]


def test_no_bound_on_a_sam_method_is_below_its_fixed_point():
    assert sam_floors(GOOD) == []
    tight = planted(sharpness=s.L**2 * s.rho**2)
    assert sam_floors(tight) == []
    (finding,) = sam_floors(planted(sharpness=s.L**2 * s.rho**2 * sp.Rational(98, 100)))
    assert finding.severity == "error"
    bound, floor = (Fraction(finding.evidence[n]) for n in ("bound", "floor"))
    assert 0.98 * floor <= bound < floor
    point = {n: Fraction(v) for n, v in finding.evidence["point"].items()}
    assert point["f0_gap"] == point["L"] * point["rho"] ** 2 / 2


@pytest.mark.parametrize("variant", ["corrected", "corrected_same_round"])
def test_the_fixed_point_of_two_blocks(variant):
    theorem = bounds.get("dfedmdc.theorem_2", variant)
    assert sam_floors(theorem) == []
    (finding,) = sam_floors(planted(theorem, sharpness=sp.S.Zero))
    assert finding.severity == "error"


@pytest.mark.drawn(1)
@pytest.mark.parametrize("variant", ["printed", "appendix", "appendix_eq35"])
def test_the_fixed_point_against_a_statement_in_order(variant):
    """Measured / claimed is 9, 19, 39 and 79 at T = 100 to 6400, so no constant of O(.)
    suffices.
    """
    theorem = bounds.get("dfedmdc.theorem_2", variant)
    (finding,) = [f for f in check_extremes(theorem) if f.place == "rho"]
    assert finding.severity == "error"
    assert (finding.evidence["true"], finding.evidence["claimed"]) == ("-1", "-3/2")
    parts = {**theorem.parts, "sharpness": s.L_u * s.rho**2}
    assert list(sam_fixed_point_in_order(replace(theorem, parts=parts))) == []
    hidden = {**theorem.parts, "sharpness": 1 / s.T}  # L_u rho0^2 hidden by O(.)
    assert list(sam_fixed_point_in_order(replace(theorem, parts=hidden))) == []
    assert (
        list(sam_fixed_point_in_order(replace(theorem, schedule={"rho": sp.S.Zero})))
        == []
    )


def test_the_fixed_point_on_right_rates():
    for key in (
        "dfedsam.corollary_4_6",
        "dfedsam.corollary_4_8",
        "dfedmdc.rate_theorem_2",
    ):
        theorem = bounds.get(key, "corrected")
        assert theorem.schedule["rho"] != 0
        assert list(sam_fixed_point_in_order(theorem)) == []


# -- points and names that do not belong to the statement


def test_names_of_terms_are_ours_and_say_nothing():
    renamed = replace(
        GOOD, parts={f"drift of {name}": part for name, part in GOOD.parts.items()}
    )
    assert list(check_extremes(renamed)) == []


def test_special_points_outside_the_conditions_are_not_judged():
    floor = planted(more=s.eta**2 * s.L**4 * s.x0_spread)
    odd = planted(more=s.eta * s.L * s.sigma_l**2 / (s.m - 1))
    several = (*GOOD.conditions, Condition("m >= 2", sp.Integer(2), s.m))
    for theorem, check in (
        (planted(drift=s.eta**2 * s.L**2 * s.L**2 * s.Q), simplest_case),
        (odd, ends_of_ranges),
    ):
        points = points_of(theorem, 300)
        assert [f for f in check(theorem, points) if f.severity in ("error", "warning")]
        excluded = replace(theorem, conditions=several)
        assert list(check(excluded, points_of(excluded, 300))) == []
    assert list(simplest_case(floor, points_of(floor, 100))) == []


def test_a_window_of_rounds_contracts_in_one_round_in_the_simplest_case():
    theorem = bounds.get("dfedsgpsm.theorem_1", "corrected_windows")
    assert list(simplest_case(theorem, points_of(theorem, 200))) == []


# -- T -> infinity


def test_corollaries_must_vanish_for_large_t():
    claim = bounds.get("dfedsam.corollary_4_6")
    assert not any(f.place == "schedule" for f in check_extremes(claim))
    floor = replace(claim, parts={**claim.parts, "drift": s.K * s.beta**2})
    assert [f.severity for f in check_extremes(floor) if f.place == "schedule"] == [
        "warning"
    ]


# -- the simpler algorithm


def test_mechanisms_are_read_from_quantities_schedules_and_conditions():
    assert mechanisms(GOOD) == {"rho", "Q"}
    assert mechanisms(bounds.get("dfedsam.theorem_4_5", "appendix_q1")) == {"rho"}
    assert mechanisms(bounds.get("dfedadmm.corollary_1", "printed")) == {"rho"}
    assert mechanisms(bounds.get("dfedadmm.corollary_1", "printed_admm")) == frozenset()
    assert mechanisms(MOMENTUM) == {"rho", "alpha"}


def without_sam(theorem=GOOD):
    """Return the same statement for the algorithm with rho = 0, as a separate
    statement.
    """
    parts = {
        n: p.xreplace({s.rho: sp.S.Zero})
        for n, p in theorem.parts.items()
        if n != "sharpness"
    }
    definitions = tuple(
        replace(d, expr=d.expr.xreplace({s.rho: sp.S.Zero}))
        for d in theorem.definitions
    )
    return replace(
        theorem,
        key="dfedsam.theorem_plain",
        parts=parts,
        definitions=definitions,
        schedule={"eta": theorem.schedule["eta"]},
    )


def test_a_bound_without_its_mechanism_is_that_of_the_simpler_algorithm():
    plain = without_sam()
    (finding,) = check_simpler(GOOD, [plain])
    assert (finding.severity, finding.place) == ("note", "at rho = 0")
    assert "it is the bound of dfedsam.theorem_plain" in finding.message
    less = planted(noise=GOOD.parts["noise"] / 2)
    (finding,) = check_simpler(less, [plain])
    assert finding.severity == "warning"
    assert 0.5 <= finding.evidence["low"] < finding.evidence["high"] <= 1
    more = planted(noise=3 * GOOD.parts["noise"])
    (finding,) = check_simpler(more, [plain])
    assert finding.severity == "note"
    assert 1 < finding.evidence["high"] <= 3


def test_statements_that_are_not_comparable_are_not_compared():
    plain = without_sam()
    for other in (
        replace(plain, assumptions=(*plain.assumptions, "bounded gradients")),
        replace(plain, lhs=replace(plain.lhs, measure="grad_norm_sq_w")),
        replace(plain, schedule={"eta": 1 / (s.L * s.K * sp.sqrt(s.T))}),
        replace(plain, variant="printed"),
        GOOD,
    ):
        assert list(check_simpler(GOOD, [other])) == []
    assert list(check_simpler(plain, [GOOD])) == []


def test_one_gossip_step_by_a_condition():
    pinned = replace(
        GOOD,
        key="dfedsam.theorem_q1",
        conditions=(*GOOD.conditions, Condition("Q = 1", s.Q, sp.Integer(1))),
    )
    (finding,) = check_simpler(GOOD, [pinned])
    assert "without several gossip steps it is the bound" in finding.message


def test_orders_of_the_simpler_algorithm():
    claim = bounds.get("dfedsam.corollary_4_8")
    simple = bounds.get("dfedsam.corollary_4_6")
    lost = replace(claim, parts={n: p for n, p in claim.parts.items() if n != "drift"})
    (finding,) = check_simpler(lost, [simple])
    assert finding.severity == "warning"
    assert set(finding.evidence["lost"]) == {"K beta^2 / (T)", "K sigma_l^2 / (T)"}


@pytest.mark.slow
def test_larger_order_than_that_of_the_simpler_algorithm_is_a_note():
    claim = bounds.get("dfedsam.corollary_4_8")
    simple = bounds.get("dfedsam.corollary_4_6")
    (finding,) = check_simpler(claim, [simple])
    assert "it is the order of dfedsam.corollary_4_6" in finding.message
    more = replace(
        claim, parts={**claim.parts, "more": s.sigma_l / s.T ** sp.Rational(1, 4)}
    )
    (finding,) = check_simpler(more, [simple])
    assert finding.severity == "note"
    assert "it keeps sigma_l / (T^(1/4))" in finding.message


@pytest.mark.parametrize(
    "variants",
    [
        ("corrected",),
        pytest.param(
            ("corrected_different_steps", "corrected_same_round"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_theorem_with_sam_at_rho_zero_against_the_one_without(variants):
    for variant in variants:
        (finding,) = check_simpler(bounds.get("dfedmdc.theorem_2", variant))
        assert (
            finding.message
            == f"without SAM it is the bound of dfedmdc.theorem_1 ({variant})"
        )
    (finding,) = check_simpler(bounds.get("dfedmdc.theorem_2", "printed"))
    assert finding.severity == "warning"
    assert "sigma_v^2 / (L_v T^(1/2))" in finding.evidence["lost"]


def test_variants_that_differ_by_their_momentum_alone():
    printed, derived = (
        bounds.get("dfedsgpsm.theorem_1", v) for v in ("printed", "appendix")
    )
    (finding,) = compare_values(printed, derived)
    assert "they agree at alpha = 0" in finding.message
    other = planted(derived, noise=derived.parts["noise"] * 2)
    (finding,) = compare_values(printed, other)
    assert "they agree" not in finding.message


def test_a_whole_number_beyond_a_doubles_range_is_one_line():
    with pytest.raises(InputError, match=r"^T ") as caught:
        s.GLOSSARY["T"].check(10**400)
    assert "\n" not in str(caught.value)


def test_a_bound_without_a_horizon_is_examined_all_the_same():
    base = bounds.get("dfedsam.theorem_4_5", "corrected")
    bare = replace(
        base,
        parts={"sharpness": s.L**2 * s.rho**2},
        conditions=(),
        definitions=(),
        schedule={},
    )
    assert "T" not in bare.needs
    assert [f for f in check_extremes(bare) if f.severity == "error"] == []


# -- limits


def how(theorem, name):
    (found,) = (
        word
        for word, names in limits(theorem).items()
        for n in names
        if n.startswith(f"{name} -> ")
    )
    return found


def test_the_limits_of_theorem_a_are_proved():
    evidence = limits(GOOD)
    assert evidence["sampled"] == []
    assert {"m -> 1", "lam -> 0", "rho -> 0", "Q -> infinity", "T -> infinity"} <= set(
        evidence["proved"]
    )


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("term", "name"),
    [
        (s.sigma_l**2 / s.rho**2 / s.L**2, "rho"),
        (s.L**2 * s.rho**2 / (s.K - 1), "K"),
        (s.L**2 * s.rho**2 * s.lam ** (-s.Q), "lam"),
        (s.sigma_l**2 * s.Q, "Q"),
        (s.sigma_l**2, "T"),
        (s.sigma_l**2 / (1 + s.T), "T"),  # vanishes, but is not a sum of powers
    ],
)
def test_a_limit_that_is_none_or_no_polynomial_one_is_not_proved(term, name):
    last = limits(planted(wrong=term))["sampled"]
    assert any(limit.startswith(f"{name} -> ") for limit in last)


def test_a_divisor_that_the_conditions_keep_positive_at_the_end_is_proved():
    """1/(1 - 4 a + K - 1) with a = eta K L <= 1/8 at K = 1; the proof needs the
    conditions.
    """
    term = s.sigma_l**2 / (s.K - 4 * s.eta * s.K * s.L)
    assert how(planted(more=term), "K") == "proved"
    assert how(replace(planted(more=term), conditions=()), "K") == "sampled"
