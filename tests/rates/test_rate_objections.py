"""Measurements that must not refute true theorems."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import GLOSSARY, Condition, LeftSide, Scope, Theorem
from dfltheory.errors import InputError
from dfltheory.rates import fit_exponent, fit_points, rate_fit

A = dfl.algorithms
MEAN = np.full((2, 2), 0.5)
S = {name: quantity.symbol for name, quantity in GLOSSARY.items()}
HORIZONS = [20, 40, 80, 160]


def descent(aggregate="mean", **changes):
    """Gradient descent:

    grad f

    ^2 <= 2 f0_gap/(eta T) on complete networks.
    """
    fields = {
        "key": "mine.descent",
        "variant": "printed",
        "kind": "theorem",
        "title": "descent",
        "source": "descent lemma",
        "lhs": LeftSide(measure="grad_norm_sq", aggregate=aggregate),
        "parts": {"start": 2 * S["f0_gap"] / (S["eta"] * S["T"])},
        "schedule": {"eta": 1 / (2 * S["L"])},
        "conditions": (
            Condition("step", S["eta"] * S["L"], sp.Integer(1)),
            Condition("no noise", S["sigma_l"], sp.Integer(0)),
            Condition("complete", S["lam"], sp.Integer(0)),
        ),
        "scope": Scope(("DFedAvg",), network="doubly stochastic", common_start=True),
    }
    return Theorem(**(fields | changes))


def quadratic(noise=0.0):
    return dfl.tasks.Quadratic([0.7, 0.31], [[1 / 3, 0.1], [0.7, 0.2]], noise=noise)


def descended(T, algorithm=None, **options):
    task = quadratic()
    if algorithm is None:
        algorithm = A.DFedAvg(eta=1 / (2 * task.constants.L), K=1)
    return dfl.train(
        algorithm,
        task,
        MEAN,
        rounds=int(T),
        x0=np.ones(2),
        progress=False,
        **options,
    )


def experiment(noise=0.0, factor=1.0):
    task = quadratic(noise)
    eta = factor / (2 * task.constants.L)
    return dfl.Instance(task, A.DFedAvg(eta=eta, K=1), MEAN, rounds=40, x0=np.ones(2))


# -- runs that the theorem does not cover


@pytest.mark.drawn(1)
@pytest.mark.parametrize("over", [HORIZONS, [250, 500, 1000]], ids=["runs", "closed"])
def test_a_rate_is_not_judged_by_runs_on_which_a_condition_fails(over):
    found = rate_fit(descent(), experiment(noise=1.0), "T", over)
    assert found.exponent.low > -0.5
    assert found.verdict == "undecided"
    assert "no noise" in found.reason
    assert rate_fit(descent(), experiment(), "T", over).verdict == "consistent"


def test_a_rate_is_not_judged_by_runs_of_another_algorithm():
    momentum = A.DFedAvgM(eta=1 / (2 * quadratic().constants.L), K=1, alpha=0.9)
    runs = partial(descended, algorithm=momentum)
    found = rate_fit(descent(), runs, "T", HORIZONS)
    assert found.verdict == "undecided"
    assert "DFedAvgM" in found.reason


def test_a_claim_of_the_caller_is_judged_on_every_run():
    noisy = rate_fit(descent(), experiment(noise=1.0), "T", HORIZONS, predicted=-1)
    assert noisy.verdict == "worse"


def test_a_lower_bound_is_not_judged_by_the_exponent_of_a_run():
    found = rate_fit(descent(kind="lower bound"), experiment(), "T", HORIZONS)
    assert found.verdict == "undecided"


def test_an_order_of_growth_is_judged_without_its_constant():
    order = descent(order=True, parts={"start": S["L"] * S["f0_gap"] / S["T"]})
    assert rate_fit(order, experiment(), "T", HORIZONS).verdict == "consistent"
    faster = descent(order=True, parts={"start": S["L"] * S["f0_gap"] / S["T"] ** 2})
    assert rate_fit(faster, experiment(), "T", HORIZONS).verdict == "worse"


def test_a_corollary_is_not_judged_at_a_multiple_of_its_step_sizes():
    # at eta = 2/L gradient descent oscillates for ever
    stated = descent(parts={"start": 4 * S["L"] * S["f0_gap"] / S["T"]}, conditions=())
    found = rate_fit(stated, experiment(factor=4.0), "T", HORIZONS)
    assert found.measured[-1] > found.bound[-1]
    assert found.verdict == "undecided"
    assert "eta" in found.reason
    assert rate_fit(stated, experiment(), "T", HORIZONS).verdict == "consistent"


def test_the_exponent_of_points_above_a_bound_of_a_wrong_rate_is_worse():
    wrong = descent(
        parts={"start": 2 * S["L"] * S["f0_gap"] / S["T"] ** 2}, conditions=()
    )
    found = rate_fit(wrong, experiment(), "T", HORIZONS)
    assert (found.predicted, found.verdict, found.reason) == (-2, "worse", "")


# -- rounds that were not measured


@pytest.mark.parametrize("aggregate", ["mean", "min", "sum"])
def test_rounds_that_were_not_measured_are_rejected(aggregate):
    def at_the_ends(T):
        return descended(T, evaluate_every=int(T))

    with pytest.raises(InputError, match="evaluate_every"):
        rate_fit(descent(aggregate), at_the_ends, "T", HORIZONS)


def test_runs_that_a_callback_stopped_are_rejected():
    def stops(t, state, run):
        return t >= 10

    with pytest.raises(InputError, match="callback"):
        rate_fit(descent(), partial(descended, callbacks=[stops]), "T", HORIZONS)


# -- points at the rounding error of zero, and points below the bound


@pytest.mark.drawn(1)
@pytest.mark.parametrize("run", [descended, None], ids=["runs", "exact"])
def test_points_at_the_rounding_error_of_zero_do_not_count(run):
    converged = [150, 300, 600, 1200]
    found = rate_fit(descent("min"), run or experiment(), "T", converged)
    assert max(found.measured) < 1e-30
    assert found.verdict == "undecided"
    assert "rounding" in found.reason
    assert found.plot() is not None


@pytest.mark.parametrize("rounded", [False, True])
def test_the_bound_is_fitted_at_the_points_that_exceed_their_rounding(rounded):
    """The exponent of 0.81^T depends on the horizons at which it is fitted."""
    T = [50.0, 100.0, 200.0, 400.0]
    bound = [0.81**horizon for horizon in T]
    measured = [*bound[:3], 1e-32 if rounded else bound[3]]
    points = [False, False, False, rounded]
    found = fit_points("T", T, measured, bound, rounded=points, has_constants=False)
    assert found.exponent.estimate == pytest.approx(found.predicted)
    assert found.verdict != "worse"


def test_the_points_above_rounding_are_fitted_alone():
    x = [1, 2, 4, 8, 16]
    y = [1, 0.5, 0.25, 1e-33, 1e-33]
    found = fit_points("T", x, y, y, rounded=[False] * 3 + [True] * 2)
    assert found.exponent.estimate == pytest.approx(-1)
    assert found.measured == tuple(y)


def slow_descent(*, noise):
    """Return a descent with such a small step size that no horizon shows the rate."""
    parts = {"start": 2 * S["f0_gap"] / (S["eta"] * S["T"])}
    if noise:
        parts["noise"] = S["L"] * S["eta"] * S["sigma_l"] ** 2
    return descent(
        parts=parts,
        schedule={"eta": 1 / (1000 * S["L"] * sp.sqrt(S["T"]))},
        conditions=(Condition("step", S["eta"] * S["L"], sp.Integer(1)),),
    )


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seeds", [4, 20])
@pytest.mark.parametrize("starts", ["one start", "own starts"])
def test_points_far_below_the_bound_do_not_refute_its_exponent(starts, seeds):
    task = dfl.tasks.Quadratic(1.0, [[0.0]] * 2, noise=1.0)
    x0 = np.ones((seeds, 1, 1))
    if starts == "own starts":
        x0 = 1 + 0.5 * np.random.default_rng(0).standard_normal((seeds, 1, 1))

    def run(T):
        return dfl.train(
            A.DFedAvg(eta=1 / (1000 * np.sqrt(T)), K=1),
            task,
            MEAN,
            rounds=int(T),
            seeds=seeds,
            x0=np.repeat(x0, 2, 1),
            progress=False,
        )

    theorem = slow_descent(noise=True)
    found = rate_fit(theorem, run, "T", [4, 8, 16, 32, 64])
    assert found.exponent.estimate == pytest.approx(0, abs=0.01)
    assert all(y < b for y, b in zip(found.measured, found.bound, strict=True))
    assert found.verdict == "undecided"
    # nor if the bound's constants are unknown
    points = found.x, found.measured, [np.nan] * 5
    prediction = dfl.rates.predict(theorem, "T", [{"T": T} for T in found.x])
    unknown = fit_points("T", *points, prediction=prediction)
    assert unknown.verdict == "undecided"


def test_points_below_a_bound_contradict_an_exponent_that_the_caller_states():
    x = np.array([10, 20, 40, 80])
    stated = fit_points("T", x, 1 / x, 10 / x, predicted=-2.0)
    assert stated.verdict == "worse"


# -- bends


def test_a_bend_is_found_though_the_points_share_a_random_start():
    x = 2.0 ** np.arange(5)
    rng = np.random.default_rng(1)
    y = 1 / (1 + x / 20)
    shared = rng.standard_normal((8, 1)) + 1e-4 * rng.standard_normal((8, 5))
    assert fit_exponent(x, y, deviations=shared - shared.mean(axis=0)).bends
    own = rng.standard_normal((8, 5))
    assert not fit_exponent(x, y, deviations=own - own.mean(axis=0)).bends


def test_a_power_law_seldom_bends_at_the_level_of_the_test():
    x, rng = 2.0 ** np.arange(5), np.random.default_rng(2)
    bends = 0
    for _ in range(400):
        samples = x**-0.5 * (1 + 0.2 * rng.standard_normal((6, 5)))
        y = samples.mean(axis=0)
        bends += fit_exponent(x, y, deviations=samples / y - 1).bends
    assert bends <= 0.08 * 400


def test_equal_x_leave_no_contrast_and_no_bend():
    y = np.array([1.0, 1.1, 0.5])
    samples = np.array([[0.1, 0.0, -0.1], [-0.1, 0.0, 0.1]])
    assert not fit_exponent([1, 1, 2], y, deviations=samples).bends


def test_exact_points_bend_whatever_the_deviations_of_others():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    exact = np.zeros((3, 4))
    assert fit_exponent(x, x**-0.5 + 0.1 / x, deviations=exact).bends
    assert not fit_exponent(x, x**-0.5, deviations=exact).bends


def test_a_measured_point_keeps_what_was_measured():
    measured = dfl.rates.measure(experiment(noise=1.0), descent())
    assert measured.obstacle is not None
    assert not measured.rounded
    assert (
        rate_fit(descent(), partial(_point, measured), "T", HORIZONS).verdict
        == "undecided"
    )


def _point(measured, T):
    return replace(measured, estimate=1.0, values={**measured.values, "T": T})
