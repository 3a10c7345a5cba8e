"""A loaded history gives the same answers as the original one."""

import dataclasses
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs import LossDriven, RandomMatching
from dfltheory.tasks import Clipped, Quadratic, quadratic
from dfltheory.training import History, storage, train
from dfltheory.training.records import Recorded
from tests.algorithms.problems import ring_matrix

GOSSIP, PUSH = alg.DFedAvg(eta=0.1, K=1), alg.SGP(eta=0.1)


def lopsided():
    """Return a column-stochastic matrix that is not doubly stochastic: client 0 sends
    to all, the others along a ring.
    """
    P = np.eye(4)[[3, 0, 1, 2]] / 2 + np.eye(4) / 2
    P[:, 0] = 0.25
    return P


def run_over(topology, algorithm=GOSSIP, **options):
    task = quadratic(m=4, d=3, sigma=0.1, seed=1)
    return train(algorithm, task, topology, rounds=3, check_topology=False, **options)


def only(t):
    """Return a user's callable that is undefined beyond the run's rounds."""
    return [ring_matrix(4), np.eye(4), ring_matrix(4)][t]


CASES = {
    "fixed": (
        ring_matrix(4),
        GOSSIP,
        {"kind": "fixed", "proved": True, "directed": False, "definition_1": None},
    ),
    "sparse": (
        sp.csr_array(ring_matrix(4)),
        GOSSIP,
        {"kind": "fixed", "definition_1": None},
    ),
    "disconnected": (
        np.eye(4),
        GOSSIP,
        {
            "definition_1": "disconnected: no path of weights joins node 0 to node 1",
            "doubly_stochastic": None,
        },
    ),
    "directed": (
        graphs.column_stochastic(graphs.directed_ring(4)),
        GOSSIP,
        {
            "directed": True,
            "doubly_stochastic": None,
            "definition_1": "entry (0, 1) is",
        },
    ),
    "lopsided": (
        lopsided(),
        PUSH,
        {
            "doubly_stochastic": "row 0 sums to",
            "column_stochastic": None,
            "row_stochastic": "row 0 sums",
            "lam": None,
        },
    ),
    "rows": (
        lopsided().T,
        PUSH,
        {"column_stochastic": "column 0 sums to", "row_stochastic": None},
    ),
    "periodic": (
        [ring_matrix(4), np.eye(4)],
        GOSSIP,
        {"kind": "periodic", "proved": True, "definition_1": "round 1: disconnected"},
    ),
    "varying": (
        only,
        GOSSIP,
        {"kind": "varying", "proved": True, "lam_found": "estimate"},
    ),
    "random": (
        RandomMatching(4),
        GOSSIP,
        {"kind": "random", "proved": False, "doubly_stochastic": None},
    ),
    "losses": (LossDriven(4, 2), PUSH, {"kind": "losses", "column_stochastic": None}),
    "server": (None, alg.FedAvg(eta=0.1, K=1), {"kind": "none", "m": 4}),
}


@pytest.mark.parametrize("name", CASES)
def test_network_facts_are_recorded_and_saved(name, tmp_path):
    topology, algorithm, expected = CASES[name]
    run = run_over(topology, algorithm)
    facts = run.network_facts
    for field, value in expected.items():
        found = getattr(facts, field)
        assert found.startswith(value) if isinstance(value, str) else found == value, (
            field,
            found,
        )
    back = History.load(run.save(tmp_path / "run"))
    assert back.topology is None
    assert back.network_facts == facts
    assert back.facts == run.facts
    assert back.values() == run.values()
    assert facts.lam == run.network.lam


def test_push_sum_has_its_constants_on_doubly_stochastic_matrices_too(tmp_path):
    run = run_over(ring_matrix(4), PUSH)
    assert {"lam", "delta", "C", "q"} <= set(run.values())
    assert not {"delta", "C", "q"} & set(run_over(ring_matrix(4)).values())
    assert History.load(run.save(tmp_path / "run")).values() == run.values()


def test_another_network_has_another_fingerprint():
    swapped = ring_matrix(4)[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    seen = {
        run_over(W).network_facts.fingerprint
        for W in (ring_matrix(4), swapped, np.eye(4))
    }
    assert len(seen) == 3
    assert run_over(ring_matrix(4)).network_facts.fingerprint in seen


def test_history_rejects_invalid_network_facts(tmp_path):
    tensors, document = storage.read(
        run_over(ring_matrix(4)).save(tmp_path / "run"), "dfltheory.History"
    )
    document["facts"]["command"] = "rm"
    with pytest.raises(DFLTheoryError, match=r"bad: facts .*'command'"):
        History.load(storage.write_tensors(tmp_path / "bad", tensors, document))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_start_precision_and_versions(dtype):
    task = quadratic(m=4, d=3, sigma=0.1, seed=1, dtype=dtype)
    x0 = np.full((4, 3), 1e6)
    same = train(GOSSIP, task, ring_matrix(4), rounds=1, x0=x0)
    assert same.facts.common_start is True
    assert same.facts.precision == str(dtype).removeprefix("torch.")
    assert same.facts.eps == torch.finfo(dtype).eps
    assert same.facts.torch == str(torch.__version__)
    x0[2, 1] = np.nextafter(np.float32(1e6), np.float32(np.inf))
    assert (
        train(GOSSIP, task, ring_matrix(4), rounds=1, x0=x0).facts.common_start is False
    )


# -- f(x^0) - f*


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("hessians", ["common", "diagonal", "commuting", "random"])
def test_the_gap_of_a_quadratic_does_not_cancel(dtype, hessians):
    """Distant minimizers make f* large, and the gaps of starts next to x* are far below
    its rounding error.
    """
    task = quadratic(
        m=5, d=4, zeta=1e4, sigma=0.0, hessians=hessians, seed=3, dtype=dtype
    )
    exact, mean = task._minimizer[0], task.A.double().mean(0)
    mean = torch.diag(mean) if task.is_diagonal else mean
    for step in (1e-4, 1e-2, 1.0):
        x0 = (exact + step).to(dtype)
        run = train(GOSSIP, task, ring_matrix(5), rounds=0, x0=x0)
        r = x0.double() - exact
        expected = float(r @ mean @ r) / 2
        assert abs(run.f0_gap[0] - expected) <= run.f0_gap_error[0]
        assert run.values()["f0_gap"] == run.f0_gap.mean()
        if dtype is torch.float64:
            assert run.f0_gap_error[0] < 1e-3 * expected


def test_a_gap_below_zero_by_rounding_is_zero():
    run = run_over(ring_matrix(4))
    run.excess = None
    run.constants = dataclasses.replace(
        run.constants, f_star=float(run.loss[0, 0]) + 5e-16
    )
    assert run.f0_gap.tolist() == [0.0]
    assert 5e-16 < run.f0_gap_error[0] < 1e-12
    run.constants = dataclasses.replace(
        run.constants, f_star=float(run.loss[0, 0]) + 1e-3
    )
    # larger than rounding errors: f* is wrong
    assert run.f0_gap[0] == pytest.approx(-1e-3)


def test_the_error_of_the_gap_is_that_of_the_runs_precision():
    for dtype in (torch.float32, torch.float64):
        task = quadratic(m=4, d=3, seed=1, dtype=dtype)
        task.excess = lambda x: None
        run = train(GOSSIP, task, ring_matrix(4), rounds=1, seeds=2)
        size = abs(run.loss[:, 0]) + abs(run.constants.f_star)
        np.testing.assert_allclose(run.f0_gap_error, 16 * torch.finfo(dtype).eps * size)
        assert run.f0_gap.shape == (2,)


def test_the_minimum_of_a_minimizer_that_was_rounded_is_none_below_it():
    """x* = c - r + r is off by the rounding of r, so f(x*) exceeds f(c) = 0."""
    c = np.array([[0.1, 0.3, 0.7]])
    run = train(
        alg.DPSGD(eta=0.1),
        Clipped(c, r=3.0, dtype=torch.float32),
        np.eye(1),
        rounds=1,
        x0=c[0],
    )
    assert run.loss[0, 0] == 0 < run.constants.f_star <= run.f0_gap_error[0]
    assert run.f0_gap[0] == 0


def test_another_f_star_than_the_tasks_counts():
    run = run_over(ring_matrix(4))
    run.constants = dataclasses.replace(
        run.constants, f_star=run.constants.f_star - 7.0
    )
    assert run.f0_gap[0] == pytest.approx(run.loss[0, 0] - run.constants.f_star)
    gap, error = run.gap_at(2)
    assert gap[0] == run.loss[0, 2] - run.constants.f_star
    assert error[0] > 0
    assert run.gap_at(99) is None


def test_an_unknown_f_star_has_no_gap():
    run = run_over(ring_matrix(4))
    run.constants = dataclasses.replace(run.constants, f_star=None)
    assert run.f0_gap is None
    assert run.f0_gap_error is None


def test_the_excess_of_a_singular_quadratic():
    task = Quadratic(np.array([0.0, 2.0]), np.array([[5.0, 1.0], [-3.0, 3.0]]))
    gap, error = task.excess(
        torch.tensor([[7.0, 4.0], [0.0, 2.0]], dtype=torch.float64)
    )
    np.testing.assert_allclose(gap, [4.0, 0.0])
    assert (error < 1e-12).all()


# -- a user's algorithm


@dataclasses.dataclass(frozen=True)
class Mine(alg.DFedAvg):
    """A user's algorithm."""

    words: str = "as ever"
    pair: tuple = (1, 2.5)
    anything: object = None


def test_a_users_algorithm_is_found_again(tmp_path):
    run = run_over(ring_matrix(4), Mine(eta=0.1, K=np.int64(2), words="new"))
    back = History.load(run.save(tmp_path / "run"))
    assert type(back.algorithm) is Mine
    assert (back.algorithm.words, back.algorithm.K) == ("new", 2)
    assert back.algorithm == run.algorithm


def test_a_users_algorithm_that_is_not_there_is_text(tmp_path, monkeypatch):
    path = run_over(ring_matrix(4), Mine(eta=0.1, K=2, words="new")).save(
        tmp_path / "run"
    )
    monkeypatch.delitem(sys.modules, __name__)
    back = History.load(path)
    assert isinstance(back.algorithm, Recorded)
    assert back.algorithm.name == "mine"
    assert "words='new'" in back.algorithm.hyperparameters
    assert "mine on quadratic" in repr(back)
    assert History.load(back.save(tmp_path / "again")).algorithm == back.algorithm


def test_nothing_is_imported_because_a_file_names_it(tmp_path):
    tensors, document = storage.read(
        run_over(ring_matrix(4)).save(tmp_path / "run"), "dfltheory.History"
    )
    for where in (
        ["this", "s"],
        ["os", "system"],
        ["antigravity", "fly"],
        ["dfltheory.algorithms.base", "Mix"],
    ):
        document["algorithm"][2:] = where
        loaded = History.load(
            storage.write_tensors(tmp_path / "forged", tensors, document)
        )
        assert isinstance(loaded.algorithm, Recorded)
    assert not {"this", "antigravity"} & set(sys.modules)


@pytest.mark.parametrize(
    "value", [torch.ones(2), np.ones(2), lambda t: t, {1, 2}, {"deep": [torch.ones(1)]}]
)
def test_what_no_file_can_hold_is_refused_before_the_run(value):
    with pytest.raises(DFLTheoryError, match=r"^Mine: anything ") as caught:
        run_over(
            ring_matrix(4),
            Mine(eta=0.1, K=2, anything=value),
            callbacks=[lambda *a: 1 / 0],
        )
    assert "\n" not in str(caught.value)
