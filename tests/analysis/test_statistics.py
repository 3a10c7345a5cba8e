"""The confidence intervals: exact small cases, laws, and the coverage that they really have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dfltheory.analysis.statistics import (
    ENOUGH,
    Interval,
    _draws,
    half_widths,
    half_widths_at_once,
    mean_interval,
    min_interval,
    running_upper_limits,
    seeds_needed,
)
from dfltheory.errors import InputError, UnknownNameError

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


def test_min_interval_uses_pointwise_limits_below_and_averages_above():
    data = np.array([[3.0, 10.0], [4.0, 10.0], [5.0, 10.0]])
    found = min_interval(data, 0.9)
    assert found.estimate == pytest.approx(4.0)
    assert found.low == pytest.approx(4.0 - stats.t.isf(0.05, 2) / np.sqrt(3))
    # averages of the last round (10, sure), the last two and all (7, deviation 1/2): a third of 0.05 each
    assert found.high == pytest.approx(7.0 + stats.t.isf(0.05 / 3, 2) * 0.5 / np.sqrt(3))


@given(samples.filter(lambda data: len(data) < ENOUGH), st.floats(0.01, 0.2))
def test_the_upper_limits_of_averages_are_the_literal_ones(data, tail):
    found = running_upper_limits(data, tail)
    seeds, rounds = data.shape
    for h in range(1, rounds + 1):
        lengths = [2**k for k in range(h.bit_length())]
        limits = [m for t in range(h) if np.std(data[:, t]) == 0 for m in [data[0, t]]]
        for length in [*lengths, h]:
            means = data[:, h - length : h].mean(axis=1)
            share = tail / (len(lengths) + 1)
            limits.append(means.mean() + stats.t.isf(share, seeds - 1) * means.std(ddof=1) / np.sqrt(seeds))
        assert found[h - 1] == pytest.approx(min(limits), rel=1e-9, abs=1e-9)


def test_one_good_round_is_believed_from_enough_seeds_on():
    rng = np.random.default_rng(0)
    data = 10 + rng.normal(size=(ENOUGH, 64))
    data[:, 20] -= 9  # in no average of the last 2^k rounds alone
    assert 1 < min_interval(data, 0.95).high < 9
    assert min_interval(data[:-1], 0.95).high > 9
    both = running_upper_limits(data, 0.025)
    one = data[:, 20].mean() + half_widths_at_once(data, 0.0125)[20]
    assert both[-1] == pytest.approx(one)
    assert both[19] > 9
    assert both[30] == pytest.approx(one)


def test_the_bootstrap_draws_from_every_resampling_of_the_seeds():
    """The factor against the exact quantile over all 8^8 / order = 6435 multisets, with their weights."""
    import itertools
    import math

    data = np.random.default_rng(5).normal(size=(ENOUGH, 3)) ** 2
    z, n = data - data.mean(axis=0), ENOUGH
    values, weights = [], []
    for chosen in itertools.combinations_with_replacement(range(n), n):
        counts = np.bincount(chosen, minlength=n)
        part = z[list(chosen)]
        spread = part.std(axis=0, ddof=1)
        if (spread > 0).all():
            values.append(np.max(-part.mean(axis=0) / (spread / np.sqrt(n))))
            weights.append(math.factorial(n) / math.prod(math.factorial(c) for c in counts) / n**n)
    order = np.argsort(values)
    level = np.cumsum(np.array(weights)[order])
    errors = data.std(axis=0, ddof=1) / np.sqrt(n)
    factors = half_widths_at_once(data, 0.05) / errors
    assert factors == pytest.approx(np.full(3, factors[0]))
    low, high = (
        np.array(values)[order][np.searchsorted(level, p)] for p in (0.935, 0.965)
    )  # 3 sigma of 1999
    assert low <= factors[0] <= high


def test_the_studentized_bootstrap_is_the_literal_one():
    data = np.random.default_rng(6).exponential(size=ENOUGH)
    ratios = []
    for counts in np.random.default_rng(0).multinomial(ENOUGH, [1 / ENOUGH] * ENOUGH, size=1999):
        again = np.repeat(data, counts)
        ratios.append((again.mean() - data.mean()) / (again.std(ddof=1) / np.sqrt(ENOUGH)))
    low, high = np.quantile(ratios, [0.025, 0.975])
    error = data.std(ddof=1) / np.sqrt(ENOUGH)
    found = mean_interval(data[:, None], 0.95, "bootstrap")
    assert found.low == pytest.approx(max(data.mean() - high * error, 0.0))
    assert found.high == pytest.approx(data.mean() - low * error)


def test_rounds_on_which_the_bootstrap_says_nothing_are_left_out():
    data = np.random.default_rng(1).normal(size=(ENOUGH, 3)) + 5
    data[:, 1] = [5.0] * (ENOUGH - 2) + [6.0] * 2  # one in ten resamplings has no scatter
    data[:, 2] = 7.0
    half = half_widths_at_once(data, 0.025)
    assert half[0] == pytest.approx(half_widths_at_once(data[:, :1], 0.025)[0])
    assert half[1] == np.inf
    assert half[2] == 0.0


def test_limits_move_with_the_unit_of_the_data():
    data = np.random.default_rng(1).exponential(size=(ENOUGH, 5))
    half, low = half_widths_at_once(data, 0.025), mean_interval(data, 0.95, "bootstrap").low
    for scale in (1e-12, 1e12):
        assert half_widths_at_once(scale * data, 0.025) == pytest.approx(scale * half)
        assert mean_interval(scale * data, 0.95, "bootstrap").low == pytest.approx(scale * low)


def test_there_are_draws_beyond_the_quantile_and_not_too_many():
    assert [_draws(tail) for tail in (0.1, 0.025, 0.005, 1e-9)] == [1999, 1999, 4000, 20_000]


def test_two_seeds_are_the_fewest_with_an_interval():
    data = np.array([[1.0], [3.0]])
    half = stats.t.isf(0.025, 1) * 1.0
    assert half_widths(data, 0.025)[0] == pytest.approx(half)
    assert running_upper_limits(data, 0.05)[0] == pytest.approx(2.0 + half)
    assert mean_interval(data, 0.95).high == pytest.approx(2.0 + half)
    assert half_widths(data[:1], 0.025)[0] == running_upper_limits(data[:1], 0.025)[0] == np.inf


def test_an_interval_is_divided_end_by_end():
    assert Interval(4.0, 2.0, 8.0) / 2.0 == Interval(2.0, 1.0, 4.0)


def test_long_runs_are_looked_at_in_a_part_of_their_rounds(monkeypatch):
    from dfltheory.analysis import statistics

    data = np.random.default_rng(2).normal(size=(ENOUGH, 50)) ** 2 + 1
    monkeypatch.setattr(statistics, "_MOST_ROUNDS", 10)
    thinned = running_upper_limits(data, 0.025)
    monkeypatch.setattr(
        statistics, "half_widths_at_once", lambda samples, tail: np.full(samples.shape[1], 9.0)
    )
    assert running_upper_limits(data, 0.025).shape == (50,)
    single = data.mean(axis=0)[::5].min() + 9.0
    assert running_upper_limits(data, 0.025)[-1] <= single
    assert thinned[-1] < np.inf


def test_the_bootstrap_interval_of_a_mean_has_the_seeds_own_law():
    skewed = np.random.default_rng(4).exponential(size=(16, 1))
    found, student = mean_interval(skewed, 0.95, "bootstrap"), mean_interval(skewed, 0.95)
    assert found.estimate == student.estimate
    assert found.high - found.estimate > 1.2 * (student.high - student.estimate)  # the long tail is above
    assert found.estimate - found.low < student.estimate - student.low
    assert found == mean_interval(skewed, 0.95, "bootstrap")  # no chance of its own
    same = mean_interval(np.full((16, 2), 3.0), 0.95, "bootstrap")
    assert (same.low, same.high) == (3.0, 3.0)
    low = min_interval(skewed + np.zeros((1, 2)), 0.95, "bootstrap").low
    assert low == pytest.approx(found.low)


def test_methods_are_named_and_the_bootstrap_wants_seeds():
    data = np.random.default_rng(4).exponential(size=(ENOUGH - 1, 3))
    enough = np.random.default_rng(4).exponential(size=(ENOUGH, 3))
    for interval in (mean_interval, min_interval):
        assert np.isfinite(interval(enough, 0.95, "bootstrap").high)
        with pytest.raises(InputError, match="needs 8 seeds or more, not 7"):
            interval(data, 0.95, "bootstrap")
        with pytest.raises(UnknownNameError, match="bootstrap"):
            interval(data, 0.95, "bootstrp")


def test_numbers_that_are_too_large_to_be_squared_make_no_noise():
    data = np.full((8, 4), 1e200) * np.random.default_rng(0).uniform(1, 2, size=(8, 4))
    data[:, 0] = np.random.default_rng(0).uniform(1, 2, size=8)
    assert min_interval(data, 0.95).high < 10
    assert mean_interval(data, 0.95).high == np.inf
    assert half_widths(data, 0.025)[1] == np.inf


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


def test_measured_coverage_of_the_bootstrap():
    # one number a seed, exponential: what Student's t covers in 0.91 of all cases only
    rng = np.random.default_rng(11)
    draws = [rng.exponential(size=(16, 1)) for _ in range(1500)]

    def share(method):
        found = [mean_interval(data, 0.95, method) for data in draws]
        return np.mean([f.low <= 1 <= f.high for f in found])

    assert 0.93 <= share("bootstrap") <= 0.97
    assert share("student") < share("bootstrap") - 0.01


def of_all_rounds(rng, rounds=20, seeds=16, freedom=10):
    """Rounds of one expectation, 1, that share half of their noise: what is left when a run has settled."""
    shared = rng.normal(size=(seeds, 1, freedom))
    return ((shared + rng.normal(size=(seeds, rounds, freedom))) ** 2).mean(-1) / 2


def test_measured_coverage_of_limits_that_hold_at_once():
    rng = np.random.default_rng(5)
    misses = bonferroni = 0
    for _ in range(800):
        data = of_all_rounds(rng, seeds=32)
        below = 1 - data.mean(axis=0)
        misses += np.any(below > half_widths_at_once(data, 0.05))
        bonferroni += np.any(below > half_widths(data, 0.05 / 20))
    assert 0.93 <= 1 - misses / 800 <= 0.97
    assert 1 - bonferroni / 800 < 0.93  # why these are not used


@pytest.mark.parametrize("case", ["one expectation", "falling", "a dip"])
@pytest.mark.parametrize("seeds", [4, 16])
def test_the_interval_of_the_minimum_is_conservative(case, seeds):
    """Neither end fails in more than half of 5 in 100, but for the error of 500 trials."""
    rng = np.random.default_rng(7)
    factor = {"falling": np.geomspace(3, 1, 20), "a dip": np.where(np.arange(20) == 7, 1, 2)}.get(case, 1.0)
    found = [min_interval(factor * of_all_rounds(rng, seeds=seeds), 0.95) for _ in range(500)]
    low, high = np.mean([f.low > 1 for f in found]), np.mean([f.high < 1 for f in found])
    assert low <= 0.025 + 0.015
    assert high <= 0.025 + 0.02
    assert 0.94 <= 1 - low - high <= 1


def test_a_false_holds_of_the_minimum_is_rare_where_limits_of_student_fail():
    # squared norms in two dimensions, independent rounds of one expectation: SGD that has settled
    rng = np.random.default_rng(3)
    data = [(rng.normal(size=(16, 200, 2)) ** 2).mean(-1) for _ in range(200)]
    claims = np.mean([running_upper_limits(d, 0.025)[-1] < 1 for d in data])
    students = np.mean([np.min(d.mean(axis=0) + half_widths(d, 0.025 / 200)) < 1 for d in data])
    assert claims <= 0.07
    assert students > 0.3


def test_a_false_violation_of_the_minimum_is_rare():
    # every round has expectation exactly at the bound: claims "all rounds are above it" must stay below 2.5 %
    rng = np.random.default_rng(3)
    claims = [
        min_interval(((rng.normal(size=(7, 5, 10))) ** 2).mean(-1), 0.95).low > 1.0 for _ in range(1500)
    ]
    assert np.mean(claims) <= 0.025


def test_seeds_needed_scales_the_half_width_on_the_side_of_the_bound():
    found = Interval(1.0, 0.8, 1.4)
    assert seeds_needed(found, 1.1, 10) == 160  # half-width 0.4 must fall to 0.1: 16 times the seeds
    assert seeds_needed(found, 0.95, 10) == 160  # 0.2 to 0.05
    assert seeds_needed(found, 2.0, 10) == 10
    assert seeds_needed(found, 1.0, 10) is None
    assert seeds_needed(found, 1.1, 1) is None
    assert seeds_needed(found, 1.1, 2) == 32
    assert seeds_needed(Interval(1.0, 0.0, np.inf), 1.1, 5) is None
