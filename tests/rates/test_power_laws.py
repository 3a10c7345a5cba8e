"""Fitted exponents are exact on power laws, and intervals have the stated coverage."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.errors import InputError
from dfltheory.rates import Exponent, fit_exponent, judge
from dfltheory.rates.power_laws import limiting_slope
from validation.rate_errors import LAWS, false_alarms


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
    inside = [
        f.low <= -0.5 <= f.high
        for f in (fit_exponent(x, y, 0.9, bend=False) for y in noisy)
    ]
    assert 0.88 <= np.mean(inside) <= 0.92


def test_a_curve_that_bends_has_a_wide_interval():
    x = np.geomspace(1, 1e4, 9)
    found = fit_exponent(x, 1 / x + 0.1 / np.sqrt(x))
    assert found.low < -0.9
    assert found.high > -0.6


def test_an_exponent_is_worse_only_when_the_interval_excludes_the_prediction():
    x = np.geomspace(1, 100, 6)
    found = fit_exponent(x, x**-0.5)
    assert judge(found, -0.5 + 1e-6) == "consistent"
    assert judge(found, -0.5 - 1e-9) == "consistent"  # up to rounding
    assert judge(found, -0.4) == "consistent"
    assert judge(found, -0.6) == "worse"
    assert (
        judge(fit_exponent(x, x**-0.5 * np.array([1, 1.1, 0.9, 1.1, 0.9, 1])), -0.55)
        == "consistent"
    )
    assert judge(found, None) == "undecided"


@pytest.mark.parametrize(
    ("x", "y"), [([1, 2], [1, 2]), ([1, 2, 3], [1, -1, 2]), ([1, 1, 1], [1, 2, 3])]
)
def test_points_that_make_no_power_law_are_refused(x, y):
    with pytest.raises(InputError):
        fit_exponent(x, y)


# -- noise, bends, and extrapolation


def planted(rng, exponent=-0.5, seeds=12, points=6, noise=0.2, common=0.0):
    """Simulate one experiment: means over seeds of x^exponent with relative noise, some
    of it shared by the points.
    """
    x = np.geomspace(1, 100, points)
    chance = noise * (
        np.sqrt(1 - common) * rng.standard_normal((seeds, points))
        + np.sqrt(common) * rng.standard_normal((seeds, 1))
    )
    samples = x**exponent * (1 + chance)
    y = samples.mean(axis=0)
    return x, y, samples / y - 1


@pytest.mark.drawn(1)
@pytest.mark.parametrize("common", [0.0, 0.9])
def test_the_interval_over_seeds_covers_as_often_as_it_says(common):
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(1500):
        x, y, deviations = planted(rng, common=common)
        found = fit_exponent(x, y, deviations=deviations, bend=False)
        inside.append(found.low <= -0.5 <= found.high)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_shared_chance_narrows_the_interval_of_the_slope():
    rng = np.random.default_rng(2)
    wide, narrow = (
        np.mean([e.high - e.low for e in (fitted(rng, common) for _ in range(50))])
        for common in (0.0, 0.99)
    )
    assert narrow < 0.2 * wide


def fitted(rng, common):
    x, y, deviations = planted(rng, common=common)
    return fit_exponent(x, y, deviations=deviations, bend=False)


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_a_right_prediction_is_seldom_contradicted_and_a_wrong_one_always_at_enough_seeds(
    count,
):
    rng = np.random.default_rng(3)
    right, wrong = [], []
    for _ in range(count):
        x, y, deviations = planted(rng)
        found = fit_exponent(x, y, deviations=deviations, limit="up")
        right.append(judge(found, -0.5) == "worse")
        x, y, deviations = planted(rng, exponent=-0.4, noise=0.05, seeds=24)
        wrong.append(
            judge(fit_exponent(x, y, deviations=deviations, limit="up"), -0.5)
            == "worse"
        )
    assert np.mean(right) <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / count)
    assert np.mean(wrong) > 0.9


def test_a_straight_line_is_seldom_called_bent_and_a_bent_one_is_seen():
    rng = np.random.default_rng(4)
    straight = []
    for _ in range(400):
        x, y, deviations = planted(rng)
        straight.append(fit_exponent(x, y, deviations=deviations).bends)
    assert np.mean(straight) <= 0.09
    x, y, deviations = planted(rng, noise=0.02)
    assert fit_exponent(x, y * (1 + 3 / x), deviations=deviations).bends
    assert not fit_exponent(x, y * (1 + 3 / x), deviations=deviations, bend=False).bends


def test_without_any_chance_at_a_point_only_an_exact_line_is_straight():
    x = np.geomspace(1, 100, 5)
    deviations = np.zeros((4, 5))
    assert not fit_exponent(x, x**-0.5, deviations=deviations).bends
    assert fit_exponent(x, x**-0.5 + 0.001 / x, deviations=deviations).bends


def test_slopes_lead_to_the_exponent_of_the_term_that_wins():
    x = 2.0 ** np.arange(10, 16)
    y = x**-0.5 + 3 / x
    slopes = np.diff(np.log(y)) / np.diff(np.log(x))
    assert abs(slopes[-1] + 0.5) > 0.005
    assert limiting_slope(x, y, "up") == pytest.approx(-0.5, abs=5e-4)
    assert limiting_slope(1 / x, y, "down") == pytest.approx(0.5, abs=5e-4)
    # in the other direction, towards small x, the same curve has the exponent -1
    near = 2.0 ** np.arange(-6, 0)
    assert limiting_slope(near, near**-0.5 + 3 / near, "down") == pytest.approx(
        -1, abs=5e-3
    )


def test_slopes_that_gather_speed_lead_anywhere_and_slopes_that_waver_nowhere():
    x = 2.0 ** np.arange(6)
    assert limiting_slope(x, 1 / (1 + 1e-4 * x**2), "up") == -np.inf
    assert limiting_slope(x, 1 + 1e-4 * x**2, "up") == np.inf
    assert limiting_slope(x, x**-0.7, "up") == pytest.approx(-0.7, abs=1e-12)
    wavering = np.exp(np.cumsum([0, -1, -1.2, -1.0, -1.2]))
    assert limiting_slope(x[:5], wavering, "up") == pytest.approx(-1.2 / np.log(2))
    three = limiting_slope([1, np.e, np.e**2], np.exp([0, -1, -1.5]), "up")
    # slopes -1, -1/2, one change of 1/2, and as much again
    assert three == pytest.approx(0.0)


def test_a_flat_start_does_not_refute_a_rate_that_is_yet_to_come():
    x = np.array([1.0, 2, 4, 8, 16])
    y = 1 / np.sqrt(1 + 0.01 * x)
    assert judge(fit_exponent(x, y), -0.5) == "worse"
    assert judge(fit_exponent(x, y, limit="up"), -0.5) == "undecided"
    late = 2.0 ** np.arange(20, 25)
    assert judge(fit_exponent(late, late**-0.4 + 1 / late, limit="up"), -0.5) == "worse"


def test_a_gap_shrinks_and_so_the_smaller_exponent_is_the_worse():
    x = np.geomspace(0.01, 0.1, 4)
    found = fit_exponent(x, x**-2)
    assert judge(found, -1, "1 - lam") == "worse"
    assert judge(found, -3, "1 - lam") == "consistent"
    assert judge(found, -1.95, "1 - lam", slack=0.1) == "consistent"
    assert judge(found, -3) == "worse"
    assert judge(found, -2.05, slack=0.1) == "consistent"
    assert judge(found, -2.05) == "worse"


@pytest.mark.parametrize(
    "changes",
    [
        {"confidence": 1.0},
        {"deviations": np.zeros((1, 4))},
        {"deviations": np.zeros((3, 3))},
    ],
)
def test_impossible_intervals_are_rejected(changes):
    x = np.geomspace(1, 8, 4)
    with pytest.raises(InputError):
        fit_exponent(x, 1 / x, **changes)


def test_an_unbounded_interval_decides_nothing():
    rising = Exponent(-0.4, -0.5, np.inf, 0.0)
    falling = replace(rising, low=-np.inf, high=-0.4)
    assert judge(rising, -0.5) == "undecided"
    assert judge(rising, -0.6) == "worse"
    assert judge(falling, -0.5) == "undecided"
    assert judge(falling, -0.3) == "consistent"
    assert judge(falling, -0.5, "1 - lam") == "undecided"
    assert judge(falling, -0.3, "1 - lam") == "worse"
    assert judge(rising, -0.6, "1 - lam") == "consistent"


@pytest.mark.parametrize(
    ("law", "most"), [("normal(1, 0.2)", 0.05), ("lognormal(2)", 0.13)]
)
def test_false_alarms_are_as_rare_as_the_documented_table_states(law, most):
    assert false_alarms(LAWS[law], 8, trials=300) <= most


def test_a_limit_needs_three_different_x_whether_or_not_the_points_bend():
    y, samples = [1, 1.1, 0.5], [[0.1, 0.0, 0.1], [-0.1, 0.0, -0.1]]
    for options in ({}, {"deviations": samples}, {"bend": False}):
        with pytest.raises(InputError, match="distinct x"):
            fit_exponent([1, 1, 2], y, limit="up", **options)
        assert np.isfinite(fit_exponent([1, 1, 2], y, **options).estimate)


@pytest.mark.parametrize("limit", ["sideways", "UP", ""])
def test_an_unknown_limit_is_rejected(limit):
    x = np.array([1.0, 2.0, 4.0, 8.0])
    with pytest.raises(InputError, match="limit"):
        fit_exponent(x, 1 + x, limit=limit)
