"""Sweeps: nothing is lost or repeated, and results do not depend on where or when a
cell runs.
"""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import numpy as np
import psutil
import pytest
import torch

from dfltheory.errors import InputError
from dfltheory.experiments import cell as cell_module
from dfltheory.experiments import sweep as sweeps
from dfltheory.experiments import sweep_workers
from dfltheory.experiments.experiment_file import load_experiment, read_experiment
from dfltheory.experiments.results import CELLS, MANIFEST, load_results
from dfltheory.experiments.sweep import sweep
from dfltheory.experiments.sweep_workers import ClusterError
from dfltheory.randomness import RANDOM_FORMAT
from dfltheory.training import History

TEXT = """
title = "small"
[task]
name = "quadratic"
m = 4
d = 2
sigma = 0.2
zeta = 0.2
[algorithm]
name = "dfedsam"
K = 1
[run]
rounds = 30
seeds = 3
[theorem]
key = "dfedsam.theorem_4_5"
variants = ["printed", "corrected"]
schedule = true
constants = { rho0 = 1.0 }
[sweep]
topology.name = ["ring", "complete"]
"algorithm.Q" = [1, 2]
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "small.toml").write_text(TEXT)
    return load_experiment(tmp_path / "small.toml")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run the sweep without interruption in this process."""
    plan = read_experiment(tomllib.loads(TEXT), "small.toml")
    return sweep(plan, tmp_path_factory.mktemp("whole"), jobs=1).results


@pytest.fixture
def copied(whole, tmp_path):
    """Return a folder with the complete sweep, and the keys of its cells."""
    return shutil.copytree(whole.folder, tmp_path / "out"), [
        cell.key for cell in whole.cells
    ]


def assert_same(found, expected):
    """Check that results are bit-identical except for durations."""
    assert [c.key for c in found.cells] == [c.key for c in expected.cells]
    for one, other in zip(found.cells, expected.cells, strict=True):
        assert one.status == other.status == "done"
        assert {**one.record, "seconds": 0} == {**other.record, "seconds": 0}
        for name, array in one.history.measures().items():
            np.testing.assert_array_equal(array, other.history.measures()[name])
    left, right = (r.frame.drop(columns="seconds") for r in (found, expected))
    assert left.equals(right)


def stamps(folder):
    return {
        p.name: (p.stat().st_mtime_ns, p.stat().st_ino)
        for p in (folder / CELLS).glob("[!.]*.json")
    }


def test_a_sweep_runs_every_cell_and_a_second_call_runs_none(plan, tmp_path, whole):
    out = tmp_path / "out"
    first = sweep(plan, out, jobs=1)
    assert (first.ran, first.kept, first.count("done")) == (4, 0, 4)
    before = stamps(out)
    again = sweep(plan, out, jobs=1)
    assert (again.ran, again.kept) == (0, 4)
    assert stamps(out) == before
    assert_same(again.results, whole)


def test_cells_with_other_random_numbers_are_run_again_and_never_mixed(
    plan, tmp_path, whole, monkeypatch
):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        for module in (cell_module, sweep_workers):
            patched.setattr(module, "RANDOM_FORMAT", RANDOM_FORMAT - 1)
        former = sweep(plan, out, jobs=1).results
    assert {c.record["random_format"] for c in former.cells} == {RANDOM_FORMAT - 1}
    waiting = [cell.key for cell in plan.cells]
    assert not set(waiting) & {c.key for c in former.cells}
    again = sweep(plan, out, jobs=1)
    assert (again.ran, again.kept) == (4, 0)
    assert {c.record["random_format"] for c in again.results.cells} == {RANDOM_FORMAT}
    assert_same(again.results, whole)


def test_the_cells_ran_what_the_file_says(whole):
    assert [dict(c.settings) for c in whole.cells] == [
        {"topology.name": n, "algorithm.Q": q}
        for n in ("ring", "complete")
        for q in (1, 2)
    ]
    for cell in whole.cells:
        assert cell.settings["algorithm.Q"] == cell.history.algorithm.Q
        assert cell.record["network"]["lam"] == pytest.approx(
            {"ring": 1 / 3, "complete": 0.0}[cell.settings["topology.name"]], abs=1e-12
        )
        assert cell.history.algorithm.eta == pytest.approx(1 / 30**0.5, rel=1e-9)
        assert [v.variant for v in cell.verdicts] == ["printed", "corrected"]


class Crash(BaseException):
    """Represents a crashed process: nothing runs after it."""


@pytest.mark.slow
def test_a_crash_at_any_write_loses_nothing_and_repeats_nothing(tmp_path, monkeypatch):
    document = tomllib.loads(TEXT)
    del document["sweep"]["algorithm.Q"]
    plan = read_experiment(document, "small.toml")
    expected = sweep(plan, tmp_path / "expected", jobs=1).results
    real, calls = os.replace, []

    def counting(source, target):
        calls.append(target)
        if len(calls) == crash_at:
            raise Crash
        real(source, target)

    monkeypatch.setattr(os, "replace", counting)
    # the manifest, for each cell its history (within the cell, then in its place) and
    # its record, two tables
    for crash_at in range(1, 1 + 2 * 3 + 2 + 1):
        calls.clear()
        out = tmp_path / str(crash_at)
        with pytest.raises(Crash):
            sweep(plan, out, jobs=1)
        finished = stamps(out)
        rest = sweep(plan, out, jobs=1)  # by now, calls exceeds crash_at
        assert (rest.ran, rest.kept) == (2 - len(finished), len(finished))
        assert {name: stamps(out)[name] for name in finished} == finished
        assert_same(rest.results, expected)
    assert len(finished) == 2  # the last crash occurred at the last table


@pytest.mark.slow
def test_sweep_that_is_killed_repeatedly_ends_with_the_same_numbers(
    plan, tmp_path, whole
):
    out = tmp_path / "out"
    command = (
        "import sys; from dfltheory.experiments.experiment_file import load_experiment;"
        "from dfltheory.experiments.sweep import sweep;"
        "sweep(load_experiment(sys.argv[1]), sys.argv[2], jobs=1)"
    )
    kills, kept = 0, {}
    for wanted in (1, 2, 3):
        process = subprocess.Popen(
            [sys.executable, "-c", command, tmp_path / "small.toml", out]
        )
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            if (out / CELLS).is_dir() and len(stamps(out)) >= wanted:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.001)
        process.wait()
        now = stamps(out)
        assert len(now) >= wanted
        assert {name: now[name] for name in kept} == kept
        kept = now
    assert kills >= 1
    last = sweep(plan, out, jobs=1)
    assert last.kept == len(kept)
    assert {name: stamps(out)[name] for name in kept} == kept
    assert_same(last.results, whole)


# -- workers that die


def killing(log, deadly, times):
    """Return ``run_cell``, but kill its process at the first ``times`` cells with Q = 2
    on ``deadly``.

    It is a closure, since workers receive it by value. ``log`` collects a file for each
    start.
    """

    def run_cell(key, cell):
        import os
        import signal
        import uuid

        from dfltheory.experiments.sweep_workers import run_cell

        (log / f"{key}-{uuid.uuid4().hex}").touch()
        chosen = dict(cell.settings) == {"topology.name": deadly, "algorithm.Q": 2}
        if chosen and len(list(log.glob(f"{key}-*"))) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
        return run_cell(key, cell)

    return run_cell


@pytest.fixture
def stored(monkeypatch):
    """Return the keys of the written cells, in order."""
    keys, store = [], sweeps._store

    def spying(folder, key, record, history):
        keys.append(key)
        store(folder, key, record, history)

    monkeypatch.setattr(sweeps, "_store", spying)
    return keys


def assert_all_but_one_as_in(whole, found, error, words):
    failed = [c for c in found.cells if c.status == "failed"]
    assert [dict(c.settings) for c in failed] == [
        {"topology.name": "ring", "algorithm.Q": 2}
    ]
    assert failed[0].error.startswith(f"{error}: ")
    assert words in failed[0].error
    assert found.frame.query("status == 'failed'")["error"].tolist() == [
        failed[0].error
    ]
    for one, other in zip(found.cells, whole.cells, strict=True):
        if one not in failed:
            assert {**one.record, "seconds": 0} == {**other.record, "seconds": 0}


@pytest.mark.slow
def test_a_cell_that_kills_its_worker_is_kept_as_failed_and_the_others_go_on(
    plan, tmp_path, whole, stored, monkeypatch
):
    out, log = tmp_path / "out", tmp_path / "log"
    log.mkdir()
    monkeypatch.setattr(sweep_workers, "run_cell", killing(log, "ring", times=99))
    done = sweep(plan, out, jobs=2)
    assert (done.ran, done.count("done"), done.count("failed")) == (4, 3, 1), [
        c.error for c in done.results.cells
    ]
    assert_all_but_one_as_in(whole, done.results, "WorkerDiedError", "SIGKILL")
    # each cell is written once
    assert sorted(stored) == sorted(c.key for c in whole.cells)
    # two attempts for cells that ran when the worker died, one for the others
    assert 5 <= len(list(log.iterdir())) <= 6
    before = stamps(out)
    monkeypatch.undo()
    again = sweep(plan, out, jobs=2)
    assert (again.ran, again.kept) == (0, 4)
    assert stamps(out) == before
    last = sweep(plan, out, jobs=1, retry_failed=True)
    assert last.ran == 1
    assert_same(last.results, whole)


@pytest.mark.slow
def test_a_cell_whose_worker_was_killed_once_runs_again(
    plan, tmp_path, whole, stored, monkeypatch
):
    """It runs in other processes, with the same numbers as in this one."""
    log = tmp_path / "log"
    log.mkdir()
    monkeypatch.setattr(sweep_workers, "run_cell", killing(log, "complete", times=1))
    done = sweep(plan, tmp_path / "out", jobs=2)
    assert done.ran == 4
    assert_same(done.results, whole)
    assert sorted(stored) == sorted(c.key for c in whole.cells)


@pytest.mark.slow  # the fast version, which kills the sweep itself
def test_an_interrupted_sweep_leaves_no_worker_behind(plan, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.mkdir()

    def endless(key, cell):
        import os
        import time

        from dfltheory.experiments.sweep_workers import run_cell

        (log / str(os.getpid())).touch()
        while cell["topology"]["name"] == "complete" or len(list(log.iterdir())) < 2:
            time.sleep(0.01)
        return run_cell(key, cell)

    def crash(*_):
        raise Crash

    monkeypatch.setattr(sweep_workers, "run_cell", endless)
    monkeypatch.setattr(sweeps, "_store", crash)
    with pytest.raises(Crash):
        sweep(plan, tmp_path / "out", jobs=2)
    pids = [int(path.name) for path in log.iterdir()]
    assert len(pids) == 2
    until = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(alive, pids))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


ENDLESS = """
import os, pathlib, sys, time
from dfltheory.experiments import sweep_workers
from dfltheory.experiments.experiment_file import load_experiment
from dfltheory.experiments.sweep import sweep
log = sys.argv[1]
def endless(key, cell):
    pathlib.Path(log, str(os.getpid())).touch()
    time.sleep(600)
sweep_workers.run_cell = endless
sweep(load_experiment(sys.argv[2]), sys.argv[3], jobs=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_the_workers_of_a_killed_sweep_end_too(plan, tmp_path, how):
    log = tmp_path / "log"
    log.mkdir()
    words = [str(tmp_path / name) for name in ("log", "small.toml", "out")]
    sweeping = subprocess.Popen([sys.executable, "-c", ENDLESS, *words])
    until = time.monotonic() + 120
    while (
        len(pids := [int(path.name) for path in log.iterdir()]) < 2
        and time.monotonic() < until
    ):
        assert sweeping.poll() is None
        time.sleep(0.05)
    assert len(pids) == 2
    assert all(map(alive, pids))
    sweeping.send_signal(how)
    assert sweeping.wait(60) == -how
    until = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_threads_of_the_caller_do_not_count(plan):
    key, cell = "k", plan.cells[0]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        many = sweep_workers.run_cell(key, cell)[1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    one = sweep_workers.run_cell(key, cell)[1]
    assert {**many, "seconds": 0} == {**one, "seconds": 0}


# -- failures


def with_failure(source="x.toml"):
    document = tomllib.loads(TEXT)
    document["task"]["m"] = 6  # no hypercube has six clients
    document["sweep"] = {"topology.name": ["ring", "hypercube", "complete"]}
    return read_experiment(document, source)


def test_a_failed_cell_is_kept_with_its_error_and_the_others_go_on(tmp_path):
    out = tmp_path / "out"
    done = sweep(with_failure(), out, jobs=1)
    assert [c.status for c in done.results.cells] == ["done", "failed", "done"]
    failed = done.results.cells[1]
    assert failed.error.startswith(
        "InputError: x.toml (topology.name = hypercube): m = 6 is not a power of two"
    )
    assert "Traceback" in failed.record["error"]["traceback"]
    row = done.results.frame.query("status == 'failed'").iloc[0]
    assert (row["topology.name"], row["error"]) == ("hypercube", failed.error)
    with pytest.raises(InputError, match="history"):
        _ = failed.history
    again = sweep(with_failure(), out, jobs=1)
    assert (again.ran, again.count("failed")) == (0, 1)


def test_progress_of_a_sweep_counts_the_failed_cells(tmp_path, monkeypatch):
    texts = []

    @contextlib.contextmanager
    def counted(total, shown, done):
        yield lambda text, steps: texts.append(text)

    monkeypatch.setattr(sweeps, "counted", counted)
    done = sweep(with_failure(), tmp_path / "out", jobs=1)
    assert [c.status for c in done.results.cells] == ["done", "failed", "done"]
    assert [text.partition("  ")[2] for text in texts] == [
        "",
        "(1 failed)",
        "(1 failed)",
    ]


def test_failed_cells_run_again_on_demand_only(tmp_path, monkeypatch):
    out = tmp_path / "out"
    sweep(with_failure(), out, jobs=1)
    ran = []
    real = sweep_workers.run_cell

    def spying(key, cell):
        ran.append(cell["topology"]["name"])
        return real(key, cell)

    monkeypatch.setattr(sweep_workers, "run_cell", spying)
    assert sweep(with_failure(), out, jobs=1, retry_failed=True).ran == 1
    assert ran == ["hypercube"]


def test_a_record_without_its_history_or_half_a_record_does_not_count(
    plan, copied, whole
):
    out, keys = copied
    (out / CELLS / f"{keys[0]}.safetensors").unlink()
    (out / CELLS / f"{keys[1]}.json").write_text('{"status": "do')
    again = sweep(plan, out, jobs=1)
    assert again.ran == 2
    assert_same(again.results, whole)


def test_half_written_files_are_removed_and_no_others(plan, copied):
    out, keys = copied
    halves = [out / CELLS / f".{keys[0]}-abcd_123.json", out / ".sweep-abcdefgh.json"]
    names = (
        ".my-notes",
        ".results-abcdefgh.csv",
        ".mine-abcdefgh.json",
        f"{CELLS}/notes.txt",
    )
    foreign = [out / name for name in names]
    for path in halves + foreign:
        path.write_text("x")
    sweep(plan, out, jobs=1)
    assert not any(p.exists() for p in halves)
    assert all(p.exists() for p in foreign)


def test_one_sweep_at_a_time(plan, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    out.mkdir()
    with open(out / ".lock", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being written by another process"):
            sweep(plan, out, jobs=1)
    assert not (out / MANIFEST).exists()


def test_two_cells_of_one_configuration(tmp_path):
    document = {
        "task": {"name": "quadratic"},
        "algorithm": {"name": "fedavg", "eta": 0.1, "K": 1},
        "sweep": {
            "topology.name": ["ring", "star"]
        },  # FedAvg has no such hyperparameter
    }
    with pytest.raises(InputError, match=r"topology\.name = ring"):
        sweep(read_experiment(document, "x.toml"), tmp_path, jobs=1)


def test_models_are_kept_on_demand(tmp_path):
    document = {
        "task": {"name": "quadratic", "m": 4, "d": 3},
        "algorithm": {"name": "local", "eta": 0.1, "K": 1},
        "run": {"rounds": 2, "seeds": 2},
        "sweep": {"run.keep_models": [False, True]},
    }
    cells = sweep(read_experiment(document, "x.toml"), tmp_path, jobs=1).results.cells
    assert [c.history.x.shape for c in cells] == [(2, 4, 0), (2, 4, 3)]
    expected = (
        read_experiment(document, "x.toml").cells[1].instance().run(progress=False)
    )
    np.testing.assert_array_equal(cells[1].history.x, expected.x)


def test_jobs_must_be_a_number_of_processes(plan, tmp_path):
    with pytest.raises(InputError, match="jobs = 0"):
        sweep(plan, tmp_path, jobs=0)


def test_an_unfinished_sweep_loads_with_cells_missing(copied):
    out, keys = copied
    (out / CELLS / f"{keys[2]}.json").unlink()
    results = load_results(out)
    assert [c.status for c in results.cells] == ["done", "done", "missing", "done"]
    missing = results.frame.query("status == 'missing'")
    assert missing["topology.name"].tolist() == ["complete"]


def test_a_worker_needs_no_disk_so_that_a_full_one_fails_no_cell(plan, tmp_path):
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    try:
        _, record, data = sweep_workers.run_cell("key", plan.cells[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert record["status"] == "done"
    (tmp_path / "history").write_bytes(data)
    assert History.load(tmp_path / "history").measures()["loss"].shape[0] == 3


# -- clusters


def test_without_distributed_the_extra_is_named(plan, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"\[cluster\]"):
        sweep(plan, tmp_path, cluster="tcp://127.0.0.1:1")


@pytest.mark.slow
@pytest.mark.distributed
def test_sweep_whose_cluster_does_not_answer_creates_no_folder(plan, tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:9"):
        sweep(plan, tmp_path / "new" / "out", cluster="tcp://127.0.0.1:9")
    assert not (tmp_path / "new").exists()


def on_a_cluster(test):
    """Mark a slow test with real processes, whose sockets are closed at the end."""
    quiet = "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    return pytest.mark.slow(
        pytest.mark.distributed(pytest.mark.filterwarnings(*quiet)(test))
    )


def cluster_of(distributed):
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", **quiet
    )


@on_a_cluster
def test_a_cluster_of_separate_processes_gives_the_same_numbers(plan, tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with cluster_of(distributed) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            pids = set(client.run(os.getpid).values())
        assert len(pids) == 2
        assert os.getpid() not in pids
        done = sweep(plan, tmp_path / "out", cluster=cluster.scheduler_address)
        failing = sweep(
            with_failure(), tmp_path / "failing", cluster=cluster.scheduler_address
        )
    assert_same(done.results, whole)
    assert [c.status for c in failing.results.cells] == ["done", "failed", "done"]


@on_a_cluster
def test_the_scheduler_that_a_refusal_names_listens_on_this_machine_alone(
    plan, tmp_path, whole
):
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9") as refusal:
        sweep(plan, tmp_path, cluster="tcp://127.0.0.1:9")
    scheduler, *options = re.findall("`dask (.*)`", str(refusal.value))[0].split()
    scheduler_file = tmp_path / "scheduler.json"
    commands = [[scheduler, "--port", "0"], ["worker", "--nthreads", "1"]]
    words = [
        [
            sys.executable,
            "-m",
            "dask",
            *c,
            *options,
            "--scheduler-file",
            str(scheduler_file),
        ]
        for c in commands
    ]
    started = [psutil.Popen(each, stderr=subprocess.DEVNULL) for each in words]
    try:
        while not (
            scheduler_file.exists() and scheduler_file.read_text().endswith("}")
        ):
            assert all(each.poll() is None for each in started)
            time.sleep(0.1)
        done = sweep(
            plan,
            tmp_path / "out",
            cluster=json.loads(scheduler_file.read_text())["address"],
        )
        every = [
            *started,
            *(child for each in started for child in each.children(recursive=True)),
        ]
        doors = [
            {c.laddr.ip for c in p.net_connections("tcp") if c.status == "LISTEN"}
            for p in every
        ]
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait()
    assert_same(done.results, whole)
    assert set().union(*doors) == {"127.0.0.1"}
    assert doors[0]
    assert doors[1]


@on_a_cluster
@pytest.mark.parametrize(("deadly", "times"), [("ring", 99), ("complete", 1)])
def test_a_worker_of_a_cluster_that_is_killed_costs_its_own_cell_at_most(
    plan, tmp_path, whole, stored, monkeypatch, deadly, times
):
    distributed, dask = map(pytest.importorskip, ("distributed", "dask"))
    log = tmp_path / "log"
    log.mkdir()
    monkeypatch.setattr(sweep_workers, "run_cell", killing(log, deadly, times))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        cluster_of(distributed) as one,
    ):
        done = sweep(plan, tmp_path / "out", cluster=one.scheduler_address)
    assert sorted(stored) == sorted(c.key for c in whole.cells)
    if times == 1:
        assert_same(done.results, whole)
    else:
        assert_all_but_one_as_in(whole, done.results, "KilledWorker", "died")


@on_a_cluster
def test_a_scheduler_that_goes_away_fails_no_cell(plan, tmp_path, whole, monkeypatch):
    distributed = pytest.importorskip("distributed")
    out, one = tmp_path / "out", cluster_of(distributed)
    store = sweeps._store

    def closing(folder, key, record, history):
        store(folder, key, record, history)
        one.close()

    monkeypatch.setattr(sweeps, "_store", closing)
    with pytest.raises(ClusterError, match="connection"):
        sweep(plan, out, cluster=one.scheduler_address)
    monkeypatch.undo()
    finished = stamps(out)
    assert 1 <= len(finished) <= 4
    rest = sweep(plan, out, jobs=1)
    assert rest.kept == len(finished)
    assert {name: stamps(out)[name] for name in finished} == finished
    assert_same(rest.results, whole)
