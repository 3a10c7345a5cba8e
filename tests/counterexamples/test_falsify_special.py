"""Special problems: the training core measures what their docstrings derive."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.algorithms import DFedADMMSAM, DFedMDC, DFedSAM, DFedSGPSM
from dfltheory.counterexamples import falsify
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.falsification import readings
from dfltheory.counterexamples.families import RoundData, installed
from dfltheory.counterexamples.families.local_drift import (
    LocalDrift,
    drift_limit,
    drift_system,
)
from dfltheory.counterexamples.families.long_slope import LongSlope
from dfltheory.counterexamples.families.opposing_gradients import (
    OpposingGradients,
    limit_distance,
)
from dfltheory.counterexamples.families.opposing_heads import OpposingHeads
from dfltheory.counterexamples.families.sam_trap import SAMTrap
from dfltheory.counterexamples.families.stationary_noise import StationaryNoise
from dfltheory.counterexamples.families.two_wells import TwoWells, well_limit
from dfltheory.counterexamples.families.unbalanced_starts import UnbalancedStarts
from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.counterexamples.problems import RampTask
from dfltheory.counterexamples.search import search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.counterexamples.splits import Splits

STEPS = {
    "eta": st.floats(1e-3, 0.2),
    "K": st.integers(1, 5),
    "Q": st.integers(1, 3),
    # near 1/2, gossip leaves distances of the size of rounding errors
    "w": st.floats(0.05, 0.4),
}


def pair(w):
    return np.array([[1 - w, w], [w, 1 - w]])


def made(kind, eta, K, Q, w, rho=0.0, cube=0.5, sigma=0.0, m=2):
    """Return a special problem: task, algorithm, start, and the constants it was fitted
    to.
    """
    at = RoundData(np.array([eta]), np.array([(1 - 2 * w) ** Q]), np.array([rho]), K)
    ramps, start = kind().decode(Reader(np.full((1, 4), cube)), at)
    ramps = ramps.repeated(m)
    task = RampTask(
        *(getattr(ramps, n)[0] for n in ("knots", "widths", "slopes", "left")), sigma
    )
    return (
        task,
        DFedSAM(eta, K, rho, Q),
        np.broadcast_to(start[0], m)[:, None].copy(),
        at,
        ramps,
    )


@settings(deadline=None, max_examples=15)
@given(**STEPS, rho=st.floats(0.01, 5), cube=st.floats(0, 1))
def test_sam_is_stationary_in_the_trap(eta, K, Q, w, rho, cube):
    task, algorithm, x0, _, ramps = made(SAMTrap, eta, K, Q, w, rho, cube)
    width, s = float(ramps.widths[0, 0, 0]), x0[0, 0]
    assume(s != rho)  # the perturbed point of the first step is the kink
    assert width <= rho * (1 + 1e-12)
    assert abs(task.constants.L - 1) < 1e-9
    assert task.constants.sigma_g == 0
    assert (x0 == s).all()
    assert (s > 0) == (cube >= 0.5)
    run = dfl.train(algorithm, task, pair(w), rounds=20, x0=x0)
    if s == 0:
        np.testing.assert_allclose(
            run.measures()["grad_norm_sq"][0], width**2, rtol=1e-14
        )
    else:  # from an arbitrarily steep place
        np.testing.assert_allclose(
            run.x[0, :, 0], s * (1 - eta) ** (20 * K), rtol=1e-6, atol=1e-9 * rho
        )
        assert width == rho


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(**STEPS, cube=st.floats(0, 1))
def test_opposing_gradients_hold_the_mean_up_where_f_has_a_slope(eta, K, Q, w, cube):
    task, algorithm, x0, at, ramps = made(OpposingGradients, eta, K, Q, w, 0.0, cube)
    R, h = float(limit_distance(at)[0]), float(ramps.widths[0, 0, 0])
    assert h < R
    assert abs(task.constants.L - 1) < 1e-9
    assert task.constants.sigma_g == pytest.approx(1)
    assert (x0 == x0[0]).all()
    run = dfl.train(algorithm, task, pair(w), rounds=800, x0=x0)
    x = run.x[0, :, 0]
    centre = float(ramps.knots[0, 0, 1])
    data = run.measures()["grad_norm_sq"][0]
    if (np.abs(x - centre) >= h * (1 + 1e-9)).all():  # they have left the bump
        height = max(h - abs(x.mean() - centre), 0.0)
        assert data[-1] == pytest.approx(height**2, rel=1e-9, abs=1e-7 * h**2)
        assert np.ptp(data[-100:]) <= 1e-7 * h**2  # it stays there
    else:
        assert data[-1] <= h**2 * (1 + 1e-9)


def test_clients_of_opposing_gradients_end_at_the_full_distance():
    task, algorithm, x0, at, ramps = made(OpposingGradients, 0.01, 2, 1, 0.1)
    run = dfl.train(algorithm, task, pair(0.1), rounds=400, x0=x0)
    x = run.x[0, :, 0]
    R, h = float(limit_distance(at)[0]), float(ramps.widths[0, 0, 0])
    assert abs(R - 0.8 * 0.02 / 0.2) < 1e-12
    np.testing.assert_allclose([x.mean() - x[0], x[1] - x.mean()], R, rtol=1e-9)
    height = h - abs(x.mean() - float(ramps.knots[0, 0, 1]))
    assert height > 0.4 * h
    assert run.measures()["grad_norm_sq"][0, -1] == pytest.approx(height**2)


@settings(deadline=None, max_examples=15)
@given(**STEPS, cube=st.floats(0, 1))
def test_parabolas_of_two_curvatures_are_stationary_at_the_solution_of_the_linear_system(
    eta, K, Q, w, cube
):
    task, algorithm, x0, at, ramps = made(LocalDrift, eta, K, Q, w, 0.0, cube)
    k = ramps.slopes[:, :, 0]
    limit = drift_limit(k, at)[0]
    rest = dfl.train(algorithm, task, pair(w), rounds=3, x0=limit[:, None])
    data = rest.measures()["grad_norm_sq"][0]
    slope = np.mean(k[0] * (limit.mean() - [1, -1]))
    np.testing.assert_allclose(data, slope**2, rtol=1e-6, atol=1e-20)
    assert np.abs(limit).max() <= 1
    if cube >= 0.5:
        # near the minimum
        assert x0[0, 0] == pytest.approx((1 - k[0, 1]) / (1 + k[0, 1]), abs=0.11)
        return
    moved = dfl.train(algorithm, task, pair(w), rounds=60, x0=x0).measures()[
        "consensus"
    ][0]
    A, _ = drift_system(k, at)
    # no component along the slow eigenvector is left
    fast = np.abs(np.linalg.eigvals(A[0])).min()
    spread = ((limit - limit.mean()) ** 2).mean()
    assert abs(moved[40] - spread) <= 3 * spread * fast**40 + 1e-12


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(
    eta=st.floats(0.02, 0.2),
    K=st.integers(1, 4),
    Q=st.integers(1, 3),
    cube=st.floats(0, 0.6),
)
def test_clients_that_differ_by_almost_nothing_end_in_two_wells_from_a_common_start(
    eta, K, Q, cube
):
    w = 1e-4
    task, algorithm, x0, at, ramps = made(TwoWells, eta, K, Q, w, 0.0, cube)
    assert (x0 == 0).all()
    v, e = -ramps.knots[0, 0, 1], float(ramps.left[0, 0] - ramps.left[0].mean())
    assert pytest.approx(1) == task.constants.L
    assert task.constants.sigma_g == pytest.approx(e, rel=1e-6)
    mean, half = (
        float(a) for a in well_limit(v, 1.0, e, RoundData(eta, at.lam[0], 0.0, K))
    )
    assert half >= 1
    there = np.array([[mean - half], [mean + half]])
    rest = dfl.train(algorithm, task, pair(w), rounds=3, x0=there)
    np.testing.assert_allclose(rest.x[0], there, rtol=1e-9)
    np.testing.assert_allclose(
        rest.measures()["grad_norm_sq"][0], (1 - v) ** 2, rtol=1e-6
    )
    run = dfl.train(algorithm, task, pair(w), rounds=round(60 / (eta * K)), x0=x0)
    np.testing.assert_allclose(run.x[0], there, rtol=1e-3, atol=1e-3)


@settings(deadline=None, max_examples=10)
@given(**STEPS, cube=st.floats(0, 1))
def test_different_clients_move_a_mean_that_starts_at_the_minimum(eta, K, Q, w, cube):
    task, algorithm, x0, _, ramps = made(UnbalancedStarts, eta, K, Q, w, 0.0, cube)
    c, shift = -float(ramps.left[0, 0]), float(x0.mean())
    assert task.constants.sigma_g == 0
    assert 1e-7 < shift <= 0.1 * (1 + 1e-12)
    np.testing.assert_allclose(x0[:, 0], [shift + 1, shift - 1])
    x0 = x0 - shift
    start = dfl.train(algorithm, task, pair(w), rounds=1, x0=x0)
    assert start.measures()["grad_norm_sq"][0, 0] == pytest.approx(0, abs=1e-24)
    assert start.loss[0, 0] == pytest.approx(task.constants.f_star, abs=1e-15)
    if 1 - eta * K * c >= c:
        mean = (((1 - eta) ** K - 1) + eta * K * c) / 2
        assert start.measures()["grad_norm_sq"][0, 1] == pytest.approx(
            max(mean, -c) ** 2, rel=1e-9
        )


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("m", "cube"), [(1, 0.9), (2, 0.3), (16, 0.9)])
def test_noise_lifts_the_mean_square_as_the_closed_form_says_for_every_network(m, cube):
    eta, K, sigma, T = 0.1, 3, 1.5, 12
    task, algorithm, x0, _, ramps = made(
        StationaryNoise, eta, K, 1, 0.2, 0.0, cube, sigma, m
    )
    s = x0[0, 0]
    assert (s > 0) == (cube > 0.6)
    W = np.full((m, m), 0.3 / m) + 0.7 * np.eye(m)
    expected = NoisyParabola(1.0, s, sigma, eta, K, m).expected(np.arange(T + 1))
    path = simulate(
        CandidateBatch(algorithm, ramps, x0[None], W[None, None], np.array([[sigma]])),
        T,
    )
    np.testing.assert_allclose(
        path.left["grad_norm_sq"][:, 0], expected, rtol=1e-7, atol=1e-12
    )
    core = dfl.train(algorithm, task, W, rounds=T, x0=x0, seeds=2000).measures()[
        "grad_norm_sq"
    ]
    error = core.std(0, ddof=1) / np.sqrt(len(core))
    assert (np.abs(core.mean(0) - expected) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize(("K", "alpha"), [(1, 0.999), (3, 0.9), (5, 0.0)])
def test_on_a_long_slope_momentum_goes_as_far_as_the_closed_form_says(K, alpha):
    eta = 0.01
    task, _, x0, _, ramps = made(LongSlope, eta, K, 1, 0.2)
    D = float(-ramps.knots[0, 0, 0]) - 1
    way = eta * sum((1 - alpha**k) / (1 - alpha) for k in range(1, K + 1))
    run = dfl.train(DFedSGPSM(eta, K, alpha, 0.0), task, pair(0.2), rounds=12, x0=x0)
    assert 12 * way < D
    np.testing.assert_allclose(run.x[0, :, 0], -12 * way)
    np.testing.assert_allclose(run.measures()["grad_norm_sq"][0], 1.0)
    assert float(run.loss[0, 0]) - task.constants.f_star == pytest.approx(D + 0.5)


ADMM = {"eta": 0.01, "penalty": 0.05, "K": 3}
"""A penalty that is neither a step size nor eta K."""


@pytest.mark.slow
def test_unbalanced_duals_separate_clients_by_the_closed_form_of_the_penalty():
    eta, penalty, K = ADMM.values()
    at = RoundData(
        np.array([eta]), np.array([0.8]), np.zeros(1), K, np.array([penalty])
    )
    assert limit_distance(at) == pytest.approx(0.8 * penalty / 0.2)
    ramps, x0 = OpposingGradients().decode(Reader(np.full((1, 4), 0.4)), at)
    task = RampTask(
        *(getattr(ramps, n)[0] for n in ("knots", "widths", "slopes", "left"))
    )
    run = dfl.train(
        DFedADMMSAM(eta, K, penalty, 0.0),
        task,
        pair(0.1),
        rounds=800,
        x0=x0[0][:, None],
    )
    x, h, centre = (
        run.x[0, :, 0],
        float(ramps.widths[0, 0, 0]),
        float(ramps.knots[0, 0, 1]),
    )
    assert h < limit_distance(at)
    np.testing.assert_allclose(
        [x.mean() - x[0], x[1] - x.mean()], limit_distance(at)[0], rtol=1e-6
    )
    height = max(h - abs(x.mean() - centre), 0.0)
    assert height > 0.1 * h
    assert run.measures()["grad_norm_sq"][0, -1] == pytest.approx(height**2)


def test_on_a_long_slope_admm_needs_as_many_rounds_as_step_and_penalty_say():
    eta, penalty, K = ADMM.values()
    at = RoundData(
        np.array([eta]), np.array([0.8]), np.zeros(1), K, np.array([penalty])
    )
    ramps, x0 = LongSlope().decode(Reader(np.full((1, 4), 0.5)), at)
    assert -ramps.knots[0, 0, 0] - 1 == pytest.approx(
        4000 * penalty * np.sqrt(0.5 * 20)
    )
    task = RampTask(
        *(getattr(ramps, n)[0] for n in ("knots", "widths", "slopes", "left"))
    )
    q = (1 - eta / penalty) ** K
    for t in (1, 2, 7):
        run = dfl.train(
            DFedADMMSAM(eta, K, penalty, 0.0),
            task,
            pair(0.1),
            rounds=t,
            x0=x0[0][:, None],
        )
        np.testing.assert_allclose(
            run.x[0, :, 0], -penalty * (t - q * (1 - q**t) / (1 - q)), rtol=1e-9
        )


def test_of_unequal_push_sum_weights_the_larger_is_the_nearer_one():
    a, b, eta, K = 0.02, 0.3, 0.01, 2
    W = np.array([[1 - a, b], [a, 1 - b]])
    at = RoundData(
        np.array([eta]),
        np.array([1 - a - b]),
        np.zeros(1),
        K,
        None,
        np.array([2 * b / (a + b)]),
    )
    ramps, x0 = OpposingGradients().decode(Reader(np.full((1, 4), 0.4)), at)
    task = RampTask(
        *(getattr(ramps, n)[0] for n in ("knots", "widths", "slopes", "left"))
    )
    history = dfl.train(
        DFedSGPSM(eta, K, 0.0, 0.0), task, W, rounds=900, x0=x0[0][:, None]
    )
    z, h = history.x[0, :, 0], float(ramps.widths[0, 0, 0])
    pull = (1 - a - b) * eta * K / 2
    mean = (z * [2 * b, 2 * a]).sum() / (a + b) / 2
    np.testing.assert_allclose(
        [mean - z[0], z[1] - mean], [pull / b, pull / a], rtol=1e-6
    )
    assert limit_distance(at) == pytest.approx(pull / b)
    assert h < pull / b
    height = h - abs(mean - float(ramps.knots[0, 0, 1]))
    assert height > 0
    assert history.measures()["grad_norm_sq"][0, -1] == pytest.approx(height**2)


@pytest.mark.slow
@pytest.mark.parametrize("K", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_heads_separate_the_shared_parts_as_the_scalar_map_predicts(K):
    eta, w, p = 0.05, 0.1, 1.5
    at = RoundData(np.array([eta]), np.array([1 - 2 * w]), np.zeros(1), K)
    ramps, x0 = OpposingHeads().decode(Reader(np.array([[0.3, 0.3]])), at)
    assert (ramps.left == 0).all()
    one = np.ones(1)
    parts = np.array([[1.0, -1.0]]) * np.pi / 2, 2.0 * one, one / p, p * one, one
    clients = Splits(ramps.knots, ramps.widths, ramps.slopes, ramps.left, *parts)
    algorithm = DFedMDC(eta_u=eta, eta_v=0.05, K_u=K, K_v=2)
    start = np.stack([x0, 0 * x0], -1)
    batch = CandidateBatch(
        algorithm, clients, start, pair(w)[None, None], np.zeros((1, 2))
    )
    run = batch.alone(0, start, 1500).run(progress=False)
    r = 0.0
    for _ in range(3000):
        y = r
        for _ in range(K):
            y += eta * np.cos(p * y)
        r = (1 - 2 * w) * y
    h, centre = float(ramps.widths[0, 0, 0]), float(ramps.knots[0, 0, 1])
    assert r > h + abs(centre)  # outside of the bump
    np.testing.assert_allclose(run.x[0], [[-r, np.pi / 2], [r, -np.pi / 2]], atol=1e-9)
    slope = h - abs(centre)
    assert run.measures()["grad_u_sq"][0, -1] == pytest.approx(slope**2, rel=1e-6)
    assert run.measures()["grad_v_sq"][0, -1] == pytest.approx(0, abs=1e-18)
    assert abs(clients.constants()["L_u"][0] - 1 - p) < 1e-9


def test_family_of_heads_applies_only_to_two_blocks():
    for key, has in (("dfedmdc.theorem_1", True), ("dfedsam.theorem_4_5", False)):
        arms = search_spaces(dfl.bounds.get(key, "corrected"))
        found = [arm for arm in arms if arm.name.startswith("opposing heads")]
        assert bool(found) == has
        for arm in found[:1]:
            rng = np.random.default_rng(0)
            batch = arm.decode(rng.random((4, arm.dimension)), arm.draw(rng))
            assert (batch.clients.k > 0).all()
            np.testing.assert_allclose(
                batch.clients.q * batch.clients.b[:, 0], np.pi / 2
            )


def test_special_problems_are_fitted_to_the_weights_and_penalty_of_their_candidates(
    monkeypatch,
):
    seen = []

    class Recorded(OpposingGradients):
        def decode(self, read, at):
            seen.append(at)
            return super().decode(read, at)

    monkeypatch.setattr(installed, "OWN", (Recorded(),))
    rng = np.random.default_rng(5)
    for key, name in (
        ("dfedsgpsm.theorem_1", "unbalanced"),
        ("dfedadmm.theorem_1", "opposing"),
    ):
        arms = search_spaces(dfl.bounds.get(key, "corrected"))
        arm = next(f for f in arms if f.name.startswith("opposing") and name in f.name)
        batch = arm.decode(rng.random((8, arm.dimension)), arm.draw(rng))
        a, b = batch.W[:, 0, 1, 0], batch.W[:, 0, 0, 1]
        np.testing.assert_allclose(seen[-1].lam, 1 - a - b, atol=1e-12)
        np.testing.assert_allclose(seen[-1].heaviest, 2 * np.maximum(a, b) / (a + b))
        assert (np.ptp(seen[-1].heaviest) > 0) == (name == "unbalanced")
        if name == "opposing":
            ratio = batch.algorithm.lam / batch.algorithm.eta
            np.testing.assert_allclose(seen[-1].penalty / seen[-1].eta, ratio)
        else:
            assert seen[-1].penalty is None


def test_drift_without_a_network_is_the_closed_form_of_local_steps():
    at = RoundData(np.array([0.1]), np.array([0.0]), np.array([0.0]), 3)
    k = np.array([[1.0, 0.25]])
    q = (1 - 0.1 * k[0]) ** 3
    expected = ((1 - q) * [1, -1]).sum() / (1 - q).sum()
    np.testing.assert_allclose(drift_limit(k, at)[0], expected)
    assert expected != pytest.approx((1 - 0.25) / 1.25, rel=1e-3)


@pytest.mark.slow
def test_the_printed_theorem_of_dfedsam_falls_from_a_common_start():
    printed = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    (_, strict), _, (_, whole) = readings(printed)
    assert strict.scope.common_start
    assert whole is printed
    arms = [
        f
        for f in search_spaces(strict)
        if f.name.startswith("opposing gradients, K = 5")
    ]
    (arm,) = search(strict, arms, 200, 0, 3.0)
    point = arm.points[arm.best][None]
    batch, scores = arm.candidates(point), arm.evaluate(point)
    assert (batch.x0 == batch.x0[:, :1]).all()
    certificate = certify(batch.alone(0, scores.x0, int(scores.T[0])), printed)
    assert certificate.violated
    assert certificate.core_at_horizon > 3


@pytest.mark.slow
def test_search_tries_the_strictest_reading_first():
    found = falsify("dfedsam.theorem_4_5", "printed", seconds=1, seed=3)
    assert next(iter(found.readings)) == "common start"
    assert found.evaluations == sum(
        one["evaluations"] for one in found.families.values()
    )
    refuted = [name for name, one in found.readings.items() if one["violated"]]
    assert found.violated == bool(refuted)
    if refuted:
        assert found.ratio == found.readings[refuted[0]]["ratio"]
    corrected = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    assert readings(corrected) == [("common start", corrected)]
