"""Two-block bowls: f* is a lower bound of their minimum, and exact at u = v = 0."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.counterexamples.splits import COUPLING_ERROR, Splits

EXACT = {
    "ends": [(1.0, 1.0)] * 2,
    "slopes": [1.0, 1.0],
    "at_zero": [0.0, 0.0],
    "h": 1.0,
    "coupling": 1.0,
    "p": 1.0,
    "q": 1.0,
}
"""The bowl with k p q = sqrt(s h), p R = 1 and r'(0) = 0."""


def bowls(ends, slopes, at_zero, h, coupling, p, q, b=(0.0, 0.0)):
    """Return one problem with k p q = ``coupling`` sqrt(h min s).

    ``ends`` are the distances of both ends of each ramp from 0; ``at_zero`` are r'(0).
    """
    knots = [[-left] for left, _ in ends]
    widths = [[left + right] for left, right in ends]
    left = [d - s * end for d, s, (end, _) in zip(at_zero, slopes, ends, strict=True)]
    k = coupling * np.sqrt(h * min(slopes)) / (p * q)
    return Splits.one(knots, widths, [[s] for s in slopes], left, list(b), h, k, p, q)


def least_value(problem):
    """Return the minimum of F over a dense grid of u, and of v for each client."""
    p, q = float(problem.p[0]), float(problem.q[0])
    far = float((np.abs(problem.knots) + problem.widths).max())
    u = np.linspace(-1, 1, 401) * (2 * far + np.pi / p)
    v = np.linspace(-1, 1, 401) * np.pi / q
    points = np.stack(np.meshgrid(u, v, indexing="ij"), -1).reshape(1, -1, 1, 2)
    values = problem.value(points.repeat(problem.m, 2))
    return values.reshape(len(u), len(v), -1).min(1).mean(-1).min()


def f_star(problem):
    return float(problem.constants()["f_star"][0])


def at_origin(problem):
    return float(problem.value(np.zeros((1, 1, problem.m, 2))).mean())


def without_bowl(problem):
    return float(super(Splits, problem).constants()["f_star"][0] - problem.k[0])


@st.composite
def parameters(draw):
    def log(low, high):
        return low * (high / low) ** draw(st.floats(0, 1))

    ends = [(log(0.1, 3), log(0.1, 3)) for _ in range(2)]
    slopes = [log(0.1, 3), log(0.1, 3)]
    shares = draw(st.lists(st.floats(-0.9, 0.9), min_size=2, max_size=2))
    if draw(st.booleans()):
        shares = [0.0, 0.0]
    at_zero = [
        share * s * min(pair)
        for share, s, pair in zip(shares, slopes, ends, strict=True)
    ]
    return {
        "ends": ends,
        "slopes": slopes,
        "at_zero": at_zero,
        "h": log(0.1, 10),
        "coupling": draw(st.sampled_from([0.3, 0.99, 1.0, 1.01, 1.5, 3.0])),
        "p": log(0.1, 10),
        "q": log(0.1, 10),
    }


@given(numbers=parameters(), units=st.tuples(*[st.floats(1e-3, 1e3)] * 3))
def test_minimum_of_a_bowl_is_never_overestimated(numbers, units):
    problem = bowls(**numbers)
    least, scale = (
        least_value(problem),
        float(np.abs(problem.left).max() + problem.k[0]),
    )
    assert f_star(problem) <= least + 1e-12 * scale
    f, x, v = (np.array([unit]) for unit in units)
    scaled = f_star(problem.scaled(f, x, v)) / units[0]
    assert scaled == pytest.approx(f_star(problem), abs=1e-10 * scale)


@pytest.mark.parametrize(
    "numbers",
    [
        {"coupling": 1.3},  # e > 0, inside
        {"coupling": 1.02},
        {"coupling": 1.3, "p": 3.0},
        {"p": 0.6, "q": 2.0},  # e > 0, outside, as p R < 1
        {"p": 0.9},
        {"at_zero": [0.4, 0.4], "coupling": 0.1},
        {"at_zero": [0.5, 0.5]},
        {"at_zero": [-0.5, 0.1]},
        {"ends": [(0.3, 2.0), (2.0, 0.3)], "p": 1.0},
        {"ends": [(0.5, 2.0)] * 2, "at_zero": [-0.2, -0.2]},
        {"slopes": [1.0, 4.0], "coupling": 1.2},
    ],
)
def test_bound_of_a_bowl_holds_just_outside_of_the_exact_case(numbers):
    problem = bowls(**{**EXACT, **numbers})
    assert f_star(problem) <= least_value(problem) + 1e-12
    assert f_star(problem) >= without_bowl(problem)


@pytest.mark.parametrize(
    "numbers", [{}, {"p": 2.0}, {"coupling": 0.4}, {"ends": [(1.0, 7.0), (3.0, 1.0)]}]
)
@pytest.mark.parametrize(
    "units", [(1.0, 1.0, 1.0), (3e-7, 7.1, 0.3), (1 / 3, 1e5, 9.0)]
)
def test_minimum_of_an_exact_bowl_is_the_value_at_0(numbers, units):
    problem = bowls(**{**EXACT, **numbers})
    f, x, v = (np.array([unit]) for unit in units)
    gap = at_origin(problem.scaled(f, x, v)) - f_star(problem.scaled(f, x, v))
    assert (
        0 < gap < 2 * units[0] * COUPLING_ERROR * float(problem.k[0]) + 1e-14 * units[0]
    )


def test_bound_of_a_bowl_is_that_of_the_docstring():
    """R = 1 for one client and 1/2 for the other, s = 2 and d = 0.3."""
    numbers = {"ends": [(1.0, 3.0), (1.0, 0.5)], "slopes": [2.0, 2.0], "h": 0.5}
    numbers |= {"at_zero": [0.3, -0.3], "coupling": 1.2, "p": 1.0, "q": 0.7}
    problem = bowls(**{**EXACT, **numbers})
    k = float(problem.k[0])
    excess = [(0.7 * k) ** 2 / 0.5 - 2, (0.7 * k) ** 2 / 0.5 - 0.5]
    below = np.mean([0.3 + excess[0] / 2, 0.15 + excess[1] / 2])
    expected = at_origin(problem) - below
    assert expected > without_bowl(problem)
    assert f_star(problem) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "numbers",
    [
        {"b": (0.0, 1e-3)},
        {"at_zero": [0.51, 0.0]},
        {"at_zero": [0.0, -0.51]},
        {"ends": [(1.0, 1.0), (-0.1, 2.0)], "at_zero": [0.0, 0.0]},
        {"ends": [(1.0, 1.0), (2.0, -0.1)], "at_zero": [0.0, 0.0]},
    ],
)
def test_other_problems_have_the_bound_without_a_bowl(numbers):
    problem = bowls(**{**EXACT, **numbers})
    assert f_star(problem) == without_bowl(problem)


def test_problems_with_two_ramps_or_a_flat_parabola_are_no_bowls():
    ramps = [[-1.0, 0.5]] * 2, [[2.0, 1.0]] * 2, [[1.0, 1.0]] * 2, [-1.0] * 2
    two = Splits.one(*ramps, [0.0] * 2, 1.0, 1.0, 1.0, 1.0)
    assert f_star(two) == without_bowl(two)
    one = [[-1.0]] * 2, [[2.0]] * 2, [[1.0]] * 2, [-1.0] * 2
    for q in (0.0, 1.0):
        flat = Splits.one(*one, [0.0] * 2, 0.0, 1.0, 1.0, q)
        assert f_star(flat) == without_bowl(flat)


def test_concave_ramps_are_no_bowls():
    problem = bowls(**EXACT)
    hill = replace(problem, slopes=-problem.slopes, left=-problem.left)
    assert f_star(hill) == -np.inf


def test_minimum_without_coupling_is_that_of_the_ramps():
    problem = bowls(**{**EXACT, "at_zero": [0.2, 0.1], "coupling": 0.0})
    assert f_star(problem) == without_bowl(problem)
    assert f_star(problem) == pytest.approx(least_value(problem), abs=1e-3)
