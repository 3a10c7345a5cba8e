"""Theorems are compared where the algorithm of one is that of the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds.registry import REGISTRY
from dfltheory.bounds.scope import Scope
from dfltheory.checks.common_case import at_values, common_case
from dfltheory.checks.different_terms import different_terms
from dfltheory.checks.neutral import check_neutral, has_neutral

DFEDSAM = "dfedsam.theorem_4_5"


def theorem(key, variant):
    return bounds.get(key, variant=variant)


def differences(one, other_key):
    """Places and terms of the findings against one registered theorem."""
    found = [f for f in check_neutral(one) if other_key in f.evidence["term"]]
    return [(f.place, f.evidence["extra"], f.evidence["lost"]) for f in found]


def with_factor(one, part, factor):
    parts = {**one.parts, part: one.parts[part] * factor}
    return replace(one, key="own.theorem", parts=parts)


def part_with(one, *names):
    """Name of the first term of a bound that contains the quantities."""
    symbols = {one.glossary[name].symbol for name in names}
    terms = one.terms.items()
    return next(n for n, term in terms if symbols <= term.free_symbols)


def of_algorithm(one, algorithm, **quantities):
    """A statement with this bound on another algorithm, and with further factors."""
    scope = replace(one.scope, algorithms=(algorithm,))
    return replace(one, key="own.theorem", variant="printed", scope=scope, **quantities)


@pytest.mark.slow
def test_every_mechanism_is_compared_with_a_registered_theorem():
    compared = {
        name
        for one in REGISTRY.statements()
        for other in REGISTRY.statements()
        if one.kind == other.kind == "theorem" and one.key != other.key
        for case in [common_case(one, other)]
        if case is not None
        for name in case.values
    }
    assert compared >= {"rho", "alpha", "Q", "lam"}


def test_findings_are_notes_with_all_the_neutral_values_in_their_place():
    found = list(check_neutral(theorem(DFEDSAM, "corrected")))
    assert {f.severity for f in found} == {"note"}
    places = {f.place for f in found}
    assert "at K = 1, Q = 1, rho = 0" in places


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("key", "variant", "other"),
    [
        (DFEDSAM, "corrected", "bottou2018.theorem_4_8"),
        ("dfedsgpsm.theorem_1", "corrected", "bottou2018.theorem_4_8"),
        (
            "wang_joshi2021.theorem_2_network",
            "printed",
            "wang_joshi2021.theorem_2_exact",
        ),
        ("dfedmdc.theorem_2", "corrected", "dfedmdc.theorem_1"),
        ("wang_joshi2021.theorem_1_exact", "restated", "bottou2018.theorem_4_8"),
    ],
)
def test_theorems_with_the_same_terms_have_no_difference(key, variant, other):
    one = theorem(key, variant)
    others = [t for t in REGISTRY.statements() if t.key == other]
    assert any(common_case(one, t) is not None for t in others)
    assert differences(one, other) == []


@pytest.mark.parametrize(
    "variant", ["printed", pytest.param("corrected", marks=pytest.mark.slow)]
)
def test_dropped_consensus_error_of_the_print_is_the_term_that_is_missing(variant):
    """Wang and Joshi have eta^2 L^2 sigma_g^2/(1 - lam)^2, the print eta^3 (E1)."""
    found = differences(theorem(DFEDSAM, variant), "wang_joshi2021.theorem_2 ")
    ((_, extra, lost),) = found
    if variant == "printed":
        assert "L^3 eta^3 sigma_g^2 / ((1 - lam)^2)" in extra
        assert lost == ["L^2 eta^2 lam sigma_g^2 / ((1 - lam)^2)"]
    else:
        assert not any("eta^3" in term for term in extra)


@pytest.mark.parametrize("slip", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_momentum_theorem_is_compared_with_dfedsam_without_sam(slip):
    """The case that needs rho = 0 in the other statement."""
    known = theorem(DFEDSAM, "corrected")
    alpha, rho, Q = (known.glossary[n].symbol for n in ("alpha", "rho", "Q"))
    plain = {n: term.subs({rho: 0, Q: 1}) for n, term in known.terms.items()}
    parts = {n: term / (1 - alpha) for n, term in plain.items() if term != 0}
    own = of_algorithm(known, "DFedAvgM", parts=parts, definitions=(), conditions=())
    assert has_neutral(own)
    if not slip:
        assert differences(own, DFEDSAM) == []
        return
    noise = next(n for n in parts if "sigma_l" in str(parts[n]))
    wrong = with_factor(own, noise, 1 / known.glossary["eta"].symbol)
    ((place, extra, _),) = differences(wrong, DFEDSAM)
    assert {"alpha = 0", "rho = 0", "Q = 1"} <= {*place.removeprefix("at ").split(", ")}
    assert extra


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["L", "eta", "m"])
def test_lost_factor_is_reported(name):
    known = theorem(DFEDSAM, "corrected")
    noise = part_with(known, "m", "sigma_l")
    slip = with_factor(known, noise, 1 / known.glossary[name].symbol)
    kept = [f for f in check_neutral(slip) if f.evidence["term"].startswith("bottou")]
    assert kept


def test_constant_factor_is_no_difference():
    known = theorem(DFEDSAM, "corrected")
    noise = part_with(known, "m", "sigma_l")
    assert differences(with_factor(known, noise, sp.Integer(1000)), "bottou") == []


def test_step_size_that_contradicts_the_other_conditions_is_not_compared():
    """eta = 1/L of one is outside 8 eta K L <= 1 of the other."""
    example = theorem("pepit.gradient_descent", "example")
    assert common_case(theorem(DFEDSAM, "corrected"), example) is None
    any_step = theorem("dfedsgpsm.theorem_1", "corrected_any_step")
    case = common_case(any_step, example)
    assert case is not None
    eta = example.glossary["eta"].symbol
    for statement in case.statements:
        assert all(eta not in t.free_symbols for t in statement.parts.values())


def test_assumption_of_one_theorem_holds_for_both():
    case = common_case(
        theorem(DFEDSAM, "corrected"), theorem("wang_joshi2021.theorem_1", "printed")
    )
    assert case.values["sigma_g"] == 0


def test_cited_constants_of_push_sum_are_not_compared():
    """They are not those of a doubly stochastic matrix."""
    printed = theorem("dfedsgpsm.theorem_1", "printed")
    assert common_case(printed, theorem(DFEDSAM, "corrected")) is None


def test_other_order_of_steps_is_not_compared():
    known = theorem("wang_joshi2021.theorem_1", "printed")
    order = {"order": "combine-then-adapt"}
    other = replace(known, scope=replace(known.scope, hyperparameters=order))
    assert common_case(theorem(DFEDSAM, "corrected"), known) is not None
    assert common_case(theorem(DFEDSAM, "corrected"), other) is None


def test_algorithm_of_ones_own_has_no_special_case():
    class DFedSAM:
        pass

    known = theorem(DFEDSAM, "corrected")
    scope = Scope(algorithms=(DFedSAM,), network="doubly stochastic")
    own = replace(known, key="own.theorem", scope=scope)
    assert not has_neutral(own)


def test_a_bound_without_any_term_in_the_common_case_is_compared():
    known = theorem(DFEDSAM, "corrected")
    parts = {"sam": known.glossary["L"].symbol ** 2 * known.glossary["rho"].symbol ** 2}
    own = replace(known, key="own.theorem", parts=parts, definitions=(), schedule={})
    (bound,) = at_values(own, {"rho": 0}).parts.values()
    assert bound == 0
    assert list(check_neutral(own))


def test_absent_mechanism_leaves_no_symbol():
    known = theorem(DFEDSAM, "corrected")
    here = at_values(known, {"rho": 0})
    assert different_terms(here, here) == ([], [])
    extra, lost = different_terms(here, at_values(known, {"lam": 0}))
    assert any("lam" in term for term in extra)
    assert any("rho" in term for term in lost)
