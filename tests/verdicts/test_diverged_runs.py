"""Verdicts on diverged runs: values that were not measured are unknown."""

import json
import math

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DPSGD, DFedAvg
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.left_hand_side import LeftHandSide, measured_interval
from tests.verdicts.statements import (
    AVERAGE,
    COMPLETE,
    SMALL_STEPS,
    SYMBOL,
    TO_LAST,
    statement,
)
from tests.verdicts.test_compare import KEY, noisy, run_with

T, L, ETA, GAP = (SYMBOL[name] for name in ("T", "L", "eta", "f0_gap"))
RARE = np.zeros((200, 1))
RARE[:2, 0] = 1.0, -1.0


def unstable(rounds, measure="grad_norm_sq", aggregate="mean", bound=1.0):
    """Return a verdict on gradient descent that doubles its distance in every round."""
    task = dfl.tasks.Quadratic(1.0, [[1.0], [-1.0]])
    run = dfl.train(
        DPSGD(eta=3.0, order="adapt-then-combine"),
        task,
        AVERAGE,
        rounds=rounds,
        x0=np.array([1.0]),
        metrics=[dfl.verdicts.dist_sq],
    )
    theorem = statement(
        measure,
        aggregate,
        bound,
        conditions=(COMPLETE,),
        algorithm="DPSGD",
        rounds=TO_LAST,
        common_start=True,
        hyperparameters={"order": "adapt-then-combine"},
    )
    return run, compare(run, theorem)


TRUE = [
    ("consensus", "max", ETA**2 * SYMBOL["sigma_g"] ** 2),
    ("grad_norm_sq", "last", (1 + ETA * L) ** (2 * T) * 2 * L * GAP),
    ("f_gap", "last", (1 + ETA * L) ** (2 * T) * L * SYMBOL["x_star_sq"]),
    ("grad_norm_sq", "sum", T * (1 + ETA * L) ** (2 * T) * 2 * L * GAP),
]


@pytest.mark.parametrize(("measure", "aggregate", "bound"), TRUE)
def test_a_diverged_run_does_not_contradict_a_true_statement(measure, aggregate, bound):
    run, verdict = unstable(60, measure, aggregate, bound)
    assert run.diverged_at is not None
    assert verdict.kind == "undecided"
    assert f"round {run.diverged_at}" in verdict.reason
    assert unstable(30, measure, aggregate, bound)[1].kind == "holds"


@pytest.mark.parametrize("aggregate", ["mean", "max", "sum"])
def test_values_before_the_end_violate_a_false_statement(aggregate):
    _, verdict = unstable(60, aggregate=aggregate)
    assert verdict.kind == "violated"
    assert 1e20 < verdict.measured.estimate < math.inf
    json.dumps(verdict.to_dict(), allow_nan=True)


def test_a_tiny_start_with_rare_noise_does_not_contradict_a_true_statement():
    """One seed leaves a start of 1e-14 after its first sample, and all seeds stop
    there.
    """
    theorem = statement(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T) + L * ETA * SYMBOL["sigma_l"] ** 2,
        conditions=(SMALL_STEPS, COMPLETE),
        common_start=True,
    )
    noise = dfl.tasks.FiniteSupport(RARE)
    task = dfl.tasks.Quadratic(1.0, [[0.0]] * 2, noise=noise)
    run = dfl.train(
        DFedAvg(eta=0.5, K=1), task, AVERAGE, rounds=50, seeds=40, x0=np.array([1e-14])
    )
    verdict = compare(run, theorem)
    assert run.diverged_at is not None
    assert verdict.kind == "undecided"
    assert verdict.measured.low <= verdict.measured.estimate < verdict.bound


def test_bounded_gradients_stay_bounded_after_a_run_has_diverged():
    theorem = statement(
        "grad_norm_sq",
        "max",
        SYMBOL["B"] ** 2,
        rounds=TO_LAST,
        bounded_gradients=True,
    )
    noise = dfl.tasks.FiniteSupport(RARE)
    task = dfl.tasks.Clipped([[0.0]] * 2, noise=noise)
    run = dfl.train(
        DFedAvg(eta=0.5, K=1), task, AVERAGE, rounds=50, seeds=10, x0=np.array([1e-14])
    )
    assert run.diverged_at is not None
    assert compare(run, theorem).kind not in ("violated", "holds")


def test_rounds_after_divergence_are_unknown():
    low, high = noisy(1e-3), noisy(1e3)
    for samples in (low, high):
        samples[:, 501:] = np.nan
    good, bad = (run_with(samples, diverged_at=500) for samples in (low, high))
    assert compare(good, KEY).kind == "holds"  # the minimum was reached earlier
    assert compare(good, KEY, variant="corrected").kind == "undecided"  # for a mean
    assert compare(bad, KEY).kind == "undecided"  # a later round may be small
    assert compare(bad, KEY, variant="corrected").kind == "violated"


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_values_that_are_not_finite_are_unknown(value):
    """Overflow is not a measurement: later values are unknown."""
    samples = noisy(1e-3)
    samples[3, 500] = value
    samples[:, 501:] = np.nan
    run = run_with(samples, diverged_at=500)
    for variant, kind in (("printed", "holds"), ("corrected", "undecided")):
        assert compare(run, KEY, variant=variant).kind == kind
    samples[:, 499] *= 1e12
    verdict = compare(run_with(samples, diverged_at=500), KEY, variant="corrected")
    assert verdict.kind == "violated"


def test_overflow_without_divergence_is_unknown():
    samples = noisy(1e-3)
    samples[3, 500] = np.inf
    assert compare(run_with(samples), KEY, variant="corrected").kind == "undecided"


def test_rounds_of_a_diverged_run_dilute_the_evidence_for_a_maximum():
    """The round at which a run stops was not fixed in advance."""
    samples = noisy(1.0, rounds=20)
    theorem = statement("grad_norm_sq", "max", 1.0, rounds=TO_LAST)
    samples[:, 5] = 2.0
    whole = measured_interval(LeftHandSide(run_with(samples), theorem), 0.95)
    samples[:, 6:] = np.nan
    left = LeftHandSide(run_with(samples, diverged_at=5), theorem)
    ended = measured_interval(left, 0.95)
    assert 1.0 < ended.low <= whole.low
    assert math.isinf(ended.high)
    assert not left.complete
