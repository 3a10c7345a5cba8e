"""A finished cell of a sweep can be rerun from its record, with the same name and
numbers.
"""

import json

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.experiments.sweep_workers import run_cell

RING = {"name": "ring"}
DOCUMENTS = {
    "default dtype": {
        "task": {"name": "quadratic", "m": 3, "d": 2},
        "algorithm": {"name": "dfedsam", "eta": 0.1, "K": 1},
        "run": {"rounds": 3, "seeds": [1, 3]},
    },
    "named dtype": {
        "task": {"name": "quadratic", "m": 3, "d": 2, "dtype": "float32"},
        "algorithm": {"name": "dfedavg", "eta": 0.1, "K": 1},
        "run": {"rounds": 3, "seeds": 2},
    },
    "images": {
        "task": {"name": "digits", "m": 3, "examples": 60},
        "algorithm": {"name": "dpsgd", "eta": 0.1},
        "run": {"rounds": 1},
    },
    "schedule": {
        "task": {"name": "quadratic", "m": 3, "d": 2},
        "algorithm": {"name": "dfedsam", "K": 1},
        "run": {"rounds": 3},
        "theorem": {
            "key": "dfedsam.corollary_4_6",
            "schedule": True,
            "constants": {"rho0": 1.0},
        },
    },
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_sweep_cell_runs_again_from_its_own_record(name):
    cell = read_experiment({"topology": RING, **DOCUMENTS[name]}).cells[0]
    key = cell.key
    _, record, _ = run_cell(key, cell)
    assert record["status"] == "done"
    record = json.loads(json.dumps(record))
    again = read_experiment(record["configuration"]).cells[0]
    assert again.key == key
    _, repeated, _ = run_cell(key, again)
    assert repeated["status"] == "done"
    assert json.loads(json.dumps(repeated["final"])) == record["final"]


@pytest.mark.parametrize("dtype", ["torch.int64", "torch.nn", "torch.", "float63"])
def test_documents_reject_what_is_no_real_dtype(dtype):
    document = DOCUMENTS["default dtype"] | {"topology": RING}
    document["task"] = {**document["task"], "dtype": dtype}
    with pytest.raises(InputError, match=r"task\.dtype"):
        read_experiment(document).cells[0].instance()


def test_documents_reject_null_where_the_default_is_a_value():
    document = DOCUMENTS["default dtype"] | {"topology": RING}
    document["task"] = {**document["task"], "L": None}
    with pytest.raises(InputError, match=r"task\.L"):
        read_experiment(document)


def test_class_shares_have_the_precision_of_the_task():
    X, y = (
        torch.zeros(14, 2, dtype=torch.float64),
        torch.tensor([0] * 1 + [1] * 2 + [0] * 4 + [1] * 7),
    )
    clients = [(X[:3], y[:3]), (X[3:], y[3:])]
    task = dfl.tasks.supervised_from(
        clients, torch.nn.Linear(2, 2), dtype=torch.float64
    )
    shares = np.exp(task.log_frequencies.numpy())
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3], [4 / 11, 7 / 11]], rtol=1e-15)
    single = dfl.tasks.supervised_from(
        clients, torch.nn.Linear(2, 2), dtype=torch.float32
    )
    assert single.log_frequencies.dtype == torch.float32


def test_consensus_has_one_name_and_its_rounding_error_another():
    task = dfl.tasks.quadratic(m=3, d=2, sigma=0.1)
    run = dfl.train(
        dfl.algorithms.DPSGD(eta=0.1),
        task,
        np.full((3, 3), 1 / 3),
        rounds=2,
        progress=False,
    )
    assert run.consensus.shape == (1, 3)
    assert np.array_equal(run.measures()["consensus"], run.consensus)
    assert not hasattr(run, "consensus_error")
    assert run.consensus_rounding is None


def test_histories_of_earlier_releases_keep_the_rounding_error_of_the_consensus(
    tmp_path,
):
    from dfltheory.training import storage
    from dfltheory.training.history import History

    task = dfl.tasks.quadratic(m=3, d=2, sigma=1.0)
    exact = dfl.exact_history(
        dfl.algorithms.DPSGD(eta=0.1), task, np.full((3, 3), 1 / 3), rounds=2
    )
    arrays, document = exact._content()
    arrays["consensus_error"] = arrays.pop("consensus_rounding")
    again = History.load(
        storage.write_tensors(tmp_path / "old.safetensors", arrays, document)
    )
    assert again.consensus_rounding is not None
    assert exact.consensus_rounding is not None
    assert np.array_equal(again.consensus_rounding, exact.consensus_rounding)


OWN_CODE = """
from dataclasses import dataclass
import dfltheory as dfl

@dataclass(frozen=True)
class Own(dfl.algorithms.DFedAvg):
    pass

def task(m=3):
    return dfl.tasks.quadratic(m=m, d=2)
"""


def from_record(document, folder, other_folder):
    """Return the key and results of a cell, and those of the experiment in its record,
    read in another folder.
    """
    cell = read_experiment(document, folder=folder, trust=True).cells[0]
    key = cell.key
    record = json.loads(json.dumps(run_cell(key, cell)[1]))
    assert record["status"] == "done", record
    again = read_experiment(
        record["configuration"], folder=other_folder, trust=True
    ).cells[0]
    return record, key, again


@pytest.mark.parametrize("name", ["W.npy", "W.csv", "W.edgelist"])
def test_sweep_cell_with_a_matrix_file_runs_again_without_the_file(name, tmp_path):
    folder, elsewhere = tmp_path / "one", tmp_path / "two"
    folder.mkdir()
    elsewhere.mkdir()
    W = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    topology = {"file": name}
    if name.endswith("npy"):
        np.save(folder / name, W)
    elif name.endswith("csv"):
        np.savetxt(folder / name, W, delimiter=",", fmt="%.17g")
    else:
        (folder / name).write_text("0 1\n1 2\n")
        topology["weights"] = "metropolis"
    document = DOCUMENTS["named dtype"] | {"topology": topology}
    record, key, again = from_record(document, folder, elsewhere)
    assert "file" not in record["configuration"]["topology"]
    assert again.key == key
    repeated = json.loads(json.dumps(run_cell(key, again)[1]))
    assert repeated["final"] == record["final"]


def test_a_matrix_too_large_for_the_record_is_named_by_its_field(tmp_path, monkeypatch):
    monkeypatch.setattr("dfltheory.experiments.cell.RECORDED_CLIENTS", 2)
    np.save(tmp_path / "W.npy", np.full((3, 3), 1 / 3))
    document = DOCUMENTS["named dtype"] | {"topology": {"file": "W.npy"}}
    configuration = read_experiment(document, folder=tmp_path).cells[0].document()
    with pytest.raises(InputError, match=r"topology\.file"):
        read_experiment(configuration, folder=tmp_path)


@pytest.mark.parametrize("section", ["algorithm", "task"])
def test_sweep_cell_with_own_code_runs_again_while_the_code_is_the_same(
    section, tmp_path
):
    code = tmp_path / "code_of_a_cell.py"
    code.write_text(OWN_CODE)
    document = {"topology": RING, **DOCUMENTS["named dtype"]}
    document |= {
        "algorithm": {"algorithm": {"name": f"{code}:Own", "eta": 0.1, "K": 1}},
        "task": {"task": {"name": f"{code}:task"}},
    }[section]
    record, key, again = from_record(document, tmp_path, tmp_path)
    assert again.key == key
    repeated = json.loads(json.dumps(run_cell(key, again)[1]))
    assert repeated["final"] == record["final"]
    code.write_text(OWN_CODE + "\nOTHER = 1\n")  # which neither of them uses
    read_experiment(record["configuration"], folder=tmp_path, trust=True)
    code.write_text(OWN_CODE.replace("pass", "scale = 2.0").replace("d=2", "d=3"))
    with pytest.raises(InputError, match=rf"{section}\.code"):
        read_experiment(record["configuration"], folder=tmp_path, trust=True)
    forced = read_experiment(
        record["configuration"], folder=tmp_path, trust=True, force=True
    ).cells[0]
    assert forced.key != key
