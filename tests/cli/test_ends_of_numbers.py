"""Values at the limits of floating point, for each option: a one-line error without
numpy warnings.
"""

import pytest

from dfltheory.cli import run

AT = ["dfedsam.theorem_4_5", "--variant", "corrected", "--set"]
VALUES = {
    "L": 1,
    "T": 1000,
    "K": 5,
    "Q": 1,
    "m": 16,
    "eta": 0.005,
    "rho": 0.01,
    "lam": 0.8,
}
VALUES |= {"sigma_l": 1, "sigma_g": 1, "f0_gap": 1}


def assignments(values, **changed):
    return [f"{name}={value}" for name, value in (values | changed).items()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bound", *AT, *assignments(VALUES), "--dominance", "T=1:inf:5"], "T = inf"),
        (["bound", *AT, *assignments(VALUES), "--grid", "T=1:inf:5"], "T = inf"),
        (
            ["bound", *AT, *assignments(VALUES, K="1e300"), "--steps"],
            "no eta meets the conditions of dfedsam",
        ),
        (
            ["falsify", "dfedadmm.theorem_1", "--candidates", "1", "--seed", "-1"],
            "seed = -1 must be",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_command_rejects_values_outside_the_doubles_in_one_line(
    capsys, arguments, words
):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert words in line


def test_validate_has_no_warning_for_runs_that_overflow(capsys):
    """Warnings are errors in this test suite."""
    few = [
        "--topology",
        "ring",
        "--m",
        "4",
        "--rounds",
        "20",
        "--seeds",
        "2",
        "--rho0",
        "1e300",
        "--json",
    ]
    assert run(["validate", *few]) == 0
    assert '"measured": "Infinity"' in capsys.readouterr().out
