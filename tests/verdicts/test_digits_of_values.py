"""Values that are known to some digits, or to one side, contradict no true statement."""

import numpy as np
import pytest
import sympy as sp
import torch

import dfltheory as dfl
from dfltheory.algorithms import DFedAvg
from dfltheory.errors import InputError
from dfltheory.tasks import Quadratic, Supervised
from dfltheory.verdicts.compare import compare
from tests.verdicts.statements import (
    AVERAGE,
    COMPLETE,
    NO_NOISE,
    SMALL_STEPS,
    SYMBOL,
    TO_LAST,
    statement,
)

T, L, MU, ETA, GAP = (SYMBOL[name] for name in ("T", "L", "mu", "eta", "f0_gap"))
DISTANCE = SYMBOL["x_star_sq"]


def descent(task, eta, rounds):
    return dfl.train(
        DFedAvg(eta=eta, K=1),
        task,
        AVERAGE,
        rounds=rounds,
        x0=np.ones(task.d),
        metrics=[dfl.verdicts.dist_sq],
        progress=False,
    )


# -- step sizes of a schedule


def at_the_best_step(factor=1):
    """Gradient descent with eta = 2/(mu + L) contracts by (L - mu)/(L + mu)."""
    return statement(
        "dist_sq",
        "last",
        factor * ((L - MU) / (L + MU)) ** (2 * T) * DISTANCE,
        conditions=(NO_NOISE, COMPLETE),
        schedule={"eta": 2 / (MU + L)},
        rounds=TO_LAST,
        common_start=True,
    )


@pytest.mark.parametrize("ratio", [1.0, 1.001, 2.0])
@pytest.mark.parametrize("error", [0.0, 1e-12, 1e-9, -5e-7, 5e-7])
def test_digits_of_a_scheduled_step_do_not_contradict_a_true_statement(ratio, error):
    task = Quadratic([3.0, 3.0 * ratio], [[0.0, 0.0]] * 2)
    run = descent(task, 2 / (3.0 * (1 + ratio)) * (1 + error), rounds=1)
    assert compare(run, at_the_best_step()).kind in ("undecided", "holds")


@pytest.mark.parametrize("error", [0.0, 5e-7])
def test_a_false_statement_is_violated_at_a_step_of_some_digits(error):
    task = Quadratic([3.0, 6.0], [[0.0, 0.0]] * 2)
    run = descent(task, 2 / 9 * (1 + error), rounds=3)
    assert compare(run, at_the_best_step(sp.Rational(99, 100))).kind == "violated"


# -- constants that the caller gives


def smooth(factor=1):
    """||grad f||^2 <= 2 L (f - f*), with equality at the start of x^2/6."""
    return statement(
        "grad_norm_sq",
        "max",
        factor * 2 * L * GAP,
        conditions=(NO_NOISE, COMPLETE, SMALL_STEPS),
        rounds=TO_LAST,
        common_start=True,
    )


@pytest.mark.parametrize(
    "given",
    [{"L": 0.333333}, {"f0_gap": 0.1666666}, {"L": 0.333333, "f0_gap": 0.1666666}],
)
def test_digits_of_given_constants_do_not_contradict_a_true_statement(given):
    run = descent(Quadratic(1 / 3, [[0.0]] * 2), 0.1, rounds=3)
    verdict = compare(run, smooth(), **given)
    assert verdict.kind == "undecided"
    assert verdict.given == given
    assert compare(run, smooth(sp.Rational(99, 100)), **given).kind == "violated"


def test_digits_of_mu_do_not_contradict_a_true_statement():
    run = descent(Quadratic(1 / 3, [[0.0]] * 2), 1.0, rounds=200)
    theorem = statement(
        "dist_sq",
        "last",
        (1 - ETA * MU) ** (2 * T) * DISTANCE,
        conditions=(NO_NOISE, COMPLETE, SMALL_STEPS),
        rounds=TO_LAST,
        common_start=True,
    )
    assert compare(run, theorem, mu=0.3333336).kind == "undecided"
    with pytest.raises(InputError, match="mu"):
        compare(run, theorem, mu=0.334)


# -- a lower bound of f*


def regression():
    """Least squares with a minimum above 0, which the task does not know."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(8, 2, generator=generator).double() for _ in range(2)]
    targets = [torch.randn(8, 1, generator=generator).double() + 1 for _ in range(2)]
    linear = torch.nn.Linear(2, 1, bias=False).double()
    torch.nn.init.zeros_(linear.weight)
    clients = list(zip(inputs, targets, strict=True))
    task = Supervised(torch.nn.Sequential(linear), clients, batch=None)
    hessian = sum(2 * X.T @ X / 8 for X in inputs) / 2
    return task, float(torch.linalg.eigvalsh(hessian)[0])


def linear_rate(factor=1):
    return statement(
        "f_gap",
        "last",
        factor * (1 - ETA * MU) ** T * GAP,
        conditions=(SMALL_STEPS, NO_NOISE, COMPLETE),
        rounds=TO_LAST,
        common_start=True,
    )


def test_a_lower_bound_of_the_minimum_does_not_contradict_a_linear_rate():
    task, mu = regression()
    assert task.constants.standing_of("f_star") == "bound"
    run = dfl.train(DFedAvg(eta=0.1, K=1), task, AVERAGE, rounds=60, progress=False)
    assert run.loss[0, -1] > 0.1
    verdict = compare(run, linear_rate(), mu=mu)
    assert verdict.kind == "undecided"
    assert "lower bound" in verdict.reason
    assert compare(run, linear_rate(10**7), mu=mu).kind in ("holds", "vacuous")


def test_a_fall_of_f_in_the_run_violates_a_bound_below_it():
    """f - f* of the start is at least what f falls by."""
    task, _ = regression()
    run = dfl.train(DFedAvg(eta=0.1, K=1), task, AVERAGE, rounds=60, progress=False)
    theorem = statement("f_gap", "max", GAP / 100, rounds=TO_LAST)
    assert run.loss[0, 0] - run.loss[0, -1] > run.loss[0, 0] / 100
    assert compare(run, theorem).kind == "violated"


def test_a_lower_bound_of_the_minimum_refutes_no_exponent():
    task, _ = regression()

    def run(rounds):
        return dfl.train(
            DFedAvg(eta=0.1, K=1), task, AVERAGE, rounds=int(rounds), progress=False
        )

    convex = statement(
        "f_gap",
        "last",
        DISTANCE / (2 * ETA * T),
        conditions=(SMALL_STEPS, NO_NOISE, COMPLETE),
        rounds=TO_LAST,
        common_start=True,
    )
    found = dfl.rate_fit(convex, run, "T", [20, 40, 80, 160])
    assert found.exponent.low > -1
    assert found.verdict == "undecided"
    assert "lower bound" in found.reason


# -- measurements of other code


SIZES = 1.234567891 / 2.0 ** (2 * np.arange(11))
"""x^2 of gradient descent on x^2/2 with eta = 1/2."""


def written(numbers, digits):
    return np.array([float(f"{number:.{digits}g}") for number in numbers])


def measured_descent(squares, gap):
    return dfl.History.from_measurements(
        squares,
        algorithm=DFedAvg(eta=0.5, K=1),
        network=AVERAGE,
        constants={
            "L": 1.0,
            "mu": 1.0,
            "sigma_l": 0.0,
            "sigma_g": 0.0,
            "f0_gap": gap,
            "x0_sq": 1.3,
        },
        start="common",
    )


def contraction_of_gradients(factor=1):
    return statement(
        "grad_norm_sq",
        "last",
        factor * (1 - ETA * MU) ** (2 * T) * 2 * L * GAP,
        conditions=(NO_NOISE, COMPLETE, SMALL_STEPS),
        rounds=TO_LAST,
        common_start=True,
    )


@pytest.mark.parametrize("digits", [7, 8, 10, 17])
def test_digits_of_measurements_do_not_contradict_a_true_statement(digits):
    (gap,) = written([SIZES[0] / 2], digits)
    run = measured_descent(written(SIZES, digits), gap)
    assert compare(run, contraction_of_gradients()).kind in ("holds", "undecided")
    false = contraction_of_gradients(sp.Rational(99, 100))
    assert compare(run, false).kind == "violated"


@pytest.mark.parametrize("kind", [np.float32, torch.tensor])
def test_array_in_single_precision_is_rounded_to_it(kind):
    squares = kind(np.float32(SIZES))
    run = measured_descent(squares, SIZES[0] / 2 * (1 - 3e-6))
    assert run.facts.precision == "float32"
    assert compare(run, contraction_of_gradients()).kind == "undecided"
