"""Verdicts on seeds with different starts: a statement applies to each seed."""

from copy import copy

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DFedAvg, FedAvg, LocalSGD
from dfltheory.bounds import Condition, Quantity
from dfltheory.bounds.units import unit
from dfltheory.verdicts.applicability import has_common_start
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.measures import precision
from tests.verdicts.statements import (
    AVERAGE,
    NO_NOISE,
    SMALL_STEPS,
    SYMBOL,
    TO_LAST,
    statement,
)

L, GAP = SYMBOL["L"], SYMBOL["f0_gap"]
LARGEST_GRADIENT = Quantity("G2", "G_2", unit(f=2, x=-2), "a bound of ||grad f||^2")
RADIUS = Quantity("R", "R", unit(x=1), "radius of a ball around x*")


def starts(*points):
    """Return one start per seed, common to two clients."""
    return np.array([[[x], [x]] for x in points])


def descent(*points, eta=1e-3, rounds=1):
    """Run gradient descent on x^2/2 from these starts."""
    return dfl.train(
        DFedAvg(eta=eta, K=1),
        dfl.tasks.Quadratic(1.0, [[0.0], [0.0]]),
        AVERAGE,
        rounds=rounds,
        seeds=len(points),
        x0=starts(*points),
        metrics=[dfl.verdicts.dist_sq],
    )


@pytest.mark.parametrize(("bound", "kind"), [(0.8, "violated"), (1.2, "holds")])
def test_the_worst_start_is_reported_if_the_bound_is_free_of_the_start(bound, kind):
    theorem = statement(
        "grad_norm_sq",
        "last",
        LARGEST_GRADIENT.symbol,
        quantities=(LARGEST_GRADIENT,),
        rounds=TO_LAST,
    )
    verdict = compare(descent(0.1, 1.0), theorem, G2=bound)
    assert verdict.kind == kind
    assert verdict.measured.estimate == pytest.approx(0.998**1, rel=1e-3)
    assert verdict.ratio == pytest.approx(verdict.measured.estimate / bound)
    assert (verdict.ratio > 1) is (kind == "violated")
    assert "the worst of 2 starts" in verdict.reason


def test_a_schedule_that_contains_the_start_is_one_for_each_start():
    scheduled = {"eta": 1 / (L * (1 + GAP * L / SYMBOL["B"] ** 2))}
    theorem = statement(
        "grad_norm_sq",
        "min",
        20 * GAP * L,
        schedule=scheduled,
        rounds=TO_LAST,
        common_start=True,
    )
    for eta, seed in ((1 / (1 + 0.005 / 25), 1), (1 / (1 + 2 / 25), 0)):
        verdict = compare(descent(0.1, 2.0, eta=eta), theorem, B=5.0)
        assert verdict.kind == "not applicable"
        assert f"seed {seed}" in verdict.reason
    one_start = descent(2.0, 2.0, eta=1 / (1 + 2 / 25))
    assert compare(one_start, theorem, B=5.0).kind != "not applicable"


def test_a_registered_schedule_is_one_for_each_start():
    run = dfl.train(
        LocalSGD(eta=0.1, K=2),
        dfl.tasks.Quadratic(1.0, [[1.0], [-1.0]], noise=1.0),
        rounds=3,
        seeds=2,
        x0=starts(1.0, 2.0),
        metrics=[dfl.verdicts.dist_sq],
    )
    assert compare(run, "wang2021.tuned").kind == "not applicable"


def test_a_condition_must_hold_at_the_start_of_every_seed():
    """It holds at the mean of the starts, 0.01 and 6.25, at which no seed starts."""
    in_ball = Condition("start in a ball", SYMBOL["x_star_sq"], RADIUS.symbol**2)
    theorem = statement(
        "dist_sq",
        "max",
        RADIUS.symbol**2,
        conditions=(NO_NOISE, SMALL_STEPS, in_ball),
        quantities=(RADIUS,),
        rounds=TO_LAST,
        common_start=True,
    )
    run = descent(0.1, 2.5, eta=0.1, rounds=5)
    verdict = compare(run, theorem, R=1.9)
    assert verdict.kind == "not applicable"
    assert "start in a ball" in verdict.reason
    assert "seed 1" in verdict.reason
    assert verdict.slack["start in a ball"] == pytest.approx(1.9**2 - 2.5**2)
    assert compare(run, theorem, R=2.6).kind == "holds"


def test_a_registered_condition_must_hold_at_the_start_of_every_seed():
    """One seed starts at the minimizer."""
    run = dfl.train(
        FedAvg(eta=0.1, K=1),
        dfl.tasks.Quadratic(1.0, [[0.0], [0.0]]),
        rounds=3,
        seeds=2,
        x0=starts(0.0, 2.0),
        metrics=[dfl.verdicts.dist_sq],
    )
    verdict = compare(run, "nesterov2018.theorem_2_1_14")
    assert verdict.kind == "not applicable"
    assert "seed 0" in verdict.reason


@pytest.mark.parametrize("size", [1e8, 1e-8])
def test_starts_of_a_record_without_facts_are_one_up_to_rounding(size):
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    algorithm = dfl.algorithms.DFedAvg(eta=0.01, K=1)
    W = dfl.graphs.topology("ring", 4)
    run = copy(dfl.exact_history(algorithm, task, W, rounds=1))
    run.facts = None
    run.x0_sq = np.array([size])
    run.x0_spread = size * np.array([precision(run) ** 2])
    assert has_common_start(run) is True
    run.x0_spread = 100 * run.x0_spread
    assert has_common_start(run) is False
