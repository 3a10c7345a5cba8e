"""Every obstacle has a remedy, or a statement that no change of the run helps."""

from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.constants import SEQUENCES
from dfltheory.training.history import History
from dfltheory.verdicts.applicability import OBSTACLE_KINDS, Obstacle
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.run_suggestions import suggestions_for
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.suggestion_search import NOTHING_HELPS

CLIENTS = 4
RING = dfl.graphs.ring(CLIENTS)
SAM = dfl.algorithms.DFedSAM(eta=0.001, K=2, rho=0.01)
ADMM = dfl.algorithms.DFedADMM(eta=0.01, K=2, lam=0.01)


def quadratic(**options):
    return dfl.tasks.quadratic(m=CLIENTS, d=2, sigma=0.1, seed=0, **options)


def run_of(algorithm=SAM, network=RING, task=None, rounds=5, **options):
    task = quadratic() if task is None else task
    return dfl.train(
        algorithm, task, network, rounds=rounds, seeds=2, progress=False, **options
    )


def verdict_of(run, reference, **given):
    return dfl.compare(run, dfl.bounds.load(reference), **given)


def theorem_4_5(**scope):
    """Return the corrected Theorem 4.5 with another scope, as a user's statement."""
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    return replace(theorem, key="own.theorem", scope=replace(theorem.scope, **scope))


# -- each kind of obstacle, its remedy, and the run after it ---------------------------


def test_bounded_gradients_name_the_variants_without_them():
    suggestions = verdict_of(run_of(ADMM), "dfedadmm.theorem_1:corrected").suggestions
    assert "corrected_no_bounded_gradients" in suggestions.note
    assert "sinusoidal" in suggestions.note
    assert "B=" in suggestions.note
    without = verdict_of(
        run_of(ADMM), "dfedadmm.theorem_1:corrected_no_bounded_gradients"
    )
    assert "bounded gradients" not in without.reason
    sinusoidal = dfl.tasks.sinusoidal(m=CLIENTS)
    bounded = verdict_of(run_of(ADMM, task=sinusoidal), "dfedadmm.theorem_1:corrected")
    assert "bounded gradients" not in bounded.reason


def test_bounded_gradients_of_a_statement_without_variants():
    own = theorem_4_5(bounded_gradients=True)
    suggestions = dfl.compare(run_of(), own).suggestions
    assert "B=" in suggestions.note
    assert "variant" not in suggestions.note
    assert "bounded gradients" not in dfl.compare(run_of(), own, B=1e6).reason


@pytest.mark.parametrize("variant", ["printed", "corrected"])
def test_network_without_links_must_be_connected(variant):
    run = run_of(network=np.eye(CLIENTS))
    suggestions = verdict_of(run, f"dfedsam.theorem_4_5:{variant}").suggestions
    assert "connected" in suggestions.note
    assert "lam < 1" in suggestions.note
    assert NOTHING_HELPS not in suggestions.note


def test_disconnected_network_must_be_connected():
    pair = np.full((2, 2), 0.5)
    W = np.kron(np.eye(2), pair)
    suggestions = verdict_of(run_of(network=W), "dfedsam.theorem_4_5").suggestions
    assert "must be connected" in suggestions.note


def test_directed_network_needs_symmetric_weights():
    own = theorem_4_5(algorithms=("SGP",), hyperparameters={}, network="symmetric")
    run = run_of(dfl.algorithms.SGP(eta=0.01), dfl.graphs.directed_ring(CLIENTS))
    assert "metropolis" in dfl.compare(run, own).suggestions.note
    after = run_of(dfl.algorithms.SGP(eta=0.01), dfl.graphs.metropolis(RING))
    assert "mixing matrix" not in dfl.compare(after, own).reason


def test_changing_network_names_the_covered_sequences():
    ring, full = dfl.graphs.metropolis(RING), dfl.graphs.complete(CLIENTS)
    periodic = dfl.graphs.Periodic([ring, dfl.graphs.metropolis(full)])
    suggestions = verdict_of(
        run_of(network=periodic), "dfedsam.theorem_4_5"
    ).suggestions
    assert SEQUENCES["fixed"] in suggestions.note
    assert "corrected" in suggestions.note


def test_wrong_algorithm_names_the_covered_ones_and_statements_about_it():
    run = run_of(dfl.algorithms.SGP(eta=0.01), dfl.graphs.directed_ring(CLIENTS))
    suggestions = verdict_of(run, "dfedsam.theorem_4_5").suggestions
    assert "DFedSAM" in suggestions.note
    assert "dfedsgpsm.theorem_1" in suggestions.note


def test_different_starts_name_the_variants_that_cover_them():
    x0 = np.random.default_rng(0).normal(size=(CLIENTS, 2))
    run = run_of(x0=x0)
    suggestions = verdict_of(run, "dfedsam.theorem_4_5:corrected").suggestions
    assert "corrected_different_starts" in suggestions.note
    assert "same model" in suggestions.note
    other = verdict_of(run, "dfedsam.theorem_4_5:corrected_different_starts")
    assert other.kind != "not applicable"


def test_wrong_local_steps_are_set_to_the_covered_number():
    own = theorem_4_5(hyperparameters={"order": "adapt-then-combine", "K": 1})
    verdict = dfl.compare(run_of(), own)
    assert verdict.kind == "not applicable"
    (suggestion,) = verdict.suggestions.alternatives
    assert suggestion.settings == {"K": 1}
    assert "K = 1" in str(verdict)
    after = run_of(replace(SAM, **suggestion.settings))
    assert dfl.compare(after, own).kind != "not applicable"


def test_wrong_order_is_set_to_the_covered_one_and_applies():
    wrong = dfl.algorithms.DPSGD(eta=0.001, order="combine-then-adapt")
    verdict = verdict_of(run_of(wrong), "dfedsam.theorem_4_5:corrected")
    (suggestion,) = verdict.suggestions.alternatives
    assert suggestion.settings == {"order": "adapt-then-combine"}
    after = run_of(replace(wrong, **suggestion.settings))
    assert verdict_of(after, "dfedsam.theorem_4_5:corrected").kind != "not applicable"


def test_setting_and_step_size_are_suggested_together():
    wrong = dfl.algorithms.DPSGD(eta=0.5, order="combine-then-adapt")
    verdict = verdict_of(run_of(wrong), "dfedsam.theorem_4_5:corrected")
    by_step = [s for s in verdict.suggestions.alternatives if "eta" in s.values]
    assert by_step
    assert "order" in by_step[0].settings
    after = replace(wrong, **by_step[0].settings, eta=by_step[0].values["eta"])
    verdict = verdict_of(run_of(after), "dfedsam.theorem_4_5:corrected")
    assert verdict.kind != "not applicable"


def test_missing_metric_is_named_and_recorded():
    algorithm = dfl.algorithms.DPSGD(eta=0.01, order="combine-then-adapt")
    given = {"mu_each": 0.1}
    suggestions = verdict_of(run_of(algorithm), "yuan2016.theorem_3").suggestions
    assert "metrics=[dfl.verdicts.dist_sq]" in suggestions.note
    run = run_of(algorithm, metrics=[dfl.verdicts.dist_sq])
    assert "dist_sq" not in verdict_of(run, "yuan2016.theorem_3", **given).reason


def test_metric_that_the_package_lacks_is_named():
    algorithm = dfl.algorithms.DPSGD(eta=0.01, order="combine-then-adapt")
    suggestions = verdict_of(run_of(algorithm), "vogels2023.theorem_9").suggestions
    assert "neighborhood_distance" in suggestions.note


def test_missing_constants_are_named_with_the_way_to_give_them():
    run = run_of(dfl.algorithms.LocalSGD(eta=0.01, K=2), network=None)
    verdict = verdict_of(run, "wang2021.theorem_1")
    assert "mu_each=" in verdict.suggestions.note
    assert "theorem.constants" in verdict.suggestions.note
    given = {"mu_each": 1e-3, "x_star_sq": 1e3}
    assert "not known" not in verdict_of(run, "wang2021.theorem_1", **given).reason


def test_constants_missing_at_a_schedule_are_named():
    suggestions = verdict_of(run_of(ADMM), "dfedadmm.corollary_1:corrected").suggestions
    assert "S2=" in suggestions.note


def test_run_from_elsewhere_names_what_to_state():
    run = History.from_measurements(np.ones((2, 6)), algorithm=SAM)
    suggestions = verdict_of(run, "dfedsam.theorem_4_5:corrected").suggestions
    for name in ("L=", "sigma_g=", "network=", "start="):
        assert name in suggestions.note
    assert "estimate" not in suggestions.note


def test_models_without_two_blocks_name_a_task():
    run = run_of(dfl.algorithms.DFedMDC(eta_u=0.01, eta_v=0.01, K_u=2, K_v=1))
    suggestions = verdict_of(run, "dfedmdc.theorem_1:corrected").suggestions
    assert "coupled" in suggestions.note


def test_statement_in_big_o_names_a_variant_with_constants():
    verdict = verdict_of(run_of(), "dfedsam.corollary_4_6:printed")
    assert "corrected" in verdict.suggestions.note


def test_condition_on_the_problem_says_so_and_names_a_covered_problem():
    algorithm = dfl.algorithms.DPSGD(eta=0.01)
    algorithm = replace(algorithm, order="adapt-then-combine")
    suggestions = verdict_of(run_of(algorithm), "wang_joshi2021.theorem_1").suggestions
    assert NOTHING_HELPS in suggestions.note
    assert "sigma_g <= 0" in suggestions.note
    same = quadratic(zeta=0.0)
    after = verdict_of(run_of(algorithm, task=same), "wang_joshi2021.theorem_1")
    assert "identical" not in after.reason


@pytest.mark.drawn(4)
@pytest.mark.parametrize("kind", OBSTACLE_KINDS)
@pytest.mark.parametrize("stated", [False, True])
def test_no_obstacle_is_left_without_a_remedy_or_the_statement_that_nothing_helps(
    kind, stated
):
    run = run_of()
    if stated:
        run = History.from_measurements(np.ones((2, 6)), algorithm=SAM)
    theorem = theorem_4_5()
    values = run_values(run, theorem)
    left = LeftHandSide(run, theorem)
    for names in ((), ("L",), ("lam",), ("K",)):
        found = suggestions_for(left, values, Obstacle(kind, "why", names))
        assert found
        assert str(found)


# -- the text of suggestions -----------------------------------------------------------


def test_step_sizes_of_the_schedule_are_printed():
    verdict = verdict_of(run_of(), "dfedsam.corollary_4_6:corrected")
    (suggestion,) = verdict.suggestions.alternatives
    assert suggestion.scheduled["eta"] > 0
    assert f"eta = {suggestion.scheduled['eta']:.8g}" in str(suggestion)


def test_no_run_longer_than_a_million_rounds_is_suggested():
    path = dfl.graphs.path(64)
    task = dfl.tasks.quadratic(m=64, d=2, seed=0)
    verdict = verdict_of(
        run_of(network=path, task=task), "dfedsam.corollary_4_6:corrected"
    )
    for suggestion in verdict.suggestions.alternatives:
        assert suggestion.values.get("T", 0) <= 1_000_000
