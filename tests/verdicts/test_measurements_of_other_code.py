"""Measurements by a program that does not import the package.

`dfltheory compare` gives the same verdict as ``train`` and ``compare`` on the same
problem.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

import dfltheory as dfl
from dfltheory.bounds.theorem_file import theorem_file_template
from dfltheory.cli import run as command

PROGRAM = Path(__file__).with_name("dpsgd_without_the_package.py")
M, D, ETA, T = 6, 3, 0.05, 60
SHRUNK = ("2*f0_gap/(eta*T)", "f0_gap/(10^4*eta*T)")
SMALL_NOISE = ('"eta*L*sigma_l^2/m"', '"eta*L*sigma_l^2/(10^4*m)"')
SMALL_NETWORK = ("2*(eta*L*sigma_l*lam)^2", "(eta*L*sigma_l*lam)^2/10^4")


def theorem_file(folder, *changes):
    """Return the template, and a false version of it with smaller terms."""
    text = theorem_file_template()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(sigma):
    task = dfl.tasks.quadratic(m=M, d=D, zeta=0.0, sigma=sigma, seed=3)
    return task, dfl.graphs.metropolis(dfl.graphs.ring(M))


def measured_by_the_program(folder, task, W, sigma, seeds):
    """Return the program's CSV file; the program fails if it imports the package."""
    document = {
        "A": task.A.expand(M, D, D).tolist(),
        "b": task.b.tolist(),
        "W": W.tolist(),
        "eta": ETA,
        "sigma": sigma,
        "T": T,
        "seeds": seeds,
    }
    (folder / "problem.json").write_text(json.dumps(document))
    names = [str(PROGRAM), str(folder / "problem.json"), str(folder / "run.csv")]
    own = [name for name in sys.modules if name.partition(".")[0] == "dfltheory"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", names)
        for name in own:
            patch.setitem(sys.modules, name, None)
        try:
            runpy.run_path(str(PROGRAM))
        finally:
            torch.set_default_dtype(torch.float32)
    return folder / "run.csv"


def by_command(capsys, file, theorem, task, sigma, *options):
    constants = task.constants
    status = command(
        [
            *("compare", str(file), str(theorem), "--algorithm", "dpsgd"),
            *("--topology", "ring", "--m", str(M), "--weights", "metropolis"),
            *("--start", "common", "--json", *options, "--set", f"eta={ETA}"),
            *("order=adapt-then-combine", f"L={constants.L!r}", f"sigma_l={sigma}"),
            *("sigma_g=0", f"f_star={constants.f_star!r}"),
        ]
    )
    return status, json.loads(capsys.readouterr().out)


def by_training(theorem, task, W, seeds):
    algorithm = dfl.algorithms.DPSGD(eta=ETA, order="adapt-then-combine")
    run = dfl.train(algorithm, task, W, rounds=T, seeds=seeds, progress=False)
    return dfl.compare(run, str(theorem))


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("changes", "kind"), [((), "holds"), ((SHRUNK,), "violated")])
def test_program_without_noise_gets_verdict_bound_and_measurement_of_train(
    tmp_path, capsys, changes, kind
):
    task, W = problem(0.0)
    theorem = theorem_file(tmp_path, *changes)
    file = measured_by_the_program(tmp_path, task, W, 0.0, 1)
    status, verdict = by_command(capsys, file, theorem, task, 0.0)
    trained = by_training(theorem, task, W, 1)
    assert (verdict["kind"], trained.kind) == (kind, kind)
    assert status == (1 if kind == "violated" else 0)
    assert verdict["bound"] == pytest.approx(trained.bound, rel=1e-10)
    assert verdict["measured"] == pytest.approx(trained.measured.estimate, rel=1e-9)
    assert verdict["terms"] == pytest.approx(trained.terms, rel=1e-10, abs=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "kind"),
    [((), "holds"), ((SHRUNK, SMALL_NOISE, SMALL_NETWORK), "violated")],
)
def test_program_with_noise_gets_verdict_of_train_and_overlapping_interval(
    tmp_path, capsys, changes, kind
):
    task, W = problem(0.5)
    theorem = theorem_file(tmp_path, *changes)
    file = measured_by_the_program(tmp_path, task, W, 0.5, 24)
    _, verdict = by_command(capsys, file, theorem, task, 0.5)
    trained = by_training(theorem, task, W, 24)
    assert (verdict["kind"], trained.kind) == (kind, kind)
    assert verdict["bound"] == pytest.approx(trained.bound, rel=1e-10)
    low, high = verdict["measured_ci"]
    assert low <= trained.measured.high
    assert trained.measured.low <= high


@pytest.mark.slow
def test_program_in_float32_is_compared_with_its_own_rounding(tmp_path, capsys):
    """Digits that only float64 has cannot decide a verdict on a float32 run."""
    task, W = problem(0.0)
    theorem = theorem_file(tmp_path)
    file = measured_by_the_program(tmp_path, task, W, 0.0, 1)
    _, exact = by_command(capsys, file, theorem, task, 0.0)
    shrunk = 2 * exact["measured"] / exact["bound"]
    barely = (SHRUNK[0], f"{shrunk * (1 - 1e-5)!r}*f0_gap/(eta*T)")
    folder = tmp_path / "barely"
    folder.mkdir()
    false = theorem_file(folder, barely)
    _, in_float64 = by_command(capsys, file, false, task, 0.0)
    _, in_float32 = by_command(capsys, file, false, task, 0.0, "--precision", "float32")
    assert in_float64["kind"] == "violated"
    assert in_float32["kind"] == "undecided"
