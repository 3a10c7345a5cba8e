"""Bounds that are 0/0 or infinite at the constants of a run."""

import numpy as np
import pytest

import dfltheory as dfl
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, TO_LAST, statement

LOCAL, GLOBAL, GAP = (SYMBOL[name] for name in ("sigma_l", "sigma_g", "f0_gap"))


@pytest.mark.parametrize(
    ("bound", "kind"),
    [
        ((LOCAL**2 + GLOBAL**2) / (LOCAL + GLOBAL), "undecided"),
        (GAP / LOCAL, "vacuous"),
    ],
)
def test_bound_without_a_finite_value_is_no_comparison(bound, kind):
    """The run has neither noise nor different clients."""
    theorem = statement(
        "f_gap",
        "last",
        bound,
        conditions=(SMALL_STEPS,),
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine"},
        rounds=TO_LAST,
    )
    task = dfl.tasks.Quadratic.diagonal(np.array([[0.5, 0.5]]), np.zeros((1, 2)))
    algorithm = dfl.algorithms.DPSGD(eta=0.5, order="adapt-then-combine")
    run = dfl.train(
        algorithm, task, np.ones((1, 1)), rounds=4, x0=np.array([[1.0, 2.0]])
    )
    verdict = dfl.compare(run, theorem)
    assert verdict.kind == kind
    assert verdict.seeds_needed is None
