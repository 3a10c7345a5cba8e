"""The confidence intervals: exact small cases, laws, and the coverage that they really have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dfltheory.analysis.statistics import Interval, mean_interval, min_interval, seeds_needed
from dfltheory.errors import InputError

samples = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 6), st.integers(1, 8)), elements=st.floats(0, 100, width=32)
)


def test_mean_interval_is_students():
    data = np.array([[1.0, 3.0], [2.0, 6.0], [5.0, 7.0]])  # seed means 2, 4, 6
    found = mean_interval(data, 0.95)
    half = 4.302652729911275 * 2.0 / np.sqrt(3)  # t quantile of 2 degrees at 0.975; standard deviation 2
    assert found.estimate == pytest.approx(4.0)
    assert found.high == pytest.approx(4.0 + half)
    assert found.low == pytest.approx(max(4.0 - half, 0))


def test_min_interval_uses_pointwise_limits_below_and_simultaneous_limits_above():
    data = np.array([[3.0, 10.0], [4.0, 10.0], [5.0, 10.0]])
    found = min_interval(data, 0.9)
    one, both = stats.t.isf(0.05, 2), stats.t.isf(0.025, 2)
    assert found.estimate == pytest.approx(4.0)
    assert found.low == pytest.approx(4.0 - one / np.sqrt(3))
    assert found.high == pytest.approx(min(4.0 + both / np.sqrt(3), 10.0))


@given(samples, st.floats(0.5, 0.99))
def test_intervals_contain_their_estimate_and_grow_with_confidence(data, confidence):
    for interval in (mean_interval, min_interval):
        narrow, wide = interval(data, confidence), interval(data, (1 + confidence) / 2)
        slack = 1e-9 * (1 + narrow.estimate)
        assert narrow.low - slack <= narrow.estimate <= narrow.high + slack
        assert wide.low <= narrow.low + slack
        assert narrow.high <= wide.high + slack


@given(samples)
def test_without_chance_the_interval_is_a_point(data):
    same = np.repeat(data[:1], 3, axis=0)
    found = min_interval(same, 0.95)
    assert found.low == pytest.approx(found.high) == pytest.approx(data[0].min())


def test_a_round_that_diverged_counts_as_infinitely_large():
    data = np.array([[1.0, np.inf], [1.2, 3.0]])
    assert min_interval(data, 0.95).estimate == pytest.approx(1.1)
    assert mean_interval(data, 0.95) == Interval(np.inf, np.inf, np.inf)
    assert min_interval(data[:, 1:], 0.95).low == np.inf


def test_one_seed_has_no_interval():
    found = min_interval(np.array([[2.0, 3.0]]), 0.95)
    assert (found.estimate, found.low, found.high) == (2.0, 0.0, np.inf)


@pytest.mark.parametrize(
    ("data", "confidence", "words"),
    [
        (np.ones(3), 0.95, "seeds, rounds"),
        (np.ones((0, 3)), 0.95, "empty"),
        (np.ones((2, 3)), 1.0, "between 0 and 1"),
        (np.ones((2, 3)), float("nan"), "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(data, confidence, words):
    with pytest.raises(InputError, match=words):
        min_interval(data, confidence)


def _coverage(interval, truth, draw, trials=1500):
    rng = np.random.default_rng(7)
    found = [interval(draw(rng), 0.95) for _ in range(trials)]
    return np.mean([f.low <= truth <= f.high for f in found])


def test_measured_coverage_of_the_mean():
    # squared norms of correlated Gaussians in 10 dimensions: what a gradient norm is on a quadratic
    def draw(rng):
        shared = rng.normal(size=(16, 1, 10))
        return ((shared + rng.normal(size=(16, 20, 10))) ** 2).mean(-1)

    # binomial error of 1500 trials at 0.95: 0.0056
    assert 0.93 <= _coverage(mean_interval, 2.0, draw) <= 0.97


def test_measured_coverage_of_the_minimum_is_at_least_nominal():
    # expectations fall from 3 to 2 over the rounds, so that several rounds compete for the minimum
    offset = np.linspace(1, 0, 20)

    def draw(rng):
        shared = rng.normal(size=(16, 1, 10))
        return offset + ((shared + rng.normal(size=(16, 20, 10))) ** 2).mean(-1)

    assert _coverage(min_interval, 2.0, draw) >= 0.94


def test_a_false_violation_of_the_minimum_is_rare():
    # every round has expectation exactly at the bound: claims "all rounds are above it" must stay below 2.5 %
    rng = np.random.default_rng(3)
    claims = [
        min_interval(((rng.normal(size=(16, 5, 10))) ** 2).mean(-1), 0.95).low > 1.0 for _ in range(1500)
    ]
    assert np.mean(claims) <= 0.025


def test_seeds_needed_scales_the_half_width_on_the_side_of_the_bound():
    found = Interval(1.0, 0.8, 1.4)
    assert seeds_needed(found, 1.1, 10) == 160  # half-width 0.4 must fall to 0.1: 16 times the seeds
    assert seeds_needed(found, 0.95, 10) == 160  # 0.2 to 0.05
    assert seeds_needed(found, 2.0, 10) == 10
    assert seeds_needed(found, 1.0, 10) is None
    assert seeds_needed(found, 1.1, 1) is None
    assert seeds_needed(Interval(1.0, 0.0, np.inf), 1.1, 5) is None
