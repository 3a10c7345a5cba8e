"""KEY:VARIANT selects a statement in every command that accepts a key."""

from __future__ import annotations

import json

import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds.reference import is_registered_key, load, load_all
from dfltheory.cli import run
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.experiments.experiment_file import read_experiment

KEY = "dfedsam.theorem_4_5"
REFERENCE = f"{KEY}:corrected"


def document(capsys, *arguments):
    run([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_key_with_variant_is_loaded():
    assert load(REFERENCE) is bounds.get(KEY, "corrected")
    assert load_all(REFERENCE) == (bounds.get(KEY, "corrected"),)
    assert load(REFERENCE, "corrected") is bounds.get(KEY, "corrected")
    assert is_registered_key(REFERENCE)


def test_two_different_variants_are_rejected():
    for ask in (load, lambda name, variant: load_all(name, (variant,))):
        with pytest.raises(InputError, match="variant"):
            ask(REFERENCE, "printed")


@pytest.mark.parametrize("name", [f"{KEY}:corect", "dfedsam.theorem_45:corrected"])
def test_typing_error_in_key_or_variant_is_an_unknown_name(name):
    with pytest.raises(UnknownNameError):
        load(name)


def test_own_objects_keep_their_names(tmp_path, monkeypatch):
    (tmp_path / "dfedsam.py").write_text(
        f"from dfltheory import bounds\nmine = bounds.get({KEY!r}, 'corrected')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert not is_registered_key("dfedsam.py:mine")
    assert load("dfedsam.py:mine").variant == "corrected"


def test_bound_and_audit_take_key_with_variant(capsys):
    assert document(capsys, "bound", REFERENCE)["variant"] == "corrected"
    findings = document(capsys, "audit", REFERENCE, "--check", "units")["findings"]
    assert {finding["variant"] for finding in findings} <= {"corrected"}


def test_show_takes_key_with_variant(capsys):
    assert document(capsys, "falsify", "--show", REFERENCE)["variant"] == "corrected"


def test_falsify_takes_key_with_variant(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = document(capsys, "falsify", REFERENCE, "--candidates", "4")
    assert found["variant"] == "corrected"


def test_validate_takes_key_with_variant(capsys):
    small = ["--rounds", "5", "--seeds", "2", "--m", "4", "--topology", "ring"]
    verdicts = document(capsys, "validate", REFERENCE, *small)["verdicts"]
    assert [v["variant"] for v in verdicts] == ["corrected"]


def test_compare_takes_key_with_variant(capsys, tmp_path):
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=2, rho=0.0)
    ring = dfl.graphs.ring(4)
    history = dfl.train(algorithm, task, ring, rounds=5, progress=False)
    file = tmp_path / "run.safetensors"
    history.save(file)
    assert document(capsys, "compare", str(file), REFERENCE)["variant"] == "corrected"


def test_experiment_file_may_name_a_registered_variant_without_trust():
    experiment = read_experiment(
        {
            "task": {"name": "quadratic", "m": 4, "d": 2},
            "topology": {"name": "ring"},
            "algorithm": {"name": "dfedsam", "K": 2},
            "run": {"rounds": 5},
            "theorem": {"key": REFERENCE, "schedule": True},
        }
    )
    assert [t.variant for t in experiment.cell.theorems] == ["corrected"]
