"""Edge cases of exact expectations: limits, large states, and unsupported input."""

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.errors import DFLTheoryError
from dfltheory.exact import RandomMixing, average_over, exact_history, stationary
from dfltheory.exact.engine import Engine
from dfltheory.exact.moments import Affine, Moments, apply
from dfltheory.exact.network import sequence_for
from dfltheory.exact.problem import common_basis, problem_of
from tests.exact.test_exact import PATH, tiny

HALF = np.full((2, 2), 0.5)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["DFedAvgM", "DFedADMM", "DPSGD", "DFedSGPM"])
def test_stationary_values_and_averages_of_every_kind_are_those_of_the_recursion(name):
    a = dfl.algorithms
    algorithm = {
        "DFedAvgM": a.DFedAvgM(eta=0.1, K=2, alpha=0.5, keep_momentum=True),
        "DFedADMM": a.DFedADMM(eta=0.2, K=2, lam=0.5),
        "DPSGD": a.DPSGD(eta=0.3, order="combine-then-adapt"),
        "DFedSGPM": a.DFedSGPM(eta=0.1, K=2, alpha=0.4),
    }[name]
    task = dfl.tasks.quadratic(
        m=3, d=2, mu=0.5, sigma=0.7, seed=4, hessians="commuting"
    )
    W = (
        np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
        if name == "DFedSGPM"
        else PATH
    )
    run = exact_history(algorithm, task, W, rounds=400)
    limit = stationary(algorithm, task, W)
    mean = average_over(algorithm, task, W, rounds=250)
    assert 0 < limit.radius < 1
    for measure, value in limit.measures.items():
        rows = run.measures()[measure][0]
        assert value == pytest.approx(rows[-1], rel=1e-9), measure
        assert mean[measure] == pytest.approx(rows[:250].mean(), rel=1e-8), measure
    np.testing.assert_allclose(limit.x, run.x[0], atol=1e-9)


def test_spectral_radius_is_the_rate_at_which_different_starts_converge():
    task = dfl.tasks.quadratic(
        m=3, d=2, mu=0.5, sigma=0.0, seed=4, hessians="commuting"
    )
    algorithm = dfl.algorithms.DFedAvgM(eta=0.1, K=1, alpha=0.2, keep_momentum=True)
    radius = stationary(algorithm, task, PATH).radius
    rng = np.random.default_rng(0)
    a, b = (
        exact_history(algorithm, task, PATH, rounds=90, x0=rng.normal(size=(3, 2)))
        for _ in range(2)
    )
    distance = np.linalg.norm(a.x - b.x)
    earlier = [
        exact_history(algorithm, task, PATH, rounds=60, x0=x).x
        for x in np.random.default_rng(0).normal(size=(2, 3, 2))
    ]
    rate = (distance / np.linalg.norm(earlier[0] - earlier[1])) ** (1 / 30)
    assert rate == pytest.approx(radius, rel=0.02)


def test_weight_decay_moves_the_stationary_point_to_the_ridge_solution():
    task = dfl.tasks.Quadratic(np.eye(1), np.array([[3.0], [1.0]]), 0.0)
    decayed = dfl.algorithms.DFedSAM(eta=0.2, K=1, weight_decay=0.25, rho=0.0)
    limit = stationary(decayed, task, HALF)
    np.testing.assert_allclose(limit.x, 2.0 / 1.25, rtol=1e-12)


A, SKEWED = dfl.algorithms, np.array([[0.5, 0.2], [0.5, 0.8]])
AVG = A.DFedAvg(eta=0.1, K=1)
REFUSED = [
    (
        lambda t: sequence_for(A.FedAvg(eta=0.1, K=1, participation=0.5), 2, None),
        "participation",
    ),
    (lambda t: sequence_for(AVG, 2, None), "needs a topology"),
    (lambda t: RandomMixing([]), "at least one"),
    (lambda t: RandomMixing([np.eye(2), np.eye(3)]), "one shape"),
    (lambda t: RandomMixing([np.eye(2)], [-1.0]), "sum to 1"),
    (lambda t: RandomMixing([np.eye(2)], [0.9]), "sum to 1"),
    (
        lambda t: exact_history(A.SGP(eta=0.1), t, RandomMixing([SKEWED, HALF])),
        "rows also sum to 1",
    ),
    (
        lambda t: exact_history(AVG, t, RandomMixing([HALF]), form="low-rank"),
        "low-rank",
    ),
    (lambda t: average_over(AVG, t, HALF, rounds=0), "rounds = 0"),
    (lambda t: exact_history(AVG, t, HALF, x0=np.full(2, np.nan)), "finite"),
    (
        lambda t: stationary(A.DFedSGPM(eta=0.1, K=1, alpha=0.0), t, SKEWED),
        "doubly stochastic",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_out_of_reach_is_refused_in_one_line(make, words):
    with pytest.raises(DFLTheoryError, match=words) as refused:
        make(tiny())
    assert "\n" not in str(refused.value)


def test_large_states_have_their_stationary_values_and_no_second_moment_map():
    task = dfl.tasks.quadratic(m=18, d=3, mu=0.5, sigma=0.5, seed=2, hessians="random")
    ring = dfl.graphs.metropolis(dfl.graphs.ring(18))
    algorithm = dfl.algorithms.DFedAvg(eta=0.2, K=2)
    limit = stationary(algorithm, task, ring)
    run = exact_history(algorithm, task, ring, rounds=150, form="low-rank")
    assert limit.measures["grad_norm_sq"] == pytest.approx(
        run.grad_norm_sq[0, -1], rel=1e-6
    )
    with pytest.raises(DFLTheoryError, match="second moments"):
        average_over(algorithm, task, ring, rounds=10)


@pytest.mark.parametrize("first_is_noisy", [False, True])
@pytest.mark.parametrize("last_is_noisy", [False, True])
def test_composed_affine_maps_have_the_moments_of_both_in_turn(
    first_is_noisy, last_is_noisy
):
    rng = np.random.default_rng(0)

    def drawn_map(is_noisy):
        root = rng.normal(size=(1, 3, 2, 2))
        noise = root @ root.swapaxes(-1, -2) if is_noisy else None
        return Affine(rng.normal(size=(1, 3, 2, 2)), rng.normal(size=(1, 3, 2)), noise)

    first, last = drawn_map(first_is_noisy), drawn_map(last_is_noisy)
    start = Moments(rng.normal(size=(1, 3, 2)))
    in_turn = apply(apply(start, first), last)
    at_once = apply(start, last.after(first))
    np.testing.assert_allclose(at_once.mu, in_turn.mu, rtol=1e-12)
    assert (in_turn.cov is None) == (not first_is_noisy and not last_is_noisy)
    if in_turn.cov is not None:
        np.testing.assert_allclose(at_once.cov, in_turn.cov, rtol=1e-12, atol=1e-15)


def test_hessians_that_commute_are_found_and_others_are_not():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    A = np.stack([basis @ np.diag(rng.uniform(0.1, 1, 4)) @ basis.T for _ in range(3)])
    found = common_basis(A)
    for one in A:
        rotated = found.T @ one @ found
        np.testing.assert_allclose(rotated, np.diag(np.diag(rotated)), atol=1e-13)
    A[0, 0, 1] += 1e-6
    A[0, 1, 0] += 1e-6
    assert common_basis(A) is None


def test_the_automatic_form_carries_no_consensus_only_where_states_are_large():
    small = dfl.tasks.quadratic(m=3, d=3, mu=0.5, hessians="random", seed=0)
    large = dfl.tasks.quadratic(m=60, d=6, mu=0.5, hessians="random", seed=0)
    ring = dfl.graphs.metropolis(dfl.graphs.ring(60))
    algorithm = dfl.algorithms.DFedAvg(eta=0.1, K=1)
    assert np.isfinite(exact_history(algorithm, small, PATH, rounds=2).consensus).all()
    assert np.isnan(exact_history(algorithm, large, ring, rounds=2).consensus).all()
    decayed = dfl.algorithms.DFedAvg(eta=0.1, K=1, decay=0.9)
    parts = problem_of(small), sequence_for(algorithm, 3, PATH), np.zeros((3, 3)), 2
    assert Engine(algorithm, *parts).autonomous
    assert not Engine(decayed, *parts).autonomous


@pytest.mark.parametrize("rounds", [2.5, 0, -1, "5", True, None])
def test_averages_need_a_whole_number_of_rounds(rounds):
    algorithm = dfl.algorithms.DPSGD(eta=0.1)
    with pytest.raises(DFLTheoryError, match="rounds"):
        average_over(algorithm, tiny(m=3), PATH, rounds)


def test_averages_accept_a_whole_number_in_scientific_notation():
    algorithm = dfl.algorithms.DPSGD(eta=0.1)
    expected = average_over(algorithm, tiny(m=3), PATH, 100)
    assert average_over(algorithm, tiny(m=3), PATH, 1e2) == expected
