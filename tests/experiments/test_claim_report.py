"""Claim reports: controls, result, and a document that matches its schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dfltheory import bounds
from dfltheory.bounds.status import Status
from dfltheory.cli import run
from dfltheory.errors import InputError
from dfltheory.experiments.claim_document import ClaimDocument
from dfltheory.experiments.claim_report import Budget, ClaimReport, SearchResult
from dfltheory.experiments.negative_controls import negative_controls
from dfltheory.experiments.standard_problems import StandardVerdict

PAIRS = Path(__file__).parents[1] / "counterexamples" / "pairs"


def test_controls_have_a_smaller_bound_and_different_names():
    theorem = bounds.get("wang2021.theorem_1")
    values = dict.fromkeys(theorem.needs, 0.01) | {"m": 4, "T": 9, "K": 2}
    values = {name: values[name] for name in theorem.needs}
    controls = negative_controls(theorem)
    assert len({control.name for control in controls}) == len(controls) >= 4
    for control in controls:
        smaller = control.theorem.evaluate(where="nan", **values)
        assert not smaller >= theorem.evaluate(where="nan", **values)


def test_controls_of_rates_change_powers_alone():
    theorem = bounds.get("dfedmdc.theorem_2")
    assert theorem.order
    names = [control.name for control in negative_controls(theorem)]
    assert names
    assert all(name.startswith("power_of_") for name in names)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_budget_rejects_seconds_that_are_no_budget(seconds):
    with pytest.raises(InputError, match="seconds"):
        Budget(seconds)


def test_budget_may_be_a_fraction_of_a_second():
    assert Budget(0.5).options["seconds"] == 0.5


def test_standard_problem_without_hyperparameters_has_no_command():
    verdict = StandardVerdict(
        network="ring",
        task="quadratic",
        options={},
        rounds=100,
        hyperparameters={},
        verdict=None,
        kind="not applicable",
        reason="no step size satisfies the conditions",
    )
    assert verdict.command("dfedsam.theorem_4_5") == ""


@pytest.mark.parametrize(
    ("searched", "outcome"),
    [
        ("not refuted", "NOT REFUTED SO FAR"),
        ("undecided", "NOT REFUTED SO FAR"),
        ("ratio grows", "NOT REFUTED SO FAR"),
        ("no candidate judged", "NOT APPLICABLE"),
        ("not searched", "NOT APPLICABLE"),
    ],
)
def test_outcome_follows_from_search_and_status(searched, outcome):
    theorem = bounds.get("pepit.gradient_descent", "example")
    report = ClaimReport(theorem, Budget(), SearchResult(searched))
    assert report.outcome(Status()) == outcome
    refuted = replace(Status(), kind="refuted", how="2 times the bound")
    assert report.outcome(refuted) == "REFUTED"


@pytest.mark.slow
def test_false_statement_is_reported_as_refuted(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = PAIRS / "convex_constant.toml"
    options = ["--variant", "false", "--candidates", "1500", "--out", "page.html"]
    assert run(["referee", str(file), *options]) == 1
    claim = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    assert ClaimDocument.model_validate(claim).outcome == "REFUTED"
    assert claim["evidence"]
    saved = claim["search"]["counterexample"]
    capsys.readouterr()
    assert run(["falsify", "--replay", str(tmp_path / saved)]) == 1
    assert "REFUTED" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_schema_of_claims_is_printed(capsys):
    assert run(["schema", "claim"]) == 0
    assert "outcome" in json.loads(capsys.readouterr().out)["properties"]
