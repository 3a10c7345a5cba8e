"""Network constants given by formulas in m: wrong ones are refuted on a small graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import ONE
from dfltheory.checks.extremes import check_extremes
from dfltheory.checks.network_constants import (
    SIZES,
    check_network_constants,
    extreme_networks,
    least_rate,
    least_weight,
    rounds_to_reach_all,
)

SYMMETRIC = bounds.get("dfedsam.theorem_4_5", "corrected")
DIRECTED = bounds.get("dfedsgpsm.theorem_1", "corrected")


def with_constants(theorem, **formulas):
    """Return the statement with network constants given by formulas."""
    own = []
    for name, formula in formulas.items():
        symbol = getattr(s, name)
        own += [Condition(name, symbol, formula), Condition(name, formula, symbol)]
    return replace(theorem, conditions=(*own, *theorem.conditions))


RETURNS = "directed path with returns with equal shares"
WRONG = [
    (SYMMETRIC, "lam", 1 - 1 / s.m, "path with Metropolis weights"),
    (DIRECTED, "q", 1 - 1 / s.m, "path with Metropolis weights"),
    (DIRECTED, "q", sp.Rational(1, 2), "path with Metropolis weights"),
    (DIRECTED, "delta", 1 / s.m, RETURNS),
    (DIRECTED, "delta", 1 / (2 * s.m), RETURNS),
]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("theorem", "name", "formula", "network"), WRONG)
def test_formula_that_fails_on_a_graph_is_a_restriction(
    theorem, name, formula, network
):
    statement = with_constants(theorem, **{name: formula})
    (finding,) = check_network_constants(statement)
    assert (finding.severity, finding.place) == ("warning", name)
    assert finding.evidence["network"] == network
    assert finding in [replace(f, **blank()) for f in check_extremes(statement)]


def blank():
    """Return values for the fields that a check fills in."""
    return {"check": "", "key": "", "variant": ""}


VALID = [
    (SYMMETRIC, {"lam": 1 - 1 / (4 * s.m**2)}),
    (DIRECTED, {"q": (1 - s.m**-s.m) ** (1 / s.m)}),
    (DIRECTED, {"delta": s.m**-s.m}),
    (DIRECTED, {"C": 4 * s.m**s.m, "q": (1 - s.m**-s.m) ** (1 / s.m)}),
    (DIRECTED, {"C": 1 / s.delta}),
]


@pytest.mark.parametrize(("theorem", "formulas"), VALID)
def test_valid_formula_passes(theorem, formulas):
    assert list(check_network_constants(with_constants(theorem, **formulas))) == []


DIAMETER = Quantity("Diam", "D", ONE, "diameter of the network", of="network: diameter")


def q_by_diameter(a):
    """The formula (1 - a^D)^(1/(D + 1)) for the contraction of push-sum."""
    known = replace(DIRECTED, quantities=(DIAMETER,))
    rate = (1 - a**DIAMETER.symbol) ** (1 / (DIAMETER.symbol + 1))
    return with_constants(known, q=rate)


@pytest.mark.parametrize("share", [sp.Rational(1, 2), sp.Rational(4, 5)])
def test_contraction_by_the_diameter_alone_is_refuted(share):
    """No constant a works on all networks: some have a small diameter and a small gap."""
    (finding,) = check_network_constants(q_by_diameter(share))
    assert finding.place == "q"
    assert finding.evidence["exact"] > finding.evidence["stated"]


@pytest.mark.parametrize("m", [4, 8, 16])
def test_linked_cliques_have_a_small_diameter_and_a_small_gap(m):
    """With equal shares the gap is at most 2/((m/2)^2 + 1)."""
    networks = {n.name: n.matrix for n in extreme_networks(DIRECTED, m)}
    matrix = networks["pair of linked cliques with equal shares"]
    assert rounds_to_reach_all(matrix) == 3
    assert least_rate(matrix) >= 1 - 2 / ((m / 2) ** 2 + 1)


def test_contraction_by_the_diameter_and_the_least_weight_passes():
    """The least weight of a network with m clients is at least 1/m."""
    assert list(check_network_constants(q_by_diameter(1 / s.m))) == []


def test_diameter_of_small_networks():
    assert [rounds_to_reach_all(n.matrix) for n in extreme_networks(SYMMETRIC, 8)] == [
        1,
        7,
        2,
        3,
    ]
    directed = {
        n.name: rounds_to_reach_all(n.matrix) for n in extreme_networks(DIRECTED, 8)
    }
    assert directed["directed ring with equal shares"] == 7


@pytest.mark.parametrize(
    "conditions",
    [
        (Condition("a", s.lam, sp.Integer(0)), Condition("b", sp.Integer(0), s.lam)),
        (Condition("a", s.lam, sp.S.Half), Condition("b", sp.S.Half, s.lam)),
        (Condition("a", s.lam, 1 / s.m), Condition("b", 1 / s.m, s.lam)),
        (Condition("a", 2 * s.lam, s.lam),),
    ],
    ids=["complete averaging", "one half", "1/m", "2 lam <= lam"],
)
def test_a_hypothesis_on_the_network_is_never_an_error(conditions):
    statement = replace(SYMMETRIC, conditions=(*conditions, *SYMMETRIC.conditions))
    findings = [*check_network_constants(statement), *check_extremes(statement)]
    assert {finding.severity for finding in findings} <= {"warning", "note"}


def test_constant_that_is_too_small_for_its_rate_is_refuted():
    rate = (1 - s.m**-s.m) ** (1 / s.m)
    statement = with_constants(DIRECTED, C=1 / s.m, q=rate)
    (finding,) = check_network_constants(statement)
    assert finding.place == "C"
    assert finding.evidence["exact"] > finding.evidence["stated"]


def test_condition_in_one_direction_excludes_graphs():
    condition = Condition("contraction", s.lam, 1 - 1 / s.m)
    statement = replace(SYMMETRIC, conditions=(condition,))
    (finding,) = check_network_constants(statement)
    assert (finding.severity, finding.place) == ("warning", "lam")
    fixed = replace(SYMMETRIC, conditions=(Condition("fast", s.lam, sp.S.Half),))
    assert list(check_network_constants(fixed)) == []
    safe = replace(SYMMETRIC, conditions=(Condition("slow", 1 - 1 / s.m, s.lam),))
    assert list(check_network_constants(safe)) == []


def test_registered_statements_have_no_wrong_network_constants():
    for theorem in bounds.registry.REGISTRY.statements():
        assert list(check_network_constants(theorem)) == []


@pytest.mark.parametrize("theorem", [SYMMETRIC, DIRECTED])
def test_extreme_networks_obey_the_law_of_the_statement(theorem):
    for m in SIZES:
        for network in extreme_networks(theorem, m):
            matrix = network.matrix
            np.testing.assert_allclose(matrix.sum(axis=0), 1)
            assert (matrix >= 0).all()
            assert 0 < least_weight(matrix) <= 1
            if theorem is SYMMETRIC:
                np.testing.assert_allclose(matrix, matrix.T)
