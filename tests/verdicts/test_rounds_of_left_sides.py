"""Ends of left-hand sides that are no whole rounds, and bounds that contain the round."""

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds import LeftSide
from dfltheory.counterexamples.aggregates import at_T
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, TO_LAST, statement

ETA, MU, GAP, T = (SYMBOL[name] for name in ("eta", "mu", "f0_gap", "T"))
HALF = {"first": T / 2, "last": T}
TASK = dfl.tasks.Quadratic.diagonal(np.array([[0.5, 0.5]]), np.zeros((1, 2)))


def contraction(aggregate, rounds, exponent=T):
    """Gradient descent: f - f* of the rounds from T/2 on is at most that at T/2."""
    return statement(
        "f_gap",
        aggregate,
        (1 - ETA * MU) ** exponent * GAP,
        conditions=(SMALL_STEPS,),
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine"},
        rounds=rounds,
    )


def run(rounds):
    algorithm = dfl.algorithms.DPSGD(eta=0.5, order="adapt-then-combine")
    return dfl.train(
        algorithm, TASK, np.ones((1, 1)), rounds=rounds, x0=np.array([[1.0, 2.0]])
    )


@pytest.mark.parametrize(
    ("T", "covered"), [(1, range(1, 2)), (4, range(2, 5)), (5, range(3, 6))]
)
def test_rounds_between_ends_that_are_not_whole_count(T, covered):
    assert LeftSide("f_gap", aggregate="max", **HALF).rounds(T) == covered


@pytest.mark.parametrize("rounds", [3, 4, 5])
@pytest.mark.parametrize("aggregate", ["max", "mean"])
def test_true_statement_on_the_second_half_of_the_rounds_is_not_violated(
    aggregate, rounds
):
    assert dfl.compare(run(rounds), contraction(aggregate, HALF)).kind != "violated"


def test_statement_on_a_round_that_does_not_exist_is_not_applicable():
    theorem = contraction("last", {"last": T / 2})
    assert dfl.compare(run(5), theorem).kind == "not applicable"
    assert dfl.compare(run(4), theorem).kind != "not applicable"


@pytest.mark.parametrize("aggregate", ["last", "min", "max", "mean", "sum"])
def test_search_does_not_judge_rounds_that_do_not_exist(aggregate):
    theorem = contraction(aggregate, {"first": T / 2, "last": T / 2})
    data = np.ones((9, 3))
    assert np.isnan(at_T(theorem, data, 5, 1)).all()
    assert (at_T(theorem, data, 4, 1) == 1).all()


def test_bound_that_contains_the_round_is_not_evaluated_at_one_round():
    theorem = contraction("each", TO_LAST, 2 * SYMBOL["t"])
    assert dfl.compare(run(4), theorem, t=4).kind == "not applicable"


@pytest.mark.parametrize("aggregate", ["each", "max", "last"])
@pytest.mark.parametrize("name", ["gap_now", "dist_now"])
def test_one_value_does_not_stand_for_that_of_every_round(name, aggregate):
    theorem = statement(
        "f_gap",
        aggregate,
        (1 - ETA * MU) ** 2 * SYMBOL[name],
        conditions=(SMALL_STEPS,),
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine"},
        rounds=TO_LAST,
    )
    verdict = dfl.compare(run(4), theorem, **{name: 1e-3})
    assert verdict.kind == "not applicable"
    assert name in verdict.reason
