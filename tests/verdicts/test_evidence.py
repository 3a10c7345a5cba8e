"""Evidence against E X <= b is an e-value, has the stated error rate, and has power."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dfltheory.confidence import half_widths
from dfltheory.verdicts.evidence import (
    _BETS,
    evidence_lower_limits,
    in_bounds,
    largest_lower_limit,
    least_lower_limit,
    log_evidence,
    seeds_for,
    upper_limit,
)

TAIL = 0.025


def cosines(rng, shape):
    """Return cos^2 near its maximum: the squared gradient of a sinusoid near its
    steepest point.
    """
    return np.cos(rng.normal(0, 0.35, size=shape)) ** 2


LAWS = {
    "left-skewed cos^2": (cosines, (1 + np.exp(-2 * 0.35**2)) / 2),
    "rare drop": (lambda rng, shape: (rng.random(shape) >= 0.05) * 1.0, 0.95),
    "chi^2_1": (lambda rng, shape: rng.chisquare(1, shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1.5, shape), np.exp(1.5**2 / 2)),
}


@pytest.mark.parametrize(
    ("law", "ratio", "seeds"),
    [
        ("left-skewed cos^2", 2, 8),
        ("rare drop", 2, 16),
        ("chi^2_1", 2, 96),
        ("left-skewed cos^2", 10, 2),
        ("rare drop", 10, 4),
        ("chi^2_1", 10, 8),
        ("lognormal", 10, 16),
    ],
)
def test_false_bounds_are_found_with_enough_seeds(law, ratio, seeds):
    draw, mean = LAWS[law]
    data = draw(np.random.default_rng(6), (seeds, 2000))
    assert np.mean(log_evidence(in_bounds(data, mean / ratio)) >= -np.log(TAIL)) >= 0.8


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.integers(1, 4))
def test_the_expectation_under_any_law_with_that_mean_is_at_most_one(values, seeds):
    """Enumerates all outcomes of seeds with these equally likely values."""
    values = np.array(values)
    assume(values.mean() > 0)
    outcomes = np.array(np.meshgrid(*[values] * seeds)).reshape(seeds, -1)
    assert (
        np.exp(log_evidence(in_bounds(outcomes, float(values.mean())))).mean()
        <= 1 + 1e-9
    )


def test_evidence_is_the_literal_mixture():
    ratios = np.array([[2.0, 0.5], [3.0, 0.0]])
    literal = [
        sum(w * np.prod(1 + c * (column - 1)) for c, w in _BETS.items())
        for column in ratios.T
    ]
    assert np.exp(log_evidence(ratios)) == pytest.approx(literal)
    assert sum(_BETS.values()) == pytest.approx(1)
    assert min(_BETS) > 0
    assert max(_BETS) == 1


def test_each_seed_is_held_against_its_own_bound():
    data = np.array([[1.0, 4.0], [6.0, 0.0]])
    assert np.array_equal(
        in_bounds(data, np.array([2.0, 3.0])), [[0.5, 2.0], [2.0, 0.0]]
    )
    assert np.array_equal(in_bounds(data, 0.0), [[np.inf, np.inf], [np.inf, 1.0]])


def test_what_cannot_be_is_sure_and_what_is_no_squared_norm_is_no_evidence():
    assert log_evidence(np.array([[np.inf], [0.0]]))[0] == np.inf
    assert log_evidence(np.array([[np.inf], [np.inf]]))[0] == np.inf
    assert log_evidence(np.array([[100.0], [-1e-9]]))[0] == -np.inf
    assert log_evidence(np.array([[100.0], [np.nan]]))[0] == -np.inf


@pytest.mark.parametrize(("ratio", "seeds"), [(2, 7), (10, 2), (100, 1), (1.1, 46)])
def test_seeds_for_returns_the_smallest_sufficient_number_of_seeds(ratio, seeds):
    """It is log(2/alpha)/log(r) if every seed shows r times the bound."""
    enough = seeds_for(np.full((3, 2), float(ratio)), TAIL)
    assert enough == seeds == np.ceil(np.log(2 / TAIL) / np.log(ratio))
    assert log_evidence(np.full((enough, 1), float(ratio)))[0] >= -np.log(TAIL)
    if enough > 2:
        assert log_evidence(np.full((enough - 2, 1), float(ratio)))[0] < -np.log(TAIL)
    # the second column never exceeds the bound
    assert seeds_for(np.array([[2.0, 1.0], [2.0, 0.9]]), TAIL) is None


def test_the_lower_limit_is_where_the_evidence_ends():
    data = np.array([[3.0, 8.0], [3.0, 2.0], [3.0, 3.0], [3.0, 9.0]])
    low = evidence_lower_limits(data, TAIL)
    assert log_evidence(data / low) == pytest.approx(-np.log(TAIL))
    assert 0.3 < low[0] / 3 < 0.5
    assert evidence_lower_limits(1e-200 * data, TAIL) == pytest.approx(1e-200 * low)
    assert least_lower_limit(data, TAIL) == pytest.approx(low.min(), rel=1e-12)
    assert least_lower_limit(data[:, :1], TAIL) == pytest.approx(low[0], rel=1e-12)
    assert (
        least_lower_limit(np.zeros((4, 1)), TAIL)
        == evidence_lower_limits(np.zeros((4, 1)), TAIL)[0]
        == 0
    )


def test_the_largest_lower_limit_loses_only_the_choice_of_the_column():
    """It is above the mean of all numbers, where one of two columns is large."""
    data = np.array([[100.0, 0.0]] * 16)
    found = largest_lower_limit(data, TAIL)
    alone = evidence_lower_limits(data[:, :1], TAIL / 2)[0]
    assert alone <= found < 1.001 * alone  # the column of zeros has hardly any evidence


# -- upper limits of bounded variables


def literal_upper_limit(columns, most, tail):
    """Return the smallest u on a grid at which the literal mixture's mean over columns
    is 1/tail.
    """
    for u in np.linspace(columns.mean(axis=0).min(), most, 2000)[:-1]:
        each = [
            sum(
                w * np.prod(1 + c * ((most - x) / (most - u) - 1))
                for c, w in _BETS.items()
            )
            for x in columns.T
        ]
        if np.mean(each) >= 1 / tail:
            return u
    return most


def test_the_upper_limit_is_the_literal_one():
    rng = np.random.default_rng(2)
    for seeds, columns in ((2, 1), (16, 1), (16, 5), (60, 2)):
        data = 4 * rng.random((seeds, columns)) ** 3
        found = upper_limit(data, 4.0, TAIL)
        assert found == pytest.approx(literal_upper_limit(data, 4.0, TAIL), abs=5e-3)
        assert upper_limit(1e-12 * data, 4e-12, TAIL) == pytest.approx(1e-12 * found)
    of_zeros = 4 * (1 - (TAIL / 2) ** (1 / 16))
    assert upper_limit(np.zeros((16, 1)), 4.0, TAIL) == pytest.approx(
        of_zeros, rel=0.03
    )
    assert upper_limit(np.full((16, 1), 4.1), 4.0, TAIL) == np.inf
    assert upper_limit(np.full((16, 1), 4.0), 4.0, TAIL) == 4.0


BOUNDED = {
    "a rare jump": lambda rng, shape: (rng.random(shape) < 0.05) * 1.0,
    "a rare drop": lambda rng, shape: (rng.random(shape) >= 0.05) * 1.0,
    "uniform": lambda rng, shape: rng.random(shape),
    "chi^2_1, cut at 6": lambda rng, shape: np.minimum(rng.chisquare(1, shape), 6) / 6,
}


def empirical_bernstein(x, tail):
    """Return the limit of Maurer and Pontil 2009, for x in [0, 1]."""
    n, logs = len(x), np.log(2 / tail)
    return x.mean() + np.sqrt(2 * x.var(ddof=1) * logs / n) + 7 * logs / (3 * (n - 1))


@pytest.mark.drawn(1)
@pytest.mark.parametrize("seeds", [2, pytest.param(8, marks=pytest.mark.slow), 32])
@pytest.mark.parametrize("law", sorted(BOUNDED))
def test_the_upper_limit_of_what_is_bounded_covers_and_betting_is_sharper_than_bernstein(
    law, seeds
):
    rng, trials = np.random.default_rng(3), 150
    mean = BOUNDED[law](rng, 10**6).mean()
    data = [BOUNDED[law](rng, (seeds, 1)) for _ in range(trials)]
    found = np.array([upper_limit(x, 1.0, TAIL) for x in data])
    assert np.mean(found < mean) <= TAIL + 3 * np.sqrt(TAIL / trials)
    other = np.minimum([empirical_bernstein(x[:, 0], TAIL) for x in data], 1.0)
    assert np.median(found) <= np.median(other)
    if seeds == 32 and law == "a rare jump":
        assert np.median(found) < 0.6 * np.median(other)
        student = np.array([x.mean() + half_widths(x, TAIL)[0] for x in data])
        assert np.mean(student < mean) > 0.15
