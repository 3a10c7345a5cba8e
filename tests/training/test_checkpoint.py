"""A run that was interrupted, even killed, goes on and ends bit for bit as if it had not been."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import dfltheory.algorithms as alg
from dfltheory.constants import ProblemConstants
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs import LossDriven
from dfltheory.training import Checkpoint, History, train
from tests.algorithms.problems import Matrices, Rows, permuted_average, ring_matrix
from tests.algorithms.table import LETTERS

ROUNDS = 9


class Known(Rows):
    constants = ProblemConstants(L_u=2.0, L_v=4.0)  # so that the two-block measures are taken as well


def run(name, path=None, every=1, stop=None, rounds=ROUNDS, **options):
    algorithm = alg.get(name)(**LETTERS[name])
    network = Matrices([permuted_average(5, np.random.default_rng(s)) for s in range(4)], random=True)
    return train(
        algorithm,
        Known(d=6, shared=slice(0, 4), parts=((0, 3), (3, 6))),
        network if algorithm.needs_topology else None,
        rounds=rounds,
        seeds=2,
        checkpoint=None if path is None else Checkpoint(path, every),
        callbacks=[] if stop is None else [stop],
        **options,
    )


class HaltError(Exception):
    pass


def interrupt_at(round_):
    def stop(t, state, recorder):
        if t == round_:
            raise HaltError

    return stop


def same(one, other):
    assert one.x.tobytes() == other.x.tobytes()
    assert one.measures().keys() == other.measures().keys()
    for name, values in one.measures().items():
        assert values.tobytes() == other.measures()[name].tobytes(), name


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("name", sorted(LETTERS))
def test_an_interrupted_run_goes_on(name, every, tmp_path):
    path = tmp_path / "run.ckpt"
    whole = run(name, evaluate_every=2)
    for round_ in (2, 5, 8):
        with pytest.raises(HaltError):
            run(name, path, every, interrupt_at(round_), evaluate_every=2)
    same(run(name, path, every, evaluate_every=2), whole)
    same(run(name, path, every, evaluate_every=2), whole)  # finished: nothing is left to do


def test_it_really_goes_on_and_does_not_start_again(tmp_path):
    seen = []
    with pytest.raises(HaltError):
        run("dfedsam", tmp_path / "c", 3, interrupt_at(7))
    run("dfedsam", tmp_path / "c", 3, lambda t, s, r: seen.append(t))
    assert seen == [7, 8, 9]
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    run("dfedsam", tmp_path / "d", 4)  # 9 rounds: after 4, 8, and the last
    seen.clear()
    run("dfedsam", tmp_path / "d", 4, lambda t, s, r: seen.append(t))
    assert seen == []


def own(task, models, mean):
    return models.mean((1, 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 5}, "its seed is 0, not 5"),
        ({"seeds": 3}, r"its seeds is \[0, 1\], not \[0, 1, 2\]"),
        ({"rounds": 20}, "its rounds is 9, not 20"),
        ({"algorithm": alg.DFedAvg(eta=0.3, K=2)}, "its algorithm is"),
        ({"x0": np.ones(6)}, "its start is"),
        ({"topology": np.full((5, 5), 0.2)}, "its network is"),
        ({"evaluate_every": 2}, "its evaluate_every is 1, not 2"),
        ({"task": Rows(d=6, dtype=torch.float32)}, r"its task is \['rows', 5, 6, 'torch.float64'\], not"),
        ({"task": Rows(d=6, m=4), "topology": ring_matrix(4)}, "its task is"),
        ({"task": Rows(d=6, seed=1)}, "of a run on other data: its grad_norm_sq at the start is"),
        ({"metrics": [own]}, r"its metrics is \[\], not \['own'\]"),
        ({"topology": [ring_matrix(5), np.eye(5)]}, "its network is"),
        ({"topology": sp.csr_array(ring_matrix(5)[[0, 2, 1, 3, 4]][:, [0, 2, 1, 3, 4]])}, "its network is"),
    ],
)
def test_another_runs_checkpoint_is_refused(change, words, tmp_path):
    common = {
        "task": Rows(d=6),
        "algorithm": alg.DFedAvg(eta=0.2, K=2),
        "topology": sp.csr_array(ring_matrix(5)),
        "rounds": ROUNDS,
        "seeds": 2,
    }
    checkpoint = Checkpoint(tmp_path / "c")
    train(checkpoint=checkpoint, **common)
    with pytest.raises(DFLTheoryError, match=words) as caught:
        train(checkpoint=checkpoint, **(common | change))
    assert "\n" not in str(caught.value)


def test_a_run_whose_neighbours_are_chosen_by_losses_goes_on(tmp_path):
    def go(k, **options):
        method = alg.DFedSGPSM(eta=0.1, K=1, alpha=0.5)
        return train(method, Rows(m=6), LossDriven(6, k), rounds=6, seeds=2, **options)

    with pytest.raises(HaltError):
        go(2, checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    same(go(2, checkpoint=tmp_path / "c"), go(2))
    with pytest.raises(DFLTheoryError, match="its network is"):
        go(3, checkpoint=tmp_path / "c")


def test_damaged_files_are_told(tmp_path):
    path = tmp_path / "c"
    run("dfedsam", path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DFLTheoryError, match="cannot be read"):
        run("dfedsam", path)
    with pytest.raises(DFLTheoryError, match="checkpoint every = 0"):
        Checkpoint(path, 0)


SCRIPT = """
import json, sys, time
import dfltheory as dfl
from dfltheory.training import Checkpoint
task = dfl.tasks.quadratic(m=6, d=4, sigma=0.5, zeta=1.0, seed=1)
def slowly(t, state, recorder):
    time.sleep(0.01)
algorithm = dfl.algorithms.DFedADMMSAM(eta=0.05, K=2, lam=0.2, rho=0.1)
run = dfl.train(algorithm, task, dfl.graphs.ring(6), rounds=120, seeds=2, callbacks=[slowly],
                checkpoint=Checkpoint(sys.argv[1]), progress=False)
run.save(sys.argv[2])
"""


@pytest.mark.slow
def test_killed_at_random_rounds(tmp_path):
    """SIGKILL as often as it takes; every start goes on from where the last one was killed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(name):
        arguments = [sys.executable, "-c", SCRIPT, str(tmp_path / f"{name}.ckpt"), str(tmp_path / name)]
        return subprocess.Popen(arguments, env=environment)

    assert start("whole").wait(120) == 0
    luck, kills, done = random.Random(3), 0, []
    while True:
        process = start("killed")
        deadline = time.monotonic() + 120
        while (
            not (tmp_path / "killed.ckpt").exists() and process.poll() is None and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        before = rounds_done(tmp_path / "killed.ckpt")
        while rounds_done(tmp_path / "killed.ckpt") == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(luck.uniform(0, 0.3))
        if process.poll() is not None:
            assert process.returncode == 0
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        done.append(rounds_done(tmp_path / "killed.ckpt"))
    assert kills >= 3
    assert done == sorted(done)
    whole, killed = History.load(tmp_path / "whole"), History.load(tmp_path / "killed")
    same(whole, killed)
    assert dataclasses.asdict(whole.algorithm) == dataclasses.asdict(killed.algorithm)


def rounds_done(path):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["json"])["t"]
