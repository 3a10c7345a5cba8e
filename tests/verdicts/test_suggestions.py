"""Suggestions that make a theorem apply: each one satisfies all conditions."""

import json
import math

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds.regions import draw_values
from dfltheory.bounds.tuning import all_hold
from dfltheory.errors import DataError
from dfltheory.experiments.verdict_documents import verdict_from_dict
from dfltheory.verdicts.suggestion_search import suggest
from validation import first_attempts

SETTINGS = 3
"""Random settings for each statement with conditions."""


def statements():
    found = []
    for key in dfl.bounds.keys(all=True):
        for variant in dfl.bounds.variants(key):
            theorem = dfl.bounds.get(key, variant=variant)
            if theorem.conditions and not theorem.order:
                found.append(theorem)
    return found


def values_needed(theorem):
    names = set(theorem.needs)
    for rule in theorem.schedule.values():
        names |= {symbol.name for symbol in rule.free_symbols}
    return names


def met(theorem, values):
    needed = {name: values[name] for name in theorem.needs}
    return bool(all_hold(theorem, needed).all())


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_suggestions_meet_all_conditions_of_every_statement(every):
    """Quickly, of every fortieth one."""
    rng = np.random.default_rng(1)
    theorems = statements()[::every]
    with_alternatives = 0
    for theorem in theorems:
        points = draw_values(values_needed(theorem), SETTINGS, rng, theorem.glossary)
        for index in range(SETTINGS):
            values = {name: float(column[index]) for name, column in points.items()}
            if met(theorem, values):
                continue
            suggestions = suggest(theorem, values)
            assert suggestions.alternatives or suggestions.note
            with_alternatives += bool(suggestions.alternatives)
            for alternative in suggestions.alternatives:
                assert met(theorem, {**values, **alternative.values}), alternative
    assert with_alternatives >= len(theorems) / 2


def test_suggested_range_holds_within_and_fails_beyond():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", variant="corrected")
    values = dict.fromkeys(theorem.needs, 1.0)
    values |= {"K": 5.0, "T": 1000.0, "lam": 0.95, "eta": 0.02, "m": 16.0}
    by_name = {
        s.changes[0].name: s.changes[0] for s in suggest(theorem, values).alternatives
    }
    assert {"eta", "Q"} <= set(by_name)
    eta = by_name["eta"]
    assert met(theorem, {**values, "eta": eta.high})
    assert met(theorem, {**values, "eta": eta.high / 1000})
    assert not met(theorem, {**values, "eta": eta.high * 1.01})
    gossip = by_name["Q"].low
    assert met(theorem, {**values, "Q": gossip})
    assert not met(theorem, {**values, "Q": gossip - 1})


def test_horizon_is_suggested_for_a_step_size_on_the_schedule_only():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", variant="corrected")
    values = dict.fromkeys(theorem.needs, 1.0)
    values |= {"K": 5.0, "T": 1000.0, "lam": 0.95, "eta": 1 / math.sqrt(5000)}
    on_schedule = suggest(theorem, values).alternatives[0]
    assert on_schedule.changes[0].name == "T"
    horizon = on_schedule.changes[0].low
    assert on_schedule.scheduled["eta"] == pytest.approx(1 / math.sqrt(5 * horizon))
    other = suggest(theorem, {**values, "eta": 0.02})
    assert "T" not in {c.name for s in other.alternatives for c in s.changes}


def test_condition_on_the_problem_has_no_suggestion():
    theorem = dfl.bounds.get("lean.gd_convex")
    values = dict.fromkeys(theorem.needs, 1.0)
    suggestions = suggest(theorem, {**values, "sigma_l": 1.0})
    assert not suggestions.alternatives
    assert "exact gradients" in suggestions.note


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", first_attempts.NETWORKS)
def test_first_attempts_draw_a_bound_or_print_a_suggestion(name):
    for verdict in first_attempts.verdicts_on(name):
        if verdict.kind != "not applicable":
            assert math.isfinite(verdict.bound)
            assert not verdict.suggestions
            continue
        assert verdict.suggestions.alternatives
        assert str(verdict.suggestions) in str(verdict)
        known = {**verdict.values, "T": first_attempts.ROUNDS}
        for alternative in verdict.suggestions.alternatives:
            assert met(verdict.theorem, {**known, **alternative.values})


def test_script_of_first_attempts_prints_a_line_for_each(capsys, monkeypatch):
    ring = {"ring": first_attempts.NETWORKS["ring"]}
    monkeypatch.setattr(first_attempts, "NETWORKS", ring)
    assert first_attempts.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("ring, ") for line in lines) == 3
    results = [line for line in lines if line.startswith("  ")]
    assert all(line.startswith(("  bound", "  not applicable")) for line in results)
    assert len(results) >= 3


def test_obstacle_of_scope_names_what_the_scope_covers():
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    run = dfl.train(
        dfl.algorithms.SGP(eta=0.02),
        task,
        dfl.graphs.complete(4),
        rounds=5,
        progress=False,
    )
    suggestions = dfl.compare(run, "dfedsam.theorem_4_5").suggestions
    assert not suggestions.alternatives
    assert "DFedSAM" in suggestions.note


def test_suggestions_survive_a_file():
    task = dfl.tasks.quadratic(m=16, d=4, sigma=0.1, seed=0)
    run = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01),
        task,
        dfl.graphs.ring(16),
        rounds=5,
        seeds=2,
        progress=False,
    )
    verdict = dfl.compare(run, "dfedsam.theorem_4_5", variant="corrected")
    assert verdict.suggestions.largest_step["eta"] > 0
    document = json.loads(json.dumps(verdict.to_dict()))
    assert verdict_from_dict(document).suggestions == verdict.suggestions
    document["suggestions"] = {"alternatives": [{"changes": 3}]}
    with pytest.raises(DataError):
        verdict_from_dict(document)
