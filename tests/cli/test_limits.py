"""Input that requires too much memory is rejected before anything is allocated."""

import subprocess
import sys

import numpy as np
import pytest

from dfltheory.cli.guard import is_out_of_memory, memory_error, stop_message
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.experiments.sweep_axes import MAX_CELLS
from dfltheory.graphs.closed_forms import LARGEST_WITH_FORM
from dfltheory.tasks.npz import npz

NAMES = [
    "ring",
    "path",
    "star",
    "complete",
    "grid",
    "torus",
    "exponential",
    "directed-ring",
    "directed-exponential",
]


@pytest.mark.parametrize("name", NAMES)
def test_closed_form_of_too_many_clients_is_rejected(name):
    from dfltheory import graphs

    with pytest.raises(InputError, match="clients"):
        graphs.lam(name.replace("-", "_"), m=10 * LARGEST_WITH_FORM)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["exponential", "hypercube"])
def test_topology_of_a_billion_clients_ends_within_a_gigabyte(name):
    clients = 2**30 if name == "hypercube" else 10**9
    command = f"""
import resource
resource.setrlimit(resource.RLIMIT_DATA, ({10**9}, {10**9}))
from dfltheory.cli import main
main(["topology", "{name}", "--m", "{clients}"])
"""
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stderr
    assert str(clients) in done.stderr


def experiment(axes):
    return {
        "task": {"name": "quadratic", "m": 4, "d": 2},
        "topology": {"name": "ring"},
        "algorithm": {"name": "dfedavg", "eta": 0.1, "K": 1},
        "sweep": axes,
    }


def test_grid_of_too_many_cells_is_rejected_before_it_is_built():
    values = list(range(400))
    axes = {"run.seed": values, "task.seed": values, "run.rounds": values[1:]}
    with pytest.raises(InputError, match="sweep") as error:
        read_experiment(experiment(axes))
    assert str(400 * 400 * 399) in str(error.value)
    assert str(MAX_CELLS) in str(error.value)


@pytest.mark.parametrize("numbers", [[0, 10**12], [0, -1], [1, 2], [0, 2]])
def test_clients_that_are_not_numbered_from_zero_are_rejected(numbers, tmp_path):
    data = tmp_path / "data.npz"
    np.savez(data, X=np.eye(2), y=np.array([0, 1]), client=np.array(numbers))
    with pytest.raises(InputError, match="client"):
        npz(data)


def test_huge_label_is_rejected(tmp_path):
    data = tmp_path / "data.npz"
    np.savez(data, X=np.eye(4), y=np.array([0, 1, 2, 10**12]), client=[0, 0, 1, 1])
    with pytest.raises(InputError, match="label"):
        npz(data)


def test_torch_out_of_memory_is_reported_like_a_memory_error():
    import torch

    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**14)
    assert is_out_of_memory(raised.value)
    assert not is_out_of_memory(RuntimeError("sizes do not match"))
    message = stop_message(memory_error(raised.value))
    assert message == "not enough memory (400000000000000 bytes for one tensor)"
