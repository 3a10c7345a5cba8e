"""Code that a file refers to is only imported with --trust; a list of cells imports
nothing.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dfltheory.cli import run
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import load_experiment, read_experiment
from dfltheory.training.instance import Instance

MODULE = """
from pathlib import Path
Path("marker").touch()
import dfltheory as dfl
import torch

class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(3, 2)

class Method(dfl.algorithms.DFedAvg):
    pass

def problem(m, seed=0):
    return dfl.tasks.quadratic(m=m, d=2, seed=seed)

theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
"""
PLAIN = {
    "task": {"name": "quadratic", "m": 4},
    "topology": {"name": "ring"},
    "algorithm": {"name": "dfedavg", "eta": 0.01, "K": 1},
    "run": {"rounds": 2, "seeds": 2},
    "theorem": {
        "key": "dfedsam.theorem_4_5",
        "variants": ["corrected"],
        "constants": {"rho0": 0.0},
    },
}
PLACES = {
    "task.name": {"task": {"name": "evil.py:problem", "m": 4}},
    "task.model": {"task": {"name": "npz", "data": "data.npz", "model": "evil.py:Net"}},
    "algorithm.name": {"algorithm": {"name": "evil.py:Method", "eta": 0.01, "K": 1}},
    "theorem.key": {"theorem": {"key": "evil.py:theorem"}},
    "sweep": {"sweep": {"algorithm.name": ["dfedavg", "evil.py:Method"]}},
}
COMMANDS = {
    "train": ["train", "--config", "file.json", "--json"],
    "validate": ["validate", "--config", "file.json", "--json"],
    "sweep": ["sweep", "file.json", "--out", "out", "--jobs", "1", "--json"],
    "list": ["sweep", "file.json", "--list"],
    "atlas": [
        "atlas",
        "--instance",
        "file.json",
        "--key",
        "dfedsam.theorem_4_5",
        "--json",
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create a folder with a module that writes the file ``marker`` when it is
    imported.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    np.savez(
        "data.npz",
        X=rng.normal(size=(24, 3)),
        y=np.arange(24) % 2,
        client=np.arange(24) % 4,
    )
    return tmp_path


def write(place):
    Path("file.json").write_text(json.dumps({**PLAIN, **PLACES[place]}))


@pytest.mark.drawn(4)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", PLACES)
def test_commands_reject_files_that_name_code(folder, capsys, command, place):
    write(place)
    assert run(COMMANDS[command]) == 2
    error = capsys.readouterr().err
    assert "evil.py" in error
    assert "--trust" in error
    assert not (folder / "marker").exists()


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("train", "algorithm.name"),
        ("validate", "theorem.key"),
        pytest.param("sweep", "sweep", marks=pytest.mark.slow),
        ("atlas", "task.name"),
    ],
)
def test_trust_allows_files_that_name_code(folder, capsys, command, place):
    write(place)
    assert run([*COMMANDS[command], "--trust"]) in (0, 1), capsys.readouterr().err
    assert (folder / "marker").exists()


@pytest.mark.parametrize("place", PLACES)
def test_list_imports_nothing_even_with_trust(folder, capsys, place):
    write(place)
    assert run([*COMMANDS["list"], "--trust", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [bool(cell["hash"]) for cell in cells] == [
        not cell["code"] for cell in cells
    ]
    assert any(code.startswith("evil.py:") for cell in cells for code in cell["code"])
    assert not (folder / "marker").exists()


def test_references_on_the_command_line_need_no_trust_and_allow_no_others(
    folder, capsys
):
    write("theorem.key")
    Path("plain.json").write_text(json.dumps(PLAIN))
    assert (
        run(
            [
                "train",
                "--config",
                "plain.json",
                "--algorithm",
                "evil.py:Method",
                "--json",
            ]
        )
        == 0
    )
    assert (folder / "marker").exists()
    (folder / "marker").unlink()
    (folder / "other.py").write_text(MODULE.replace("marker", "marker of other"))
    assert (
        run(
            [
                "train",
                "--config",
                "file.json",
                "--algorithm",
                "other.py:Method",
                "--json",
            ]
        )
        == 2
    )
    assert "evil.py" in capsys.readouterr().err
    assert not (folder / "marker").exists()


def test_library_rejects_documents_that_name_code_unless_trusted(folder):
    for place in ("task.name", "task.model", "algorithm.name", "theorem.key"):
        write(place)
        with pytest.raises(InputError, match=place):
            load_experiment("file.json")
        with pytest.raises(InputError, match=place):
            load_experiment("file.json", {"run.rounds": 3})
        with pytest.raises(InputError, match=place):
            read_experiment(json.loads(Path("file.json").read_text()))
        assert not (folder / "marker").exists()
    write("task.name")
    document = json.loads(Path("file.json").read_text())
    document.pop("theorem")
    with pytest.raises(InputError, match=r"task\.name"):
        Instance.of(document)
    assert not (folder / "marker").exists()
    assert Instance.of(document, own={"evil.py:problem"}).task.m == 4
    assert load_experiment("file.json", trust=True).instance().task.m == 4


def test_no_option_of_a_document_reaches_an_import_that_was_not_allowed(
    folder, monkeypatch
):
    # a reference that the static check does not know still meets the switch where code
    # is imported
    monkeypatch.setattr("dfltheory.training.sections._CODE", ())
    for place in ("task.name", "task.model", "algorithm.name"):
        write(place)
        with pytest.raises(InputError, match="evil"):
            load_experiment("file.json").instance()
        assert not (folder / "marker").exists()


def test_counterexamples_and_histories_import_nothing(folder, capsys):
    from dfltheory.training.history import History

    source = next(
        (Path(__file__).parents[2] / "docs" / "counterexamples").glob(
            "dfedsam.theorem_4_5*.json"
        )
    )
    document = json.loads(source.read_text())
    document["instance"]["algorithm"]["name"] = "evil.py:Method"
    Path("cx.json").write_text(json.dumps(document))
    assert run(["falsify", "--replay", "cx.json"]) == 2
    capsys.readouterr()
    assert not (folder / "marker").exists()
    with pytest.raises(Exception, match=r"cx\.json"):
        History.load("cx.json")
    assert not (folder / "marker").exists()
