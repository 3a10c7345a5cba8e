"""The core dependencies suffice for `make validate`, for training on the digits, and
for the report.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfltheory.cli import run
from tests.core_only import extra_packages

ROOT = Path(__file__).parents[1]


def run_with_core_only(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.core_only", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_packages_of_extras_are_hidden():
    assert {"pooch", "pyarrow", "cvxpy", "hypothesis"} <= extra_packages()
    assert not {"numpy", "pandas", "torch", "joblib"} & extra_packages()
    finished = run_with_core_only("pyarrow")
    assert finished.returncode == 1
    assert "No module named pyarrow" in finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (
            ["dfltheory", "train", "--task", "digits", "--m", "4", "--rounds", "2"],
            "history.csv",
        ),
        (
            [
                "dfltheory",
                "validate",
                "dfedsam.theorem_4_5",
                "--m",
                "4",
                "--rounds",
                "20",
            ],
            "report.html",
        ),
    ],
)
def test_core_installation_runs(arguments, written, tmp_path):
    finished = run_with_core_only(*arguments, "--out", str(tmp_path / "out"))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "out" / written).is_file()


@pytest.mark.slow
def test_core_installation_runs_make_validate(tmp_path):
    finished = run_with_core_only("validation.run_all", "--out", str(tmp_path / "out"))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def table_of_a_bound(path):
    """Return the words of a command that writes a table."""
    return [
        *("bound", "dfedsam.theorem_4_5", "--variant", "corrected"),
        *("--grid", "T=10:1000:3", "--out", str(path)),
        *("--set", "L=1", "K=5", "eta=0.005", "rho=0.01", "Q=1", "m=16", "lam=0.5"),
        *("sigma_l=1", "sigma_g=1", "f0_gap=1"),
    ]


def test_extra_of_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(table_of_a_bound(tmp_path / "b.parquet")) == 2
    assert "[parquet]" in capsys.readouterr().err
    assert not (tmp_path / "b.parquet").exists()


@pytest.mark.slow
def test_core_installation_names_the_missing_extra(tmp_path):
    words = table_of_a_bound(tmp_path / "b.parquet")
    finished = run_with_core_only("dfltheory", *words)
    assert finished.returncode == 2
    assert "[parquet]" in finished.stderr
    assert not (tmp_path / "b.parquet").exists()
