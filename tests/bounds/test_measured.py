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


def larger_registry():
    registry = REGISTRY
    for paper in PAPERS:
        registry = registry.including(appendix(paper))
    return registry


def test_no_statement_but_those_of_one_erratum_has_another_point_than_its_source():
    """DFedMDC-E15: the descent in u is at V^(t+1), and its bound has a gradient at V^t."""
    registry = larger_registry()
    compared = [t for t in registry.statements() if has_left_source(t, registry)]
    assert len(compared) > 30
    found = {t.key: [*check_measured(t, registry)] for t in compared}
    wrong = {key: rows for key, rows in found.items() if rows}
    numbers = ("8", "10", "13", "27", "33_u")
    assert set(wrong) == {f"dfedmdc.eq_{number}" for number in numbers}
    assert all([f.evidence["term"] for f in rows] == ["D_u"] for rows in wrong.values())


@pytest.mark.parametrize(
    ("replaced", "added", "found"),
    [
        (s.D_u, 0, ["D_u"]),
        (s.G_u, 0, []),
        (s.D_u, s.L_uv**2 * s.step_v, []),
        (s.D_u, s.chi**2 * s.L_v * s.L_u * s.step_v, []),
        (s.D_u, s.L_u**2 * s.Xi, ["D_u"]),
    ],
)
def test_a_gradient_at_another_point_needs_a_term_for_the_distance(
    replaced, added, found
):
    display = larger_registry().get("dfedmdc.eq_10", "printed")
    assert s.D_u in display.bound.free_symbols
    parts = {n: part.subs(s.D_u, replaced) for n, part in display.parts.items()}
    assert terms(replace(display, parts={**parts, "distance": added * s.K})) == found


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


@pytest.mark.drawn(2)
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


TWO_BLOCKS = """
format = 1

[source]
title = "DFedMDC"
citation = "A draft on DFedMDC"

[quantities.g_before]
unit = "c^2/s^2"
meaning = "squared gradient"
point = "the personal parts V^t"

[quantities.g_after]
unit = "c^2/s^2"
meaning = "squared gradient"
point = "the personal parts V^(t+1)"

[[statement]]
key = "draft.step"
kind = "lemma"
title = "A step in the shared block"
source = "a draft, Lemma 1"
assumptions = ["smoothness"]
[statement.scope]
algorithms = ["DFedMDC"]
network = "symmetric"
common_start = false
[statement.left]
measure = "u_step"
latex = "E F(u^{t+1}, V^{t+1}) - E F(u^t, V^{t+1})"
aggregate = "each"
[statement.terms]
descent = "eta_u*K_u*GRADIENT + L_u*eta_u^2*K_u^2*sigma_u^2"
"""


@pytest.mark.parametrize(
    ("gradient", "found"), [("g_before", ["g_before"]), ("g_after", [])]
)
def test_quantity_of_a_file_is_compared_by_its_point(tmp_path, gradient, found):
    file = tmp_path / "step.toml"
    file.write_text(TWO_BLOCKS.replace("GRADIENT", gradient), encoding="utf-8")
    (theorem,) = load_all(str(file))
    assert terms(theorem) == found
