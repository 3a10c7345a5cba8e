"""``dfltheory bound``: values, terms, conditions, pictures, tables, and bad input."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from dfltheory import bounds
from dfltheory.cli import run

KEY = "dfedsam.theorem_4_5"
VALUES = {
    "L": 1,
    "K": 5,
    "T": 1000,
    "Q": 1,
    "m": 16,
    "eta": 0.005,
    "rho": 0.01,
    "lam": 0.8,
    "sigma_l": 1,
    "sigma_g": 1,
    "f0_gap": 1,
}


def given(**changed):
    return [
        "--set",
        *(f"{name}={value}" for name, value in {**VALUES, **changed}.items()),
    ]


SET = given()


def document(capsys, *arguments):
    status = run([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_value_terms_and_conditions(capsys):
    status, found = document(capsys, "bound", KEY, *SET)
    assert status == 0
    assert found["value"] == bounds.get(KEY).evaluate(**VALUES)
    assert sum(found["terms"].values()) == pytest.approx(found["value"])
    assert found["conditions"] == [
        {"name": "eta <= 1/(10 K L)", "slack": 0.75, "holds": True}
    ]


def test_bound_accepts_values_one_by_one(capsys):
    spread = [x for name, value in VALUES.items() for x in ("--set", f"{name}={value}")]
    assert document(capsys, "bound", KEY, *spread) == document(
        capsys, "bound", KEY, *SET
    )


def test_a_failing_condition_is_exit_status_1(capsys):
    status, found = document(capsys, "bound", KEY, *given(eta=1))
    assert status == 1
    assert found["value"] is None
    assert found["applicable"] is False
    assert run(["bound", KEY, *given(eta=1)]) == 1
    assert "FAILS  eta <= 1/(10 K L)" in capsys.readouterr().out


def test_bound_lists_statements_and_shows_one(capsys):
    status, found = document(capsys, "bound")
    assert status == 0
    assert {t["key"] for t in found["theorems"]} < set(bounds.keys())
    assert [t["key"] for t in document(capsys, "bound", "dfedsam")[1]["theorems"]] == [
        *bounds.keys("dfedsam")
    ]
    assert run(["bound", KEY, "--variant", "corrected"]) == 0
    text = capsys.readouterr().out
    assert "8 eta K L lam^Q <= 1 - lam^Q" in text
    assert "all clients start at the same model" in text
    assert "  network: symmetric" in text.splitlines()
    assert run(["bound", KEY, "--latex"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{aligned}")


def test_list_is_short_and_its_last_line_names_the_option_for_the_rest(capsys):
    short = document(capsys, "bound")[1]
    every = document(capsys, "bound", "--all")[1]
    listed = [t["key"] for t in short["theorems"]]
    assert 35 <= len(listed) <= 45
    assert len(listed) + short["further"] == len(every["theorems"])
    assert every["further"] == 0
    assert {KEY, "lian2017.rate"} < set(listed)
    assert "dfedsam.rate_abstract" not in listed
    for key in set(bounds.keys()) - set(listed):
        assert all(bounds.get(key, v).order for v in bounds.variants(key))
    run(["bound"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(listed) + 1
    assert "--all" in lines[-1]
    run(["bound", "--all"])
    assert "--all" not in capsys.readouterr().out


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("name", "start"), [("terms.png", b"\x89PNG"), ("terms.pdf", b"%PDF")]
)
def test_bound_draws_a_picture(tmp_path, capsys, name, start):
    assert run(["bound", KEY, "--plot", "T", str(tmp_path / name), *SET]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert run(["bound", KEY, "--plot", "beta", str(tmp_path / "x.png"), *SET]) == 2
    assert "does not depend on 'beta'" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_grid(tmp_path, capsys, ending):
    path = tmp_path / f"table.{ending}"
    axes = ["--grid", "T=10:1000:3", "--grid", "eta=0.001,0.005,0.5"]
    assert run(["bound", KEY, *axes, "--out", str(path), *SET]) == 0
    table = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert len(table) == 9
    assert table["bound"].isna().sum() == 3  # eta = 0.5 violates all conditions
    row = table[(table["T"] == 100) & (table["eta"] == 0.001)].iloc[0]
    assert row["bound"] == pytest.approx(
        bounds.get(KEY).evaluate(**{**VALUES, "T": 100, "eta": 0.001})
    )
    assert row[
        ["optimization", "noise", "drift", "consensus", "sharpness"]
    ].sum() == pytest.approx(row["bound"])


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dfedsam.theorem_45"], "did you mean dfedsam.theorem_4_5"),
        ([KEY, "--variant", "correct"], "corrected"),
        ([KEY, "--set", "K=5"], "missing"),
        ([KEY, "--set", "K=five"], "K = 'five' is not a number"),
        ([KEY, *given(K=0)], "K = 0 (local steps) must be a whole number >= 1"),
        ([KEY, *given(rho=-1)], "rho = -1"),
        (
            [KEY, *SET, "--set", "kappa=1"],
            "no quantity of the glossary is called 'kappa'",
        ),
        ([KEY, *SET, "--set", "K"], "NAME=VALUE"),
        ([KEY, *SET, "--set", "K=6"], "K is set 2 times"),
        ([KEY, *SET, "--grid", "T=1:x:3"], "LOW:HIGH:COUNT"),
        ([KEY, *SET, "--grid", "T=1:10:0"], "LOW:HIGH:COUNT"),
        ([KEY, *SET, "--grid", "T=-1:10:3"], "LOW:HIGH:COUNT"),
        (
            [KEY, *SET, "--grid", "lam=0.1,0.2", "--grid", "lam=0.3"],
            "lam twice",
        ),
        ([KEY, *SET, "--grid", "lam=0.1:0.9:1000000000"], "at most 1000000 points"),
        (
            [KEY, *SET, "--grid", "lam=0.1:0.9:2000", "--grid", "T=1:1e9:2000"],
            "more than 1000000 points",
        ),
        ([KEY, *SET, "--grid", "T=1:10:3", "--latex"], "--latex"),
        ([KEY, *SET, "--steps", "--latex"], "--latex"),
        (["--latex"], "the theorem is missing"),
        (["--set", "K=5"], "the theorem is missing"),
        ([KEY, *SET, "--plot", "T", "terms.xyz"], ".png, .pdf or .svg"),
        ([KEY, *SET, "--derivative", "beta"], "does not depend on 'beta'"),
        ([KEY, *SET, "--dominance", "beta=1:2:3"], "does not depend on 'beta'"),
        ([KEY, "--steps", "--set", "L=1"], "missing: m, K, T"),
        (["dfedsam.corollary_4_6", "--steps"], "has no step size"),
        ([KEY, *SET, "--grid", "T=1:10:3", "--out", "table.txt"], ".csv or .parquet"),
    ],
)
def test_bound_rejects_bad_input_in_one_line(capsys, arguments, message):
    assert run(["bound", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_steps_derivatives_and_dominance(capsys):
    asked = [
        "--steps",
        "--derivative",
        "lam",
        "--derivative",
        "T",
        "--dominance",
        "T=10:1e6:100",
    ]
    status, found = document(
        capsys, "bound", KEY, "--variant", "corrected", *asked, *SET
    )
    theorem = bounds.get(KEY, "corrected")
    free = {n: v for n, v in VALUES.items() if n != "eta"}
    assert status == 0
    assert found["steps"]["eta"]["high"] == theorem.largest_step(**free)
    assert (
        found["steps"]["eta"]["best"],
        found["steps"]["eta"]["bound"],
    ) == theorem.best_step(**free)
    assert found["derivatives"]["T"]["value"] == pytest.approx(
        -606 / 271 / (0.005 * 5 * 1000**2), rel=1e-12
    )
    h = 1e-6
    low, high = (theorem.evaluate(**{**VALUES, "lam": 0.8 + d}) for d in (-h, h))
    assert found["derivatives"]["lam"]["value"] == pytest.approx(
        (high - low) / (2 * h), rel=1e-6
    )
    regimes = found["dominance"]["regimes"]
    assert [r["term"] for r in regimes] == ["optimization", "consensus"]
    assert regimes[0]["low"] == 10
    assert regimes[1]["high"] == 1e6
    assert run(["bound", KEY, "--variant", "corrected", *asked, *SET]) == 0
    text = capsys.readouterr().out
    assert "eta: admissible from 0 to 0.00625; best 0.00305" in text
    assert "d bound / d T = -8.94465e-05" in text
    assert "optimization (98% to 49%)" in text


def test_a_derivative_without_values_is_a_formula(capsys):
    status, found = document(capsys, "bound", KEY, "--derivative", "f0_gap")
    assert status == 0
    assert found["derivatives"]["f0_gap"]["value"] is None
    assert found["derivatives"]["f0_gap"]["formula"].startswith("2/(T*")
