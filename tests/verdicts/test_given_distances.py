"""A distance to the minimizer that is given or stated allows the measures of the run."""

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DPSGD
from dfltheory.errors import InputError
from tests.verdicts.statements import SYMBOL, statement

ONE = np.ones((1, 1))
TASK = dfl.tasks.Quadratic.diagonal(np.array([[1.0, 0.01]]), np.full((1, 2), 3.0))
STEP = DPSGD(eta=1.0, order="adapt-then-combine")
CONVEX = statement(
    "f_gap",
    "last",
    SYMBOL["L"] * SYMBOL["x_star_sq"] / (4 * SYMBOL["T"] + 2),
    algorithm="DPSGD",
    hyperparameters={"order": "adapt-then-combine", "eta": "any"},
    rounds={"last": SYMBOL["T"]},
)
DISTANCE = 18.0
"""||x^0 - x*||^2 of a run from 0."""


def run():
    return dfl.train(STEP, TASK, ONE, rounds=10, x0=np.zeros((1, 2)))


def measured(**constants):
    squares = 9.0 * np.array([1.0, 0.2, 0.1])
    return dfl.History.from_measurements(
        squares,
        algorithm=STEP,
        network=ONE,
        constants={"L": 1.0, "sigma_l": 0.0, "x0_sq": 0.0, **constants},
        start="common",
    )


@pytest.mark.parametrize("distance", [1e-3, 8.9])
def test_distance_that_is_too_short_for_the_measures_is_rejected(distance):
    with pytest.raises(InputError, match="x_star_sq"):
        dfl.compare(run(), CONVEX, x_star_sq=distance)
    with pytest.raises(InputError, match="x_star_sq"):
        measured(x_star_sq=distance)


def test_distance_that_the_gradient_allows_and_the_decrease_of_f_does_not():
    first, second = 9.0 * (1 + 1e-4), 9.0 * (1 + 0.01) - 0.09 * 0.99**20
    assert first < 9.01 < second
    with pytest.raises(InputError, match="x_star_sq"):
        dfl.compare(run(), CONVEX, x_star_sq=9.01)


@pytest.mark.parametrize("distance", [DISTANCE, 2 * DISTANCE])
def test_distance_that_is_long_enough_is_accepted(distance):
    verdict = dfl.compare(run(), CONVEX, x_star_sq=distance)
    assert verdict.given == {"x_star_sq": distance}
    assert verdict.kind == "holds"
    assert measured(x_star_sq=distance).stated == {"x_star_sq": distance}


def test_distance_of_a_sharp_run_is_accepted_up_to_rounding():
    task = dfl.tasks.Quadratic(3.0, np.full((1, 2), 1e6 + 1 / 3))
    algorithm = DPSGD(eta=1 / 3, order="adapt-then-combine")
    sharp = dfl.train(algorithm, task, ONE, rounds=3, x0=np.full((1, 2), 1e6))
    assert dfl.compare(sharp, CONVEX, x_star_sq=2 / 9).kind == "holds"
