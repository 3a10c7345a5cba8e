"""``dfltheory compare``: measurements or a saved history against a theorem."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds.theorem_file import theorem_file_template
from dfltheory.cli import run as command

KEY = "dfedsam.theorem_4_5"
M = 4
W = dfl.graphs.metropolis(dfl.graphs.ring(M))
TASK = dfl.tasks.quadratic(m=M, d=3, zeta=0.3, sigma=0.2, seed=1)
ALGORITHM = dfl.algorithms.DFedAvg(eta=0.01, K=3)
NETWORK = ("--topology", "ring", "--m", str(M), "--weights", "metropolis")
STATED = (
    *("--algorithm", "dfedavg", "--variant", "corrected", "--start", "common"),
    *("--set", "eta=0.01", "K=3", f"L={TASK.constants.L!r}", "sigma_l=0.2"),
    *(f"sigma_g={TASK.constants.sigma_g!r}", f"f_star={TASK.constants.f_star!r}"),
)


@pytest.fixture(scope="module")
def run():
    return dfl.train(ALGORITHM, TASK, W, rounds=30, seeds=4, progress=False)


@pytest.fixture
def table(run, tmp_path):
    path = tmp_path / "run.csv"
    rows = ["seed,round,grad_norm_sq,loss,model_sq"]
    for s in range(run.seeds):
        for t in run.rounds_measured:
            measures = (run.grad_norm_sq, run.loss, run.model_sq)
            rows.append(",".join([str(s), str(t), *(repr(v[s, t]) for v in measures)]))
    path.write_text("\n".join(rows).replace("np.float64(", "").replace(")", ""))
    return path


def document(capsys, *arguments):
    status = command(["compare", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return status, json.loads(captured.out)


def refused(capsys, *arguments):
    assert command(["compare", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_table_gets_the_verdict_of_the_run(run, table, capsys):
    status, verdict = document(capsys, table, KEY, *NETWORK, *STATED)
    expected = dfl.compare(run, KEY, variant="corrected")
    assert (status, verdict["kind"]) == (0, expected.kind)
    assert verdict["bound"] == pytest.approx(expected.bound)
    assert verdict["measured_ci"] == pytest.approx(
        [expected.measured.low, expected.measured.high]
    )


def test_matrix_file_gets_the_verdict_of_the_named_network(table, capsys, tmp_path):
    np.save(tmp_path / "W.npy", W)
    _, by_name = document(capsys, table, KEY, *NETWORK, *STATED)
    network = ("--topology", tmp_path / "W.npy")
    _, by_file = document(capsys, table, KEY, *network, *STATED)
    assert by_file == by_name


def test_saved_history_gets_its_verdict_and_takes_constants(run, capsys, tmp_path):
    path = run.save(tmp_path / "run.safetensors")
    _, verdict = document(capsys, path, KEY, "--variant", "corrected")
    assert verdict["kind"] == dfl.compare(run, KEY, variant="corrected").kind
    _, given = document(
        capsys, path, KEY, "--variant", "corrected", "--set", "sigma_g=5"
    )
    assert given["given"] == {"sigma_g": 5}
    assert given["bound"] > verdict["bound"]


def test_violated_bound_exits_with_1(table, capsys, tmp_path):
    theorem = tmp_path / "false.toml"
    text = (
        theorem_file_template()
        .replace("DPSGD", "DFedAvg")
        .replace("sigma_g == 0", "K == 3")
    )
    text = text.replace('{ order = "adapt-then-combine" }', '{ rho = 0, K = "any" }')
    for term in ("2*f0_gap/(eta*T)", "eta*L*sigma_l^2/m", "2*(eta*L*sigma_l*lam)^2"):
        text = text.replace(f'"{term}', f'"1e-6*{term}')
    theorem.write_text(text, encoding="utf-8")
    given = [part for part in STATED if part not in ("--variant", "corrected")]
    status, verdict = document(capsys, table, theorem, *NETWORK, *given)
    assert verdict["kind"] == "violated"
    assert status == 1


def test_missing_statements_are_listed_and_nothing_is_assumed(table, capsys):
    few = ("--algorithm", "dfedavg", "--set", "eta=0.01", "K=3", "L=1")
    status, verdict = document(capsys, table, KEY, *few)
    assert (status, verdict["kind"]) == (0, "not applicable")
    for name in ("sigma_l", "sigma_g", "f0_gap", "--topology"):
        assert name in verdict["reason"]


def test_figure_is_written(table, capsys, tmp_path):
    figure = tmp_path / "figures" / "bound.svg"
    _, verdict = document(capsys, table, KEY, *NETWORK, *STATED, "--out", figure)
    assert verdict["written"] == str(figure)
    assert figure.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_report_has_table_verdict_and_figure(table, capsys, tmp_path, undrawn):
    folder = tmp_path / "report"
    _, verdict = document(capsys, table, KEY, *NETWORK, *STATED, "--out", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert verdict["written"] == str(folder / "report.html")
    assert "run.csv" in page
    assert "DFedAvg(" in page
    assert "data:image/svg+xml" in page
    [written] = json.loads((folder / "verdicts.json").read_text())
    assert (written["kind"], written["bound"]) == (verdict["kind"], verdict["bound"])
    assert (folder / "history.csv").read_text().count("grad_norm_sq") == 4 * 31


def test_hyperparameter_is_found_by_its_glossary_name(table, capsys):
    """DFedADMM's penalty is lam_admm; lam is the contraction of the network."""
    given = ("--algorithm", "dfedadmm", "--set", "eta=0.01", "K=3", "lam_admm=0.1")
    _, verdict = document(capsys, table, "dfedadmm.theorem_1", *given, "lam=0.5")
    assert "lam_admm" not in verdict["reason"]
    message = refused(
        capsys,
        table,
        "dfedadmm.theorem_1",
        *("--algorithm", "dfedadmm", "--set", "eta=0.01", "K=3", "lam=0.1"),
    )
    assert "DFedADMM needs lam" in message


WRONG = {
    "no algorithm": ((), "--algorithm"),
    "unknown algorithm": (("--algorithm", "dfedavgg"), "dfedavg"),
    "hyperparameter missing": (("--algorithm", "dfedavg"), "eta"),
    "unknown constant": ((*STATED, "sigma_x=1"), "sigma_x"),
    "topology without weights": (("--topology", "ring", "--m", "4"), "--weights"),
    "topology without m": (
        ("--topology", "ring", "--weights", "metropolis"),
        "--m",
    ),
    "weights alone": (("--weights", "metropolis"), "--topology"),
    "option of a topology alone": (("--set", "topology.degree=4"), "--topology"),
    "two numbers of clients": (("--m", "8", "--set", "m=4"), "--set m=4"),
    "start": (("--start", "equal"), "start"),
    "precision": (("--precision", "double"), "precision"),
    "figure": (("--out", "bound.xlsx"), "bound.xlsx"),
    "confidence": (("--confidence", "2"), "confidence"),
}


@pytest.mark.drawn(4)
@pytest.mark.parametrize("case", WRONG)
def test_wrong_option_is_refused_in_one_line(table, capsys, case):
    options, named = WRONG[case]
    about_algorithm = "algorithm" in case or "missing" in case
    if not about_algorithm and case != "unknown constant":
        options = (*options, "--algorithm", "dfedavg", "--set", "eta=0.01", "K=3")
    assert named in refused(capsys, table, KEY, *options)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("seed,round,grad", "seed,grad", "column round"),
        ("\n0,1,", "\n0,0,", "line 3"),
        ("\n0,1,", "\n0,1,x", "line 3"),
        ("\n0,1,", "\n0,99,", "round"),
    ],
)
def test_bad_table_is_refused_with_its_place(table, capsys, old, new, place):
    table.write_text(table.read_text().replace(old, new, 1))
    message = refused(capsys, table, KEY, *NETWORK, *STATED)
    assert str(table) in message
    assert place in message


def test_description_of_a_saved_history_is_refused(run, capsys, tmp_path):
    path = run.save(tmp_path / "run.safetensors")
    assert "--m" in refused(capsys, path, KEY, "--m", "5")
    for name in ("method", "constants", "topology.degree", "sigma_x"):
        assert name in refused(capsys, path, KEY, "--set", f"{name}=1")
    path.write_bytes(b"no tensors")
    assert str(path) in refused(capsys, path, KEY)


def test_option_of_a_topology_is_refused_for_a_matrix_file(table, capsys, tmp_path):
    path = tmp_path / "W.csv"
    np.savetxt(path, W, delimiter=",")
    given = ("--topology", str(path), "--algorithm", "dfedavg", "--set", "eta=0.01")
    message = refused(capsys, table, KEY, *given, "K=3", "topology.degree=99")
    assert "topology.degree" in message
