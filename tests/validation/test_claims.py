"""The table of claims agrees with the searches, and statements in O(.) are judged only
by growth.
"""

import dataclasses
import json

import numpy as np
import pytest

import dfltheory as dfl
from validation import claims, run_all, searched


def test_statuses_refute_what_the_page_of_counterexamples_counts():
    known = {
        (t.key, t.variant): t.status
        for t in dfl.bounds.statements()
        if t.status.refuted
    }
    page = (searched.FOLDER.parent / "falsify.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip(" `") for cell in line.split("|")]
        for line in page.splitlines()
        if line[:3] == "| `"
    ]
    assert {(row[1], row[2]) for row in rows if "**refuted**" in row[3]} == set(known)
    found = json.loads(
        (searched.FOLDER / "dfedsam.theorem_4_5-printed.json").read_text()
    )["ratio"]
    assert known["dfedsam.theorem_4_5", "printed"].ratio == pytest.approx(
        found, rel=1e-6
    )
    family = json.loads(
        (searched.FOLDER / "dfedadmm.corollary_1-printed.json").read_text()
    )["divergence"]
    growth = family["ratios"][-1] / family["ratios"][0]
    assert known["dfedadmm.corollary_1", "printed"].ratio == pytest.approx(
        growth, rel=1e-6
    )
    assert not [variant for _, variant in known if variant.startswith("corrected")]


class Of:
    def __init__(self, *verdicts):
        self.verdicts = verdicts
        self.case = type("Case", (), {"group": "g"})


def verdict(kind, variant="printed", ratio=0.5):
    numbers = (None, 1.0, ratio, (ratio, ratio), 1.0)
    return dfl.verdicts.Verdict(kind, "dfedsam.theorem_4_5", variant, "why", *numbers)


def test_claim_of_a_group_has_its_worst_verdict():
    (claim,) = claims.bound_claims(
        [Of(verdict("holds")), Of(verdict("violated", ratio=2.0))]
    )
    assert (claim.verdict, claim.ratio) == ("violated", 2.0)
    (claim,) = claims.bound_claims(
        [Of(verdict("not applicable", ratio=np.nan)), Of(verdict("holds"))]
    )
    assert (claim.verdict, claim.ratio) == ("holds", 0.5)
    assert "1 holds, 1 not applicable" in claim.detail


@pytest.mark.parametrize("kind", ["holds", "vacuous", "not applicable"])
def test_a_refuted_statement_is_never_called_just_that(kind):
    printed, corrected = claims.bound_claims(
        [Of(verdict(kind, "printed"), verdict(kind, "corrected"))]
    )
    by = dfl.bounds.get("dfedsam.theorem_4_5").status.how
    assert by
    assert printed.said == f"{kind} here (refuted in general: {by})"
    assert printed.to_dict()["refuted"] == by
    assert corrected.said == kind


def claim_of_growth(power, monkeypatch, seeds=4):
    """Return the claim on runs whose measured / expression is T^power, up to a spread
    over seeds, for an unregistered statement.
    """
    printed = dfl.bounds.get("dfedsam.corollary_4_6")
    T = dfl.bounds.GLOSSARY["T"].symbol
    flat = dataclasses.replace(
        printed, parts={"only": 1e6 * T ** (-power)}, conditions=(), definitions=()
    )
    monkeypatch.setattr(dfl.bounds, "get", lambda key, variant="printed": flat)
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.3, seed=0)
    runs = []
    for rounds in (20, 80):
        run = dfl.train(
            dfl.algorithms.DFedSAM(eta=0.02, K=1),
            task,
            dfl.graphs.complete(4),
            rounds,
            seeds,
        )
        sign = 1 if rounds == 20 else -1
        values = (
            1
            + sign * 0.1 * (np.arange(seeds) - (seeds - 1) / 2)[:, None]
            + 0 * run.grad_norm_sq
        )
        runs.append(
            dataclasses.replace(run, grad_norm_sq=values, topology=run.topology)
        )
    return claims.growth_claim("dfedsam.corollary_4_6", "printed", runs, "")


@pytest.mark.parametrize(("power", "kind"), [(0.3, "growing"), (-0.3, "bounded")])
def test_an_o_is_judged_by_growth_however_small_its_constant(power, kind, monkeypatch):
    claim = claim_of_growth(power, monkeypatch)
    assert claim.ratio < 1e-4  # a rule "at most 1" would report no problem
    assert claim.verdict == kind
    low, high = claim.growth
    assert low <= power <= high
    assert claim.said.startswith(f"{kind} here, as T^[")
    assert claim.refuted == ""  # another formula under the name of a refuted statement


def test_growth_that_seeds_leave_open_is_undecided(monkeypatch):
    claim = claim_of_growth(0.0, monkeypatch)
    assert claim.verdict == "undecided"
    with monkeypatch.context() as again:
        # one seed of a run with noise has no interval
        alone = claim_of_growth(0.3, again, seeds=1)
    assert alone.verdict == "undecided"


def test_print_counts_groups_claims_by_their_verdict(capsys):
    claim_list = [
        claims.Claim(
            "a", "s", "bound against runs: blocks", "holds", 0.5, "d", refuted="ratio 3"
        ),
        claims.Claim(
            "b", "s", "growth under O(.)", "growing", 2.0, "d", growth=(0.1, 0.2)
        ),
        claims.Claim("c", "s", "stated value", "holds", 1.0, "d"),
    ]
    run_all.print_counts(claim_list, [])
    assert capsys.readouterr().out.splitlines() == [
        "verdicts on runs: none",
        "claims: 1 holds here, 1 growing here, 1 holds",
    ]
