"""The probed round agrees with formulas from the papers' pseudocode, also for users'
classes; rejected input.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory import admm
from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.errors import DFLTheoryError, UnsupportedError
from dfltheory.exact import RandomMixing, exact_history, stationary
from tests.exact.test_exact import PATH, tiny
from tests.exact.test_exact_core import FALSE_ALARM, worst_p_value

DIRECTED = np.array([[0.5, 0, 0.3], [0.5, 0.6, 0], [0, 0.4, 0.7]])


def coefficients(a, eta, w):
    """The papers' rounds as coefficients.

    Each client lifts its state s (p blocks) to u_0 = lift s, and updates K times u <-
    keep u + gain g(point . u). The first block of ``send u`` is mixed by W, and s' =
    receive applied to everything. The theorem's point is that of block 0.
    """
    name, one = type(a).__name__, np.eye(1)
    plain = (one, one, np.array([-eta]), one[0], one, one)
    if name in ("DFedAvg", "DFedSAM") or (
        name == "DPSGD" and a.order == "adapt-then-combine"
    ):
        return plain
    if name == "DPSGD":  # u = (x, -eta g)
        first = np.array([1, 0])
        return (
            first[:, None],
            np.diag(first),
            np.array([0, -eta]),
            first,
            np.eye(2),
            np.ones((1, 2)),
        )
    if name in ("DFedADMM", "DFedADMMSAM"):  # s = (x, dual), u = (y, x, dual)
        r, lam = eta / a.lam, a.lam
        lift, keep = (
            np.array([[1, 0], [1, 0], [0, 1]]),
            np.array([[1 - r, r, eta], [0, 1, 0], [0, 0, 1]]),
        )
        send = np.array([[1, 0, -lam], [-1 / lam, 1 / lam, 1]])
        return lift, keep, np.array([-eta, 0, 0]), np.array([1, 0, 0]), send, np.eye(2)
    alpha, kept = getattr(a, "alpha", 0.0), getattr(a, "keep_momentum", False)
    lift = np.eye(2) if kept else np.array([[1], [0]])
    keep, gain = np.array([[1, -eta * alpha], [0, alpha]]), np.array([-eta, 1])
    return lift, keep, gain, np.array([1 / w, 0]), np.eye(2), lift.T


def literal(a, task, matrices, T):
    """Return E of each measure, with one full matrix for each local step and each
    exchange.
    """
    m, d, K, Q = task.m, task.d, getattr(a, "K", 1), getattr(a, "Q", 1)
    A = task.hessian(torch.zeros(1, m, d))[0].numpy()
    pull, cov = (
        np.einsum("mij,mj->mi", A, task.b.numpy()),
        task.noise.covariance(m, d).numpy(),
    )
    push, H, x_star = a.mixing == "column-stochastic", A.mean(0), task.x_star.numpy()
    w, mu, S, measured = np.ones(m), None, None, {}
    for t in range(T + 1):
        parts = [coefficients(a, a.eta * a.decay**t, w[i]) for i in range(m)]
        p, q, r = parts[0][0].shape[1], *parts[0][4].shape[::-1]
        if mu is None:
            mu, S = np.zeros(m * p * d), np.zeros((m * p * d,) * 2)
        R = np.kron(np.ones((1, m)) / m, np.kron(np.eye(p)[:1], np.eye(d)))
        points = {"grad_norm_sq": R}
        if "ADMM" in type(a).__name__:
            reach = a.lam * float(admm.theta(a.eta, a.lam, K))
            points["grad_norm_sq_w"] = R - reach * np.kron(
                np.ones((1, m)) / m, np.kron(np.eye(p)[1:], np.eye(d))
            )
        for name, at in points.items():
            value = np.sum((H @ (at @ mu - x_star)) ** 2) + np.trace(
                H @ at @ S @ at.T @ H
            )
            measured.setdefault(name, []).append(value)
        gap = R @ mu - x_star
        measured.setdefault("loss", []).append(
            task.f_star + (gap @ H @ gap + np.trace(H @ R @ S @ R.T)) / 2
        )
        spread = np.kron(np.diag(1 / w) - 1 / m, np.kron(np.eye(p)[:1], np.eye(d)))
        measured.setdefault("consensus", []).append(
            (np.sum((spread @ mu) ** 2) + np.trace(spread @ S @ spread.T)) / m
        )
        whole = [
            np.zeros((m * k * d, m * n * d))
            for k, n in ((q, p), (q, q), (r, q), (p, r))
        ]
        shift, chance = np.zeros(m * q * d), np.zeros((m * q * d,) * 2)
        for i, (lift, keep, gain, point, send, receive) in enumerate(parts):
            step = np.kron(keep, np.eye(d)) + np.kron(np.outer(gain, point), A[i])
            step += a.weight_decay * np.kron(np.outer(gain, point), np.eye(d))
            for into, part in zip(
                whole,
                (
                    np.kron(lift, np.eye(d)),
                    step,
                    *(np.kron(c, np.eye(d)) for c in (send, receive)),
                ),
            ):
                k, n = part.shape
                into[i * k : (i + 1) * k, i * n : (i + 1) * n] = part
            here = slice(i * q * d, (i + 1) * q * d)
            shift[here], chance[here, here] = (
                -np.kron(gain, pull[i]),
                np.kron(np.outer(gain, gain), cov[i]),
            )
        Lift, Step, Send, Receive = whole
        mu, S = Lift @ mu, Lift @ S @ Lift.T
        for _ in range(K):
            mu, S = Step @ mu + shift, Step @ S @ Step.T + chance
        first = np.diag([1.0] + [0.0] * (r - 1))
        both = Send
        for k in range(Q):
            W = matrices[(t * Q + k) % len(matrices)]
            both = (
                np.kron(W, np.kron(first, np.eye(d)))
                + np.kron(np.eye(m), np.kron(np.eye(r) - first, np.eye(d)))
            ) @ both
            w = W @ w if push else w
        mu, S = Receive @ both @ mu, Receive @ both @ S @ both.T @ Receive.T
    return {name: np.array(values) for name, values in measured.items()}


HYPERPARAMETERS = {
    "DPSGD": {"order": "combine-then-adapt"},
    "DPSGD, adapt-then-combine": {"order": "adapt-then-combine"},
    "DFedAvg": {"K": 2},
    "DFedSAM": {"K": 2, "Q": 3, "rho": 0.0},
    "DFedAvgM": {"K": 2, "alpha": 0.6, "keep_momentum": True},
    "DFedADMM": {"K": 2, "lam": 0.7},
    "DFedADMMSAM": {"K": 2, "lam": 0.7, "rho": 0.0},
    "SGP": {},
    "OSGP": {"K": 2},
    "DFedSGPM": {"K": 3, "alpha": 0.4},
    "DFedSGPSM": {"K": 2, "alpha": 0.4, "rho": 0.0},
    "FedAvg": {"K": 2, "alpha": 0.5},
    "FedSAM": {"K": 2, "alpha": 0.5, "rho": 0.0},
    "Local": {"K": 2},
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", HYPERPARAMETERS)
@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(["common", "commuting", "random", "diagonal"]),
    st.integers(0, 99),
    st.booleans(),
)
def test_the_probed_round_is_the_papers(name, kind, seed, plain):
    rng = np.random.default_rng(seed)
    task = dfl.tasks.quadratic(m=3, d=3, mu=0.3, sigma=0.6, hessians=kind, seed=seed)
    a = getattr(dfl.algorithms, name.partition(",")[0])
    extra = (
        {}
        if plain
        else {"weight_decay": 0.2} | ({} if "ADMM" in name else {"decay": 0.9})
    )
    algorithm = a(eta=float(rng.uniform(0.05, 0.6)), **HYPERPARAMETERS[name], **extra)
    server = np.full((3, 3), 1 / 3) if name != "Local" else np.eye(3)
    if algorithm.needs_topology:
        columns = algorithm.mixing == "column-stochastic"
        given_, used = (
            (([DIRECTED, DIRECTED @ PATH],) * 2)
            if columns
            else (([PATH, np.eye(3)],) * 2)
        )
    else:
        given_, used = None, [server]
    run, wanted = (
        exact_history(algorithm, task, given_, rounds=4),
        literal(algorithm, task, used, 4),
    )
    assert set(wanted) == set(run.measures())
    for measure, values in wanted.items():
        np.testing.assert_allclose(
            run.measures()[measure][0], values, rtol=1e-12, atol=1e-15, err_msg=measure
        )


# -- users' own algorithms


@dataclass(frozen=True)
class TwiceMixed(Algorithm):
    """Two exchanges, the second of a result of the first, with local work between."""

    eta: float

    def local_update(self, state, grad):
        return replace(state, z=state.x - self.eta * self.slope(grad, state.x))

    def communicate(self, state, mix):
        first = mix(state.z.clone())
        return replace(state, x=mix(1.5 * first - 0.5 * state.z))


@dataclass(frozen=True)
class Tuned(dfl.algorithms.DFedAvg):
    """DFedAvg whose clients take one more step at the end."""

    def finish(self, state, grad):
        return replace(state, x=state.x - self.eta * grad(state.x, grad.sample()))


@dataclass(frozen=True)
class Waning(dfl.algorithms.DFedAvg):
    """DFedAvg with its own step size schedule."""

    def decayed(self, eta, t):
        return eta / (1 + t // 3)


@dataclass(frozen=True)
class ChangedLate(dfl.algorithms.DFedAvg):
    """DFedAvg whose step size is halved in round 500,000."""

    def decayed(self, eta, t):
        return eta / 2 if t >= 500_000 else eta


OWN = [TwiceMixed(eta=0.2), Tuned(eta=0.2, K=2), Waning(eta=0.4, K=1)]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("algorithm", OWN, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("kind", ["commuting", "random"])
def test_a_users_own_algorithm_has_its_exact_expectation(algorithm, kind):
    still = dfl.tasks.quadratic(m=3, d=3, mu=0.3, sigma=0.0, hessians=kind, seed=3)
    noisy = dfl.tasks.Quadratic(still.A, still.b, 0.8)
    one, sure = (
        dfl.train(algorithm, still, PATH, rounds=25),
        exact_history(algorithm, still, PATH, rounds=25),
    )
    for name, expected in sure.measures().items():
        np.testing.assert_allclose(
            one.measures()[name], expected, rtol=1e-10, atol=1e-13, err_msg=name
        )
    np.testing.assert_allclose(one.x, sure.x, atol=1e-10)
    run = dfl.train(algorithm, noisy, PATH, rounds=25, seeds=400, seed=7)
    assert (
        worst_p_value(run, exact_history(algorithm, noisy, PATH, rounds=25))
        > FALSE_ALARM
    )


@dataclass(frozen=True)
class StartedByAStep(dfl.algorithms.DFedAvg):
    """DFedAvg whose clients take a stochastic gradient step before round 0."""

    def init(self, x0, grad):
        x = x0 - self.eta * grad(x0, grad.sample())
        return replace(super().init(x0, grad), x=x, z=x)


@pytest.mark.parametrize("kind", ["commuting", "random"])
def test_low_rank_form_of_a_random_start_equals_the_dense_one(kind):
    task = tiny(m=3, kind=kind)
    dense, low = (
        exact_history(StartedByAStep(eta=0.4, K=1), task, PATH, rounds=5, form=form)
        for form in ("dense", "low-rank")
    )
    assert dense.consensus[0, 0] > 0
    for measure in ("grad_norm_sq", "loss"):
        np.testing.assert_allclose(
            low.measures()[measure], dense.measures()[measure], rtol=1e-12
        )


# -- two blocks


class TwoBlockQuadratic(dfl.tasks.Quadratic):
    """Quadratics in (u, v) with coupled blocks and smoothness constants of the blocks.

    With these constants, runs measure the gradients in u and v.
    """

    shared = slice(0, 2)

    @property
    def constants(self):
        u, v = slice(0, 2), slice(2, None)
        L_u, L_v = (
            float(torch.linalg.matrix_norm(self.A[:, block, block], 2).max())
            for block in (u, v)
        )
        return dataclasses.replace(super().constants, L_u=L_u, L_v=L_v)


def two_blocks(sigma):
    """Return such quadratics with non-diagonal Hessians."""
    task = dfl.tasks.quadratic(m=3, d=4, mu=0.3, hessians="random", seed=4)
    return TwoBlockQuadratic(task.A, task.b, sigma)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "options", [{}, {"alpha": 0.5, "weight_decay": 0.1}, {"fresh": False}], ids=str
)
@pytest.mark.parametrize("name", ["DFedMDC", "DFedSMDC"])
def test_two_block_algorithms_on_two_block_quadratics(name, options):
    still, noisy = (two_blocks(sigma) for sigma in (0.0, 1.0))
    more = options | ({"rho": 0.0} if name == "DFedSMDC" else {})
    algorithm = getattr(dfl.algorithms, name)(
        eta_u=0.2, eta_v=0.3, K_u=2, K_v=2, **more
    )
    one, sure = (
        dfl.train(algorithm, still, PATH, rounds=20),
        exact_history(algorithm, still, PATH, rounds=20),
    )
    measures = set(sure.measures())
    assert {"grad_u_sq", "grad_v_sq", "grad_u_sq_next", "two_block_next"} <= measures
    assert measures == set(one.measures())
    for measure, expected in sure.measures().items():
        np.testing.assert_allclose(
            one.measures()[measure], expected, rtol=1e-10, atol=1e-13, err_msg=measure
        )
    run = dfl.train(algorithm, noisy, PATH, rounds=20, seeds=400, seed=3)
    exact = exact_history(algorithm, noisy, PATH, rounds=20)
    assert worst_p_value(run, exact) > FALSE_ALARM


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", ["FedPer", "FedRep", "FedBABU", "FedRoD", "Ditto"])
def test_personal_servers_on_two_block_quadratics(name):
    task = two_blocks(0.7)
    steps = (
        {"eta_u": 0.2, "eta_v": 0.2, "K_u": 2, "K_v": 1}
        if name == "FedRep"
        else {"eta": 0.2, "K": 2}
    )
    algorithm = getattr(dfl.algorithms, name)(**steps)
    run, exact = (
        dfl.train(algorithm, task, rounds=12, seeds=400, seed=3),
        exact_history(algorithm, task, rounds=12),
    )
    assert worst_p_value(run, exact) > FALSE_ALARM


def test_a_verdict_of_dfedmdc_is_reached_without_chance():
    task = dfl.tasks.coupled(
        m=3, p=2, chi=0.0, spread=0.3, sigma_u=0.2, sigma_v=0.2, seed=4
    )
    algorithm = dfl.algorithms.DFedMDC(eta_u=0.01, eta_v=0.01, K_u=2, K_v=2)
    exact = exact_history(algorithm, task, PATH, rounds=50)
    run = dfl.train(algorithm, task, PATH, rounds=50, seeds=200)
    key, *_ = (
        key for key in sorted(dfl.bounds.keys()) if key.startswith("dfedmdc.theorem")
    )
    sure, sampled = dfl.compare(exact, key), dfl.compare(run, key)
    assert sure.measured.low == sure.measured.high
    assert sampled.measured.low <= sure.measured.estimate <= sampled.measured.high


# -- rejected input


@dataclass(frozen=True)
class Clipped(dfl.algorithms.DFedAvg):
    def slope(self, grad, y, rho=0.0, block=None):
        return super().slope(grad, y).clamp_(-50, 50)


@dataclass(frozen=True)
class Rounded(dfl.algorithms.DFedAvg):
    def communicate(self, state, mix):
        return replace(state, x=mix((8 * state.z).round() / 8))


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (Clipped(eta=0.1, K=1), "Clipped is not an affine recursion: local_update"),
        (Rounded(eta=0.1, K=1), "Rounded is not an affine recursion: communicate"),
        (
            dfl.algorithms.DFedSAM(eta=0.1, K=2, rho=0.05),
            "DFedSAM is not an affine .* rho = 0.05",
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_affine_is_named_in_one_line(algorithm, words):
    task = dfl.tasks.quadratic(m=3, d=2, mu=0.4, sigma=0.3, seed=1)
    with pytest.raises(DFLTheoryError, match=words) as refused:
        exact_history(algorithm, task, PATH, rounds=3)
    assert "\n" not in str(refused.value)


def test_random_numbers_of_a_round_are_an_unsupported_method():
    task = dfl.tasks.quadratic(m=3, d=2, mu=0.4, sigma=0.3, seed=1)
    with pytest.raises(UnsupportedError) as refused:
        exact_history(dfl.algorithms.DisPFL(eta=0.1, K=1), task, PATH, rounds=3)
    assert refused.value.method == "grad.uniform"
    assert "\n" not in str(refused.value)


@dataclass(frozen=True, eq=False)
class LateState(State):
    before: Any = None


@dataclass(frozen=True)
class Late(Algorithm):
    """Heavy ball over rounds, whose memory is not created in init."""

    eta: float

    def init(self, x0, grad):
        return LateState(x=x0, z=x0)

    def local_update(self, state, grad):
        pushed = 0 if state.before is None else 0.5 * (state.x - state.before)
        return replace(
            state,
            z=state.x - self.eta * self.slope(grad, state.x) + pushed,
            before=state.x,
        )

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def test_other_refusals():
    task = dfl.tasks.quadratic(m=3, d=2, mu=0.4, sigma=0.3, seed=1)
    with pytest.raises(DFLTheoryError, match="its before is missing before round 0"):
        exact_history(Late(eta=0.1), task, PATH, rounds=3)
    task = dfl.tasks.quadratic(m=3, d=2, mu=0.4, sigma=0.3, seed=1)
    with pytest.raises(DFLTheoryError, match="twice by one random matrix"):
        exact_history(
            TwiceMixed(eta=0.1), task, RandomMixing([PATH, np.eye(3)]), rounds=3
        )
    with pytest.raises(DFLTheoryError, match="distribution is constant"):
        stationary(Waning(eta=0.1, K=1), task, PATH)
    with pytest.raises(DFLTheoryError, match="distribution is constant"):
        stationary(ChangedLate(eta=0.1, K=1), task, PATH)
    with pytest.raises(DFLTheoryError, match="sinusoidal"):
        exact_history(
            dfl.algorithms.DPSGD(eta=0.1),
            dfl.tasks.sinusoidal(m=3, d=2),
            PATH,
            rounds=3,
        )
