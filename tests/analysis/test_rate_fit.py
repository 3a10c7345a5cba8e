"""Fitted exponents: exact on power laws, honest intervals, and the rates of exact recursions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.analysis.exact import exact_history
from dfltheory.analysis.rate_fit import (
    fit_exponent,
    fit_regimes,
    judge,
    linear_speed_up,
    rate_fit,
    transient_time,
)
from dfltheory.errors import InputError


@given(st.floats(-3, 3), st.floats(0.01, 100))
def test_a_power_law_is_found_exactly(exponent, scale):
    x = np.geomspace(1, 1e4, 7)
    found = fit_exponent(x, scale * x**exponent)
    assert found.estimate == pytest.approx(exponent, abs=1e-10)
    assert found.low <= exponent + 1e-9
    assert found.high >= exponent - 1e-9
    assert found.high - found.low < 1e-8
    assert found.at(50.0) == pytest.approx(scale * 50.0**exponent, rel=1e-8)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 100, 8)
    noisy = x**-0.5 * np.exp(0.3 * rng.standard_normal((2000, 8)))
    inside = [f.low <= -0.5 <= f.high for f in (fit_exponent(x, y, 0.9, bend=False) for y in noisy)]
    assert 0.88 <= np.mean(inside) <= 0.92


def test_a_curve_that_bends_has_a_wide_interval():
    x = np.geomspace(1, 1e4, 9)
    found = fit_exponent(x, 1 / x + 0.1 / np.sqrt(x))
    assert found.low < -0.9
    assert found.high > -0.6


def test_two_regimes_meet_at_their_knee():
    x = np.geomspace(1, 1e6, 25)
    found = fit_regimes(x, np.maximum(100 / x, 1 / np.sqrt(x)))
    assert found.before.estimate == pytest.approx(-1, abs=0.02)
    assert found.after.estimate == pytest.approx(-0.5, abs=0.02)
    assert found.knee == pytest.approx(1e4, rel=0.3)
    assert found.gain > 10
    assert fit_regimes(x, x**-0.7 * np.exp(0.01 * np.sin(np.arange(25)))).gain < 3


def test_a_prediction_is_refuted_only_when_the_interval_excludes_it():
    x = np.geomspace(1, 100, 6)
    found = fit_exponent(x, x**-0.5)
    assert judge(found, -0.5 + 1e-6) == "faster"
    assert judge(found, -0.6) == "refuted"
    assert judge(fit_exponent(x, x**-0.5 * np.array([1, 1.1, 0.9, 1.1, 0.9, 1])), -0.55) == "consistent"
    assert judge(found, None) == "no prediction"


def at_schedule(T, m=4, sigma=1.0, K=2):
    """DFedAvg at the corollary's step size, in exact expectation, noise-dominated."""
    task = dfl.tasks.Quadratic(np.float64(1.0) * np.eye(1), np.zeros((m, 1)), sigma)
    eta = 1 / np.sqrt(K * T)
    W = np.full((m, m), 1 / m)
    return exact_history(dfl.algorithms.DFedAvg(eta=float(eta), K=K), task, W, rounds=int(T))


def test_the_noise_term_falls_as_one_over_root_t_and_one_over_m():
    fit = rate_fit("dfedsam.theorem_4_5", at_schedule, "T", [400, 1600, 6400], variant="corrected")
    assert fit.exponent.estimate == pytest.approx(-0.5, abs=0.05)
    assert fit.predicted == pytest.approx(-0.5, abs=1e-6)
    assert fit.standing == "consistent"
    wrong = rate_fit(
        "dfedsam.theorem_4_5", at_schedule, "T", [400, 1600, 6400], variant="corrected", predicted=-1.0
    )
    assert wrong.standing == "refuted"
    assert "refuted" in str(wrong)
    runs = [at_schedule(900, m=m).grad_norm_sq[0, 1:].mean() for m in (1, 2, 4, 8)]
    assert all(linear_speed_up(runs, [1, 2, 4, 8]).linear)
    assert not all(linear_speed_up([1.0, 0.9, 0.8], [1, 2, 4]).linear)
    square = [at_schedule(900, sigma=s).grad_norm_sq[0, 1:].mean() for s in (1.0, 2.0, 4.0)]
    assert fit_exponent([1, 2, 4], square).estimate == pytest.approx(2, abs=1e-9)


def test_transient_time_is_the_last_time_that_the_network_lags():
    t = np.arange(1, 101)
    one, many = 1 / np.sqrt(t), 1 / (4 * np.sqrt(t)) + 2 / t**2
    found = transient_time(one, many, 4)
    assert (one[found:] >= 0.9 * 4 * many[found:]).all()
    assert one[found - 1] < 0.9 * 4 * many[found - 1]
    assert transient_time(one, one, 4) is None
    assert transient_time(one, one / 4, 4) == 0


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 2, 3], [1, -1, 2]), ([1, 1, 1], [1, 2, 3])])
def test_points_that_make_no_power_law_are_refused(x, y):
    with pytest.raises(InputError):
        fit_exponent(x, y)
