"""A status belongs to the content of a statement, and is shown wherever the statement
is shown.
"""

from __future__ import annotations

import importlib.util
import json
import tomllib
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import dfltheory as dfl
from dfltheory import bounds, cli
from dfltheory.bounds import registry, status
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.status import NOT_EXAMINED, Status, status_from_dict
from dfltheory.errors import DataError, InputError
from validation import statuses
from validation.searched import is_refuted

KEY = "dfedsam.theorem_4_5"
SET = [
    "--set",
    "L=1",
    "K=5",
    "T=1000",
    "Q=1",
    "m=16",
    "eta=0.005",
    "rho=0.01",
    "lam=0.8",
    "sigma_l=1",
    "sigma_g=1",
    "f0_gap=1",
]
STORED = json.loads(status.STATUS_FILE.read_text(encoding="utf-8"))["statements"]
SEARCHES = statuses.read(statuses.SEARCHES)


def theory_page(theorem):
    path = Path(__file__).parents[2] / "docs" / "_site" / "theory.py"
    spec = importlib.util.spec_from_file_location("theory_page", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return "\n".join(page._variant(theorem))


def test_printed_theorem_is_refuted_and_corrected_one_proved():
    refuted, proved = (
        bounds.get(KEY, "printed").status,
        bounds.get(KEY, "corrected").status,
    )
    assert (refuted.kind, proved.kind) == ("refuted", "proved")
    assert refuted.ratio == pytest.approx(52.736, rel=1e-4)
    assert 3 <= len(refuted.counterexample) <= 5
    assert "hypotheses" in proved.how


def test_status_does_not_survive_a_changed_constant_under_the_same_name(
    tmp_path, capsys, monkeypatch
):
    corrected = bounds.get(KEY, "corrected")
    name = next(iter(corrected.parts))
    smaller = replace(
        corrected, parts={**corrected.parts, name: corrected.parts[name] / 16000}
    )
    assert smaller.key == corrected.key
    assert smaller.status == NOT_EXAMINED
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from dfltheory import bounds\n"
        f"base = bounds.get({KEY!r}, 'corrected')\n"
        f"parts = {{**base.parts, {name!r}: base.parts[{name!r}] / 16000}}\n"
        "changed = replace(base, parts=parts)\n"
        "same = replace(base, key='mine.theorem_1', title='mine')\n"
    )
    for values in ([], SET):
        cli.run(["bound", f"{tmp_path}/mine.py:changed", "--json", *values])
        assert json.loads(capsys.readouterr().out)["status"]["kind"] == "not examined"
        cli.run(["bound", f"{tmp_path}/mine.py:same", "--json", *values])
        assert json.loads(capsys.readouterr().out)["status"]["kind"] == "proved"


@pytest.mark.drawn(1)
@pytest.mark.parametrize("variant", ["printed", "corrected"])
def test_each_place_shows_the_status(variant, capsys):
    theorem = bounds.get(KEY, variant)
    text = str(theorem.status)
    assert f"Status: {text}" in theory_page(theorem)
    for values in ([], SET):
        cli.run(["bound", KEY, "--variant", variant, *values])
        assert f"status: {text}\n" in capsys.readouterr().out
        cli.run(["bound", KEY, "--variant", variant, "--json", *values])
        assert (
            status_from_dict(json.loads(capsys.readouterr().out)["status"])
            == theorem.status
        )
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    algorithm = dfl.algorithms.DFedAvg(eta=0.01, K=1)
    run = dfl.exact_history(algorithm, task, dfl.graphs.topology("ring", 4), rounds=2)
    verdict = dfl.compare(run, theorem)
    assert verdict.status == theorem.status
    assert f"the statement is {theorem.status.kind}" in str(verdict)
    assert verdict.to_dict()["status"]["kind"] == theorem.status.kind
    if variant == "printed":
        assert theorem.status.show_command in str(verdict)
        assert f"[{variant}]: holds" not in str(verdict)


def test_holds_on_a_refuted_statement_is_about_the_run_alone():
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    algorithm = dfl.algorithms.DFedAvg(eta=0.01, K=1)
    run = dfl.exact_history(algorithm, task, dfl.graphs.topology("ring", 4), rounds=2)
    printed, corrected = (
        dfl.compare(run, KEY, variant=v) for v in ("printed", "corrected")
    )
    assert "[printed]: within the bound here" in str(replace(printed, kind="holds"))
    assert "[printed]: violated" in str(replace(printed, kind="violated"))
    assert "[corrected]: holds" in str(replace(corrected, kind="holds"))


def test_falsify_shows_the_stored_counterexample_from_any_folder(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    stored = bounds.get(KEY).status
    for reference in (f"{KEY}:printed", KEY):
        assert cli.run(["falsify", "--show", reference]) == 1
        shown = capsys.readouterr().out
        assert all(line in shown for line in stored.counterexample)
        assert stored.command in shown
    assert cli.run(["falsify", "--show", f"{KEY}:corrected", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"]["kind"] == "proved"
    assert cli.run(["falsify", "--show", f"{KEY}:nothing"]) == 2
    assert cli.run(["falsify", KEY, "--show", KEY]) == 2


# -- the file


def test_file_is_what_the_writer_makes_from_the_stored_results():
    assert statuses.entries(SEARCHES, statuses.read(statuses.PROOFS)) == STORED


def test_file_ships_in_the_wheel():
    project = tomllib.loads(
        (statuses.DOCS.parent / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert (
        "bounds/status.json"
        in project["tool"]["setuptools"]["package-data"]["dfltheory"]
    )


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_stored_searches_are_of_the_outcome_files_and_statements_of_today(every):
    files = sorted(statuses.OUTCOMES.glob("*.json"))
    assert sorted(SEARCHES) == [file.name for file in files]
    for file in files[::every]:
        name, hashes = statuses.key_of(file)
        assert (SEARCHES[file.name]["name"], SEARCHES[file.name]["hashes"]) == (
            name,
            hashes,
        )
        refuted = is_refuted(json.loads(file.read_text(encoding="utf-8")))
        assert (SEARCHES[file.name]["status"]["kind"] == "refuted") is refuted


def test_every_entry_is_of_a_registered_statement_of_that_content():
    known = {f"{t.key}:{t.variant}": statement_hash(t) for t in registry.statements()}
    for digest, entry in STORED.items():
        assert {known[name] for name in entry["statements"]} == {digest}
    kinds = [entry["status"]["kind"] for entry in STORED.values()]
    assert kinds.count("refuted") == sum(
        r["status"]["kind"] == "refuted" for r in SEARCHES.values()
    )


def test_unchanged_outcome_is_not_replayed_and_a_changed_one_is(tmp_path, monkeypatch):
    name = "dfedsam.theorem_4_5-printed.json"
    content = (statuses.OUTCOMES / name).read_bytes()
    (tmp_path / name).write_bytes(content)
    replayed = []
    replay = statuses.replay

    def counted(file):
        replayed.append(file.name)
        return replay(file)

    monkeypatch.setattr(statuses, "replay", counted)
    assert statuses.search_records(tmp_path, SEARCHES) == {name: SEARCHES[name]}
    assert replayed == []
    document = json.loads(content)
    document["seconds"] += 1
    (tmp_path / name).write_text(json.dumps(document))
    (again,) = statuses.search_records(tmp_path, SEARCHES).values()
    assert replayed == [name]
    before = SEARCHES[name]["status"]
    assert again["status"].pop("ratio") == pytest.approx(before["ratio"], rel=1e-6)
    assert again["status"] == {
        field: value for field, value in before.items() if field != "ratio"
    }
    assert (
        again["hashes"]["file"]
        == sha256((tmp_path / name).read_bytes()).hexdigest()[:16]
    )
    document["ratio"] *= 2  # it does not replay
    (tmp_path / name).write_text(json.dumps(document))
    assert statuses.search_records(tmp_path, SEARCHES) == {}


def test_an_outcome_does_not_count_for_another_statement_of_the_same_name(
    tmp_path, monkeypatch
):
    name = "dfedsam.theorem_4_5-printed.json"
    (tmp_path / name).write_bytes((statuses.OUTCOMES / name).read_bytes())
    printed = bounds.get(KEY)
    larger = replace(printed, parts={n: 1000 * p for n, p in printed.parts.items()})
    monkeypatch.setattr(registry, "get", lambda key, variant="printed": larger)
    assert statuses.search_records(tmp_path, SEARCHES) == {}


def test_a_statement_that_is_refuted_and_proved_is_an_error():
    (name,) = [n for n in SEARCHES if n == "dfedsam.theorem_4_5-printed.json"]
    digest = SEARCHES[name]["hashes"]["statement"]
    proof = {
        "statements": ["a.b:c"],
        "method": "kernel-checked",
        "hypotheses": ["smooth"],
        "rules": 3,
    }
    with pytest.raises(InputError, match="refuted and proved"):
        statuses.entries({name: SEARCHES[name]}, {digest: proof})


def test_a_proof_from_cited_lemmas_names_them():
    proof = {
        "statements": ["a.b:c"],
        "method": "certified algebra",
        "cited": ["a.lemma_1 (printed)"],
    }
    (entry,) = statuses.entries({}, {"0": proof}).values()
    found = status_from_dict(entry["status"])
    assert found.kind == "proved from cited lemmas"
    assert "a.lemma_1" in found.how


def test_status_keeps_the_search_next_to_a_proof():
    found = bounds.get(KEY, "corrected").status
    assert found.kind == "proved"
    assert "candidates" in found.search


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "status"),
        ({"kind": "true"}, "kind"),
        ({"kind": "proved", "more": 1}, "more"),
        ({"kind": "proved", "how": 1}, "how"),
        ({"kind": "refuted", "ratio": "2"}, "ratio"),
        ({"kind": "refuted", "ratio": True}, "ratio"),
        ({"kind": "refuted", "counterexample": ["line"] * 6}, "counterexample"),
        ({"kind": "refuted", "counterexample": "line"}, "counterexample"),
    ],
)
def test_a_status_of_a_file_is_checked_field_by_field(document, field):
    with pytest.raises(DataError, match=field):
        status_from_dict(document)


def test_a_status_is_read_back_as_it_was_written():
    found = Status(
        "refuted", "2 times", 2.0, ("one", "two"), "command", "search", "a.b:c"
    )
    assert status_from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert status_from_dict(NOT_EXAMINED.to_dict()) == NOT_EXAMINED


def test_papers_say_from_which_text_their_statements_are_but_those_whose_text_is_the_subject():
    provenances = {name: registry.paper(name).provenance for name in registry.papers()}
    assert {name for name, text in provenances.items() if not text} == {
        "dfedadmm",
        "dfedmdc",
        "dfedsam",
        "dfedsgpsm",
    }
