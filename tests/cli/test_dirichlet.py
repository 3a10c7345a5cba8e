"""``train --dirichlet`` sets the concentration of the partition, never the momentum."""

import json
from pathlib import Path

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.cli import run

LINE = [
    "train",
    "--task",
    "digits",
    "--m",
    "3",
    "--rounds",
    "1",
    "--K",
    "1",
    "--algorithm",
    "dfedavgm",
    "--json",
]


def trained(capsys, *words):
    assert run([*LINE, *words]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def direct(momentum, **options):
    task = dfl.tasks.get("digits", m=3, **options)
    algorithm = dfl.algorithms.DFedAvgM(eta=0.1, K=1, alpha=momentum)
    return dfl.train(
        algorithm, task, dfl.graphs.ring(3), rounds=1, progress=False
    ).loss[0]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("words", "momentum", "options"),
    [
        (["--dirichlet", "0.1"], 0.9, {"partition": "dirichlet", "alpha": 0.1}),
        (
            ["--partition", "dirichlet", "--dirichlet", "0.1"],
            0.9,
            {"partition": "dirichlet", "alpha": 0.1},
        ),
        (
            ["--dirichlet", "0.1", "--alpha", "0.5"],
            0.5,
            {"partition": "dirichlet", "alpha": 0.1},
        ),
        (["--alpha", "0.5"], 0.5, {}),
        (
            ["--partition", "dirichlet", "--set", "algorithm.alpha=0.5"],
            0.5,
            {"partition": "dirichlet", "alpha": 0.3},
        ),
    ],
)
def test_train_sets_concentration_and_momentum_separately(
    capsys, words, momentum, options
):
    found = trained(capsys, *words)
    assert found["algorithm"]["alpha"] == momentum
    np.testing.assert_allclose(
        found["measures"]["loss"], direct(momentum, **options), rtol=1e-6
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--partition", "dirichlet", "--alpha", "0.1"],
        ["--partition", "dirichlet_by_image", "--alpha", "0.1"],
        ["--partition", "dirichlet", "--set", "alpha=0.1"],
        ["--task-option", "partition=dirichlet", "--alpha", "0.1"],
    ],
)
def test_train_rejects_alpha_that_could_be_the_concentration(capsys, words):
    assert run([*LINE, *words]) == 2
    error = capsys.readouterr().err
    assert "--dirichlet" in error
    assert "algorithm.alpha" in error


def test_train_rejects_alpha_next_to_a_dirichlet_partition_in_the_file(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("file.toml").write_text(
        '[task]\nname = "digits"\nm = 3\npartition = "dirichlet"\n[topology]\nname ='
        ' "ring"\n[algorithm]\nname = "dfedavgm"\neta = 0.1\nK = 1\n[run]\nrounds = 1\n'
    )
    assert run(["train", "--config", "file.toml", "--alpha", "0.1"]) == 2
    assert "--dirichlet" in capsys.readouterr().err
    assert run(["train", "--config", "file.toml", "--dirichlet", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = direct(0.9, partition="dirichlet", alpha=0.1)
    np.testing.assert_allclose(found["measures"]["loss"], expected, rtol=1e-6)


def test_train_rejects_dirichlet_with_another_partition(capsys):
    assert run([*LINE, "--partition", "shards", "--dirichlet", "0.1"]) == 2
    assert "--dirichlet" in capsys.readouterr().err
