"""All problems of an experiment file are reported as one error, each on its line."""

import pytest

from dfltheory.cli import run
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.problems import MAX_PROBLEMS, error_lines
from tests.experiments.documents import changed


def test_every_problem_of_a_file_is_reported_once():
    document = changed(
        task={"m": "4", "sigm": 1}, algorithm={"K": 1.5}, run={"rounds": 0, "seed": -1}
    )
    with pytest.raises(InputError) as refused:
        read_experiment(document, "x.toml")
    said = str(refused.value)
    for place in (
        "task.m: ",
        "task: no field",
        "algorithm.K: ",
        "run.rounds: ",
        "run.seed: ",
    ):
        assert said.count(f"x.toml: {place}") == 1
    assert len(error_lines(refused.value)) == 5


EVERYWHERE = """
title = 3
[task]
name = "quadratc"
m = 4
[topology]
name = "rnig"
weights = "metropols"
[algorithm]
name = "dfedsam"
eta = -1.0
K = 0
[run]
rounds = 0
rnds = 3
[theorem]
key = "dfedsam.theorem_45"
method = "x"
[sweep]
"run.seed" = []
[other]
"""
PLACES = [
    "title: ",
    "no field is called 'other'",
    "sweep.'run.seed': ",
    "task.name: ",
    "topology.name: ",
    "topology.weights: ",
    "algorithm.eta: ",
    "algorithm.K: ",
    "run.rounds: ",
    "run: no field is called 'rnds'",
    "theorem.method: ",
    "theorem: no theorem is called 'dfedsam.theorem_45'",
]


def test_problems_of_all_sections_are_reported_as_one_error(tmp_path, capsys):
    file = tmp_path / "x.toml"
    file.write_text(EVERYWHERE, encoding="utf-8")
    assert run(["sweep", str(file), "--out", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.splitlines()
    for place in PLACES:
        found = [
            line for line in lines if line.startswith(f"dfltheory: {file}: {place}")
        ]
        assert len(found) == 1, place
    assert len(lines) == len(PLACES)


def test_problem_of_all_cells_is_reported_once_and_those_of_each_cell():
    document = changed(
        run={"rounds": 0},
        task={"name": "unknown"},
        sweep={"algorithm.K": [1, 0, -1], "run.seed": [1, 2]},
    )
    with pytest.raises(InputError) as refused:
        read_experiment(document, "x.toml")
    places = [line.rpartition(": ")[0] for line in error_lines(refused.value)]
    said = str(refused.value)
    assert said.count("run.rounds: ") == said.count("task.name: ") == 1
    assert said.count("algorithm.K: ") == 2
    assert len(places) == 4


def test_untrusted_code_does_not_hide_other_problems():
    document = changed(
        algorithm={"name": "os:system"}, task={"m": "4"}, run={"rounds": 0}
    )
    with pytest.raises(InputError) as refused:
        read_experiment(document, "x.toml")
    said = str(refused.value)
    for place in ("algorithm.name", "task.m", "run.rounds"):
        assert said.count(f"x.toml: {place}") == 1


def test_number_of_reported_problems_is_limited():
    unknown = {f"field{number}": 1 for number in range(2 * MAX_PROBLEMS)}
    with pytest.raises(InputError) as refused:
        read_experiment(changed(run=unknown), "x.toml")
    lines = error_lines(refused.value)
    assert len(lines) == MAX_PROBLEMS + 1
    assert str(MAX_PROBLEMS) in lines[-1]
