"""Values by name agree with the recorded ones, whatever they are computed from."""

from __future__ import annotations

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.verdicts.run_values import run_values
from tests.verdicts import recorded_values
from tests.verdicts.recorded_values import (
    named,
    outcome,
    outcome_names,
    recorded,
    statements,
)

RECORDED = recorded()
OUTCOMES = outcome_names()
STATEMENTS = {named(theorem): theorem for theorem in statements()}


def close(found, record):
    """Check for equal names, and for numbers that agree to 1e-12."""
    assert found.keys() == record.keys()
    for source, values in record.items():
        assert found[source].keys() == values.keys(), source
        for name, value in values.items():
            if isinstance(value, str):
                assert found[source][name] == value, (source, name)
            else:
                np.testing.assert_allclose(
                    found[source][name],
                    value,
                    rtol=1e-12,
                    atol=1e-300,
                    err_msg=f"{source}: {name}",
                )


def test_every_case_has_a_record_and_every_record_a_case():
    assert RECORDED.keys() == {*OUTCOMES} | STATEMENTS.keys()


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", OUTCOMES)
def test_values_of_a_saved_outcome_are_the_recorded_ones(name):
    with np.errstate(all="ignore"):
        close(recorded_values.values_of_outcome(*outcome(name)), RECORDED[name])


@pytest.mark.drawn(20)
@pytest.mark.parametrize("name", STATEMENTS)
def test_values_of_a_run_of_each_statement_are_the_recorded_ones(name):
    """For fresh runs and those read from a file."""
    record = RECORDED[name]
    if "run" in record:
        record = record | {"loaded": record["run"]}
    with np.errstate(all="ignore"):
        close(recorded_values.values_of_statement(STATEMENTS[name]), record)


def test_rounding_error_of_the_measured_gap_is_that_of_the_run():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, seed=0)
    algorithm = dfl.algorithms.FedAvg(eta=0.1, K=1)
    run = dfl.train(algorithm, task, rounds=2, progress=False)
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    (error,) = np.unique(run.f0_gap_error)
    assert error > 0
    assert run_values(run, theorem).errors["f0_gap"].shift == pytest.approx(error)
    given = run_values(run, theorem, {"f0_gap": 1.0}).errors["f0_gap"]
    assert given.shift == 0
