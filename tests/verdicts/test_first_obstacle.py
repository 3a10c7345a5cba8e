"""The obstacle that a verdict reports if several apply, and runs without a network."""

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.algorithms import DPSGD, DFedAvg
from dfltheory.errors import InputError
from tests.verdicts.statements import SYMBOL, TO_LAST, statement

TASK = dfl.tasks.Quadratic.diagonal(np.ones((3, 2)), np.zeros((3, 2)))
RING = dfl.graphs.metropolis(dfl.graphs.ring(3))
ON_DISTANCES = statement(
    "dist_sq",
    "last",
    SYMBOL["x_star_sq"],
    algorithm="DPSGD",
    hyperparameters={"order": "adapt-then-combine", "eta": "any"},
    rounds=TO_LAST,
)


@pytest.mark.parametrize(
    ("algorithm", "about"),
    [
        (DFedAvg(eta=0.1, K=2), "DFedAvg"),
        (DPSGD(eta=0.1, order="adapt-then-combine"), "dist_sq"),
    ],
)
def test_another_algorithm_comes_before_what_was_not_measured(algorithm, about):
    run = dfl.train(algorithm, TASK, RING, rounds=3, x0=np.ones((3, 2)))
    verdict = dfl.compare(run, ON_DISTANCES, x_star_sq=2.0)
    assert verdict.kind == "not applicable"
    assert about in verdict.reason


def test_number_of_clients_can_be_given_only_if_the_run_does_not_fix_it():
    theorem = statement(
        "grad_norm_sq",
        "last",
        SYMBOL["L"] * SYMBOL["f0_gap"] / SYMBOL["m"],
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine", "eta": "any"},
        rounds=TO_LAST,
    )
    algorithm = DPSGD(eta=0.1, order="adapt-then-combine")
    elsewhere = dfl.History.from_measurements([1.0, 0.5], algorithm=algorithm)
    verdict = dfl.compare(elsewhere, theorem, m=3, L=1.0, f0_gap=1.0)
    assert verdict.given["m"] == 3
    run = dfl.train(algorithm, TASK, RING, rounds=3, x0=np.ones((3, 2)))
    with pytest.raises(InputError, match="m = 4"):
        dfl.compare(run, theorem, m=4)


def test_rounds_that_were_not_measured_are_named():
    theorem = statement(
        "grad_norm_sq",
        "mean",
        SYMBOL["L"] * SYMBOL["f0_gap"],
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine", "eta": "any"},
        rounds={"first": sp.Integer(1), "last": sp.Integer(2)},
    )
    algorithm = DPSGD(eta=0.1, order="adapt-then-combine")
    run = dfl.train(algorithm, TASK, RING, rounds=5, evaluate_every=5)
    verdict = dfl.compare(run, theorem)
    assert verdict.kind == "not applicable"
    assert "none of the rounds" in verdict.reason
