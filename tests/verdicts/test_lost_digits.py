"""True bounds and failing conditions whose digits floating point loses, in ``compare``
and in the second evaluation.
"""

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import Condition
from dfltheory.verdicts.lost_digits import lost_digits
from tests.verdicts.statements import (
    AVERAGE,
    NO_NOISE,
    SMALL_STEPS,
    SYMBOL,
    TO_LAST,
    statement,
)

L, ETA, MU, T, NOISE, DISTANCE = (
    SYMBOL[name] for name in ("L", "eta", "mu", "T", "sigma_l", "x_star_sq")
)
CONVEX = Condition("convex", sp.Integer(0), MU)


def descent(curvature, eta, start, rounds, noise=0.0):
    """Return gradient descent of two equal clients on (curvature/2) x^2."""
    task = dfl.tasks.Quadratic(curvature, np.zeros((2, 1)), noise)
    algorithm = dfl.algorithms.DFedAvg(eta=eta, K=1)
    return dfl.train(
        algorithm,
        task,
        AVERAGE,
        rounds=rounds,
        x0=np.array([start]),
        seeds=16 if noise else 1,
        metrics=[dfl.verdicts.dist_sq],
    )


def lipschitz(share):
    """Return max ||grad f||^2 <= share L^2 ||x^0 - x*||^2, true for share = 1."""
    return statement(
        "grad_norm_sq",
        "max",
        share * L**2 * DISTANCE,
        conditions=(NO_NOISE, SMALL_STEPS, CONVEX),
        rounds=TO_LAST,
    )


@pytest.mark.parametrize("curvature", [1e-160, 3e-161, 1e-159, 1e-3])
def test_factor_that_underflows_does_not_contradict_a_true_bound(curvature):
    run = descent(curvature, 1 / curvature, 1e150, 3)
    assert dfl.compare(run, lipschitz(1)).kind != "violated"


def test_false_bound_that_keeps_its_digits_is_violated():
    run = descent(1e-3, 1e3, 1e150, 3)
    assert dfl.compare(run, lipschitz(sp.Rational(1, 2))).kind == "violated"


def moments(share):
    """Return E||x^T - x*||^2 <= share times its value on a parabola from x*."""
    shrunk = (1 - ETA * MU) ** (2 * T)
    noise = ETA * NOISE**2 / (2 * MU) * (1 - shrunk) / (2 - ETA * MU)
    return statement(
        "dist_sq",
        "last",
        share * (noise + DISTANCE),
        conditions=(SMALL_STEPS, CONVEX),
        rounds=TO_LAST,
    )


@pytest.mark.parametrize("eta", [0.6e-16, 1.4e-16, 0.1])
def test_difference_that_cancels_is_compared_with_its_value(eta):
    """At 1.4e-16, 1 - (1 - eta mu)^(2 T) is 0.8 of its value in floating point; at
    0.6e-16, it is 1.9 times its value.
    """
    theorem = moments(1)
    values = {"eta": eta, "mu": 1.0, "L": 1.0, "T": 3, "sigma_l": 1.0, "x_star_sq": 0.0}
    values["m"] = 2
    values = {name: values[name] for name in theorem.needs}
    bound = theorem.evaluate(**values)
    is_too_small = eta == 1.4e-16
    high = bound * (1 + 1e-15)
    of_starts = np.full(16, high)  # as for starts that differ by rounding alone
    for ends in (high, of_starts):
        reason = lost_digits(theorem, values, bound, ends)
        assert (reason is not None) == is_too_small


def test_condition_that_only_an_underflow_meets_covers_no_run():
    """sigma_l^2 is 0 in floating point, and the noise moves the models by 1e-51."""
    exact = Condition("sigma_l^2 == 0", 2 * NOISE**2, NOISE**2)
    theorem = statement(
        "dist_sq",
        "last",
        DISTANCE,
        conditions=(SMALL_STEPS, CONVEX, exact),
        rounds=TO_LAST,
    )
    run = descent(1e-120, 5e119, 0.0, 5, noise=1e-170)
    verdict = dfl.compare(run, theorem)
    assert verdict.kind == "undecided"
    assert verdict.seeds_needed is None  # more seeds would not decide it


def test_square_that_overflows_leaves_a_run_undecided():
    """f0_gap is 5e139, and its rounding error is infinite, as ||grad f||^2 is."""
    run = descent(1e200, 5e-201, 1e-30, 3)
    theorem = statement(
        "grad_norm_sq",
        "max",
        2 * L * SYMBOL["f0_gap"],
        conditions=(NO_NOISE, SMALL_STEPS),
        rounds=TO_LAST,
    )
    assert np.isinf(run.grad_norm_sq[:, 0]).all()
    assert dfl.compare(run, theorem).kind == "undecided"
