"""``dfltheory train`` runs what was requested; invalid arguments end with one line."""

import json

import numpy as np
import pandas as pd
import pytest

import dfltheory as dfl
from dfltheory.cli import run
from dfltheory.training.history import History

QUADRATIC = [
    "train",
    "--task",
    "quadratic",
    "--m",
    "4",
    "--rounds",
    "10",
    "--eta",
    "0.05",
    "--K",
    "2",
]


def said(capsys, *arguments):
    """Return QUADRATIC with other or additional options."""
    pairs = list(zip(QUADRATIC[1::2], QUADRATIC[2::2], strict=True))
    kept = [word for pair in pairs if pair[0] not in arguments for word in pair]
    status = run(["train", *kept, *arguments])
    return status, capsys.readouterr()


def test_train_saves_the_same_history_as_the_library(capsys, tmp_path, undrawn):
    status, out = said(
        capsys,
        "--rho",
        "0.1",
        "--Q",
        "2",
        "--seeds",
        "3",
        "--json",
        "--out",
        str(tmp_path),
    )
    document = json.loads(out.out)
    assert status == 0
    task = dfl.tasks.get("quadratic", m=4)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    direct = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.05, K=2, rho=0.1, Q=2), task, W, rounds=10, seeds=3
    )
    np.testing.assert_allclose(
        document["measures"]["loss"], direct.loss.mean(0), rtol=1e-14
    )
    assert document["algorithm"] == {
        "name": "DFedSAM",
        "eta": 0.05,
        "K": 2,
        "rho": 0.1,
        "Q": 2,
        "decay": 1.0,
        "weight_decay": 0.0,
    }
    loaded = History.load(tmp_path / "history.safetensors")
    np.testing.assert_array_equal(loaded.grad_norm_sq, direct.grad_norm_sq)
    frame = pd.read_csv(tmp_path / "history.csv")
    assert set(frame["measure"]) >= {"loss", "grad_norm_sq", "consensus"}
    assert list(frame) == list(direct.to_frame())
    stored = json.loads((tmp_path / "run.json").read_text())
    # 4 clients send to 2 neighbors on a ring, in 2 gossip steps of 10 rounds;
    # doubles
    sent = {"bits": 160 * task.d * 64, "scalars": 160 * task.d, "models": 160}
    assert (stored["rounds"], stored["sent"]) == (10, sent)


@pytest.mark.parametrize(
    ("name", "lam"), [("ditto", 0.75), ("fedprox", 1.0), ("dfedadmm", 0.1)]
)
def test_train_sets_lam_only_for_algorithms_without_a_default(capsys, name, lam):
    assert (
        run(
            [
                "train",
                "--task",
                "quadratic",
                "--algorithm",
                name,
                "--rounds",
                "1",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["algorithm"]["lam"] == lam


def test_train_prints_a_table_without_json(capsys):
    status, out = said(
        capsys, "--algorithm", "dpsgd", "--set", "order=adapt-then-combine"
    )
    assert status == 2  # DPSGD has no K
    assert "did you mean" in out.err or "known:" in out.err
    status = run(
        [
            "train",
            "--task",
            "digits",
            "--m",
            "4",
            "--rounds",
            "2",
            "--partition",
            "dirichlet",
        ]
    )
    out = capsys.readouterr().out
    assert status == 0
    for word in (
        "round",
        "accuracy",
        "consensus error",
        "DFedSAM",
        "16 models",
    ):  # 4 clients, 2 links, 2 rounds
        assert word in out


@pytest.mark.slow
def test_on_images_the_default_is_an_epoch_of_at_most_50_steps_measured_five_times(
    capsys, tmp_path
):
    """The 1437 training images of digits over 4 clients with minibatches of 20 give 18
    steps per epoch.

    With a single client there are 72 steps, which are limited to 50.
    """
    for m, steps, more in ((4, 18, []), (1, 50, ["--out", str(tmp_path)])):
        words = [
            "--task",
            "digits",
            "--m",
            str(m),
            "--algorithm",
            "fedavg",
            "--rounds",
            "10",
            "--json",
        ]
        assert run(["train", *words, *more]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["algorithm"]["K"] == steps
        assert document["rounds_measured"] == [0, 2, 4, 6, 8, 10]
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert (tmp_path / "curves.pdf").read_bytes().startswith(b"%PDF")


def accuracy_of(capsys, *arguments):
    assert run(["train", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["measures"]["accuracy"]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "least"),
    [
        (
            "mnist --model mnist_2nn --m 100 --task-option examples=12000 --rounds 10",
            0.75,
        ),
        (
            (
                "cifar10 --model cifar_cnn --rounds 8 --task-option examples=5000 "
                "--task-option test_examples=1000"
            ),
            0.25,
        ),
    ],
)
def test_images_are_learned_on_a_ring(capsys, data_root, options, least):
    """Random guessing has accuracy 0.1. Uses a subset of the images, 100 or 10 clients,
    and 6 or 25 steps per round.
    """
    accuracy = accuracy_of(
        capsys, "--task", *options.split(), "--data-root", str(data_root)
    )
    assert accuracy[0] < 0.2
    assert accuracy[-1] > least


def test_train_accepts_several_values_after_one_set(capsys):
    status, out = said(capsys, "--json", "--set", "rho=0.2", "decay=0.5")
    assert status == 0
    assert json.loads(out.out)["algorithm"]["decay"] == 0.5


def test_train_reports_divergence_with_status_1(capsys):
    status, out = said(capsys, "--eta", "1e6", "--rounds", "100")
    assert status == 1
    assert "diverged by round" in out.out


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--K", "0"], "algorithm.K: "),
        (["--rho", "-1"], "algorithm.rho: "),
        (["--algorithm", "dfedsan"], "did you mean dfedsam"),
        (["--topology", "rnig"], "did you mean ring"),
        (
            ["--topology", "ring,torus"],
            "one_peer_exponential, random_matching",
        ),
        (
            ["--measure-on", "-1"],
            "--measure-on -1 must be a number of images, or 0 for all of them",
        ),
        (["--task", "quadratik"], "did you mean quadratic"),
        (["--task-option", "zetta=1"], "did you mean zeta"),
        (["--set", "etta=1"], "did you mean eta"),
        (["--rounds", "-3"], "run.rounds: "),
        (["--m", "0"], "0"),
        (["--task", "mnist", "--data-root", "no/such/folder"], "no/such/folder"),
        (["--weights", "metropolsi"], "did you mean metropolis"),
    ],
)
def test_wrong_input_is_one_line(capsys, wrong, words):
    status, out = said(capsys, *wrong)
    assert status == 2
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1
    assert words in out.err


@pytest.mark.parametrize("name", ["study.toml", "STUDY.TOML", "study.json"])
def test_validate_names_the_config_option_for_an_experiment_file(capsys, name):
    assert run(["validate", name]) == 2
    out = capsys.readouterr()
    assert (out.out, out.err.count("\n")) == ("", 1)
    assert f"--config {name}" in out.err


@pytest.mark.parametrize("name", ["grid.toml", "GRID.TOML", "grid.json"])
def test_train_names_config_and_sweep_for_an_experiment_file(capsys, name):
    assert run(["train", name]) == 2
    out = capsys.readouterr()
    assert out.err.count("\n") == 1
    assert f"--config {name}" in out.err
    assert f"`dfltheory sweep {name}`" in out.err


def test_a_checkpoint_is_gone_on_from_and_another_runs_is_refused(capsys, tmp_path):
    path = str(tmp_path / "run.ckpt")
    first = said(capsys, "--json", "--checkpoint", path, "--checkpoint-every", "4")
    again = said(capsys, "--json", "--checkpoint", path, "--checkpoint-every", "4")
    measures = [json.loads(out.out)["measures"] for _, out in (first, again)]
    assert measures[0] == measures[1]
    status, out = said(capsys, "--seed", "3", "--checkpoint", path)
    assert status == 2
    assert out.err.count("\n") == 1
    assert "its seed is 0, not 3" in out.err
    status, _ = said(capsys, "--seed", "3", "--checkpoint", path, "--force")
    assert status == 0


FILE = """
title = "from a file"
[task]
name = "quadratic"
m = 4
d = 2
[topology]
name = "ring"
[algorithm]
name = "dfedsam"
K = 2
[run]
rounds = 40
seeds = 3
[theorem]
key = "dfedsam.theorem_4_5"
variants = ["printed", "corrected"]
schedule = true
constants = { rho0 = 0.5 }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(FILE)
    return path


def test_train_takes_an_experiment_file(capsys, file, tmp_path, undrawn):
    from dfltheory.experiments.experiment_file import load_experiment

    words = [
        "train",
        "--config",
        str(file),
        "--set",
        "run.rounds=20",
        "--json",
        "--out",
        str(tmp_path / "o"),
    ]
    assert run(words) == 0
    document = json.loads(capsys.readouterr().out)
    direct = load_experiment(file, {"run.rounds": 20}).instance().run()
    np.testing.assert_array_equal(document["measures"]["loss"], direct.loss.mean(0))
    assert (document["rounds"], document["seeds"], document["topology"]) == (
        20,
        3,
        "ring",
    )
    loaded = History.load(tmp_path / "o" / "history.safetensors")
    loaded.seconds = direct.seconds
    assert loaded == direct


def test_validate_takes_an_experiment_file(capsys, file, tmp_path, undrawn):
    from dfltheory.experiments.experiment_file import load_experiment

    assert (
        run(["validate", "--config", str(file), "--json", "--out", str(tmp_path / "o")])
        == 0
    )
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert [v["variant"] for v in found] == ["printed", "corrected"]
    direct = load_experiment(file).instance().run()
    from dfltheory.verdicts.compare import compare

    verdict = compare(direct, "dfedsam.theorem_4_5", variant="corrected", rho0=0.5)
    assert (found[1]["kind"], found[1]["rounds"]) == (verdict.kind, 40)
    assert {v["method"] for v in found} == {"student"}
    assert (tmp_path / "o" / "report.html").is_file()
    asked = ["--set", "theorem.method=bootstrap", "--set", "run.seeds=8"]
    asked += ["--set", "run.rounds=4"]
    assert run(["validate", "--config", str(file), "--json", *asked]) == 0
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert {(v["method"], v["seeds"]) for v in found} == {("bootstrap", 8)}


@pytest.mark.parametrize("command", ["train", "validate", "sweep"])
def test_commands_suggest_the_nearest_name_for_an_unknown_field(capsys, file, command):
    file.write_text(FILE.replace("rounds = 40", "ruonds = 40"))
    words = (
        [command, str(file)] if command == "sweep" else [command, "--config", str(file)]
    )
    assert run(words) == 2
    said = capsys.readouterr()
    assert "ruonds" in said.err
    assert "did you mean rounds" in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_options_change_what_the_file_says(capsys, file):
    from dfltheory.experiments.experiment_file import load_experiment

    words = ["--config", str(file), "--rounds", "5", "--json"]
    assert run(["train", *words, "--eta", "0.01", "--topology", "star"]) == 0
    document = json.loads(capsys.readouterr().out)
    changes = {"run.rounds": 5, "algorithm.eta": 0.01, "topology.name": "star"}
    direct = load_experiment(file, changes).instance().run(progress=False)
    np.testing.assert_array_equal(document["measures"]["loss"], direct.loss.mean(0))
    assert (document["rounds"], document["algorithm"]["eta"], document["topology"]) == (
        5,
        0.01,
        "star",
    )
    words = ["validate", *words, "--variant", "printed", "--seeds", "2"]
    assert run([*words, "--topology", "ring", "--topology", "star"]) == 0
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert [
        (v["case"].split(", ")[-1], v["variant"], v["rounds"], v["seeds"])
        for v in found
    ] == [
        ("ring", "printed", 5, 2),
        ("star", "printed", 5, 2),
    ]


def test_train_rejects_a_value_given_twice(capsys, file):
    assert (
        run(["train", "--config", str(file), "--rounds", "5", "--set", "run.rounds=6"])
        == 2
    )
    assert "run.rounds" in capsys.readouterr().err


OWN = """
from dataclasses import dataclass, replace

import dfltheory as dfl


@dataclass(frozen=True)
class Mine(dfl.algorithms.DFedAvg):
    pass


def problem(m: int = 3, sigma: float = 0.1):
    return dfl.tasks.quadratic(m=m, d=2, sigma=sigma)


stated = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
mine = replace(
    stated, key="mine.avg", scope=replace(stated.scope, algorithms=(Mine,)), schedule={}, assumptions=()
)
sam = replace(stated, key="mine.sam")
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    np.savetxt("W.csv", dfl.graphs.lazy(dfl.graphs.path(3)), delimiter=",")
    return "mine.py"


def test_an_own_algorithm_task_and_matrix_by_reference(capsys, own):
    words = [
        "train",
        "--algorithm",
        "mine.py:Mine",
        "--task",
        "mine.py:problem",
        "--m",
        "3",
        "--rounds",
        "2",
    ]
    assert run([*words, "--topology", "W.csv", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    W = dfl.graphs.lazy(dfl.graphs.path(3))
    task = dfl.tasks.quadratic(m=3, d=2, sigma=0.1)
    direct = dfl.train(dfl.algorithms.DFedAvg(eta=0.1, K=5), task, W, rounds=2)
    np.testing.assert_allclose(
        document["measures"]["loss"], direct.loss.mean(0), rtol=1e-12
    )
    assert document["algorithm"]["name"] == "Mine"
    assert run([*words, "--topology", "W.csv", "--weights", "lazy"]) == 2
    assert "weights apply only to a graph" in capsys.readouterr().err
    assert run([*words, "--topology", "ring", "--weights", "lazy", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    methods = dfl.algorithms.DFedAvg(eta=0.1, K=5), task
    lazy, usual = (
        dfl.train(*methods, weights(dfl.graphs.ring(3)), rounds=2).consensus.mean(0)
        for weights in (dfl.graphs.lazy, dfl.graphs.metropolis)
    )
    np.testing.assert_allclose(document["measures"]["consensus"], lazy, rtol=1e-12)
    assert abs(lazy - usual).max() > 1e-4
    assert run(["train", "--algorithm", "mine.py:Your"]) == 2
    error = capsys.readouterr().err
    assert "mine.py:Your" in error
    assert error.count("\n") == 1


def test_the_code_of_an_own_algorithm_counts_in_the_name_of_a_cell(own, tmp_path):
    from dfltheory.experiments.experiment_file import read_experiment
    from dfltheory.identity import value_digest

    document = {
        "task": {"name": "quadratic", "m": 3},
        "topology": {"name": "ring"},
        "algorithm": {"name": "mine.py:Mine", "eta": 0.1, "K": 1},
    }
    before = value_digest(read_experiment(document, trust=True).cells[0].document())
    assert (
        value_digest(read_experiment(document, trust=True).cells[0].document())
        == before
    )
    (tmp_path / "mine.py").write_text(OWN.replace("pass", "scale = 2.0"))
    assert (
        value_digest(read_experiment(document, trust=True).cells[0].document())
        != before
    )


def test_validate_takes_an_own_theorem(capsys, own):
    words = [
        "--rounds",
        "20",
        "--seeds",
        "2",
        "--m",
        "4",
        "--topology",
        "ring",
        "--json",
    ]
    assert run(["validate", "mine.py:sam", *words]) == 0
    (found,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (found["key"], found["variant"]) == ("mine.sam", "corrected")
    # a statement without a schedule starts from 1/L or from a given step size, and
    # its own algorithm runs
    assert run(["validate", "mine.py:mine", *words]) == 0
    capsys.readouterr()
    assert (
        run(["validate", "mine.py:mine", "--set", "algorithm.eta=0.001", *words]) == 0
    )
    (found,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert found["key"] == "mine.avg"
    assert "is about" not in found["reason"]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("key", ["dfedmdc.theorem_1", "dfedmdc.theorem_2"])
def test_a_theorem_on_two_blocks_has_a_default_task(capsys, key):
    assert run(
        [
            "validate",
            key,
            "--rounds",
            "5",
            "--seeds",
            "2",
            "--m",
            "4",
            "--topology",
            "ring",
            "--json",
        ]
    ) in (0, 1)
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert found
    assert not any("two blocks" in v["reason"] for v in found)


def test_a_topology_that_nothing_would_use_is_refused(capsys):
    line = [
        "train",
        "--task",
        "quadratic",
        "--algorithm",
        "scaffold",
        "--rounds",
        "1",
        "--m",
        "4",
    ]
    assert run([*line, "--topology", "star"]) == 2
    assert "--topology star: SCAFFOLD does not use a network" in capsys.readouterr().err
    assert run(line) == 0


@pytest.mark.parametrize(
    ("algorithm", "network"),
    [
        ("dfedsgpsm", "directed-exponential"),
        ("dfedsgpsm", "directed-ring"),
        ("dpsgd", "one_peer_exponential"),
        ("sgp", "random_neighbors"),
    ],
)
def test_directed_graphs_and_sequences_have_names_on_the_line(
    capsys, algorithm, network
):
    line = [
        "train",
        "--task",
        "quadratic",
        "--m",
        "8",
        "--rounds",
        "1",
        "--algorithm",
        algorithm,
        "--json",
    ]
    assert run([*line, "--topology", network]) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)["topology"].replace(
        "_", "-"
    ) == network.replace("_", "-")


def test_measures_of_clients_are_printed_saved_and_drawn(capsys, tmp_path, undrawn):
    status, out = said(
        capsys,
        *("--metric", "client_loss", "--seeds", "2", "--out", str(tmp_path / "out")),
    )
    assert status == 0
    assert "worst client" in out.out
    assert (tmp_path / "out/curves.png").exists()
    history = History.load(tmp_path / "out/history.safetensors")
    assert history.clients["client_loss"].shape[::2] == (2, 4)
    table = pd.read_csv(tmp_path / "out/clients.csv")
    assert len(table) == history.clients["client_loss"].size
    document = json.loads((tmp_path / "out/run.json").read_text())
    worst = history.clients["client_loss"].max(-1).mean(0)
    np.testing.assert_allclose(document["measures"]["client_loss_max"], worst)
    status, out = said(capsys, "--metric", "loss")
    assert status != 0
    assert "run.metrics" in out.err
