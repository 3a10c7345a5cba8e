"""Tasks whose gradients no theorem covers, and constants known to a task."""

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory.algorithms import DFedAvg
from dfltheory.errors import InputError
from dfltheory.tasks import Quadratic, Supervised, measured_on
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.given_values import refuse_understatements
from dfltheory.verdicts.measures import is_deterministic
from tests.verdicts.statements import (
    AVERAGE,
    COMPLETE,
    NO_NOISE,
    SMALL_STEPS,
    SYMBOL,
    TO_LAST,
    statement,
)

T, L, ETA, GAP = (SYMBOL[name] for name in ("T", "L", "eta", "f0_gap"))
SGD = statement(
    "grad_norm_sq",
    "min",
    2 * GAP / (ETA * T) + L * ETA * SYMBOL["sigma_l"] ** 2,
    conditions=(SMALL_STEPS, COMPLETE),
    common_start=True,
)


def clients():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return [(normal(8, 2), normal(8, 1) + 1) for _ in range(2)]


def regression(*layers, batch=8, **options):
    linear = torch.nn.Linear(2, 1, bias=False).double()
    torch.nn.init.zeros_(linear.weight)
    return Supervised(
        torch.nn.Sequential(*layers, linear), clients(), batch=batch, **options
    )


def negated(X, generators):
    return -X


UNCOVERED = {
    "augment": lambda: regression(augment=negated),
    "dropout": lambda: regression(torch.nn.Dropout(0.5)),
    "epochs": lambda: regression(batch=2, sampling="epochs"),
    "part of the data": lambda: measured_on(regression(batch=None), 4),
}


@pytest.mark.parametrize("name", UNCOVERED)
def test_no_theorem_applies_to_gradients_that_are_not_those_of_the_measured_f(
    name, tmp_path
):
    run = dfl.train(
        DFedAvg(eta=0.05, K=1), UNCOVERED[name](), AVERAGE, rounds=5, seeds=3
    )
    stored = dfl.History.load(run.save(tmp_path / "run"))
    for history in (run, stored):
        verdict = compare(history, SGD, sigma_l=1.0, L=8.0, f0_gap=4.0)
        assert verdict.kind == "not applicable"
        assert name in verdict.reason


def test_independent_minibatches_are_covered():
    run = dfl.train(DFedAvg(eta=0.05, K=1), regression(), AVERAGE, rounds=9, seeds=3)
    verdict = compare(run, SGD, sigma_l=1.0, L=8.0, f0_gap=4.0)
    assert verdict.kind != "not applicable"


def test_gradients_without_minibatches_are_exact():
    for options in ({}, {"loss": torch.nn.functional.l1_loss}):
        task = regression(batch=None, **options)
        assert task.constants.sigma_l == 0
        assert task.constants.standing_of("sigma_l") == "exact"
    run = dfl.train(DFedAvg(eta=0.05, K=1), regression(batch=None), AVERAGE, rounds=3)
    assert is_deterministic(run)
    assert compare(run, SGD).method == "exact"
    for task in (regression(), regression(batch=None, augment=negated)):
        assert task.constants.sigma_l is None


LINEAR_RATE = statement(
    "f_gap",
    "last",
    (1 - ETA * SYMBOL["mu"]) ** T * GAP,
    conditions=(SMALL_STEPS, NO_NOISE, COMPLETE),
    rounds=TO_LAST,
    common_start=True,
)


def test_mu_cannot_be_given_above_its_exact_value():
    task = Quadratic([1.0, 0.01], [[0.0, 0.0]] * 2)
    run = dfl.train(DFedAvg(eta=0.5, K=1), task, AVERAGE, rounds=50, x0=np.ones(2))
    with pytest.raises(InputError, match="mu"):
        compare(run, LINEAR_RATE, mu=0.9)
    assert compare(run, LINEAR_RATE, mu=0.005).kind == "holds"
    assert compare(run, LINEAR_RATE).kind == "holds"
    with pytest.raises(InputError, match="mu"):
        refuse_understatements({"mu": 0.9}, task)
    refuse_understatements({"mu": 0.005}, task)


def test_mu_cannot_be_given_above_L():
    run = dfl.train(DFedAvg(eta=0.05, K=1), regression(batch=None), AVERAGE, rounds=3)
    assert run.constants.mu is None
    largest = run.constants.L
    for given in ({"mu": 1.1 * largest}, {"mu": 1.5 * largest, "L": 1.2 * largest}):
        with pytest.raises(InputError, match="mu"):
            compare(run, LINEAR_RATE, **given)
    compare(run, LINEAR_RATE, mu=0.1 * largest)
