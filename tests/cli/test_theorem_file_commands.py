"""A theorem file in place of a key, in every command and function with a key."""

from __future__ import annotations

import json

import pytest

import dfltheory as dfl
from dfltheory import bounds, cli, falsify
from dfltheory.bounds.theorem_file import theorem_file_template

TRUE = """format = 1
[[statement]]
key = "mine.theorem_1"
kind = "theorem"
title = "D-PSGD on identical clients"
source = "a test"
[statement.scope]
algorithms = ["DPSGD"]
hyperparameters = { order = "any", K = 1 }
network = "symmetric"
common_start = true
[statement.left]
measure = "grad_norm_sq"
aggregate = "mean"
[statement.terms]
optimization = "40*f0_gap/(eta*T)"
noise = "20*eta*L*sigma_l^2"
[statement.conditions]
step = "eta*L <= 1/16"
homogeneous = "sigma_g == 0"
[statement.schedule]
eta = "1/(16*L*sqrt(T))"
"""
FALSE = TRUE.replace("40*f0_gap/(eta*T)", "f0_gap/(100*eta*T)").replace(
    "mine.", "false."
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create a working folder with a true theorem and a false one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TRUE)
    (tmp_path / "false.toml").write_text(FALSE)
    return tmp_path


def answer(capsys, *arguments, status=0):
    """Return the JSON document that a command prints."""
    assert cli.run([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_new_prints_a_file_that_bound_reads(folder, capsys):
    assert cli.run(["new"]) == 0
    text = capsys.readouterr().out
    assert text == theorem_file_template()
    (folder / "new.toml").write_text(text)
    assert cli.run(["bound", "new.toml"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "optimization: 2*f0_gap/(T*eta)",
        "sigma_g == 0",
        "network: symmetric",
        "[c^-1 s^2]",
        "LaTeX",
    ):
        assert words in shown
    assert "warning: only runs with these values are covered" in shown


LAST = (
    TRUE.replace('aggregate = "mean"', 'aggregate = "last"')
    .replace("grad_norm_sq", "f_gap")
    .replace("40*f0_gap/(eta*T)", "f0_gap*(1 - eta*mu)^T")
    .replace("20*eta*L*sigma_l^2", "eta*L*sigma_l^2/(2*mu)")
    .replace('homogeneous = "sigma_g == 0"', 'convex = "mu > 0"')
    .partition("[statement.schedule]")[0]
)
"""Gradient descent after T rounds, but measured at the default round T - 1."""


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("last", "found"), [("", 1), ('last = "T"\n', 0)])
def test_falsify_finds_a_round_that_is_off_by_one(folder, capsys, last, found):
    text = LAST.replace('aggregate = "last"\n', f'aggregate = "last"\n{last}')
    (folder / "last.toml").write_text(text)
    finding = falsify("last.toml", candidates=60, enough=1.01)
    assert finding.violated == (finding.ratio > 1.01) == bool(found)
    measured = {0: "measured at t = T;", 1: "measured at t = T - 1;"}
    assert cli.run(["bound", "last.toml"]) == 0
    assert measured[found] in capsys.readouterr().out


def test_audit_and_falsify_state_the_hyperparameters_that_are_covered(folder, capsys):
    only_one_step = TRUE.replace(", K = 1", "")
    (folder / "open.toml").write_text(only_one_step)
    audited = answer(capsys, "audit", "open.toml", "--no-search")
    notes = [f["message"] for f in audited["findings"] if f["check"] == "scope"]
    assert any("K = 1" in message for message in notes)
    assert cli.run(["falsify", "open.toml", "--candidates", "8"]) == 0
    assert "K = 1" in capsys.readouterr().out


def test_bound_warns_of_an_order_that_is_not_stated(folder, capsys):
    path = folder / "open.toml"
    path.write_text(TRUE.replace('order = "any", ', ""))
    found = answer(capsys, "bound", "open.toml")
    assert any("order of mixing" in warning for warning in found["warnings"])
    assert found["quantities"]["L"]["unit"] == "c s^-2"
    assert found["scope"]["start"] == "all clients start at one point"


def test_bound_evaluates_a_file(folder, capsys):
    values = ["L=1", "eta=0.01", "T=100", "f0_gap=1", "sigma_l=0", "sigma_g=0"]
    found = answer(capsys, "bound", "mine.toml", "--set", *values)
    assert found["value"] == pytest.approx(40.0)
    assert found["key"] == "mine.theorem_1"


def test_audit_reads_a_file_and_one_of_its_statements(folder, capsys):
    whole = answer(capsys, "audit", "mine.toml", "--check", "units")
    one = answer(capsys, "audit", "mine.toml:mine.theorem_1:stated", "--check", "units")
    assert whole == one
    assert whole["counts"]["error"] == 0
    assert {f.key for f in dfl.audit("mine.toml", checks=("conditions",))} <= {
        "mine.theorem_1"
    }


@pytest.mark.slow
def test_falsify_refutes_a_false_file_and_replays_it(folder, capsys):
    found = answer(capsys, "falsify", "false.toml", "--candidates", "400", status=1)
    assert found["key"] == "false.theorem_1"
    again = answer(capsys, "falsify", "--replay", found["file"], status=1)
    assert again["ratio"] == pytest.approx(found["ratio"], rel=1e-6)
    with_file = answer(
        capsys, "falsify", "false.toml", "--replay", found["file"], status=1
    )
    assert with_file["key"] == "false.theorem_1"


def test_compare_takes_a_file(folder):
    import numpy as np

    A = np.tile(np.eye(3), (8, 1, 1))
    task = dfl.tasks.Quadratic(A, np.ones((8, 3)), noise=0.1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(8))
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, W, rounds=50, seeds=4)
    assert dfl.compare(run, "mine.toml").kind == "holds"
    assert dfl.compare(run, "false.toml").kind == "violated"


def test_an_experiment_file_names_a_theorem_file(folder, capsys):
    (folder / "experiment.toml").write_text(
        'title = "mine"\n'
        '[task]\nname = "quadratic"\nm = 8\nd = 3\nzeta = 0.0\n'
        '[algorithm]\nname = "dpsgd"\n'
        '[topology]\nname = "ring"\n'
        "[run]\nrounds = 60\nseeds = 4\n"
        '[theorem]\nkey = "mine.toml"\nschedule = true\n'
    )
    assert cli.run(["validate", "--config", "experiment.toml", "--json"]) in (0, 1)
    shown = capsys.readouterr().out
    assert "mine.theorem_1" in shown


def test_validate_takes_a_file(folder, capsys):
    options = ["--task", "quadratic", "--task-option", "zeta=0", "--topology", "ring"]
    size = ["--rounds", "60", "--seeds", "4"]
    assert cli.run(["validate", "mine.toml", *options, *size, "--json"]) in (0, 1)
    assert "mine.theorem_1" in capsys.readouterr().out


def test_atlas_ranks_a_file_with_registered_theorems(folder, capsys):
    values = ["T=1000", "m=16", "lam=0.5", "sigma_g=0"]
    arguments = [
        "atlas",
        "--key",
        "mine.toml",
        "--key",
        "dfedsam.theorem_4_5",
        "--set",
        *values,
    ]
    assert "mine.theorem_1" in json.dumps(answer(capsys, *arguments))


def test_plots_take_a_file(folder):
    from dfltheory.plots.theorem import terms_over

    values = {"L": 1.0, "eta": 0.01, "f0_gap": 1.0, "sigma_l": 1.0, "sigma_g": 0.0}
    assert terms_over("mine.toml", "T", values).axes


def test_respects_takes_a_file(folder):
    from dfltheory.algorithms import DPSGD
    from dfltheory.plugin import Claim
    from dfltheory.testing import BrokenClaimError, check_claim

    options = {"variant": None, "examples": 5}
    check_claim(DPSGD, Claim("respects", "mine.toml", options))
    with pytest.raises(BrokenClaimError):
        check_claim(DPSGD, Claim("respects", "false.toml", options))


def test_a_file_and_python_objects_have_one_status(folder):
    theorem = bounds.load("mine.toml")
    assert theorem.status.kind == "not examined"
    assert bounds.load("mine.toml").bound == theorem.bound
