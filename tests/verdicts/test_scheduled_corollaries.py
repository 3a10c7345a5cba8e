"""A corollary holds at the step sizes of its schedule, also where its bound contains
them.
"""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.rates import rate_fit
from tests.verdicts.statements import SYMBOL, statement

ETA, L, T = SYMBOL["eta"], SYMBOL["L"], SYMBOL["T"]
TASK = dfl.tasks.Quadratic.diagonal(np.array([[1.0, 0.5]]), np.zeros((1, 2)))
EXACT = comparison_conditions("no noise", SYMBOL["sigma_l"], "==", sp.Integer(0))
EQUAL = comparison_conditions("equal clients", SYMBOL["sigma_g"], "==", sp.Integer(0))


def descent(kind="corollary", step=1 / L):
    """Gradient descent with a step of at most 1/L; the bound contains the step."""
    theorem = statement(
        "grad_norm_sq",
        "mean",
        SYMBOL["f0_gap"] / (ETA * T * (1 - ETA * L / 2)),
        conditions=(*EXACT, *EQUAL),
        algorithm="DPSGD",
        schedule={"eta": step},
        hyperparameters={"order": "adapt-then-combine"},
    )
    return replace(theorem, kind=kind)


def run(eta, rounds=20):
    algorithm = dfl.algorithms.DPSGD(eta=eta, order="adapt-then-combine")
    return dfl.train(
        algorithm, TASK, np.ones((1, 1)), rounds=rounds, x0=np.array([[1.0, 2.0]])
    )


@pytest.mark.parametrize("eta", [3.0, 2.5, 0.5])
def test_corollary_is_not_applicable_at_another_step_size(eta):
    assert dfl.compare(run(eta), descent()).kind == "not applicable"


def test_corollary_holds_at_its_step_size():
    assert dfl.compare(run(1.0), descent()).kind == "holds"


def test_theorem_covers_other_step_sizes_than_those_that_its_schedule_suggests():
    assert dfl.compare(run(0.5), descent(kind="theorem")).kind == "holds"


def test_rate_of_runs_at_another_step_size_is_undecided():
    horizons = [2, 4, 8, 16]
    fit = rate_fit(descent(), lambda rounds: run(3.0, int(rounds)), "T", horizons)
    assert fit.verdict == "undecided"


@pytest.mark.parametrize("step", [1 / (2 * L), 1 / (L * sp.sqrt(T))])
def test_audit_evaluates_a_corollary_at_its_step_size(step):
    assert not [f for f in dfl.audit(descent(step=step)) if f.severity == "error"]
