"""Limits for means of squared norms agree with the distribution that defines them, and
have the stated error rates.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dfltheory.confidence import (
    half_widths,
    mean_lower_limits,
    standard_errors,
    upper_limits,
)


def fiducial(samples, draws=400_000):
    """Draw E Y = mu^4 + 6 mu^2 s^2 + 3 s^4 given the fourth roots of ``samples``,
    literally.
    """
    rng, n = np.random.default_rng(1), len(samples)
    x = samples**0.25
    s = x.std(ddof=1) * np.sqrt((n - 1) / rng.chisquare(n - 1, size=draws))
    mu = x.mean() + s * rng.normal(size=draws) / np.sqrt(n)
    return mu**4 + 6 * mu**2 * s**2 + 3 * s**4


@pytest.mark.drawn(3)
@pytest.mark.parametrize("n", [4, 8, 30])
@pytest.mark.parametrize("tail", [0.025, 0.1])
def test_limits_are_quantiles_of_the_law_of_the_mean(n, tail):
    rng = np.random.default_rng(n)
    for freedom in (1, 3, 40):
        samples = rng.chisquare(freedom, size=n)
        drawn = fiducial(samples)
        mean = samples.mean()
        high, low = np.quantile(drawn, [1 - tail, tail])
        student = half_widths(samples[:, None], tail)[0]
        found = upper_limits(samples[:, None], tail)[0]
        assert found - mean == pytest.approx(max(high - mean, student), rel=0.06)
        assert mean_lower_limits(samples[:, None], tail)[0] == pytest.approx(
            low, rel=0.04
        )


def test_student_half_widths():
    data = np.array([[1.0, 5.0], [3.0, 5.0]])
    assert half_widths(data, 0.025) == pytest.approx([stats.t.isf(0.025, 1) * 1.0, 0.0])
    assert half_widths(data, np.array([0.025, 0.1]))[0] == half_widths(data, 0.025)[0]
    assert list(half_widths(data[:1], 0.025)) == [np.inf, np.inf]
    assert standard_errors(data) == pytest.approx([1.0, 0.0])


@pytest.mark.drawn(2)
@pytest.mark.parametrize("n", [2, 3, 5, 16, 64])
def test_the_upper_limit_fails_no_more_often_than_it_says_for_any_squared_norm(n):
    rng, trials = np.random.default_rng(2), 20_000
    # three standard deviations for that many trials
    for tail, slack in ((0.025, 0.0035), (0.002, 0.001)):
        for freedom in (1, 2, 4, 10, 200):
            data = rng.chisquare(freedom, size=(n, trials)) / freedom
            fails = np.mean(upper_limits(data, tail) < 1)
            assert 0.3 * tail <= fails <= tail + slack, (tail, freedom, fails)
    data = (1 + rng.normal(size=(n, trials))) ** 2 / 2  # not centred
    assert 0.005 <= np.mean(upper_limits(data, 0.025) < 1) <= 0.0285
    data = rng.chisquare(1, size=(n, trials))  # why Student's limits are not enough
    assert np.mean(data.mean(axis=0) + half_widths(data, 0.025) < 1) > 0.06


@pytest.mark.parametrize("n", [8, 16])
def test_the_lower_limit_fails_hardly_more_often_than_it_says(n):
    rng = np.random.default_rng(2)
    for freedom in (1, 2, 10, 200):
        data = rng.chisquare(freedom, size=(n, 20_000)) / freedom
        fails = np.mean(mean_lower_limits(data, 0.025) > 1)
        assert 0.02 <= fails <= 1.4 * 0.025 + 0.0035


def test_where_nothing_scatters_much_the_limits_are_students():
    data = 1e3 + np.random.default_rng(0).normal(size=(16, 50))
    half = half_widths(data, 0.025)
    assert upper_limits(data, 0.025) - data.mean(axis=0) == pytest.approx(
        half, rel=0.01
    )
    assert data.mean(axis=0) - mean_lower_limits(data, 0.025) == pytest.approx(
        half, rel=0.01
    )
    assert np.all(upper_limits(data, 0.025) >= data.mean(axis=0) + half)


def test_what_is_no_squared_norm_has_students_limits():
    data = np.random.default_rng(0).normal(size=(16, 50))
    half = half_widths(data, 0.025)
    assert np.array_equal(upper_limits(data, 0.025), data.mean(axis=0) + half)
    assert np.array_equal(mean_lower_limits(data, 0.025), data.mean(axis=0) - half)
    still = np.full((4, 1), 3.0)
    assert upper_limits(still, 0.025)[0] == mean_lower_limits(still, 0.025)[0] == 3.0
    assert upper_limits(0 * still, 0.025)[0] == 0.0
    assert upper_limits(still[:1], 0.025)[0] == np.inf
    assert mean_lower_limits(still[:1], 0.025)[0] == -np.inf


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 9), st.integers(1, 4)),
        elements=st.floats(0, 100, width=32),
    ),
    st.floats(1e-6, 0.4),
    st.sampled_from([1e-9, 7.0, 1e9]),
)
def test_limits_scale_and_are_in_order(data, tail, scale):
    high, low, mean = (
        upper_limits(data, tail),
        mean_lower_limits(data, tail),
        data.mean(axis=0),
    )
    slack = 1e-9 * (1 + mean)
    assert np.all(high >= mean + half_widths(data, tail) - slack)
    assert np.all(low <= high + slack)
    assert np.all(upper_limits(data, tail / 2) >= high - 1e-6 * (1 + high))
    assert np.all(mean_lower_limits(data, tail / 2) <= low + 1e-6 * (1 + high))
    assert upper_limits(scale * data, tail) == pytest.approx(
        scale * high, rel=1e-6, abs=1e-12 * scale
    )
    assert mean_lower_limits(scale * data, tail) == pytest.approx(
        scale * low, rel=1e-6, abs=1e-9 * scale
    )
