"""validate finds step sizes for every statement, with or without a schedule."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds.regions import draw_values
from dfltheory.cli import run
from dfltheory.cli.validate import _default_document
from dfltheory.errors import ConditionError
from dfltheory.experiments.experiment_file import read_experiment

CLIENTS = 4
OF_THE_RUN = {"T", "m", "K", "K_u", "K_v", "Q", "rho", "alpha", "lam", "lam_min"}
OF_THE_RUN |= {"delta", "C", "q", "window", "f0_gap", "x0_sq", "x0_spread"}
"""Names of quantities that hyperparameters, the network and the start fix."""


def keys():
    """Return the registered statements with constants, with which a run can be
    compared.
    """
    found = []
    listed = bounds.keys()
    for key in listed:
        theorems = [bounds.get(key, v) for v in bounds.variants(key)]
        if not all(t.order for t in theorems):
            found.append(key)
    return found


def constants(theorems, task):
    """Return random values of quantities that neither task nor run determines."""
    rng = np.random.default_rng(0)
    found = {"rho0": 1.0}
    for theorem in theorems:
        names = set(theorem.needs)
        for rule in theorem.schedule.values():
            names |= {symbol.name for symbol in rule.free_symbols}
        names -= {*OF_THE_RUN, *task.constants.known(), *found}
        names = {name for name in names if not theorem.glossary[name].step}
        points = draw_values(sorted(names), 1, rng, theorem.glossary) if names else {}
        # at 0, some schedules have no step size
        found |= {name: float(column[0]) or 0.5 for name, column in points.items()}
    return found


def instance(key, steps):
    document = _default_document(key, None, None, {"theorem.steps": steps}, False)
    theorems = [bounds.get(key, v) for v in bounds.variants(key)]
    task = getattr(dfl.tasks, document["task"]["name"])(m=CLIENTS)
    document["theorem"]["steps"] = steps
    document["theorem"]["constants"] = constants(theorems, task)
    document["task"]["m"] = CLIENTS
    document["run"] = {"rounds": 1000, "seeds": 2}
    document["topology"] = {"name": "ring"}
    return read_experiment(document, trust=True).cell.instance()


@pytest.mark.drawn(4)
@pytest.mark.parametrize("key", keys())
def test_validate_finds_admissible_steps_of_every_statement(key):
    assert instance(key, "admissible").algorithm


@pytest.mark.drawn(4)
@pytest.mark.parametrize("key", keys())
def test_validate_finds_largest_steps_of_every_statement_or_that_there_are_none(key):
    with suppress(ConditionError):
        assert instance(key, "largest").algorithm


def test_validate_reduces_steps_of_a_statement_without_schedule_from_1_over_L():
    key = "wang_joshi2021.theorem_2"
    task = dfl.tasks.quadratic(m=CLIENTS)
    admissible = instance(key, "admissible").algorithm.eta
    largest = instance(key, "largest").algorithm.eta
    assert admissible <= largest
    assert admissible <= 1 / task.constants.L


def test_largest_steps_of_a_standard_theorem_run_and_are_compared(capsys):
    small = ["--rounds", "5", "--seeds", "2", "--m", "4", "--topology", "ring"]
    command = ["validate", "wang_joshi2021.theorem_2", "--steps", "largest", *small]
    assert run([*command, "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert verdict["kind"] != "not applicable"


@pytest.mark.parametrize("key", ["yuan2016.theorem_3", "wang2021.theorem_1"])
def test_distance_to_the_minimizer_is_recorded_where_a_theorem_needs_it(key, capsys):
    small = ["--rounds", "5", "--seeds", "2", "--m", "4", "--topology", "ring"]
    given = ["--set", "theorem.constants.mu_each=0.1"]
    assert run(["validate", key, *small, *given, "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert "dist_sq" not in verdict["reason"]
    assert "x_star_sq" not in verdict["reason"]


def test_steps_of_a_schedule_that_does_not_exist_are_rejected(capsys):
    key = "wang_joshi2021.theorem_2"
    assert run(["validate", key, "--steps", "schedule", "--rounds", "5"]) == 2
    assert "algorithm.eta" in capsys.readouterr().err


def test_admissible_steps_are_kept_where_no_smaller_step_helps(capsys):
    small = ["--rounds", "5", "--seeds", "2", "--m", "4", "--topology", "ring"]
    assert run(["validate", "wang_joshi2021.theorem_1", *small, "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert verdict["kind"] == "not applicable"
    assert "sigma_g" in verdict["suggestions"]["note"]
