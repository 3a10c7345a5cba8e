"""Measured over bound of many candidates at once is that of each alone, at its worst horizon."""

import dataclasses
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory.analysis.falsify import Instance
from dfltheory.analysis.falsify.certify import certify
from dfltheory.analysis.falsify.families import families
from dfltheory.analysis.falsify.ramps import Ramps, RampTask
from dfltheory.analysis.falsify.rounds import Batch, all_signs, run
from dfltheory.analysis.falsify.score import LONG, _each, _grid, _left, judged, score, violation
from dfltheory.bounds.theorem import Condition


def spoken(bound, *conditions, aggregate="mean", first=0, last=0):
    """A made-up statement: its bound by ``bound(T)``, its conditions (slack, holds) in turn."""
    checked = [(Condition(f"c{k}", 0, 1), slack, ok) for k, (slack, ok) in enumerate(conditions)]
    return SimpleNamespace(
        evaluate=lambda where, **values: bound(values["T"]),
        check_conditions=lambda **values: checked,
        lhs=SimpleNamespace(aggregate=aggregate, rounds=lambda T: range(first, T + last)),
    )


def test_the_worst_horizon_is_that_of_the_largest_ratio_among_those_with_a_bound():
    left = np.array([[1.0, 1.0, 2.0, 0.0], [3.0, np.nan, 1.0, 0.0], [2.0, 9.0, 1.0, 0.0]])
    T = np.repeat(np.array([[10], [20], [30]]), 4, 1)
    bounds = np.array([[0.5] * 4, [2.0] * 4, [0.25, 0.0, -1.0, 0.25]])
    valid, x0 = np.array([True] * 4), np.arange(8.0).reshape(4, 2)
    scores = judged(spoken(lambda T: bounds), left, {"T": T}, valid, x0)
    np.testing.assert_allclose(scores.ratio, [8.0, 2.0, 4.0, 0.0])
    np.testing.assert_array_equal(scores.T, [30, 10, 10, 10])
    np.testing.assert_allclose(scores.fitness, [*np.log10([8.0, 2.0, 4.0]), -30.0])
    assert scores.x0 is x0


def test_what_is_no_problem_has_no_ratio_and_is_led_inside_by_what_its_conditions_miss():
    left, T, x0 = np.ones((2, 3)), np.full((2, 3), 7), np.zeros((3, 2))
    bounds = np.array([[np.nan, np.nan, 1.0], [np.nan, np.nan, 1.0]])
    first = (np.array([-1.0, 5.0, 5.0]), np.array([False, True, True]))
    second = (np.array([-3.0, -0.25, 5.0]), np.array([False, False, True]))
    theorem = spoken(lambda T: bounds, first, second)
    scores = judged(theorem, left, {"T": T}, np.array([True, True, False]), x0)
    assert np.isnan(scores.ratio).all()
    np.testing.assert_allclose(scores.fitness, [-1000 - 0.5 - 0.75, -1000 - 0.2, -1000.0])
    np.testing.assert_allclose(violation(theorem, {}), [0.5 + 0.75, 0.2, 0.0])


def test_left_sides_are_minima_or_means_over_the_rounds_of_the_statement_the_last_one_repeating():
    data = np.array([[4.0, 1.0], [3.0, 1.0], [1.0, 2.0], [2.0, 8.0]])
    path = SimpleNamespace(slope_sq=data, still=np.array([True, False]))
    mean, least = spoken(None), spoken(None, aggregate="min", first=1, last=1)
    np.testing.assert_allclose(_left(mean, path, 2, simulated=True), [3.5, 1.0])
    np.testing.assert_allclose(_left(least, path, 2, simulated=True), [1.0, 1.0])
    np.testing.assert_allclose(_left(mean, path, 10, simulated=False), [(10 + 6 * 2) / 10, np.nan])
    np.testing.assert_allclose(_left(least, path, 10, simulated=False), [1.0, np.nan])
    np.testing.assert_allclose(_each(mean, path, np.array([2, 4])), [3.5, 3.0])
    np.testing.assert_allclose(_each(least, path, np.array([1, 3])), [3.0, 1.0])
    assert _grid(300)[0] == 2
    assert _grid(300)[-1] == 299
    assert len(_grid(300)) == 12
    assert max(LONG) == 10**9


def test_a_state_stands_still_once_it_moves_by_less_than_the_rounding_of_its_size():
    one = np.ones((4, 1, 1))
    steps = np.array([3e-13, 2e-12, 3e-19, 2e-18])  # of states of the sizes 1000 and 0.001
    clients = Ramps(0 * one, 0 * one, one, -one[..., 0])
    start = np.array([[1000.0], [1000.0], [1e-3], [1e-3]])
    path = run(Batch("dfedsam", clients, start, steps, one), 3)
    np.testing.assert_array_equal(path.still, [True, False, True, False])


def test_both_gradients_of_a_sam_step_see_the_same_minibatch_in_every_outcome():
    """A literal run of every outcome: f_1' = clip(x - 1, -2, 2), f_2' = clip(x + 1, -2, 2), noise +-sigma."""
    eta, rho, sigma, T, K, w = 0.3, 0.7, 1.5, 2, 2, 0.2
    total, most = np.zeros(T + 1), {}
    for outcome in product([-1, 1], repeat=T * K * 2):
        noise, x = sigma * np.array(outcome).reshape(T, K, 2), np.array([0.3, -0.4])
        for t in range(T + 1):
            total[t] += np.mean([np.clip(x.mean() - c, -2, 2) for c in (1, -1)]) ** 2 / 2 ** (T * K * 2)
            if t == T:
                break
            for k in range(K):
                g = np.clip(x - [1, -1], -2, 2) + noise[t, k]
                g = np.clip(x + rho * np.sign(g) - [1, -1], -2, 2) + noise[t, k]
                most[t, k] = most.get((t, k), 0.0) + (g**2).mean() / 2 ** (T * K * 2)
                x = x - eta * g
            x = np.array([(1 - w) * x[0] + w * x[1], w * x[0] + (1 - w) * x[1]])
    clients = Ramps(
        np.array([[[-1.0], [-3.0]]]), np.full((1, 2, 1), 4.0), np.ones((1, 2, 1)), np.full((1, 2), -2.0)
    )
    W, steps = np.array([[[1 - w, w], [w, 1 - w]]]), np.array([eta])
    start, noisy = np.array([[0.3, -0.4]]), {"sigma": np.array([sigma]), "signs": all_signs(T, K, 2)}
    path = run(Batch("dfedsam", clients, start, steps, W, K, rho=np.array([rho]), **noisy), T)
    np.testing.assert_allclose(path.slope_sq[:, 0], total, rtol=1e-12)
    assert path.moment[0] == pytest.approx(max(most.values()), rel=1e-12)


@pytest.mark.parametrize(
    "word", ["piecewise, K = 2, two", "sinusoidal, K = 3, two", "directed, K = 1, three"]
)
def test_the_constants_of_a_batch_are_those_of_each_problem_alone(word):
    family = next(f for f in families("dfedsgpsm") if word in f.name)
    clients = family.decode(np.random.default_rng(1).random((7, family.dimension)))[0].clients
    together = clients.constants()
    for index in range(7):
        alone = type(clients)(
            *(getattr(clients, f.name)[index : index + 1] for f in dataclasses.fields(clients))
        )
        for name, value in alone.constants().items():
            assert float(value[0]) == pytest.approx(float(together[name][index]), rel=1e-12, abs=1e-12)


def test_the_curvature_of_ramps_is_the_slope_of_their_gradient():
    rng = np.random.default_rng(2)
    task = RampTask(rng.normal(size=(2, 3)), rng.uniform(0.5, 1, (2, 3)), rng.normal(size=(2, 3)), [0.0, 0.0])
    x = torch.tensor(rng.normal(size=(5, 2, 1)))
    slope = (task.client_gradient(x + 1e-7) - task.client_gradient(x - 1e-7)) / 2e-7
    np.testing.assert_allclose(task.hessian(x)[..., 0], slope, atol=1e-6)


CASES = [
    ("dfedsam.theorem_4_5", "corrected", "piecewise, K = 2, two"),
    ("dfedsam.theorem_4_5", "corrected_init", "piecewise, K = 2, Q = 2, two"),
    ("dfedsam.theorem_4_5", "corrected_weighted", "minibatch, K = 2"),
    ("dfedadmm.theorem_1", "corrected", "sinusoidal, K = 3, two"),
    ("dfedadmm.theorem_1", "corrected_b1", "minibatch, K = 1, T = 4"),
    ("dfedsgpsm.theorem_1", "corrected", "directed, K = 2, three"),
    ("dfedsgpsm.theorem_1", "corrected_minimal", "minibatch, K = 2"),
]


@pytest.mark.parametrize(("key", "variant", "word"), CASES)
def test_the_ratio_of_a_candidate_is_the_one_that_is_certified_of_it_alone(key, variant, word):
    theorem = dfl.bounds.get(key, variant)
    family = next(f for f in families(key.split(".")[0]) if word in f.name)
    batch, network = family.decode(np.random.default_rng(3).random((256, family.dimension)))
    rounds = min(family.rounds, 60)
    with np.errstate(all="ignore"):
        scores = score(theorem, batch, network, rounds)
    told = np.flatnonzero(np.isfinite(scores.ratio) & (scores.ratio > 0))
    assert len(told) >= 2
    for index in told[np.argsort(-scores.ratio[told])][:2]:
        instance = Instance.of(key, variant, family.name, batch, index, scores.x0, int(scores.T[index]))
        seen = certify(instance, theorem)
        assert not seen.obstacles
        assert seen.exact["ratio"] == pytest.approx(scores.ratio[index], rel=1e-6)
        assert scores.fitness[index] == pytest.approx(np.log10(scores.ratio[index]))
        assert not instance.noisy or family.rounds == instance.T
