"""gamma, 1 - gamma and their ratio agree with exact rational arithmetic; runs with tiny
steps.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory import admm, tasks, train
from dfltheory.exact import exact_history
from validation.papers.dfedadmm.notation import GAMMA, LEFT, THETA, P

NEAR = 2.0**-50
PAIRS = [
    *(
        (eta, 1.0)
        for eta in (1e-300, 1e-17, 1e-9, 1e-3, 0.1, 0.3, 0.49, 0.5, 0.51, 0.7, 0.99)
    ),
    *(
        (eta, 1.0)
        for eta in (
            1 - NEAR,
            1 + NEAR,
            1.2,
            1.49,
            1.5,
            1.51,
            2 - NEAR,
            2 + NEAR,
            2.5,
            7.0,
        )
    ),
    *((0.1, 0.3), (1e-9, 1e9), (0.1, 1e300), (1e-8, 3e-8), (0.7e150, 0.9e150)),
]
STEPS = (1, 2, 3, 10, 57)
TOLERANCE, SMALLEST = Fraction(1, 10**13), Fraction(1, 10**307)


@pytest.mark.parametrize(("eta", "lam"), PAIRS)
def test_the_weights_against_fractions(eta, lam):
    """The relative error is at most 1e-13, for steps far below the penalty, equal to
    it, twice as large, and larger.
    """
    for K in STEPS:
        rest = (1 - Fraction(eta) / Fraction(lam)) ** K
        exact = {admm.gamma: 1 - rest, admm.left: rest, admm.theta: rest / (1 - rest)}
        for function, value in exact.items():
            found = Fraction(float(function(eta, lam, K)))
            assert abs(found - value) <= abs(value) * TOLERANCE + SMALLEST, (
                function,
                K,
            )


@pytest.mark.parametrize("K", STEPS)
def test_weights_of_single_precision_numbers_have_double_precision(K):
    eta, lam = np.float32(0.1), np.float32(0.7)
    rest = (1 - Fraction(float(eta)) / Fraction(float(lam))) ** K
    found = admm.gamma(eta, lam, np.float32(K))
    assert float(found) == pytest.approx(float(1 - rest), rel=1e-13)


def test_the_weights_where_they_are_special():
    one, zero, infinity = (
        [float(f(eta, 1.0, K)) for f in WEIGHTS]
        for eta, K in ((1.0, 3), (0.5, 0), (2.0, 2))
    )
    assert one == [1, 0, 0]
    assert zero == [0, 1, np.inf]
    assert infinity == [0, 1, np.inf]
    assert [float(f(1.0, 1.0, 0)) for f in WEIGHTS] == [0, 1, np.inf]
    assert float(admm.theta(1e-9, 1e300, 2)) == np.inf  # 5e308, beyond a double


WEIGHTS = (admm.gamma, admm.left, admm.theta)


def test_engine_theorem_and_training_use_the_same_functions():
    eta, lam, K = np.array([1e-12, 0.2]), np.array([3.0, 0.5]), np.array([4, 5])
    assert (GAMMA.numeric, LEFT.numeric, THETA.numeric) == WEIGHTS
    np.testing.assert_array_equal(P.numeric(eta, lam, K), admm.gamma(eta, lam, K - 1))
    for e, penalty, steps in zip(eta, lam, K):
        reach = -penalty * float(admm.theta(e, penalty, steps))
        algorithm = alg.DFedADMM(eta=e, K=int(steps), lam=penalty)
        state = algorithm.init(torch.zeros(1, 2, 1, dtype=torch.float64), None)
        state.dual.fill_(1.0)
        assert algorithm.auxiliary(state).tolist() == [
            [pytest.approx(reach, rel=1e-15)]
        ]


@pytest.mark.parametrize(
    ("eta", "lam", "dtype", "defined"),
    [
        (1e-9, 1e9, torch.float64, True),
        (0.1, 1e300, torch.float64, True),
        (1e-9, 1e300, torch.float64, False),
        (1e-9, 1e9, torch.float32, True),
        (1e-9, 1e30, torch.float32, False),
    ],
)
def test_the_auxiliary_point_of_tiny_steps(eta, lam, dtype, defined):
    """w^1 = xbar^1 + theta (xbar^1 - xbar^0) if theta is finite in this precision;
    otherwise there is no point.
    """
    algorithm = alg.DFedADMM(eta=eta, K=2, lam=lam)
    state = algorithm.init(torch.ones(1, 3, 2, dtype=dtype), None)
    if not defined:
        assert algorithm.auxiliary(state) is None
        return
    assert torch.equal(algorithm.auxiliary(state), state.x.mean(-2))
    state.dual.fill_(2 * eta / lam)
    expected = 1 - float(admm.theta(eta, lam, 2)) * 2 * eta
    assert algorithm.auxiliary(state).tolist() == [
        [pytest.approx(expected, rel=1e-6)] * 2
    ]


def test_the_engine_has_no_auxiliary_point_beyond_a_double():
    task = tasks.quadratic(m=2, d=2, mu=0.5, sigma=0.5)
    for hyperparameters, defined in (
        ({"eta": 0.1, "lam": 1e9}, True),
        ({"eta": 1e-9, "lam": 1e300}, False),
    ):
        run = exact_history(
            alg.DFedADMM(K=2, **hyperparameters), task, np.full((2, 2), 0.5), rounds=1
        )
        assert ("grad_norm_sq_w" in run.measures()) == defined


@pytest.mark.parametrize("lam", [1e9, 1e300])
def test_a_run_of_tiny_steps_is_measured(lam):
    task = tasks.quadratic(m=3, d=2, sigma=0.0, zeta=0.3, seed=0)
    run = train(
        alg.DFedADMM(eta=1e-9, K=2, lam=lam),
        task,
        np.full((3, 3), 1 / 3),
        rounds=2,
        x0=[1.0, 1.0],
    )
    assert run.diverged_at is None
    assert np.isfinite(run.grad_norm_sq).all()
