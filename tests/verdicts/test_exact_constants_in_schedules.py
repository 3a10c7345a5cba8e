"""Schedules and verdicts use constants that neither task nor run contradicts."""

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.verdicts.schedule import scheduled_algorithm


@pytest.mark.parametrize(
    ("name", "value"), [("L", 0.5), ("sigma_g", 0.0), ("sigma_l", 0.01)]
)
def test_a_schedule_rejects_a_constant_below_that_of_the_task(name, value):
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    with pytest.raises(InputError, match=f"{name} = "):
        scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2, **{name: value})


def test_a_schedule_accepts_a_larger_constant():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    usual = scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2)
    careful = scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2, L=2.0)
    assert careful.eta < usual.eta


def trained():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    W, algorithm = (
        dfl.graphs.metropolis(dfl.graphs.ring(4)),
        dfl.algorithms.DFedAvg(eta=0.001, K=2),
    )
    return dfl.train(
        algorithm, task, W, rounds=5, seeds=2, x0=np.ones(2), progress=False
    )


def test_a_verdict_rejects_a_bound_on_gradients_that_the_run_exceeds():
    """Otherwise the verdict would call a bound vacuous because of a false B^2."""
    run = trained()
    longest = float(run.grad_norm_sq.max()) ** 0.5
    with pytest.raises(InputError, match="B = "):
        dfl.compare(run, "dfedsam.theorem_4_5", variant="corrected", B=0.99 * longest)
    assert dfl.compare(
        run, "dfedsam.theorem_4_5", variant="corrected", B=1.01 * longest
    )


@pytest.mark.parametrize("value", ["2", "two", None, [2.0, 2.0], [1.0, "2"]])
def test_a_constant_is_a_number(value):
    with pytest.raises(InputError, match="L = "):
        dfl.compare(trained(), "dfedsam.theorem_4_5", variant="corrected", L=value)
