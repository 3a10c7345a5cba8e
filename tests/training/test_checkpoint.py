"""An interrupted run, even a killed one, can be resumed and ends bit for bit as an
uninterrupted one.
"""

import dataclasses
import itertools
import multiprocessing
import os
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import State
from dfltheory.constants import ProblemConstants
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.graphs import LossDriven
from dfltheory.tasks import Supervised, quadratic
from dfltheory.training import Checkpoint, History, storage, train
from tests.algorithms.problems import Matrices, Rows, permuted_average, ring_matrix
from tests.algorithms.table import HYPERPARAMETERS, network_for
from tests.algorithms.user_algorithms import KeepsViews
from tests.training.run_cases import CASES

ROUNDS = 9


class Known(Rows):
    # to include the two-block measures
    constants = ProblemConstants(L_u=2.0, L_v=4.0)


def run(name, path=None, every=1, stop=None, rounds=ROUNDS, **options):
    algorithm = alg.get(name)(**HYPERPARAMETERS[name])
    network = Matrices(
        [permuted_average(5, np.random.default_rng(s)) for s in range(4)], random=True
    )
    asks = algorithm.links != "directed" or algorithm.symmetric or algorithm.fixed
    network = network_for(algorithm, 5) if asks else network
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


KINDS = ["dfedadmmsam", "dfedsmdc", "dfedsgpsm", "fedrod", "dfedavgm"]
"""One algorithm for each kind of state; the public contract tests that each algorithm
can be resumed.
"""


@pytest.mark.drawn(2)
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("name", [*KINDS, "dispfl", "ltadmm"])
def test_an_interrupted_run_goes_on(name, every, tmp_path):
    path = tmp_path / "run.ckpt"
    whole = run(name, evaluate_every=2)
    for round_ in (2, 5, 8):
        with pytest.raises(HaltError):
            run(name, path, every, interrupt_at(round_), evaluate_every=2)
    same(run(name, path, every, evaluate_every=2), whole)
    # finished: nothing left to do
    same(run(name, path, every, evaluate_every=2), whole)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["dfedadmmsam", "dispfl", "dfedsgpsm", "ditto"])
def test_a_run_in_less_precision_goes_on_to_the_same_bits(name, dtype, tmp_path):
    """For neural networks, duals, masks, push-sum weights and personal models."""

    def go(**options):
        g = torch.Generator().manual_seed(0)
        data = [
            (torch.randn(6, 3, generator=g), torch.randint(2, (6,), generator=g))
            for _ in range(5)
        ]
        torch.manual_seed(0)
        task = Supervised(torch.nn.Linear(3, 2), data, batch=2, dtype=dtype, test=data)
        algorithm = alg.get(name)(**HYPERPARAMETERS[name])
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


def test_run_is_saved_every_ten_seconds_and_after_the_last_round_by_default():
    assert [
        Checkpoint("c").due(t, 5, idle) for t, idle in ((1, 9.9), (2, 10.0), (5, 0.0))
    ] == [0, 1, 1]
    assert [t for t in range(1, 6) if Checkpoint("c", 2).due(t, 5, 60.0)] == [2, 4, 5]


def test_the_seconds_are_counted_from_the_last_save(tmp_path, monkeypatch):
    """Each reading of the simulated clock takes four seconds; the stored state resumes
    bit for bit.
    """
    clock = SimpleNamespace(
        monotonic=itertools.count(0, 4).__next__, perf_counter=time.perf_counter
    )
    monkeypatch.setattr("dfltheory.training.saving.time", clock)
    saved, save = [], Checkpoint.save
    keep = lambda self, t, *rest: (saved.append(t), save(self, t, *rest))  # noqa: E731
    monkeypatch.setattr(Checkpoint, "save", keep)
    with pytest.raises(HaltError):
        run("dfedsam", tmp_path / "c", None, interrupt_at(8))
    assert saved == [3, 6]
    same(run("dfedsam", tmp_path / "c", None), run("dfedsam"))


def test_second_writer_is_rejected_with_the_process_that_writes(tmp_path):
    def again(t, state, recorder):
        with pytest.raises(
            InputError, match=f"c is being written by process {os.getpid()} "
        ) as caught:
            run("dfedsam", tmp_path / "c")
        assert "\n" not in str(caught.value)
        raise HaltError

    with pytest.raises(HaltError):
        run("dfedsam", tmp_path / "c", stop=again)
    # the lock was released with the run
    same(run("dfedsam", tmp_path / "c"), run("dfedsam"))


def test_checkpoint_path_that_cannot_be_written_is_rejected_before_the_run(tmp_path):
    with pytest.raises(
        InputError, match="is a folder, but a file is to be written there"
    ):
        run("dfedsam", tmp_path, stop=interrupt_at(1))


def test_numpys_whole_numbers_are_whole_numbers(tmp_path):
    """Sizes are often elements of an array."""
    sizes = {"rounds": np.int64(4), "seed": np.int32(3), "evaluate_every": np.int64(2)}
    common = (alg.DFedAvg(eta=0.2, K=2), Rows(), ring_matrix(5))
    with pytest.raises(HaltError):
        train(*common, **sizes, checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    plain = {name: int(value) for name, value in sizes.items()}
    whole = train(*common, **plain)
    same(train(*common, **plain, checkpoint=tmp_path / "c"), whole)
    same(train(*common, **sizes, checkpoint=tmp_path / "c"), whole)


def test_fields_that_are_views_of_one_tensor_are_resumed(tmp_path):
    common = (KeepsViews(), Rows(), ring_matrix(5))
    train(*common, 2, checkpoint=tmp_path / "c")
    same(train(*common, 4, checkpoint=tmp_path / "c"), train(*common, 4))


def test_a_run_that_begins_where_its_loss_is_no_number_goes_on(tmp_path):
    class Undefined(Rows):
        def loss(self, x, batch=None):
            return super().loss(x, batch) * np.nan

    def go(**options):
        return train(
            alg.DFedAvg(eta=0.2, K=2),
            Undefined(),
            ring_matrix(5),
            rounds=8,
            evaluate_every=4,
            **options,
        )

    with pytest.raises(HaltError):
        go(checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    whole, resumed = go(), go(checkpoint=tmp_path / "c")
    same(resumed, whole)
    assert resumed.diverged_at == whole.diverged_at == 4


def test_it_is_said_where_a_run_goes_on(tmp_path, caplog):
    caplog.set_level("INFO", "dfltheory")
    with pytest.raises(HaltError):
        run("dfedsam", tmp_path / "c", stop=interrupt_at(7))
    assert not caplog.records
    run("dfedsam", tmp_path / "c")
    assert [r.getMessage() for r in caplog.records] == [
        f"resumed after 6 of 9 rounds from {tmp_path / 'c'}"
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Counting(State):
    """A non-tensor value next to tensors."""

    last: object = None


@dataclasses.dataclass(frozen=True)
class Counts(alg.DFedAvg):
    """A state that cannot be stored in a file."""

    first: object = None

    def init(self, x0, grad):
        return Counting(x=x0, z=x0, last=FIRST.get(self.first))


FIRST = {"list": [1], "array": np.ones(2), "set": {1}}


@pytest.mark.parametrize("kind", FIRST)
def test_a_state_that_no_file_can_hold_is_refused_before_the_run(kind):
    with pytest.raises(
        DFLTheoryError,
        match=r"^Counting: last ",
    ) as caught:
        train(
            Counts(0.1, 1, first=kind),
            Rows(),
            ring_matrix(5),
            callbacks=[lambda *a: 1 / 0],
        )
    assert "\n" not in str(caught.value)


def test_a_run_whose_neighbours_are_chosen_by_losses_goes_on(tmp_path):
    def go(k, **options):
        method = alg.DFedSGPSM(eta=0.1, K=1, alpha=0.5)
        return train(method, Rows(m=6), LossDriven(6, k), rounds=6, seeds=2, **options)

    with pytest.raises(HaltError):
        go(2, checkpoint=tmp_path / "c", callbacks=[interrupt_at(3)])
    same(go(2, checkpoint=tmp_path / "c"), go(2))


def test_period_of_a_checkpoint_is_positive(tmp_path):
    with pytest.raises(DFLTheoryError, match="every = 0"):
        Checkpoint(tmp_path / "c", 0)


def slowly(checkpoint, file):
    task = quadratic(m=6, d=4, sigma=0.5, zeta=1.0, seed=1)
    algorithm = alg.DFedADMMSAM(eta=0.05, K=2, lam=0.2, rho=0.1)
    options = {
        "seeds": 2,
        "callbacks": [lambda *parts: time.sleep(0.01)],
        "progress": False,
    }
    train(
        algorithm,
        task,
        ring_matrix(6),
        60,
        checkpoint=Checkpoint(checkpoint, 1),
        **options,
    ).save(file)


@pytest.mark.slow
def test_killed_at_random_rounds(tmp_path):
    """Sends SIGKILL repeatedly; every start resumes where the last one was killed."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])  # import libraries once

    def start(name):
        process = processes.Process(
            target=slowly, args=(tmp_path / f"{name}.ckpt", tmp_path / name)
        )
        process.start()
        return process

    whole = start("whole")
    whole.join(120)
    assert whole.exitcode == 0
    rng, done, file = random.Random(3), [], tmp_path / "killed.ckpt"
    while True:
        process, before = start("killed"), rounds_done(file)
        while rounds_done(file) == before and process.is_alive():
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        if not process.is_alive():
            assert process.exitcode == 0
            break
        process.kill()
        process.join()
        done.append(rounds_done(file))
    assert len(done) >= 3
    assert done == sorted(done)
    whole, killed = History.load(tmp_path / "whole"), History.load(tmp_path / "killed")
    same(whole, killed)
    assert dataclasses.asdict(whole.algorithm) == dataclasses.asdict(killed.algorithm)


def rounds_done(path):
    return storage.read(path, "dfltheory.Checkpoint")[1]["t"] if path.exists() else -1


@pytest.mark.drawn(4)
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("name", KINDS)
def test_a_checkpoint_of_fewer_rounds_goes_on_to_more(name, every, tmp_path):
    """Whether finished or not, and whatever rounds are measured, it ends with the bits
    of an uninterrupted run.
    """
    whole = run(name, evaluate_every=every)
    path = tmp_path / "run.ckpt"
    for rounds in (3, 6):
        run(name, path, rounds=rounds, evaluate_every=every)
    extended = run(name, path, evaluate_every=every)
    same(extended, whole)
    np.testing.assert_array_equal(extended.sent_bits, whole.sent_bits)
    with pytest.raises(DFLTheoryError, match=r"rounds .*9.*6"):
        run(name, path, rounds=6, evaluate_every=every)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("dispfl", "its rounds depend on their number"),
        ("fedbabu", "it has finished its last round"),
    ],
)
def test_a_run_that_knows_its_end_goes_on_to_no_more(name, why, tmp_path):
    run(name, tmp_path / "c", rounds=3)
    with pytest.raises(
        DFLTheoryError, match=f"of 3 rounds that cannot be extended: {why}; use"
    ) as caught:
        run(name, tmp_path / "c")
    assert "\n" not in str(caught.value)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", CASES)
def test_resumed_case_is_the_uninterrupted_one(name, tmp_path):
    def halt(t, state, recorder):
        if t == 2:
            raise KeyboardInterrupt

    path = tmp_path / "run.ckpt"
    each = Checkpoint(path, every=1)
    with pytest.raises(KeyboardInterrupt):
        train(**CASES[name](), checkpoint=each, callbacks=[halt], progress=False)
    assert path.exists()
    resumed = train(**CASES[name](), checkpoint=path, progress=False)
    whole = train(**CASES[name](), progress=False)
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.sent_bits, whole.sent_bits)
    assert resumed.measures().keys() == whole.measures().keys()
    for measure, values in whole.measures().items():
        np.testing.assert_array_equal(
            resumed.measures()[measure], values, err_msg=measure
        )
