"""A schedule is evaluated at constants that the task does not contradict."""

import pytest

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.verdicts.schedule import scheduled_algorithm


@pytest.mark.parametrize(("name", "value"), [("L", 0.5), ("sigma_g", 0.0), ("sigma_l", 0.01)])
def test_a_schedule_rejects_a_constant_below_that_of_the_task(name, value):
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    with pytest.raises(InputError, match=f"{name} = "):
        scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2, **{name: value})


def test_a_schedule_accepts_a_larger_constant():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    usual = scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2)
    careful = scheduled_algorithm("dfedsam.corollary_4_6", task, 100, K=2, L=2.0)
    assert careful.eta < usual.eta
