"""The points and rounds of left-hand sides agree with those of their sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.reference import load_all
from dfltheory.bounds.registry import REGISTRY
from dfltheory.checks.measured import check_measured, has_left_source
from validation.papers import PAPERS, appendix

PROOF = Path(__file__).parent / "proof_files/proof.toml"
COROLLARY = bounds.get("dfedsam.corollary_4_6", variant="corrected")
PARENT = bounds.get("dfedsam.theorem_4_5", variant="corrected")
QUOTED = bounds.get("dfedmdc.rate_quoted_dfedsam")


def terms(theorem):
    return [finding.evidence["term"] for finding in check_measured(theorem)]


def measuring(theorem, **fields):
    """Return a statement with another left-hand side."""
    return replace(theorem, lhs=replace(theorem.lhs, latex="Y", unit=None, **fields))


def test_no_registered_statement_and_no_display_has_another_left_side_than_its_source():
    registry = REGISTRY
    for paper in PAPERS:
        registry = registry.including(appendix(paper))
    compared = [t for t in registry.statements() if has_left_source(t, registry)]
    assert len(compared) > 30
    assert [f for t in compared for f in check_measured(t, registry)] == []


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, []),
        ({"measure": "grad_norm_sq_w"}, ["point"]),
        ({"measure": "client_gradient_sq"}, ["point"]),
        ({"aggregate": "last"}, ["rounds"]),
        ({"aggregate": "each"}, ["rounds"]),
        ({"aggregate": "max"}, ["rounds"]),
        ({"aggregate": "min"}, []),
        ({"aggregate": "min", "last": s.T}, []),
        ({"aggregate": "min", "last": s.T - 2}, ["rounds"]),
        ({"first": sp.S.One, "last": s.T}, ["rounds"]),
        ({"start": 1}, ["start"]),
        ({"measure": "grad_norm_sq_w", "aggregate": "last"}, ["point", "rounds"]),
        ({"measure": "consensus"}, []),
        ({"measure": "f_gap"}, []),
    ],
)
def test_other_point_or_rounds_than_those_of_the_parent_are_reported(fields, found):
    assert terms(measuring(COROLLARY, **fields)) == found


@pytest.mark.parametrize(
    ("source", "own", "found"),
    [
        ({"aggregate": "each"}, {"aggregate": "mean"}, []),
        ({"aggregate": "each"}, {"aggregate": "last"}, []),
        ({"aggregate": "each"}, {"aggregate": "max"}, []),
        ({"aggregate": "each"}, {"aggregate": "last", "last": s.T}, ["rounds"]),
        ({"aggregate": "each"}, {"aggregate": "min", "last": s.T}, []),
        ({"aggregate": "last"}, {"aggregate": "min"}, []),
        ({"aggregate": "last"}, {"aggregate": "mean"}, ["rounds"]),
        ({"aggregate": "min"}, {"aggregate": "mean"}, ["rounds"]),
        ({"aggregate": "sum"}, {"aggregate": "mean"}, []),
    ],
)
def test_rounds_that_follow_from_the_source_are_not_reported(source, own, found):
    parent = measuring(PARENT, **source)
    child = replace(measuring(COROLLARY, **own), of=parent)
    assert terms(child) == found


def test_evidence_has_both_points():
    (finding,) = check_measured(measuring(COROLLARY, measure="client_gradient_sq"))
    assert finding.severity == "warning"
    assert finding.evidence["here"] == "the local models"
    assert finding.evidence["source"] == "the mean model"


def test_quoted_rate_of_another_point_is_reported():
    assert terms(QUOTED) == []
    assert terms(measuring(QUOTED, measure="client_gradient_sq"))[0] == "point"


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        ("mean_t(sq(full(xbar)))", []),
        ("mean_t(sq(mean(g)))", ["last step"]),
        ("mean_t(sq(g))", ["last step"]),
        ("mean_t(sq(grad(xbar)))", ["last step"]),
        ("mean_t(sq(dev(x)))", []),
    ],
)
def test_last_step_at_another_point_is_reported(moment, found):
    (theorem,) = load_all(str(PROOF))
    assert terms(theorem) == []
    last = ProofStep("LAST <= bound", (), ("assumption",), "last")
    moments = {**theorem.moments, "LAST": moment}
    steps = (*theorem.steps, last)
    assert terms(replace(theorem, steps=steps, moments=moments)) == found
