"""A term that lacks a factor with a unit is an error, also with a factor 1 - 1/K."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory.bounds.reference import load_all
from dfltheory.checks.idle_terms import parts_with_idle_terms
from dfltheory.checks.units import check_units
from tests.bounds.drawn_slips import slipped, statements

SLIPS = Path(__file__).parent / "slips"


def units(path):
    return [f for theorem in load_all(str(path)) for f in check_units(theorem)]


def test_drift_without_its_factor_l_is_an_error():
    (finding,) = units(SLIPS / "drift_without_l.toml")
    assert (finding.severity, finding.place) == ("error", "term drift")
    assert "factor L" in finding.correction


def test_true_bound_has_no_wrong_unit():
    assert units(SLIPS / "dfedavg.toml") == []


@pytest.mark.parametrize(("lowest", "is_idle"), [("1", True), ("2", False)])
def test_idle_term_is_one_that_cannot_be_negative(lowest, is_idle):
    """1 - 2/K is negative at K = 1: the term may depend on the others."""
    theorem = load_all(str(SLIPS / "drift_without_l.toml"))[0]
    K = theorem.glossary["K"].symbol
    drift = theorem.parts["drift"].subs(1 - 1 / K, 1 - sp.Integer(lowest) / K)
    changed = replace(theorem, parts={**theorem.parts, "drift": drift})
    assert parts_with_idle_terms(changed) == ({"drift"} if is_idle else set())


def test_unit_of_a_long_bound_is_checked_without_factoring_it():
    """Its expanded terms have hundreds of summands."""
    [theorem] = [t for t in statements() if t.key == "dfedsgpsm.theorem_1"]
    wrong = slipped(theorem, "unit", "sharpness: L")
    assert list(check_units(theorem)) == []
    assert [finding.severity for finding in check_units(wrong)] == ["error"]
