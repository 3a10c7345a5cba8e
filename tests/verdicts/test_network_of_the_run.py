"""The laws and contraction of a changing network are those of the run's own rounds."""

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.algorithms import DFedAvg, DFedSAM
from dfltheory.bounds import Condition, LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.graphs.sequences import distinct
from dfltheory.testing import law

MEAN = np.full((3, 3), 1 / 3)
DIRECTED = (np.eye(3) + np.eye(3)[[1, 2, 0]]) / 2
ROWS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
CLIENTS = [[1.0], [-1.0], [0.0]]


def after(rounds, W, before=MEAN):
    """Return the complete network, and W from a given round on."""

    def network(t):
        return before if t < rounds else W

    return network


def consensus(network="doubly stochastic", factor=1, **scope):
    """Return a bound on consensus at the end, which holds if each matrix contracts by
    lam.
    """
    # mean ||x_i - xbar||^2 <= lam^2 (x0_spread + ...) for any number of rounds
    return Theorem(
        key="mine.consensus",
        variant="printed",
        kind="theorem",
        title="consensus",
        source="contraction of each matrix",
        lhs=LeftSide(measure="consensus", aggregate="last", last=s.T),
        parts={
            "start": factor * s.lam**2 * s.x0_spread,
            "drift": factor * s.eta**2 * s.sigma_g**2 * 10 / (1 - s.lam) ** 2,
        },
        conditions=(Condition("step", s.eta * s.L, sp.Integer(1)),),
        scope=Scope(("DFedAvg",), network, sequence=("any",), **scope),
    )


def run_on(network, rounds, **options):
    return dfl.train(
        options.pop("algorithm", DFedAvg(eta=0.01, K=1)),
        dfl.tasks.Quadratic(1.0, CLIENTS),
        network,
        rounds=rounds,
        x0=np.zeros(1),
        evaluate_every=rounds,
        progress=False,
        **options,
    )


@pytest.mark.parametrize("network", [after(25, ROWS), after(250, ROWS)])
def test_a_law_that_breaks_late_in_a_run_is_found(network):
    for rounds in (25, 300):
        run = run_on(network, rounds, check_topology=False)
        breaks = not np.array_equal(network(rounds - 1), MEAN)
        facts = run.network_facts
        assert facts.proved
        assert (facts.doubly_stochastic is not None) is breaks
        verdict = dfl.compare(run, consensus())
        assert (verdict.kind == "not applicable") is breaks


def test_a_network_that_becomes_directed_is_outside_a_symmetric_scope():
    symmetric = consensus("symmetric")
    assert dfl.compare(run_on(after(25, DIRECTED), 25), symmetric).kind == "holds"
    verdict = dfl.compare(run_on(after(25, DIRECTED), 26), symmetric)
    assert (verdict.kind, "symmetric" in verdict.reason) == ("not applicable", True)


def test_measurements_of_a_run_have_the_laws_of_its_own_rounds():
    run = dfl.History.from_measurements(
        algorithm="DFedAvg",
        hyperparameters={"eta": 0.1, "K": 1},
        network=after(25, ROWS),
        consensus=np.array([[0.0, 1.0]]),
        grad_norm_sq=np.array([[1.0, 1.0]]),
        rounds=[0, 30],
        constants={"L": 1.0, "sigma_g": 0.1, "x0_sq": 1.0, "sigma_l": 0.0},
        start="common",
    )
    assert run.network_facts.doubly_stochastic is not None
    assert dfl.compare(run, consensus()).kind == "not applicable"


def test_the_contraction_is_the_largest_of_the_run_and_not_of_later_rounds():
    network = after(300, np.eye(3))
    assert run_on(network, 300).network.lam == pytest.approx(0, abs=1e-12)
    assert run_on(network, 302).network.lam == pytest.approx(1)
    # two matrices for each round
    twice = DFedSAM(eta=0.01, K=1, rho=0.0, Q=2)
    assert run_on(network, 150, algorithm=twice).network.lam < 1e-9
    assert run_on(network, 151, algorithm=twice).network.lam == pytest.approx(1)


def test_more_matrices_than_are_examined_are_no_basis_of_a_verdict(monkeypatch):
    monkeypatch.setattr("dfltheory.training.facts.MOST_MATRICES", 30)
    network = after(25, MEAN)
    assert dfl.compare(run_on(network, 30), consensus()).kind == "holds"
    late = run_on(network, 31)
    assert not late.network_facts.proved
    verdict = dfl.compare(late, consensus())
    assert (verdict.kind, "sample" in verdict.reason) == ("not applicable", True)


def test_a_law_of_the_users_own_is_checked_in_all_rounds():
    @law
    def no_link_missing(W):
        return bool((W > 0).all())

    theorem = consensus(no_link_missing)
    network = after(250, DIRECTED)
    assert dfl.compare(run_on(network, 250), theorem).kind == "holds"
    assert dfl.compare(run_on(network, 251), theorem).kind == "not applicable"


def test_a_wrong_bound_is_still_violated_on_a_network_that_changes():
    wrong = consensus(factor=sp.Rational(1, 10**9))
    assert dfl.compare(run_on(after(25, DIRECTED), 30), wrong).kind == "violated"


def test_equal_matrices_are_examined_once():
    import scipy.sparse as sparse

    W = sparse.csr_array(DIRECTED)
    found = distinct([MEAN, MEAN.copy(), DIRECTED, W, W.copy(), MEAN])
    assert list(found) == [0, 2, 3]
