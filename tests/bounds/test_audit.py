"""Each check of the audit finds a planted error and reports nothing on a right
statement.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.by_form import monotone
from dfltheory.bounds.monomials import Monomial
from dfltheory.bounds.rates import leading
from dfltheory.bounds.theorem import Condition, Definition
from dfltheory.checks.agreement import (
    compare_orders,
    compare_values,
    twice_defined,
    unused_definitions,
    wrong_signs,
)
from dfltheory.checks.corollaries import (
    _describe_nearest,
    check_corollary,
    compare_rate,
    schedule_against_conditions,
)
from dfltheory.checks.extremes import check_extremes
from dfltheory.checks.monotone import check_monotone
from dfltheory.checks.run import CHECKS, audit, audit_statement
from dfltheory.checks.units import check_units
from dfltheory.errors import InputError, UnknownNameError
from validation.papers import PAPERS, appendix
from validation.papers.erratum import errata

LARGER = registry.REGISTRY.including(
    lemma for paper in PAPERS for lemma in appendix(paper)
)
"""The statements of the registry and of the papers' appendices."""
GOOD = LARGER.get("dfedsam.theorem_4_5", "corrected")


def audited(*args, **options):
    """Return the findings, including comparisons with the papers' appendices."""
    return audit(*args, registry=LARGER, **options)


def errors(findings):
    return [f for f in findings if f.severity == "error"]


def planted(theorem=GOOD, conditions=None, **parts):
    """Return the theorem with some of its terms replaced."""
    new = {name: parts.get(name, part) for name, part in theorem.parts.items()}
    return replace(
        theorem,
        parts={**new, **{n: p for n, p in parts.items() if n not in new}},
        conditions=theorem.conditions if conditions is None else conditions,
    )


# -- the whole


WINDOWS = ("dfedsgpsm.theorem_1", "corrected_windows")
"""Takes the way of DFedSGPSM's other corrections, and its network contracts in windows;
those of the other statements take the way of the plain one.
"""


def _slowly(key, variant):
    """Return whether a statement is slow, or has a similar variant that is tested."""
    if key == "yuan2016.theorem_3":
        return True
    if key == WINDOWS[0]:
        return variant != WINDOWS[1]
    return variant.startswith("corrected_")


SOUND = [
    pytest.param(
        t.key,
        t.variant,
        marks=[pytest.mark.slow] * _slowly(t.key, t.variant),
    )
    for t in bounds.statements()
    if t.variant.startswith("corrected")
    or (not errata(t.key.split(".")[0]) and not t.status.refuted)
]
"""Statements without errors: re-derived, verified by a proof assistant or a solver, or
of papers without errata.
"""


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("key", "variant"), SOUND)
def test_no_false_alarm_on_what_is_right(key, variant):
    assert errors(audit_statement(LARGER.get(key, variant))) == []


def test_what_is_right_reaches_beyond_the_four_papers():
    papers = {key.split(".")[0] for key, _ in (case.values for case in SOUND)}
    assert papers == set(registry.papers())
    assert {"lean", "pepit", "khaled2019", "li2020"} <= papers


@pytest.mark.slow
def test_audit_of_a_printed_theorem_finds_errors_with_their_commands():
    findings = audited("dfedsam.theorem_4_5", "printed")
    assert {"floors", "agreement", "units"} <= {f.check for f in errors(findings)}
    assert errors(findings)[0].command.startswith(
        "dfltheory audit dfedsam.theorem_4_5 --variant "
    )
    again = audited("dfedsam.theorem_4_5", checks=("agreement",))  # of every variant
    assert [str(f) for f in again if f.variant == "printed"] == [
        str(f) for f in findings if f.check == "agreement"
    ]
    assert all(not f.variant.startswith("corrected") for f in errors(again))


COVERED, COVERING = "B^2 / (T delta)", "B^2 C^2 / ((1 - alpha)^2 (1 - q)^2 T)"


@pytest.mark.parametrize(
    ("push_sum", "power", "lost"),
    [
        ("cited", 2, set()),
        pytest.param("computed", 2, {COVERED}, marks=pytest.mark.slow),
        pytest.param("cited", 0, {COVERING}, marks=pytest.mark.slow),
    ],
)
def test_a_corollary_is_not_accused_of_a_term_that_cited_constants_cover(
    push_sum, power, lost
):
    """B^2/(T delta) is at most C^2 B^2/T, because the cited C is at least 1/delta."""
    parent, printed = (
        replace(theorem, scope=replace(theorem.scope, push_sum=push_sum))
        for theorem in (
            registry.get("dfedsgpsm.theorem_1", "printed"),
            registry.get("dfedsgpsm.corollary_1", "printed"),
        )
    )
    consensus = printed.parts["consensus"] * s.C ** (power - 2)
    claim = replace(printed, parts={**printed.parts, "consensus": consensus})
    found = errors(compare_rate(claim, parent))
    assert {f.evidence["term"] for f in found} & {COVERED, COVERING} == lost


def test_unknown_checks_are_refused():
    with pytest.raises(UnknownNameError, match="units"):
        audited("dfedsam.lemma_D3", checks=("unit",))


@pytest.mark.parametrize(
    "checks", [("monotone", "units"), pytest.param((), marks=pytest.mark.slow)]
)
def test_a_theorem_that_is_not_registered(checks):
    mine = replace(GOOD, key="mine.theorem_1", variant="mine")
    found = audited(mine, checks=checks)
    assert errors(found) == []
    assert {f.command for f in found if f.check == "monotone"} == {
        "dfltheory.audit(theorem, checks=('monotone',))"
    }
    wrong = replace(mine, parts={**mine.parts, "sharpness": sp.S.Zero})
    (finding,) = errors(audited(wrong, checks=("floors",)))
    assert finding.evidence["term"] == "SAM's fixed point"
    rate = replace(
        LARGER.get("dfedsam.corollary_4_6", "corrected"), key="mine.rate", of=mine
    )
    assert errors(audited(rate, checks=("agreement", "corollary"))) == []
    lost = replace(
        rate, parts={n: p for n, p in rate.parts.items() if n != "consensus"}
    )
    assert any(
        "mine.theorem_1 (mine) gives the term" in f.message
        for f in errors(audited(lost, checks=("corollary",)))
    )
    with pytest.raises(InputError, match="variant"):
        audited(mine, "printed")


# -- units


def test_units_of_terms_sums_and_conditions():
    assert list(check_units(GOOD)) == []
    (finding,) = check_units(planted(noise=s.eta * s.L**2 * s.sigma_l**2))
    assert finding.severity == "error"
    assert finding.message.startswith("not invariant under units")
    assert finding.place == "term noise"
    assert finding.correction == "a factor L^-1 would give it the right unit"
    (finding,) = check_units(planted(sharpness=s.L**2 * (s.rho**2 + s.rho**4)))
    assert "s^4" in finding.message
    (finding,) = check_units(
        planted(conditions=(Condition("eta <= 1", s.eta, sp.Integer(1)),))
    )
    assert finding.place == "condition eta <= 1"
    assert finding.severity == "warning"


@pytest.mark.parametrize("kind", ["theorem", "corollary", "rate", "lemma", "equation"])
def test_wrong_unit_is_an_error_in_a_bound_with_constants_only(kind):
    wrong = replace(planted(noise=s.eta * s.L**2 * s.sigma_l**2), kind=kind)
    assert [f.severity for f in check_units(wrong) if f.place == "term noise"] == [
        "error"
    ]
    assert {f.severity for f in check_units(replace(wrong, order=True))} == {"warning"}
    mixed = replace(planted(sharpness=s.L**2 * (s.rho**2 + s.rho**4)), kind=kind)
    assert [f.severity for f in check_units(mixed) if f.place == "term sharpness"] == [
        "error"
    ]
    inside = replace(
        planted(noise=sp.sqrt(s.sigma_l**4 + s.sigma_l**2 * s.L * s.eta * s.f0_gap)),
        kind=kind,
    )
    assert "error" in {
        f.severity for f in check_units(inside) if f.place == "term noise"
    }


@pytest.mark.parametrize("pure", [sp.exp(s.L), s.L**s.K, s.K**s.eta], ids=str)
def test_a_unit_inside_of_a_pure_number_is_an_error_in_a_bound(pure):
    """exp(L), L^K and K^eta have no unit, whatever factor the term has."""
    wrong = planted(noise=s.eta * s.L * s.sigma_l**2 * pure)
    assert "error" in {f.severity for f in check_units(wrong) if str(pure) in f.message}
    assert {f.severity for f in check_units(replace(wrong, order=True))} == {"warning"}


def test_wrong_unit_of_a_definition_that_a_wrong_term_uses_is_an_error():
    used, other = sp.Symbol("used", positive=True), sp.Symbol("other", positive=True)
    definitions = tuple(
        Definition(x, s.rho**2 + s.rho**4, x.name, "") for x in (used, other)
    )
    terms = {**GOOD.parts, "sharpness": s.L**2 * used}
    wrong = replace(
        GOOD, parts=terms, definitions=(*GOOD.definitions, *definitions), kind="lemma"
    )
    severities = {f.place: f.severity for f in check_units(wrong)}
    assert severities == {"definition used": "error", "definition other": "warning"}


def test_a_definition_claims_nothing_but_its_unit():
    local = s.eta * s.L * (s.L**2 * s.rho**2 + s.sigma_l**2) + s.L**2 * s.rho**2 / s.eta
    definition = replace(GOOD, kind="definition", parts={"bound": local})
    assert {f.severity for f in check_units(definition)} == {"warning"}
    (name,) = definition.parts
    other = replace(definition, parts={name: s.sigma_l * s.L})
    assert [f.severity for f in check_units(other)] == ["error"]


def test_terms_that_balance_each_other_are_no_error_in_any_kind():
    """f0/sqrt(T) + L sigma^2/sqrt(T) is a correct rate for the step size 1/sqrt(T)."""
    root = sp.sqrt(s.T)
    balanced = {"optimization": s.f0_gap / root, "noise": s.L * s.sigma_l**2 / root}
    rate = replace(
        GOOD,
        parts=balanced,
        conditions=(),
        definitions=(),
        schedule={},
        kind="corollary",
    )
    assert {f.severity for f in check_units(rate)} == {"warning"}
    for name in balanced:  # each of the terms needs the other
        alone = replace(rate, parts={name: balanced[name]})
        assert {f.place for f in errors(check_units(alone))} == {
            f"term {name}",
            "bound",
        }
    # Young's inequality without weights needs both squares
    eq_15 = LARGER.get("dfedmdc.eq_15")
    assert {f.severity for f in check_units(eq_15)} == {"warning"}


def test_no_error_of_units_where_a_condition_fixes_the_unit():
    wrong = planted(noise=s.L**2 * s.sigma_l**2)
    assert len(errors(check_units(wrong))) == 1
    fixed = (
        Condition("eta L <= 1", s.eta, 1 / s.L),
        Condition("eta <= 1", s.eta, sp.Integer(1)),
        Condition("1 <= eta", sp.Integer(1), s.eta),
    )
    one = replace(planted(noise=s.L**2 * s.eta**3 * s.sigma_l**2), conditions=fixed)
    without = replace(one, conditions=fixed[:1])
    assert len(errors(check_units(without))) == 1
    assert [f for f in errors(check_units(one)) if f.place == "term noise"] == []


def test_a_lower_bound_is_refuted_by_a_term_that_outgrows_the_left_side():
    floor = replace(
        GOOD,
        parts={"floor": s.L * s.f0_gap},
        conditions=(),
        definitions=(),
        schedule={},
        kind="lower bound",
    )
    assert list(check_units(floor)) == []
    wrong = replace(floor, parts={"floor": s.L * s.f0_gap, "more": s.f0_gap})
    found = errors(check_units(wrong))
    assert {f.place for f in found} == {"term more", "bound"}
    (limit,) = (f for f in found if f.place == "bound")
    direction = limit.evidence["direction"]
    growth = {
        n: sum(a * e for a, (_, e) in zip(direction, unit.scales, strict=True))
        for n, unit in (("left", wrong.lhs.unit), ("more", s.GLOSSARY["f0_gap"].unit))
    }
    assert growth["more"] > growth["left"]


def test_an_error_of_units_is_one_that_a_scaling_limit_refutes():
    product = s.GLOSSARY["sigma_l"].unit ** 2 * s.GLOSSARY["eta"].unit
    young = replace(
        GOOD,
        key="mine.young",
        kind="lemma",
        schedule={},
        conditions=(),
        definitions=(),
        parts={"one": s.sigma_l**2 / 2, "other": s.sigma_l**2 * s.eta**2 / 2},
        lhs=replace(GOOD.lhs, measure="product", unit=product),
    )
    # sigma (eta sigma) <= ...: always true
    assert {f.severity for f in check_units(young)} == {"warning"}
    refuted = replace(
        young, parts={"one": s.sigma_l**2 / 2, "other": s.sigma_l**2 / s.eta}
    )
    found = errors(check_units(refuted))
    (finding,) = (f for f in found if f.place == "bound")
    assert {f.place for f in found} == {"bound", "term one", "term other"}
    assert "scaling limit" in finding.message

    def growth(unit):
        return sum(
            a * e
            for a, (_, e) in zip(
                finding.evidence["direction"], unit.scales, strict=True
            )
        )

    scale = {n: growth(s.GLOSSARY[n].unit) for n in ("sigma_l", "eta")}
    ratios = [
        float(refuted.evaluate(**{n: 2.0 * t ** scale[n] for n in scale}))
        / t ** growth(product)
        for t in (1.0, 1e3, 1e6)
    ]
    assert ratios[0] > 100 * ratios[1] > 10**4 * ratios[2]
    assert errors(check_units(replace(refuted, order=True))) == []
    kept = Condition("eta <= 1", s.eta, sp.Integer(1))
    fixed = replace(
        refuted, conditions=(kept, Condition("1 <= eta", sp.Integer(1), s.eta))
    )
    # at eta = 1 the numbers need not have units
    assert errors(check_units(fixed)) == []
    signed = replace(
        refuted, parts={**refuted.parts, "more": -(s.sigma_l**2) / s.eta**2}
    )
    assert errors(check_units(signed)) == []


def test_a_step_of_a_schedule_has_the_unit_of_the_step():
    mixed = replace(
        GOOD, schedule={"eta": 1 / (2 * s.L + s.sigma_l * sp.sqrt(s.K / s.m))}
    )
    (finding,) = check_units(mixed)
    assert finding.place == "schedule of eta"
    assert "2*L has unit c s^-2" in finding.message
    assert "has unit c s^-1" in finding.message
    (finding,) = check_units(replace(GOOD, schedule={"eta": 1 / sp.sqrt(s.K * s.T)}))
    assert finding.message.endswith("scales as 1, eta as c^-1 s^2")
    assert (
        list(
            check_units(
                replace(
                    GOOD, schedule={**GOOD.schedule, "rho": sp.S.Zero, "Q": sp.S.One}
                )
            )
        )
        == []
    )


def test_suggested_factor_of_units_contains_no_quantity_that_may_vanish():
    for variant in bounds.registry.variants("dfedsam.corollary_4_6"):
        for f in check_units(LARGER.get("dfedsam.corollary_4_6", variant)):
            assert f.correction is None or "rho" not in f.correction
    (finding,) = check_units(planted(sharpness=s.L**2 * s.rho**4))
    assert finding.correction is None or "rho" not in finding.correction


def test_two_blocks_have_lengths_of_their_own():
    good = LARGER.get("dfedmdc.theorem_1", "corrected")
    assert list(check_units(good)) == []
    mixed = planted(good, drift=s.sigma_v**2 / s.L_u)
    assert [f.place for f in check_units(mixed)] == ["term drift"]


# -- limits


def test_a_term_that_does_not_vanish_under_the_schedule():
    assert list(check_extremes(GOOD)) == []
    stuck = planted(sharpness=s.L**2 * s.rho**2 + s.sigma_l**2)
    assert [f.place for f in check_extremes(stuck)] == ["schedule"]


def test_many_gossip_steps_are_exact_averaging():
    factor = 1 + 1 / s.m ** (s.Q - 1)
    odd = planted(noise=GOOD.parts["noise"] * factor)
    assert any("Q -> infinity" in f.message for f in check_extremes(odd))


def test_a_schedule_that_keeps_a_floor():
    floor = replace(GOOD, schedule={"eta": 1 / (s.L * sp.sqrt(s.K * s.T))})
    assert list({f.place for f in check_extremes(floor)}) == ["schedule"]


# -- monotonicity


def test_sign_and_monotonicity():
    assert [f.severity for f in check_monotone(GOOD)] == ["note"]
    better = planted(
        noise=s.eta
        * s.L
        * s.sigma_l**2
        / (s.m * (1 + s.sigma_l * s.eta / s.f0_gap) ** 3),
        drift=sp.S.Zero,
        consensus=sp.S.Zero,
    )
    assert any(
        f.place == "sigma_l" and f.severity == "warning" for f in check_monotone(better)
    )
    negative = planted(noise=-s.eta * s.L * s.sigma_l**2)
    assert any("negative" in f.message for f in errors(check_monotone(negative)))


def test_no_direction_is_asked_of_what_the_left_side_or_the_steps_carry():
    printed = LARGER.get("dfedmdc.theorem_1")
    assert not any(f.severity == "warning" for f in check_monotone(printed))
    without_steps = replace(printed, lhs=replace(printed.lhs, carries=()), schedule={})
    assert not any(f.severity == "warning" for f in check_monotone(without_steps))
    without_factors = replace(
        without_steps, lhs=replace(printed.lhs, measure="two_block_value")
    )
    assert {
        f.place for f in check_monotone(without_factors) if f.severity == "warning"
    } <= {
        "L_u",
        "L_v",
    }
    free = replace(GOOD, parts={**GOOD.parts, "noise": s.eta * s.sigma_l**2 / s.L})
    # eta is free there
    assert "L" in {f.place for f in check_monotone(free) if f.severity == "warning"}


@pytest.mark.parametrize(
    ("term", "name", "up", "expected"),
    [
        (s.L * s.eta / (1 - s.lam) ** 2, "lam", True, True),
        (s.lam ** (2 * s.Q) / (1 - s.lam**s.Q) ** 2, "Q", False, True),
        (s.f0_gap / s.T, "T", False, True),
        (s.f0_gap / s.T, "T", True, False),
        (s.sigma_l**2 * (1 - 1 / s.K), "sigma_l", True, True),
        (
            s.L / (1 + s.L),
            "L",
            True,
            False,
        ),  # true, but not evident from the form; it is sampled
    ],
)
def test_proofs_by_form(term, name, up, expected):
    assert monotone(term, name, up) is expected


# -- agreement


def test_variants_that_disagree():
    same = replace(GOOD, variant="elsewhere")
    assert list(compare_values(GOOD, same)) == []
    less = planted(noise=GOOD.parts["noise"] / 3)
    (finding,) = compare_values(less, same)
    assert "term noise is 1/3 times" in finding.message
    (finding,) = compare_values(same, less)
    assert finding.severity == "note"


@pytest.mark.slow
def test_an_order_agrees_with_itself():
    claim = LARGER.get("dfedsam.corollary_4_8")
    assert list(compare_orders(claim, claim)) == []


def test_orders_that_disagree():
    claim = LARGER.get("dfedsam.corollary_4_8")
    lost = replace(claim, parts={n: p for n, p in claim.parts.items() if n != "drift"})
    assert {f.correction for f in compare_orders(lost, claim)} == {
        "add K beta^2 / (T)",
        "add K sigma_l^2 / (T)",
    }


@pytest.mark.parametrize(
    "key",
    [
        "dfedsam.corollary_4_6",
        pytest.param("dfedsam.corollary_4_8", marks=pytest.mark.slow),
    ],
)
def test_constants_that_an_order_hides_are_no_disagreement(key):
    found = audited(key, "printed", ("agreement",))
    assert found
    assert errors(found) == []
    claim = LARGER.get(key)
    slower = replace(
        claim, parts={**claim.parts, "more": s.rho0**2 / s.T ** sp.Rational(1, 4)}
    )
    assert len(errors(compare_orders(claim, slower))) == 1


def test_definitions_without_use_and_with_two_meanings():
    assert list(unused_definitions(GOOD)) == []
    idle = Definition(sp.Symbol("idle"), s.L * s.eta, "i", "nothing")
    assert [
        f.place
        for f in unused_definitions(
            replace(GOOD, definitions=(*GOOD.definitions, idle))
        )
    ] == ["definition idle"]
    printed = LARGER.get("dfedadmm.theorem_1")
    assert list(twice_defined(printed, LARGER)) == []
    kappa = printed.definitions[0]
    other = replace(
        printed, definitions=(replace(kappa, expr=sp.Rational(1, 2) - s.L * s.eta),)
    )
    assert [f.severity for f in twice_defined(other, LARGER)] == ["error"]


def test_a_definition_without_its_declared_sign_is_reported_where_conditions_hold():
    """GOOD has 10 K eta L <= 1."""
    symbol = sp.Symbol("room", positive=True)

    def found(formula):
        definition = Definition(symbol, formula, "r", "what a step leaves")
        definitions = (*GOOD.definitions, definition)
        return list(wrong_signs(replace(GOOD, definitions=definitions)))

    assert found(2 - s.K * s.eta * s.L) == []
    (finding,) = found(sp.Rational(1, 20) - s.K * s.eta * s.L)
    assert finding.place == "definition room"
    assert finding.evidence["point"].keys() == {"K", "L", "eta"}


def test_a_definition_that_is_0_up_to_rounding_has_its_declared_sign():
    """Its dbar is 0 for K = 1; double precision and 60 digits have rounding errors."""
    theorem = bounds.get("dfedsgpsm.theorem_1", "corrected_sharper")
    assert list(wrong_signs(theorem)) == []


# -- corollaries


@pytest.mark.slow
def test_a_claimed_rate_that_lost_a_term():
    claim = LARGER.get("dfedsam.corollary_4_6", "corrected")
    assert errors(compare_rate(claim, GOOD)) == []
    lost = replace(
        claim, parts={n: p for n, p in claim.parts.items() if n != "consensus"}
    )
    assert any("lam**Q" in f.message for f in errors(compare_rate(lost, GOOD)))


def test_exponents_of_a_faster_rate_are_corrected():
    claim = LARGER.get("dfedsam.corollary_4_6", "corrected")
    faster = replace(
        claim, parts={**claim.parts, "optimization": s.L * s.f0_gap / (s.K * s.T)}
    )
    (finding,) = errors(compare_rate(faster, GOOD))
    assert "K^-1 should be K^(-1/2) and T^-1 should be T^(-1/2)" in finding.message


@pytest.mark.slow
def test_a_rate_of_a_larger_order_is_no_error():
    claim = LARGER.get("dfedsam.corollary_4_6", "corrected")
    faster = replace(claim, parts={**claim.parts, "optimization": s.L * s.f0_gap / s.K})
    assert errors(compare_rate(faster, GOOD)) == []


def test_a_claim_is_read_under_its_own_conditions():
    claim = LARGER.get("dfedsam.corollary_4_6", "corrected")
    lost = {
        **claim.parts,
        "optimization": s.L * s.f0_gap * s.sigma_l / (s.B * sp.sqrt(s.K * s.T)),
    }
    assert errors(compare_rate(replace(claim, parts=lost), GOOD))
    stated = replace(
        claim,
        parts=lost,
        conditions=(*claim.conditions, Condition("B <= sigma_l", s.B, s.sigma_l)),
    )
    assert errors(compare_rate(stated, GOOD)) == []


def test_the_nearest_claimed_term_is_the_nearest():
    def order(K, T):
        return Monomial(
            sp.S.One, (("K", Fraction(K)), ("T", Fraction(T)), ("f0_gap", Fraction(1)))
        )

    near = _describe_nearest(order(0, -1), (order(2, -2), order(1, -1), order(-3, -3)))
    assert near == "; in the claimed term K f0_gap / (T), K^1 should be K^0"


@pytest.mark.slow
def test_terms_of_a_theorem_are_no_larger_than_the_theorem():
    """Over a common denominator, a sum can have products of denominators that no term
    has.
    """
    base = LARGER.get("dfedsam.theorem_4_5")
    found = audited("dfedsam.rate_abstract_mgs", None, ("corollary",))
    rows = [
        row
        for row in leading(base, 3, None, ())
        if any("Q" in a for a, _ in row.exponents)
    ]
    assert rows
    assert not any("lam*m" in f.message for f in found)
    assert all(not (row["1 - lam"] and row["1 - lam**Q"]) for row in rows)
    names = {n: e.symbol for n, e in s.GLOSSARY.items()}
    values = {
        "K": 2.0,
        "Q": 3.0,
        "T": 1e8,
        "m": 16.0,
        "lam": 0.9,
        "L": 1.0,
        "rho0": 1.0,
        "f0_gap": 1.0,
        "sigma_l": 1.0,
        "sigma_g": 1.0,
    }
    steps = base.step_sizes(**values)
    total = float(base.evaluate(where="ignore", **{**values, **steps}))
    for row in rows:
        product = sp.Mul(
            *(sp.parse_expr(a, names) ** sp.Rational(e) for a, e in row.exponents)
        )
        assert float(product.subs({names[n]: v for n, v in values.items()})) < total


@pytest.mark.parametrize(
    "term",
    [
        None,
        *(
            pytest.param(term, marks=pytest.mark.slow)
            for term in ("optimization", "noise", "drift", "heterogeneity")
        ),
    ],
)
def test_a_schedule_that_is_the_least_of_some_is_judged_in_the_case_of_each(term):
    """1/Min is the largest of the inverses, so each of them must be covered; c Min is
    at most each of its arguments.
    """
    claim = LARGER.get("wang2021.tuned")
    shrunk = {term: claim.parts[term] / s.T ** sp.Rational(1, 6)} if term else {}
    found = [
        f
        for f in check_corollary(replace(claim, parts={**claim.parts, **shrunk}))
        if f.place == "rate"
    ]
    assert [f.severity for f in found] == ["error"] * bool(term)


@pytest.mark.slow
def test_under_the_longest_of_some_steps_a_rate_is_an_error():
    claim = LARGER.get("wang2021.tuned")
    # under which the noise is not small
    longest = {"eta": sp.Max(*claim.schedule["eta"].args)}
    found = check_corollary(replace(claim, schedule=longest))
    assert any(f.place == "rate" for f in found)


def test_from_which_round_on_a_schedule_applies():
    notes = {f.place: f.message for f in schedule_against_conditions(GOOD)}
    assert "for T >= 64*K" in notes["condition eta <= 1/(8 K L)"]
    never = replace(GOOD, schedule={"eta": s.K / s.L * sp.sqrt(s.T)})
    assert next(iter(schedule_against_conditions(never))).severity == "error"


@pytest.mark.slow
def test_every_check_has_something_to_say_of_the_registry():
    # no registered statement declares proof steps, and no quoted rate lacks a power
    assert {f.check for f in audited()} == set(CHECKS) - {"steps", "quoted"}
