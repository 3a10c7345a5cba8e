"""Exact expectations agree with the enumeration of all outcomes, with each other, and
with limits.
"""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.errors import DFLTheoryError
from dfltheory.exact import RandomMixing, average_over, exact_history, stationary
from dfltheory.exact.problem import problem_of
from dfltheory.tasks.noise import FiniteSupport
from tests.reference import dfedsam, neighbours_average

W2 = np.array([[0.7, 0.3], [0.3, 0.7]])
PATH = np.array([[0.6, 0.4, 0.0], [0.4, 0.3, 0.3], [0.0, 0.3, 0.7]])


def tiny(m=2, d=2, kind="random", seed=0):
    """Return a quadratic whose noise takes two values in each step, different for each
    client.

    The Hessians of kind "random" have no common eigenvector: those of
    ``tasks.quadratic`` share one, so that they commute in two dimensions.
    """
    base = dfl.tasks.quadratic(
        m=m, d=d, L=1.0, mu=0.3 if d > 1 else 1.0, hessians=kind, seed=seed
    )
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=(m, 1, d))
    A = base.A
    if kind == "random":
        bases = np.linalg.qr(rng.normal(size=(m, d, d)))[0]
        A = (bases * rng.uniform(0.3, 1, size=(m, 1, d))) @ bases.swapaxes(-1, -2)
    noise = FiniteSupport(torch.tensor(np.concatenate([shift, -shift], 1)))
    return dfl.tasks.Quadratic(torch.as_tensor(A), base.b, noise)


def test_hessians_of_the_enumerated_problem_commute_unless_their_kind_is_random():
    for kind, commutes in (("common", True), ("commuting", True), ("random", False)):
        assert problem_of(tiny(kind=kind)).decoupled == commutes


def enumerated(task, T, K, path_of, outcomes=(None,), weights=(1.0,)):
    """Return E of each measure over rounds 0..T by running all sequences of minibatches
    and matrices.
    """
    shifts = task.noise.shifts.numpy()
    A, b = task.A.expand(task.m, task.d, task.d).numpy(), task.b.numpy()
    H, x_star = A.mean(0), task.x_star.numpy()

    def gradient(i, y, xi):
        return A[i] @ (y - b[i]) + shifts[i][xi]

    totals = {
        name: np.zeros(T + 1)
        for name in ("grad_norm_sq", "loss", "consensus", "grad_norm_sq_w")
    }
    draws_of_all = list(
        itertools.product(range(shifts.shape[1]), repeat=T * K * task.m)
    )
    for which in itertools.product(range(len(outcomes)), repeat=T):
        share = np.prod([weights[r] for r in which])
        for flat in draws_of_all:
            draws = np.array(flat).reshape(T, K, task.m)
            path = path_of(gradient, draws, [outcomes[r] for r in which])
            for t, point in enumerate(path):
                models, mean, aux = (
                    point
                    if isinstance(point, tuple)
                    else (point, np.mean(point, axis=0), None)
                )
                p = share / len(draws_of_all)
                totals["grad_norm_sq"][t] += p * np.sum((H @ (mean - x_star)) ** 2)
                losses = [
                    0.5 * (mean - b[i]) @ A[i] @ (mean - b[i]) for i in range(task.m)
                ]
                totals["loss"][t] += p * np.mean(losses)
                totals["consensus"][t] += p * np.mean(
                    [np.sum((x - mean) ** 2) for x in models]
                )
                if aux is not None:
                    totals["grad_norm_sq_w"][t] += p * np.sum((H @ (aux - x_star)) ** 2)
    return totals


def agree(history, totals, measures=("grad_norm_sq", "loss", "consensus")):
    for name in measures:
        np.testing.assert_allclose(
            history.measures()[name][0],
            totals[name],
            rtol=1e-12,
            atol=1e-13,
            err_msg=name,
        )


START = [np.array([1.0, -2.0]), np.array([0.5, 0.25])]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", ["common", "commuting", "random"])
def test_gossip_equals_enumeration(kind):
    task, T, K, Q = tiny(kind=kind), 2, 2, 3
    totals = enumerated(
        task,
        T,
        K,
        lambda g, draws, _: dfedsam(
            START, g, draws, [[W2] * Q] * T, eta=0.4, K=K, Q=Q, weight_decay=0.1
        ),
    )
    run = exact_history(
        dfl.algorithms.DFedSAM(eta=0.4, K=K, Q=Q, weight_decay=0.1, rho=0.0),
        task,
        W2,
        rounds=T,
        x0=np.array(START),
    )
    agree(run, totals)
    low = exact_history(
        run.algorithm, task, W2, rounds=T, x0=np.array(START), form="low-rank"
    )
    agree(low, totals, ("grad_norm_sq", "loss"))
    assert np.isnan(low.consensus).all()


def test_random_matrices_equal_enumeration_with_a_fresh_one_for_each_gossip_step():
    task, T, K = tiny(), 2, 1
    outcomes, weights = (W2, np.eye(2), np.full((2, 2), 0.5)), (0.5, 0.2, 0.3)
    pairs = list(itertools.product(range(3), repeat=2))
    totals = enumerated(
        task,
        T,
        K,
        lambda g, draws, Ws: dfedsam(START, g, draws, Ws, eta=0.4, K=K, Q=2),
        outcomes=[[outcomes[a], outcomes[b]] for a, b in pairs],
        weights=[weights[a] * weights[b] for a, b in pairs],
    )
    mixing = RandomMixing(outcomes, weights)
    algorithm = dfl.algorithms.DFedSAM(eta=0.4, K=K, Q=2, rho=0.0)
    agree(exact_history(algorithm, task, mixing, rounds=T, x0=np.array(START)), totals)


@pytest.mark.parametrize(
    ("outcomes", "weights"),
    [([W2], [1.0]), ([W2, np.eye(2)], [0.6, 0.4])],
    ids=["fixed", "random"],
)
def test_dfedadmm_and_its_auxiliary_sequence_equal_enumeration(outcomes, weights):
    """Over one matrix, and over a random one, for which the kept state also depends on
    the draws.
    """
    task, T, eta, lam = tiny(), 2, 0.3, 0.7
    # every sequence of matrices and minibatches is run
    K = 2 if len(outcomes) == 1 else 1
    gamma = 1 - (1 - eta / lam) ** K

    def path_of(gradient, draws, Ws):
        x, dual = [s.copy() for s in START], [np.zeros(2)] * 2
        before = np.mean(x, axis=0)
        path = [(x, before, before)]
        for t in range(T):
            z = []
            for i in range(2):
                y = x[i]
                for k in range(K):
                    y = y - eta * (
                        gradient(i, y, draws[t][k][i]) - dual[i] + (y - x[i]) / lam
                    )
                z.append(y - lam * dual[i])
                dual[i] = dual[i] - (y - x[i]) / lam
            x = neighbours_average(Ws[t], z)
            mean = np.mean(x, axis=0)
            path.append((x, mean, mean + (1 - gamma) / gamma * (mean - before)))
            before = mean
        return path

    algorithm = dfl.algorithms.DFedADMM(eta=eta, K=K, lam=lam)
    totals = enumerated(task, T, K, path_of, outcomes, weights)
    network = W2 if len(outcomes) == 1 else RandomMixing(outcomes, weights)
    run = exact_history(algorithm, task, network, rounds=T, x0=np.array(START))
    agree(run, totals, ("grad_norm_sq", "loss", "consensus", "grad_norm_sq_w"))
    if len(outcomes) == 1:
        low = exact_history(
            algorithm, task, network, rounds=T, x0=np.array(START), form="low-rank"
        )
        agree(low, totals, ("grad_norm_sq", "loss", "grad_norm_sq_w"))


@pytest.mark.slow
@given(
    st.sampled_from(["common", "commuting", "random", "diagonal"]),
    st.integers(0, 50),
    st.floats(0.01, 0.9),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_every_form_agrees_with_the_others_and_tends_to_the_stationary_values(
    kind, seed, eta, K, Q
):
    task = dfl.tasks.quadratic(m=3, d=3, mu=0.5, hessians=kind, seed=seed, sigma=0.7)
    algorithm = dfl.algorithms.DFedSAM(eta=eta, K=K, Q=Q, rho=0.0)
    long = exact_history(algorithm, task, PATH, rounds=40)
    low = exact_history(algorithm, task, PATH, rounds=40, form="low-rank")
    np.testing.assert_allclose(
        low.grad_norm_sq, long.grad_norm_sq, rtol=1e-9, atol=1e-13
    )
    np.testing.assert_allclose(low.loss, long.loss, rtol=1e-9)
    limit = stationary(algorithm, task, PATH)
    slope = limit.radius**40
    assert (
        abs(long.grad_norm_sq[0, -1] - limit.measures["grad_norm_sq"])
        <= 100 * slope + 1e-10
    )
    if kind != "random":
        mean = average_over(algorithm, task, PATH, rounds=40)
        far = average_over(algorithm, task, PATH, rounds=10**9)
        for name in ("grad_norm_sq", "consensus", "loss"):
            assert mean[name] == pytest.approx(
                long.measures()[name][0, :40].mean(), rel=1e-8
            )
            assert far[name] == pytest.approx(limit.measures[name], rel=1e-4)


def test_stationary_noise_of_one_client_is_the_textbooks():
    # x <- (1 - eta h) x - eta xi: E x^2 -> eta sigma^2 / (h (2 - eta h)); grad = h x
    h, eta, sigma = 0.8, 0.3, 2.0
    task = dfl.tasks.Quadratic(
        torch.tensor(h, dtype=torch.float64), torch.tensor([[3.0]]), sigma
    )
    limit = stationary(dfl.algorithms.DFedAvg(eta=eta, K=1), task, np.eye(1))
    assert limit.measures["grad_norm_sq"] == pytest.approx(
        h * eta * sigma**2 / (2 - eta * h), rel=1e-14
    )
    assert limit.measures["loss"] == pytest.approx(
        eta * sigma**2 / (2 * (2 - eta * h)), rel=1e-14
    )
    assert (limit.radius, limit.radius_square) == pytest.approx(
        (1 - eta * h, (1 - eta * h) ** 2), rel=1e-14
    )
    assert limit.x == pytest.approx(np.array([[3.0]]), rel=1e-14)


def test_random_matrices_have_a_larger_square_radius_and_the_limit_of_the_recursion():
    task = dfl.tasks.Quadratic.diagonal(
        [[1.0, 0.5], [0.1, 0.5]], [[1.0, -1.0], [3.0, 0.5]], 0.5
    )
    mixing = RandomMixing([np.eye(2), np.full((2, 2), 0.5)], [0.6, 0.4])
    algorithm = dfl.algorithms.DFedAvg(eta=0.3, K=2)
    limit, run = (
        stationary(algorithm, task, mixing),
        exact_history(algorithm, task, mixing, rounds=400),
    )
    assert limit.radius_square > 1.001 * limit.radius**2
    for name in ("grad_norm_sq", "consensus", "loss"):
        assert limit.measures[name] == pytest.approx(
            run.measures()[name][0, -1], rel=1e-10
        )
    mean = average_over(algorithm, task, mixing, rounds=37)
    assert mean["consensus"] == pytest.approx(run.consensus[0, :37].mean(), rel=1e-10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda t: exact_history(
                dfl.algorithms.DFedSAM(eta=0.1, K=1, rho=0.1), t, W2
            ),
            "rho = 0.1",
        ),
        (
            lambda t: exact_history(dfl.algorithms.DFedAvg(eta=0.1, K=1), t, np.eye(3)),
            "3 clients",
        ),
        (
            lambda t: exact_history(
                dfl.algorithms.DFedAvg(eta=0.1, K=1), t, W2, form="fast"
            ),
            "fast",
        ),
        (
            lambda t: exact_history(
                dfl.algorithms.DFedAvg(eta=0.1, K=1), t, W2, rounds=-1
            ),
            "rounds = -1",
        ),
        (
            lambda t: exact_history(
                dfl.algorithms.DFedAvg(eta=0.1, K=1), t, W2, x0=np.ones(3)
            ),
            "x0 has shape",
        ),
        (
            lambda t: exact_history(
                dfl.algorithms.DFedAvg(eta=0.1, K=1), t, lambda t, rng: W2
            ),
            "RandomMixing",
        ),
        (
            lambda t: stationary(dfl.algorithms.DFedAvg(eta=3.0, K=1), t, W2),
            "spectral radius",
        ),
        (
            lambda t: stationary(
                dfl.algorithms.DFedAvg(eta=0.1, K=1, decay=0.9), t, W2
            ),
            "decay = 1",
        ),
    ],
)
def test_what_is_not_affine_or_not_known_is_refused_in_one_line(make, words):
    with pytest.raises(DFLTheoryError, match=words) as refused:
        make(tiny())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("radius", [1.0, 5.0, 100.0])
def test_exact_history_rejects_clipped_gradients_at_any_radius(radius):
    task = dfl.tasks.Clipped(np.zeros((1, 1)), h=1.0, r=radius)
    with pytest.raises(DFLTheoryError, match="clipped"):
        exact_history(
            dfl.algorithms.DPSGD(eta=0.5), task, np.ones((1, 1)), 1, np.array([2.0])
        )
