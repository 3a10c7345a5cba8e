"""The sweep of the page on scaling on a local cluster, and 200 cells with workers that
are killed.
"""

import os
import re
import signal
import threading
import time
import tomllib
from pathlib import Path

import psutil
import pytest

from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.experiments.sweep import sweep

PAGE = Path(__file__).parents[2] / "docs/scaling.md"
ALGORITHMS = {"dpsgd", "dfedavg", "dfedavgm", "dfedsam", "dfedadmm"}


def file_of_the_page():
    """Return the experiment file that the page shows."""
    [text] = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.M)
    assert len(text.splitlines()) == 6
    return tomllib.loads(text)


def test_experiment_of_page_has_25_cells_with_100_clients():
    plan = read_experiment(file_of_the_page(), "cifar.toml")
    runs = {(cell["algorithm"]["name"], *cell["run"]["seeds"]) for cell in plan.cells}
    assert runs == {(name, seed) for name in ALGORITHMS for seed in range(5)}
    assert {cell["task"]["name"] for cell in plan.cells} == {"cifar10"}
    assert {cell["task"]["m"] for cell in plan.cells} == {100}


def quiet_cluster(test):
    """Mark a test that starts a cluster, whose threads may warn when it ends."""
    for mark in (
        pytest.mark.slow,
        pytest.mark.distributed,
        pytest.mark.filterwarnings("ignore::ResourceWarning"),
        pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    ):
        test = mark(test)
    return test


@quiet_cluster
def test_experiment_of_page_runs_on_local_cluster(tmp_path):
    distributed = pytest.importorskip("distributed")
    document = file_of_the_page()
    document["task"] |= {"name": "digits", "m": 8}
    document["run"] = {"rounds": 2}
    plan = read_experiment(document, "digits.toml")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=":0",
        silence_logs=50,
    ) as cluster:
        done = sweep(plan, tmp_path / "out", cluster=cluster.scheduler_address)
    assert done.count("done") == 25
    algorithms = {cell.history.algorithm.name.lower() for cell in done.results.cells}
    assert algorithms == ALGORITHMS


GRID = {
    "task": {"name": "quadratic", "m": 4, "d": 2},
    "topology": {"name": "ring"},
    "algorithm": {"name": "dfedavg", "K": 1},
    "run": {"rounds": 5},
    "sweep": {
        "algorithm.eta": [0.001 * k for k in range(1, 21)],
        "task.seed": list(range(10)),
    },
}


def kill_a_worker(folder, killed):
    """Kill a worker process once some cells are written."""
    cells = folder / "cells"
    while not cells.is_dir() or len(list(cells.glob("*.json"))) < 20:
        time.sleep(0.02)
    workers = [
        child
        for child in psutil.Process().children(recursive=True)
        if "loky" in " ".join(child.cmdline())
        and "resource_tracker" not in " ".join(child.cmdline())
    ]
    os.kill(workers[0].pid, signal.SIGKILL)
    killed.append(workers[0].pid)


@pytest.mark.slow
def test_sweep_of_200_cells_with_a_killed_worker_ends_with_all_results(tmp_path):
    plan = read_experiment(GRID, "grid.toml")
    killed = []
    killer = threading.Thread(
        target=kill_a_worker, args=(tmp_path / "out", killed), daemon=True
    )
    killer.start()
    done = sweep(plan, tmp_path / "out", jobs=2)
    killer.join(60)
    assert len(killed) == 1
    assert (done.ran, done.count("done"), done.count("failed")) == (200, 200, 0)
    undisturbed = sweep(plan, tmp_path / "undisturbed", jobs=1)
    pairs = zip(done.results.cells, undisturbed.results.cells, strict=True)
    for cell, expected in pairs:
        assert {**cell.record, "seconds": 0} == {**expected.record, "seconds": 0}
        assert (cell.history.loss == expected.history.loss).all()
    assert sweep(plan, tmp_path / "out", jobs=2).ran == 0
