"""The record of a run: its content, equality, and round trips through files."""

import copy
import dataclasses

import numpy as np
import pytest

import dfltheory.algorithms as alg
from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.tasks import quadratic
from dfltheory.training import History, train
from tests.algorithms.problems import Matrices, permuted_average, ring_matrix


def run(**options):
    task = quadratic(m=5, d=3, L=1.0, mu=0.2, zeta=1.0, sigma=0.3, seed=4)
    return train(
        alg.DFedAvg(eta=0.1, K=2),
        task,
        ring_matrix(5),
        **{"rounds": 3, "seeds": 2, **options},
    )


CHANGES = {
    "rounds": 4,
    "task": "another",
    "seed": 1,
    "diverged_at": 2,
    "stopped_at": 2,
    "seconds": -1.0,
    "algorithm": alg.DFedAvg(eta=0.2, K=2),
    "constants": ProblemConstants(L=9.0),
    "network": NetworkConstants(m=5, lam=0.9),
    "random_network": True,
    "accuracy": np.zeros((2, 4)),
}
ARRAYS = (
    "grad_norm_sq",
    "consensus",
    "loss",
    "x",
    "x0_sq",
    "x0_spread",
    "rounds_measured",
)


@pytest.mark.parametrize("name", [*CHANGES, *ARRAYS, "extra", "clients"])
def test_two_records_are_the_same_when_all_of_them_is(name, tmp_path):
    one = run(rounds=4, evaluate_every=2) if name == "rounds_measured" else run()
    two, loaded = copy.copy(one), History.load(one.save(tmp_path / "run"))
    assert one == two == loaded
    if name == "extra":
        two.extra = {"mine": np.zeros((2, 4))}
    elif name == "clients":
        two.clients = {"client_loss": np.zeros((2, 4, 5))}
    elif name in ARRAYS:
        changed = getattr(one, name).copy()
        if name == "rounds_measured":
            changed[1] = 3  # of 0, 2, 4
        else:
            changed.flat[-1] += 1
        setattr(two, name, changed)
    else:
        setattr(two, name, CHANGES[name])
    assert one != two
    assert two != loaded
    back = History.load(two.save(tmp_path / "two"))
    assert back == two


def test_missing_numbers_are_equal_and_other_things_are_not():
    stopped = run(callbacks=[lambda t, state, recorder: t == 1])
    assert np.isnan(stopped.loss).any()
    assert stopped == copy.copy(stopped)
    assert stopped != "a run"
    assert (stopped == 3) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(stopped)


def test_what_a_file_brings_back(tmp_path):
    one = run(metrics=[own])
    two = History.load(one.save(tmp_path / "run"))
    assert two.algorithm == one.algorithm
    assert dataclasses.asdict(two.constants) == dataclasses.asdict(one.constants)
    assert two.constants.standing_of("L") == one.constants.standing_of("L")
    assert two.network == one.network
    assert two.network.lam == pytest.approx(1 / 3 + 2 / 3 * np.cos(2 * np.pi / 5))
    assert two.random_network is one.random_network is False
    assert (two.rounds, two.task, two.seed, two.seeds, two.m) == (
        3,
        "quadratic",
        0,
        2,
        5,
    )
    assert two.seconds == one.seconds > 0
    assert list(two.measures()) == list(one.measures())
    np.testing.assert_array_equal(two.extra["own"], np.tile([3.0, 4.0], (4, 1)).T)
    assert two.accuracy is None
    assert getattr(two, "chance", True) is True
    one.__dict__["chance"] = False
    assert History.load(one.save(tmp_path / "exact")).__dict__["chance"] is False


def own(task, models, mean):
    return np.array([3.0, 4.0])


def test_history_records_a_random_network_and_keeps_it_in_its_file(tmp_path):
    matrices = [permuted_average(5, np.random.default_rng(k)) for k in range(3)]
    for random in (True, False):
        task = quadratic(m=5, d=3, seed=4)
        one = train(
            alg.DFedAvg(eta=0.1, K=1), task, Matrices(matrices, random=random), rounds=1
        )
        assert one.random_network is random
        assert History.load(one.save(tmp_path / "run")).random_network is random
    server = train(alg.FedAvg(eta=0.1, K=1), quadratic(m=5, d=3, seed=4), rounds=1)
    assert server.network.known() == {"m": 5}
    assert server.random_network is True  # nothing is known about one


def test_the_glossarys_values_are_means_over_seeds():
    x0 = np.random.default_rng(0).normal(size=(2, 5, 3))
    one = run(x0=x0)
    values = one.values()
    assert values["x0_sq"] == pytest.approx((x0**2).sum(-1).mean())
    assert values["x0_spread"] == pytest.approx(
        ((x0 - x0.mean(1, keepdims=True)) ** 2).sum(-1).mean()
    )
    assert values["f0_gap"] == pytest.approx(
        one.loss[:, 0].mean() - one.constants.f_star
    )
    assert values["T"] == 3
    assert (values["eta"], values["K"]) == (0.1, 2)
    one.constants = dataclasses.replace(one.constants, f_star=None)
    assert "f0_gap" not in one.values()


def test_the_table_has_one_row_for_every_seed_round_and_measure():
    one = run(evaluate_every=2, metrics=[own])
    frame = one.to_frame()
    assert len(frame) == 2 * 3 * (4 + 6)  # and six columns of sent messages
    assert frame.index.tolist() == list(range(60))
    for name, array in one.measures().items():
        wide = frame[frame.measure == name].pivot(
            index="seed", columns="round", values="value"
        )
        assert list(wide.columns) == [0, 2, 3]
        np.testing.assert_array_equal(wide.to_numpy(), array)
