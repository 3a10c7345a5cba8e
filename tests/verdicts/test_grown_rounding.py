"""Clients that agree in exact arithmetic, and whose rounding errors a run enlarges."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds.comparisons import comparison_conditions
from tests.verdicts.statements import NO_NOISE, SYMBOL, TO_LAST, statement

RING = dfl.graphs.metropolis(dfl.graphs.ring(6))
START = np.tile([[0.3, -1.7]], (6, 1))
EQUAL = comparison_conditions("equal clients", SYMBOL["sigma_g"], "==", sp.S.Zero)


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def agreement(*conditions):
    """Return the statement that equal clients agree: eta^2 sigma_g^2 = 0."""
    return statement(
        "consensus",
        "max",
        (SYMBOL["eta"] * SYMBOL["sigma_g"]) ** 2,
        conditions=(NO_NOISE, *conditions),
        algorithm="DPSGD",
        hyperparameters={"order": "any"},
        common_start=True,
        rounds=TO_LAST,
    )


def descent(rounds, *, eta=1.9, spread=0.0, **options):
    """Return a run whose steps enlarge disagreement by eta L - lam_min > 2 a round."""
    minima = np.tile([[1.0, 2.0]], (6, 1))
    minima[::2] += spread
    task = dfl.tasks.Quadratic(np.array([1.0, 0.3]), minima)
    algorithm = dfl.algorithms.DPSGD(eta=eta)
    return dfl.train(algorithm, task, RING, rounds=rounds, x0=START, **options)


@pytest.mark.parametrize("options", [{}, {"evaluate_every": 20}])
@pytest.mark.parametrize("rounds", [20, 60, 100])
def test_grown_rounding_errors_of_equal_clients_violate_nothing(rounds, options):
    run = descent(rounds, **options)
    assert run.consensus[np.isfinite(run.consensus)].max() > 1e-22
    assert dfl.compare(run, agreement(*EQUAL)).kind == "undecided"


def test_clients_that_differ_violate_it():
    run = descent(20, spread=1e-3)
    assert dfl.compare(run, agreement()).kind == "violated"


def test_a_start_that_differs_is_no_rounding_error():
    task = dfl.tasks.Quadratic(np.array([1.0, 0.3]), np.tile([[1.0, 2.0]], (6, 1)))
    start = START + np.arange(6)[:, None] / 10
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.1), task, RING, rounds=5, x0=start)
    theorem = statement(
        "consensus",
        "max",
        SYMBOL["x0_spread"] / 2,
        conditions=(NO_NOISE,),
        algorithm="DPSGD",
        hyperparameters={"order": "any"},
        common_start=False,
        rounds=TO_LAST,
    )
    assert dfl.compare(run, theorem).kind == "violated"
