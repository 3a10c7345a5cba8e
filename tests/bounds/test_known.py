"""How a statement is known stands wherever it is shown, and is what the proofs gave."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

import dfltheory as dfl
from dfltheory import bounds, cli
from dfltheory.bounds import known, registry

KEY = "dfedsam.theorem_4_5"
SET = "--set L=1 K=5 T=1000 Q=1 m=16 eta=0.005 rho=0.01 lam=0.8 sigma_l=1 sigma_g=1 f0_gap=1".split()  # noqa: SIM905
SAID = ("kernel-checked", "certified algebra", "sampled", "paper")


def theory_page(theorem):
    path = Path(__file__).parents[2] / "docs" / "_site" / "theory.py"
    spec = importlib.util.spec_from_file_location("theory_page", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return "\n".join(page._variant(theorem))


@pytest.mark.parametrize("said", SAID)
def test_each_place_says_what_the_proofs_gave(said, monkeypatch, capsys):
    monkeypatch.setattr(known, "_stored", lambda: {f"{KEY}:corrected": said})
    theorem = bounds.get(KEY, "corrected")
    assert f"Known by: [{said}](" in theory_page(theorem)
    for values in ([], SET):
        assert cli.run(["bound", KEY, "--variant", "corrected", *values]) == 0
        assert f"known by: {said}\n" in capsys.readouterr().out
        assert cli.run(["bound", KEY, "--variant", "corrected", "--json", *values]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == said
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    run = dfl.exact_history(
        dfl.algorithms.DFedAvg(eta=0.01, K=1), task, dfl.graphs.topology("ring", 4), rounds=2
    )
    assert dfl.compare(run, theorem).theorem_status == said


def test_another_formula_under_a_registered_name_is_not_examined():
    own = replace(bounds.get(KEY, "corrected"), parts={"bound": bounds.symbols.L})
    assert known.status(own) == "not examined"
    assert "Known by: [not examined](" in theory_page(own)


def test_papers_say_from_which_text_their_statements_are_but_those_whose_text_is_the_subject():
    told = {name: registry.paper(name).provenance for name in registry.papers()}
    assert {name for name, text in told.items() if not text} == {
        "dfedadmm",
        "dfedmdc",
        "dfedsam",
        "dfedsgpsm",
    }
