"""A run that was interrupted, even killed, goes on and ends bit for bit as if it had not been."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import dfltheory.algorithms as alg
from dfltheory.constants import ProblemConstants
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs import LossDriven, as_sequence
from dfltheory.tasks import Supervised, quadratic
from dfltheory.training import Checkpoint, History, storage, train
from dfltheory.training.checkpoint import identity
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["dfedadmmsam", "dispfl", "dfedsgpsm", "ditto"])
def test_a_run_in_less_precision_goes_on_to_the_same_bits(name, dtype, tmp_path):
    """Of networks, with duals, masks, push-sum weights and personal models."""

    def go(**options):
        g = torch.Generator().manual_seed(0)
        data = [(torch.randn(6, 3, generator=g), torch.randint(2, (6,), generator=g)) for _ in range(5)]
        torch.manual_seed(0)
        task = Supervised(torch.nn.Linear(3, 2), data, batch=2, dtype=dtype, test=data)
        algorithm = alg.get(name)(**LETTERS[name])
        topology = ring_matrix(5) if algorithm.needs_topology else None
        return train(algorithm, task, topology, rounds=4, seeds=2, **options)

    with pytest.raises(HaltError):
        go(checkpoint=tmp_path / "c", callbacks=[interrupt_at(2)])
    whole, resumed = go(), go(checkpoint=tmp_path / "c")
    same(resumed, whole)
    assert History.load(whole.save(tmp_path / "h")) == whole


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


def test_a_run_is_saved_after_every_round_and_the_last_unless_told():
    assert [t for t in range(1, 6) if Checkpoint("c").due(t, 5)] == [1, 2, 3, 4, 5]
    assert [t for t in range(1, 6) if Checkpoint("c", 2).due(t, 5)] == [2, 4, 5]


def test_numpys_whole_numbers_are_whole_numbers(tmp_path):
    """Sizes often come out of an array."""
    sizes = {"rounds": np.int64(4), "seed": np.int32(3), "evaluate_every": np.int64(2)}
    common = (alg.DFedAvg(eta=0.2, K=2), Rows(), ring_matrix(5))
    with pytest.raises(HaltError):
        train(*common, **sizes, checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    plain = {name: int(value) for name, value in sizes.items()}
    whole = train(*common, **plain)
    same(train(*common, **plain, checkpoint=tmp_path / "c"), whole)
    same(train(*common, **sizes, checkpoint=tmp_path / "c"), whole)


def test_a_run_that_begins_where_its_loss_is_no_number_goes_on(tmp_path):
    class Undefined(Rows):
        def loss(self, x, batch=None):
            return super().loss(x, batch) * np.nan

    def go(**options):
        return train(
            alg.DFedAvg(eta=0.2, K=2), Undefined(), ring_matrix(5), rounds=8, evaluate_every=4, **options
        )

    with pytest.raises(HaltError):
        go(checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    whole, resumed = go(), go(checkpoint=tmp_path / "c")
    same(resumed, whole)
    assert resumed.diverged_at == whole.diverged_at == 4


@pytest.mark.parametrize("measure", ["loss", "grad_norm_sq"])
@pytest.mark.parametrize(
    ("distance", "change", "told"),
    [
        (1.0, lambda v: v * (1 + 9e-4), False),
        (1.0, lambda v: v * (1 - 9e-4), False),
        (1.0, lambda v: v * (1 + 11e-4), True),
        (1.0, lambda v: v * (1 - 11e-4), True),
        (0.0, lambda v: v + 9e-7, False),  # the start is the minimizer, and f* is 0
        (0.0, lambda v: v + 11e-7, True),
    ],
)
def test_a_start_that_is_the_same_up_to_rounding_is_the_same(measure, distance, change, told, tmp_path):
    """Another machine may measure in another order, and in single precision."""
    task, path = quadratic(m=5, d=3, mu=0.2, zeta=0.0, distance=distance, seed=4), tmp_path / "c"

    def go():
        return train(alg.DFedAvg(eta=0.1, K=1), task, ring_matrix(5), rounds=2, checkpoint=path)

    whole = go()
    tensors, document = storage.read(path, "dfltheory.Checkpoint")
    tensors[f"measure/{measure}"][0] = change(tensors[f"measure/{measure}"][0])
    storage.write(path, tensors, document)
    if told:
        with pytest.raises(DFLTheoryError, match=f"on other data: its {measure} at the start is"):
            go()
    else:
        np.testing.assert_array_equal(go().x, whole.x)


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


class Alternating:
    """Two arguments, no period, nothing about losses: all that a sequence must have."""

    m, random = 5, False

    def __init__(self, dtype=np.float64):
        self.dtype = dtype

    def matrix(self, t, rng):
        return (ring_matrix(5) if t % 2 == 0 else np.eye(5)).astype(self.dtype)


class Losses(Alternating):
    needs_losses = True

    def matrix(self, t, rng, losses):
        assert losses.tolist() == [0.0] * 5
        return ring_matrix(5)


def checksum(*arrays):
    return zlib.crc32(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays))


def test_the_network_is_known_by_the_checksum_of_its_matrices():
    """Of a whole period, or of the first, drawn from the generator 0; files of earlier runs must be read."""
    W, sparse = permuted_average(5, np.random.default_rng(3)), sp.csr_array(ring_matrix(5))
    single = ring_matrix(5).astype(np.float32)
    drawn = permuted_average(5, np.random.default_rng(0))
    parts = (sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data)
    wide = sp.csr_array(
        (sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), (5, 5)
    )
    for topology, arrays in (
        (W, [W]),
        ([W, np.eye(5), ring_matrix(5)], [W, np.eye(5), ring_matrix(5)]),
        (sparse, parts),
        (wide, parts),
        ([sparse, W], [*parts, W]),
        (lambda t, rng: permuted_average(5, rng), [drawn]),
        (lambda t: W if t == 0 else np.eye(5), [W]),
        (Alternating(), [ring_matrix(5)]),
        (Alternating(np.float32), [single.astype(np.float64)]),
        (Losses(), [ring_matrix(5)]),
        (Matrices([W, np.eye(5)]), [W]),
    ):
        sequence = topology if hasattr(topology, "matrix") else as_sequence(topology)
        assert known(sequence)["network"] == checksum(*arrays)
    assert known(None)["network"] is None


def known(sequence):
    x0 = torch.ones(5, 4, dtype=torch.float64).expand(2, 5, 4)
    sizes = {"rounds": 7, "seeds": range(2), "seed": 1}
    return identity(alg.DFedAvg(eta=0.1, K=1), Rows(), sequence, x0, **sizes)


def test_the_start_is_known_by_its_checksum():
    assert known(None)["start"] == checksum(np.ones((2, 5, 4)))
    assert known(None)["seeds"] == [0, 1]


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
