"""Integers in scientific notation on the command line."""

import json

import pytest

from dfltheory.cli import run

TRAIN = ["train", "--task", "quadratic", "--m", "4", "--json"]


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "given", [["--rounds", "2e1"], ["--rounds=20e0"], ["--rounds", "0.2E2"]]
)
def test_whole_number_in_scientific_notation_is_accepted(given, capsys):
    assert run([*TRAIN, *given]) == 0
    scientific = json.loads(capsys.readouterr().out)
    assert run([*TRAIN, "--rounds", "20"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert scientific["rounds"] == 20
    assert scientific | {"seconds": 0} == plain | {"seconds": 0}


def test_list_of_whole_numbers_accepts_scientific_notation(capsys):
    assert run(["topology", "compare", "ring", "--m", "1e1", "--m", "16"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["1.55e1", "1e-1", "1e30"])
def test_number_that_is_not_whole_or_too_large_is_rejected(value, capsys):
    assert run([*TRAIN, "--rounds", value]) == 2
    captured = capsys.readouterr()
    assert "--rounds" in captured.err
    assert captured.err.count("\n") == 1


def test_option_that_takes_a_fraction_is_not_changed(capsys):
    assert run([*TRAIN, "--rounds", "3", "--eta", "1e-2"]) == 0
    assert capsys.readouterr().err == ""
