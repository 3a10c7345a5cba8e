"""``dfltheory sweep`` as used by people and programs."""

import csv
import dataclasses
import json

import pytest

from dfltheory import bounds
from dfltheory.cli import run
from dfltheory.experiments.results import load_results
from dfltheory.number_format import format_number
from dfltheory.verdicts.compare import compare

TEXT = """
[task]
name = "quadratic"
m = 4
d = 2
[algorithm]
name = "dfedavg"
K = 1
eta = 0.05
[run]
rounds = 3
[sweep]
topology.name = ["ring", "complete"]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return path


def test_json_is_one_document_and_nothing_else(file, capsys, undrawn):
    assert run(["sweep", str(file), "--jobs", "1", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert (document["ran"], document["kept"], document["folder"]) == (
        2,
        0,
        "results/small",
    )
    assert [c["settings"]["topology.name"] for c in document["cells"]] == [
        "ring",
        "complete",
    ]
    assert {c["status"] for c in document["cells"]} == {"done"}
    assert run(["sweep", str(file), "--jobs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 2


def test_the_table_has_a_row_for_each_cell(file, capsys, undrawn):
    assert run(["sweep", str(file), "--jobs", "1", "--out", "here"]) == 0
    said = capsys.readouterr().out
    assert "ring" in said
    assert "complete" in said
    assert "2 cells run, 0 kept from before, 0 failed: here" in said
    assert (file.parent / "here" / "results.csv").is_file()


def test_table_shows_the_accuracy_of_cells_with_test_examples(file, capsys, undrawn):
    digits = TEXT.replace('"quadratic"\nm = 4\nd = 2', '"digits"\nm = 2')
    digits = digits.replace('["ring", "complete"]', '["complete"]')
    file.write_text(
        digits.replace("rounds = 3", 'rounds = 3\nmetrics = ["client_accuracy"]')
    )
    assert run(["sweep", str(file), "--jobs", "1", "--out", "here"]) == 0
    shown = capsys.readouterr().out
    cells = load_results("here").cells
    for name in ("accuracy", "client_accuracy"):
        for cell in cells:
            assert format_number(cell.record["final"][name]) in shown
    assert "test accuracy" in shown


def test_a_violated_bound_is_a_failed_check(file, capsys, monkeypatch, undrawn):
    true = bounds.get("dfedsam.theorem_4_5", "corrected")
    false = dataclasses.replace(
        true, parts={k: part / 10**6 for k, part in true.parts.items()}
    )
    monkeypatch.setattr("dfltheory.experiments.cases.variants_of", lambda *_: (false,))
    theorem = (
        '[theorem]\nkey = "dfedsam.theorem_4_5"\nvariants = ["corrected"]\n[sweep]'
    )
    file.write_text(
        TEXT.replace("rounds = 3", "rounds = 3\nseeds = 4").replace("[sweep]", theorem)
    )
    assert run(["sweep", str(file), "--jobs", "1", "--json"]) == 1
    kinds = [
        v["kind"]
        for c in json.loads(capsys.readouterr().out)["cells"]
        for v in c["verdicts"]
    ]
    assert "violated" in kinds


def test_table_and_file_say_what_would_make_a_theorem_apply(file, capsys, undrawn):
    theorem = '[theorem]\nkey = "dfedsam.theorem_4_5"\nvariants = ["corrected"]\n'
    text = TEXT.replace("m = 4", "m = 8").replace("K = 1", "K = 5")
    text = text.replace("eta = 0.05", "eta = 0.02")
    file.write_text(text.replace("[sweep]", f"{theorem}[sweep]"))
    assert run(["sweep", str(file), "--jobs", "1", "--out", "here"]) == 0
    printed = capsys.readouterr().out
    results = load_results("here")
    (ring,) = results.where(topology__name="ring")
    (verdict,) = ring.verdicts
    assert verdict.kind == "not applicable"
    assert verdict.suggestions.alternatives
    alone = compare(ring.history, "dfedsam.theorem_4_5", variant="corrected")
    assert str(verdict.suggestions) == str(alone.suggestions)
    with open("here/results.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    suggested = {row["topology.name"]: row["suggestion"] for row in rows}
    assert suggested == {"ring": str(verdict.suggestions), "complete": ""}
    cells = [line.split("│") for line in printed.splitlines() if "│" in line]
    column = next(row.index(cell) for row in cells for cell in row if "applies" in cell)
    words = " ".join(row[column].strip() for row in cells)
    assert str(verdict.suggestions) in words


def test_listing_runs_nothing(file, capsys):
    assert run(["sweep", str(file), "--list", "--json", "--set", "run.rounds=9"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [c["settings"] for c in listed["cells"]] == [
        {"topology.name": n} for n in ("ring", "complete")
    ]
    assert not (file.parent / "results").exists()
    assert run(["sweep", str(file), "--list", "--json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["cells"][0]["hash"]
        != listed["cells"][0]["hash"]
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.toml"], "none.toml does not exist"),
        ([], "experiment file"),
        (["small.toml", "--set", "run.round=3"], "did you mean rounds?"),
        (["small.toml", "--set", "rounds"], "NAME=VALUE"),
        (["small.toml", "--jobs", "0"], "jobs = 0 must be an integer >= 1"),
        (["small.toml", "--job", "1"], "No such option"),
    ],
)
def test_wrong_use_gets_one_line_and_status_2(file, capsys, arguments, line):
    assert run(["sweep", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert line in said.err
    assert said.err.count("\n") == 1


def test_sweep_writes_a_report_and_figures(file, capsys, undrawn):
    """Three horizons on two networks, under the schedule: verdicts, ratios and the
    fitted rate.
    """
    text = TEXT.replace("eta = 0.05\n", "").replace("dfedavg", "dfedsam")
    text += 'run.rounds = [50, 100, 200]\n[theorem]\nkey = "dfedsam.theorem_4_5"\n'
    text += 'variants = ["printed"]\nschedule = true\nconstants = { rho0 = 0.1 }\n'
    file.write_text(text.replace("rounds = 3\n", "seeds = 2\n"))
    assert run(["sweep", str(file), "--jobs", "1", "--out", "here"]) == 0
    assert "report: here/report.html" in capsys.readouterr().out
    page = (file.parent / "here" / "report.html").read_text()
    for words in (
        "exponent in run.rounds",
        "Measured / bound over topology.name",
        "What was not tested",
    ):
        assert words in page
    assert "Fitted exponent in run.rounds at topology.name = ring:" in page
    for name in ("sweep.json", "cells/", "results.csv"):  # files next to the page
        assert f"<code>{name}</code>" in page
        assert (file.parent / "here" / name).exists()
    assert "verdicts.json" not in page
    names = {path.name for path in (file.parent / "here" / "figures").iterdir()}
    assert names >= {
        "runs.png",
        "runs.pdf",
        "ratio-run-rounds.pdf",
        "rate-run-rounds.pdf",
    }


def test_without_a_theorem_the_report_shows_the_runs_and_the_failures(
    file, capsys, undrawn
):
    file.write_text(TEXT.replace("m = 4", "m = 6").replace('"ring", ', '"hypercube", '))
    assert run(["sweep", str(file), "--jobs", "1", "--out", "here"]) == 1
    assert "hypercube: InputError" in " ".join(capsys.readouterr().out.split())
    page = (file.parent / "here" / "report.html").read_text()
    assert "hypercube: InputError" in page
    assert (file.parent / "here" / "figures" / "runs.pdf").is_file()


@pytest.mark.slow
def test_a_refuted_statement_is_never_just_said_to_hold_and_no_label_is_lost(
    file, capsys, undrawn
):
    key = "dfedsam.theorem_4_5"
    file.write_text(
        TEXT.replace("dfedavg", "dfedsam").replace(
            "rounds = 3", "rounds = 120\nseeds = 2"
        )
        + f'[theorem]\nkey = "{key}"\n'
    )
    assert run(["sweep", str(file), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert all(variant in shown for variant in bounds.variants(key))
    page = (file.parent / "results/small/report.html").read_text()
    for text in (shown, page):
        assert (
            "holds here (refuted in general:" in text
            or "vacuous here (refuted in general:" in text
        )
