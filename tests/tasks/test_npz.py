"""A file of arrays as a task: its partition, and all ways in which it is rejected."""

import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from dfltheory import cli, tasks
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks import supervised_from
from dfltheory.training.instance import Instance

MODELS = """
import torch

class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(8, 3)

class Args(torch.nn.Module):
    def __init__(self, n):
        super().__init__()

def three():
    return 3
"""
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 8)), rng.integers(0, 3, 60)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_models.py").write_text(MODELS)
    return tmp_path


def same(task, other):
    assert task.m == other.m
    start, other_start = (
        one.start(torch.Generator().manual_seed(0)) for one in (task, other)
    )
    assert torch.equal(start, other_start)
    x = start.expand(1, task.m, -1)
    torch.testing.assert_close(task.gradient(x), other.gradient(x))
    assert torch.equal(task.sizes, other.sizes)


def test_the_three_ways_to_say_who_holds_what_are_the_library_call(place):
    who = np.arange(60) % 5
    clients = [(X[who == i], y[who == i]) for i in range(5)]
    np.savez("index.npz", X=X, y=y, client=who, X_test=X[:9], y_test=y[:9])
    np.savez(
        "each.npz",
        **{f"{n}_{i}": v for i, pair in enumerate(clients) for n, v in zip("Xy", pair)},
    )
    np.savez("whole.npz", X=X, y=y)
    made = tasks.get("npz", data="index.npz", model="own_models.py:Net", seed=3)
    torch.manual_seed(3)
    net = torch.nn.Linear(8, 3)
    same(made, supervised_from(clients, net))
    same(made, tasks.get("npz", data="each.npz", model="own_models.py:Net", seed=3))
    assert made.accuracy(torch.zeros(1, 27)) is not None
    divided = tasks.get(
        "npz", data="whole.npz", model=net, m=4, partition="dirichlet", seed=3
    )
    same(divided, supervised_from((X, y), net, m=4, partition="dirichlet", seed=3))
    assert tasks.get("npz", data="whole.npz").m == 10
    assert made.constants.standing_of("L") == "estimate"


BAD = {
    "absent": (None, "not a file"),
    "junk": (b"x", "not an npz archive"),
    "objects": (
        {"X": np.array([{}, 1], dtype=object), "y": y[:2]},
        "Python objects, which are never loaded",
    ),
    "no_y": ({"X": X}, "save X and y"),
    "more": ({"X": X, "y": y, "z": y}, "save X and y"),
    "gap_in_names": ({"X_0": X, "y_0": y, "X_2": X, "y_2": y}, "save X and y"),
    "lengths": ({"X": X, "y": y[:5]}, "60 examples and y 5"),
    "client_lengths": (
        {"X": X, "y": y, "client": y[:5]},
        "one integer for each of the 60",
    ),
    "client_floats": ({"X": X, "y": y, "client": y / 2}, "one integer"),
    "client_gap": ({"X": X, "y": y, "client": 2 * y}, "numbered 0, 1"),
    "text": ({"X": X, "y": np.array(["a"] * 60)}, "an array of numbers"),
    "one_number": ({"X": X, "y": np.array(1)}, "an array of numbers"),
    "nan": ({"X": X * np.nan, "y": y}, "not finite"),
    "half_a_test": (
        {"X": X, "y": y, "X_test": X},
        "X_test and y_test need each other",
    ),
    "no_labels": ({"X": X, "y": X[:, 0]}, "takes labels"),
}


def archive(name):
    if isinstance(BAD[name][0], bytes):
        with open(f"{name}.npz", "wb") as file:
            file.write(BAD[name][0])
    elif BAD[name][0] is not None:
        np.savez(f"{name}.npz", **BAD[name][0])


@pytest.mark.drawn(4)
@pytest.mark.parametrize("name", BAD)
def test_what_is_malformed_is_refused_in_one_line(place, capsys, name):
    archive(name)
    assert cli.run(["train", "--data", f"{name}.npz", "--rounds", "1"]) == 2
    message = capsys.readouterr().err.strip()
    assert BAD[name][1] in message
    assert "\n" not in message


def test_a_truncated_archive_and_one_that_promises_too_much(place, monkeypatch):
    np.savez("good.npz", X=X, y=y)
    whole = (place / "good.npz").read_bytes()
    for length in range(0, len(whole), 97):
        (place / "cut.npz").write_bytes(whole[:length])
        with pytest.raises(DFLTheoryError, match=r"cut\.npz"):
            tasks.get("npz", data="cut.npz")
    monkeypatch.setattr("dfltheory.tasks.sizes.memory", lambda: 1000.0)
    with pytest.raises(DFLTheoryError, match=r"good\.npz"):
        tasks.get("npz", data="good.npz")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("own_models.py:Args", "cannot be created without arguments: TypeError"),
        ("own_models.py:three", "neither is nor returns"),
        ("own_models.py:None_such", "None_such"),
        ("own_models.py:torch", "neither is nor returns"),
        ("nix", "no model is called"),
        ("resnet18", "square images"),
    ],
)
def test_what_is_no_network_is_refused(place, model, words):
    np.savez("good.npz", X=X, y=y)
    with pytest.raises(DFLTheoryError, match=words):
        tasks.get("npz", data="good.npz", model=model)


def test_the_command_line_trains_on_it(place, capsys):
    np.savez("good.npz", X=X, y=y, client=np.arange(60) % 4)
    line = [
        "train",
        "--data",
        "good.npz",
        "--model",
        "own_models.py:Net",
        "--rounds",
        "2",
        "--json",
    ]
    assert cli.run(line) == 0
    assert '"m": 4' in capsys.readouterr().out
    assert cli.run(["train", "--data", "good.npz", "--m", "3"]) == 2
    assert "has 4 clients" in capsys.readouterr().err
    assert cli.run(["train", "--data", "good.npz", "--task", "quadratic"]) == 2


@pytest.mark.slow
def test_the_command_line_validates_on_it(place):
    np.savez("good.npz", X=X, y=y, client=np.arange(60) % 4)
    assert (
        cli.run(
            [
                "validate",
                "--data",
                "good.npz",
                "--topology=ring",
                "--rounds=4",
                "--seeds=2",
            ]
        )
        == 0
    )


def test_a_document_says_it_too_from_its_own_place_and_runs_no_code_unasked(
    place, capsys
):
    (place / "below").mkdir()
    np.savez("below/good.npz", X=X, y=y, client=np.arange(60) % 4)
    (place / "below" / "run.toml").write_text(
        '[task]\nname = "npz"\ndata = "good.npz"\nmodel ='
        ' "own_models.py:Net"\n[topology]\nname = "ring"\n[algorithm]\nname ='
        ' "dfedavg"\neta = 0.1\nK = 1\n[run]\nrounds = 1\n'
    )
    assert cli.run(["train", "--config", "below/run.toml", "--json"]) == 2
    assert "own_models" in capsys.readouterr().err
    assert cli.run(["train", "--config", "below/run.toml", "--trust", "--json"]) == 0, (
        capsys.readouterr().err
    )
    np.savez("here.npz", X=X, y=y, client=np.arange(60) % 3)
    assert (
        cli.run(
            [
                "train",
                "--config",
                "below/run.toml",
                "--data",
                "here.npz",
                "--trust",
                "--json",
            ]
        )
        == 0
    )
    assert '"m": 3' in capsys.readouterr().out
    document = {
        "task": {"name": "npz", "data": "below/good.npz", "model": "own_models.py:Net"},
        "topology": {"name": "ring"},
        "algorithm": {"name": "dfedavg", "eta": 0.1, "K": 1},
        "run": {"rounds": 1},
    }
    with pytest.raises(DFLTheoryError, match=r"task\.model = 'own_models\.py:Net'"):
        Instance.of(document, folder=place)
    with pytest.raises(DFLTheoryError, match="must not name files"):
        Instance.of(document, own=True)
    assert Instance.of(document, folder=place, own=True).task.m == 4


def test_array_that_declares_more_than_its_bytes_is_refused_before_memory_is_taken(
    place,
):
    head = (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (16000, 16000), }".ljust(
            117
        )
        + b"\n"
    )
    forged = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(128)
    with zipfile.ZipFile("forged.npz", "w") as archive:
        archive.writestr("X.npy", forged)
        archive.writestr("y.npy", forged)
    tracemalloc.start()
    with pytest.raises(DFLTheoryError, match=r"forged\.npz"):
        tasks.get("npz", data="forged.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26
