"""Many clients with noise, which runs alone decide."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds import registry
from dfltheory.counterexamples import crowd_search, document, falsification, replay
from dfltheory.counterexamples.certify import certify, exact_expectation
from dfltheory.counterexamples.crowd_search import MANY_CLIENTS, CrowdSearch
from dfltheory.counterexamples.crowds import (
    CROWDS,
    GRID,
    Crowd,
    conditions_hold,
    crowd_instance,
    dip,
    seconds_of_runs,
    with_runs,
)
from dfltheory.counterexamples.describe import counterexample_lines
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.rational import verify_rationally
from dfltheory.counterexamples.run_certificate import JOINT_ERROR, verdict_on_runs
from dfltheory.counterexamples.simplify import simplify
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.files import json_text
from validation.counterexamples.true_versions.version import version

SMALL = Crowd(8, 0.0, 2, 0.43, 0.62, 50)
TUNED = registry.get("wang_joshi2021.corollary_2_tuned", "restated")
FIXED_STEP = registry.get("wang_joshi2021.theorem_1", "printed")
BUDGET = 60.0
LOST_CLIENTS = (TUNED.key, TUNED.variant, "1 for m", "drift")


@cache
def false_statement():
    """Return a statement whose bound is too small by a factor 50."""
    parts = {name: term / 50 for name, term in TUNED.parts.items()}
    return replace(TUNED, key="mine.corollary", parts=parts)


@pytest.fixture
def small_crowd(monkeypatch):
    """Replace the crowds of a search by a small one."""
    monkeypatch.setattr(crowd_search, "CROWDS", (SMALL,))


def small_search(theorem):
    """Return the search of a statement with a small crowd."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowd_search, "CROWDS", (SMALL,))
        return CrowdSearch.within(theorem, BUDGET)


@cache
def refutation():
    """Return the refutation of the false statement."""
    return small_search(false_statement()).refutation()


def finding():
    """Return the finding with that refutation."""
    theorem = false_statement()
    nothing = Finding(theorem.key, theorem.variant, False, math.nan, 3, 1.0, 0)
    crowds = CrowdSearch(theorem, (), 0.0)
    object.__setattr__(crowds, "refutation", refutation)
    refuted = falsification._refuted_by_crowds(nothing, crowds, 0.0)
    return replace(refuted, theorem=theorem)


# -- problems


def test_gradient_of_a_dip_has_two_slopes_and_a_turn():
    ramps = dip(0.5, 0.75)
    points = np.array([-2.0, -1.0, -0.75, -0.25, 0.0, 1.0])
    expected = [-1.0, 0.0, 0.25, -0.25, -0.5, 0.5]
    assert ramps.gradient(points.reshape(1, -1, 1, 1)).ravel() == pytest.approx(
        expected
    )
    assert ramps.constants()["L"] == 1
    assert np.isfinite(ramps.constants()["f_star"]).all()


def test_gradients_of_identical_clients_have_no_rounding_error():
    ramps = dip(0.1, 0.3)
    assert (np.mod(ramps.knots, GRID) == 0).all()
    for clients in (128, 256):
        assert ramps.repeated(clients).constants()["sigma_g"] == 0


def test_crowd_of_a_schedule_has_the_fewest_rounds():
    instance = crowd_instance(TUNED, SMALL)
    known = SMALL.numbers
    assert conditions_hold(TUNED, known | {"T": instance.rounds})
    assert not conditions_hold(TUNED, known | {"T": instance.rounds - 1})
    assert crowd_instance(TUNED, replace(SMALL, rounds=9000)).rounds == 9000
    assert crowd_instance(TUNED, SMALL, longest=instance.rounds - 1) is None


def test_crowd_without_a_schedule_has_the_largest_step():
    crowd = Crowd(16, 0.5, 1, 0.9, 1.1, 70)
    instance = crowd_instance(FIXED_STEP, crowd)
    known = crowd.numbers | {"T": 70}
    eta = instance.algorithm.eta
    assert instance.rounds == 70
    assert conditions_hold(FIXED_STEP, known | {"eta": eta})
    assert not conditions_hold(FIXED_STEP, known | {"eta": eta * (1 + 1e-6)})
    W = instance.network
    assert np.linalg.eigvalsh(W)[-2] == pytest.approx(0.5)
    assert W.sum(1) == pytest.approx(np.ones(16))


def test_conditions_on_unknown_quantities_do_not_hold():
    known = SMALL.numbers | {"T": 10**6}
    assert conditions_hold(TUNED, known)
    assert not conditions_hold(TUNED, {n: v for n, v in known.items() if n != "m"})


@pytest.mark.parametrize(
    ("theorem", "crowd"),
    [
        (TUNED, Crowd(16, 0.5, 1, 0.9, 1.1, 50)),
        (FIXED_STEP, SMALL),
    ],
)
def test_crowd_outside_of_the_scope_is_not_proposed(theorem, crowd):
    assert crowd_instance(theorem, crowd) is None


@pytest.mark.parametrize(
    ("key", "variant"),
    [("dfedmdc.rate_theorem_1", "corrected"), ("bottou2018.theorem_4_6", "printed")],
)
def test_statements_on_other_measures_have_no_crowds(key, variant):
    search = CrowdSearch.within(registry.get(key, variant), 1e6)
    assert search.pilots == ()


# -- decisions


def test_runs_refute_a_false_statement():
    family, instance, certificate = refutation()
    assert family == MANY_CLIENTS
    assert certificate.violated
    assert certificate.exact is None
    assert certificate.sides["ratio"] > certificate.core["low"] > 1
    assert certificate.core["seeds"] == len(instance.seeds)
    assert all(condition["holds"] for condition in certificate.conditions)


def test_runs_do_not_refute_the_true_statement():
    search = small_search(TUNED)
    (pilot,) = search.pilots
    assert verdict_on_runs(pilot, TUNED).ratio < 1
    assert search.refutation() is None


def test_runs_that_decide_are_independent_of_the_pilot_runs():
    (pilot,) = small_search(false_statement()).pilots
    instance = refutation()[1]
    assert pilot.seed != instance.seed
    needed = verdict_on_runs(pilot, false_statement()).seeds_needed
    assert crowd_search.FEWEST_RUNS <= len(instance.seeds) <= crowd_search.MOST_RUNS
    assert len(instance.seeds) >= needed


def test_errors_of_all_crowds_add_up_to_the_joint_error():
    verdict = verdict_on_runs(with_runs(crowd_instance(TUNED, SMALL), 2), TUNED)
    tail = (1 - verdict.confidence) / 2
    assert len(CROWDS) * tail == pytest.approx(JOINT_ERROR)
    assert JOINT_ERROR <= 0.001


def test_each_crowd_is_tested_once(monkeypatch):
    tested = []

    def rejected(instance, theorem):
        tested.append(instance)
        return replace(refutation()[2], obstacles=["rejected"])

    refutation()
    monkeypatch.setattr(crowd_search, "certify", rejected)
    assert small_search(false_statement()).refutation() is None
    assert len(tested) == 1


def test_too_few_runs_and_uncovered_runs_refute_nothing():
    instance = refutation()[1]
    assert not certify(with_runs(instance, 2), false_statement()).violated
    shorter = certify(replace(instance, rounds=100), false_statement())
    assert shorter.obstacles
    assert not shorter.violated
    with pytest.raises(InputError):
        exact_expectation(instance, false_statement())


# -- budgets


def test_small_budgets_have_no_crowds():
    assert CrowdSearch.within(TUNED, 5.0).pilots == ()
    assert CrowdSearch.within(TUNED, 5.0).reserved_share == 0
    assert CrowdSearch.within(TUNED, 8000, in_candidates=True).pilots == ()
    assert CrowdSearch.within(TUNED, 60_000, in_candidates=True).pilots


@pytest.mark.usefixtures("small_crowd")
def test_pilot_runs_must_fit_into_their_share():
    cost = seconds_of_runs(crowd_instance(TUNED, SMALL), crowd_search.PILOT_RUNS)
    least = cost / crowd_search.PILOT_SHARE
    assert CrowdSearch.within(TUNED, 0.99 * least).pilots == ()
    search = CrowdSearch.within(TUNED, 1.01 * least)
    assert 0 < search.reserved_share <= crowd_search.PILOT_SHARE < 0.5


def test_runs_that_take_too_long_are_not_made(monkeypatch):
    monkeypatch.setattr(crowd_search, "LONGEST_DECISION", 0.0)
    assert small_search(false_statement()).refutation() is None


def test_interrupted_stage_refutes_nothing(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(crowd_search, "verdict_on_runs", interrupted)
    assert small_search(false_statement()).refutation() is None


# -- searches and files


@pytest.mark.usefixtures("small_crowd")
@pytest.mark.parametrize(("theorem", "violated"), [("false", True), ("true", False)])
def test_search_ends_with_crowds(theorem, violated, monkeypatch):
    statement = false_statement() if theorem == "false" else TUNED
    budgets = []

    def no_arms(theorem, spaces, budget, *_):
        budgets.append(budget)
        return []

    monkeypatch.setattr(falsification, "search", no_arms)
    monkeypatch.setattr(falsification, "best_of", lambda *_: None)
    found = dfl.falsify(statement, candidates=60_000)
    assert found.violated is violated
    assert (found.family == MANY_CLIENTS) is violated
    share = CrowdSearch.within(statement, 60.0).reserved_share
    assert budgets[0] <= (1 - share) * 60_000
    if violated:
        assert found.ratio == found.families[MANY_CLIENTS]["ratio"]
        assert str(len(found.instance.seeds)) in str(found)


def test_stored_refutation_is_replayed(tmp_path):
    original = finding()
    file = original.save(tmp_path / "found.json")
    again = replay(file)
    assert again.violated
    assert again.ratio == original.ratio
    assert again.certificate == original.certificate
    assert len(counterexample_lines(again)) == 4


@pytest.mark.parametrize("crowd", CROWDS)
def test_files_of_crowds_are_small_enough(crowd):
    statement = TUNED if crowd.steps > 1 else FIXED_STEP
    instance = with_runs(crowd_instance(statement, crowd), crowd_search.MOST_RUNS)
    text = json_text(instance.document())
    assert len(text) + 10_000 < document.LARGEST_COUNTEREXAMPLE_FILE
    stored = document.built(json.loads(text), statement.scope.algorithms)
    assert stored.document() == instance.document()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seeds": 65}, "seeds"),
        ({"x0": [[0.0]] * 257}, "x0"),
        ({"rounds": 20_001}, "rounds"),
    ],
)
def test_stored_refutation_with_too_much_work_is_rejected(change, field, tmp_path):
    content = json.loads(finding().save(tmp_path / "found.json").read_text())
    content["instance"]["run"] |= change
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(content))
    with pytest.raises(DFLTheoryError, match=field):
        replay(file)


def test_work_of_a_stored_refutation_is_limited(tmp_path, monkeypatch):
    file = finding().save(tmp_path / "found.json")
    assert document.LARGEST_CROWD_WORK < 1e9
    monkeypatch.setattr(document, "LARGEST_CROWD_WORK", 1000)
    with pytest.raises(DFLTheoryError, match="rounds"):
        replay(file)


def test_only_problems_decided_by_runs_have_several_runs(tmp_path):
    content = json.loads(finding().save(tmp_path / "found.json").read_text())
    del content["instance"]["task"]["sigma"]
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(content))
    with pytest.raises(DFLTheoryError, match="seeds"):
        replay(file)


def test_stored_refutation_is_neither_simplified_nor_computed_in_fractions():
    instance, theorem = finding().instance.document(), false_statement()
    for evaluate in (simplify, verify_rationally):
        with pytest.raises(InputError):
            evaluate(instance, theorem)


def test_large_network_is_described_by_a_formula():
    crowd = Crowd(128, 0.5, 1, 0.9, 1.1, 70)
    instance = crowd_instance(FIXED_STEP, crowd)
    found = replace(finding(), instance=instance)
    assert "0.5 I + 0.5 11'/128" in counterexample_lines(found)[1]


@pytest.mark.slow
def test_crowd_of_the_search_refutes_lost_clients():
    statement = version(LOST_CLIENTS)
    _, instance, certificate = CrowdSearch.within(statement, BUDGET).refutation()
    assert instance.task.m == 128
    assert certificate.core["low"] > 1
    assert not certify(instance, TUNED).violated
