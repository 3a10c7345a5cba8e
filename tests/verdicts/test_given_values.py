"""A gap f(x^0) - f* that is given must be at least the decrease of f in the run."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

import dfltheory as dfl
from dfltheory.algorithms import DPSGD, LocalSGD
from dfltheory.errors import InputError
from dfltheory.tasks.supervised import Supervised
from dfltheory.verdicts.given_values import refuse_contradictions
from dfltheory.verdicts.measures import gap_above_minimum
from tests.verdicts.statements import SYMBOL, TO_LAST, statement

THEOREM = statement(
    "grad_norm_sq",
    "min",
    SYMBOL["L"] * SYMBOL["f0_gap"],
    algorithm="DPSGD",
    hyperparameters={"order": "adapt-then-combine", "eta": "any"},
    rounds=TO_LAST,
)


@pytest.fixture(scope="module")
def run():
    """Return a run in single precision whose f is near 10^6 and decreases by less than
    20, which is a few times its rounding error.
    """
    torch.manual_seed(0)
    data = [(np.ones((2, 1)), np.full((2, 1), 1000.0))]
    task = Supervised(nn.Linear(1, 1), data, loss="mse", dtype=torch.float32)
    algorithm = DPSGD(eta=5e-7, order="adapt-then-combine")
    return dfl.train(algorithm, task, np.ones((1, 1)), rounds=3)


def test_gap_of_the_decrease_is_accepted_up_to_the_rounding_of_f(run):
    decrease = float(run.loss[0, 0] - run.loss[0].min())
    assert 0 < decrease < 20
    for gap in (decrease, decrease * (1 + 1e-3)):
        verdict = dfl.compare(run, THEOREM, f0_gap=gap, L=4.0)
        assert verdict.given["f0_gap"] == gap


@pytest.mark.parametrize(("name", "value"), [("m", 5), ("T", 7), ("x0_spread", 1)])
def test_what_the_run_has_fixed_cannot_be_given(run, name, value):
    theorem = dataclasses.replace(THEOREM, parts={"bound": 1 + SYMBOL[name]})
    with pytest.raises(InputError, match=f"{name} = {value} contradicts this run"):
        dfl.compare(run, theorem, **{name: value})


def test_gap_below_the_decrease_is_rejected(run):
    decrease = float(run.loss[0, 0] - run.loss[0].min())
    with pytest.raises(InputError, match="f0_gap"):
        dfl.compare(run, THEOREM, f0_gap=decrease / 4, L=4.0)


@pytest.mark.parametrize(
    ("given", "fixed"), [(0.5, 0.3), (0.3 * (1 + 1e-5), 0.3), (1e-6, 0.0)]
)
def test_value_that_differs_from_that_of_the_run_is_refused(given, fixed):
    with pytest.raises(InputError, match="contradicts"):
        refuse_contradictions({"lam": given}, {"lam": fixed})


@pytest.mark.parametrize(
    ("given", "fixed"), [(0.3 * (1 + 1e-9), 0.3), (1e-13, 0.0), (0.3, 0.3)]
)
def test_value_that_differs_by_rounding_is_accepted(given, fixed):
    refuse_contradictions({"lam": given, "L": 2.0}, {"lam": fixed})


def test_estimated_constant_of_a_random_network_may_be_replaced():
    network = dfl.graphs.RandomNeighbors(12, 3)
    estimate = dfl.graphs.network_constants(network)
    assert estimate.standing_of("lam") == "estimate"
    refuse_contradictions({"lam": 0.5}, {"lam": 0.9}, network)
    with pytest.raises(InputError, match="contradicts"):
        refuse_contradictions({"lam": 0.5}, {"lam": 0.9}, dfl.graphs.ring(12))


def test_gap_is_unknown_without_the_minimum_of_f():
    algorithm = DPSGD(eta=0.1, order="adapt-then-combine")
    elsewhere = dfl.History.from_measurements([1.0, 0.5], algorithm=algorithm)
    assert elsewhere.constants.f_star is None
    assert gap_above_minimum(np.ones((1, 2)), elsewhere) is None


def test_number_of_clients_cannot_be_given_where_there_is_no_network():
    theorem = statement(
        "grad_norm_sq",
        "min",
        SYMBOL["L"] / SYMBOL["m"],
        algorithm="LocalSGD",
        hyperparameters={"eta": "any", "K": "any"},
        rounds=TO_LAST,
    )
    task = dfl.tasks.Quadratic(1.0, [[0.0]] * 3)
    run = dfl.train(LocalSGD(eta=0.1, K=2), task, None, rounds=2)
    with pytest.raises(InputError, match="m = 5 contradicts this run"):
        dfl.compare(run, theorem, m=5)
