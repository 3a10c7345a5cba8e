"""Suggestions, applied to the document of a run, leave no obstacle."""

from copy import copy

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds.regions import draw_values
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.training.options import algorithm_name, options_of
from dfltheory.verdicts.applicability import find_obstacle
from dfltheory.verdicts.given_values import BOUNDED_GRADIENTS, TWO_BLOCKS
from dfltheory.verdicts.hyperparameters import hyperparameter_fields
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.schedule import covered_algorithm, fixed_hyperparameters

SETTINGS_EACH = 4
"""Random settings for each statement."""

CLIENTS = 4
UNDIRECTED = ("ring", "complete", "path", "star")
DIRECTED = ("directed-ring", "directed-exponential")


def statements():
    found = []
    keys = dfl.bounds.keys()
    for key in keys:
        for variant in dfl.bounds.variants(key):
            theorem = dfl.bounds.get(key, variant=variant)
            if not theorem.order and theorem.kind != "lower bound":
                found.append(theorem)
    return found


def usual_task(theorem):
    if theorem.scope.two_blocks:
        return TWO_BLOCKS
    return BOUNDED_GRADIENTS if theorem.scope.bounded_gradients else "quadratic"


def random_hyperparameters(theorem, rng):
    """Return random values of required hyperparameters, and of some with a default."""
    kind = covered_algorithm(theorem)
    name = algorithm_name(kind)
    values = {}
    for option, about in options_of("algorithm", name).items():
        if option in ("K", "K_u", "K_v", "Q"):
            values[option] = int(rng.integers(1, 8))
        elif option in ("rho", "rho_u", "rho_v"):
            values[option] = float(10 ** rng.uniform(-3, 0))
        elif about.required:
            values[option] = float(10 ** rng.uniform(-3, 0.5))
    fixed = fixed_hyperparameters(theorem, kind)
    if rng.random() < 0.7:  # otherwise the scope may not cover them
        values.update(fixed)
    return {"name": name, **values}


def random_document(theorem, rng):
    directed = theorem.scope.network == "column-stochastic"
    document = {
        "task": {"name": usual_task(theorem), "m": CLIENTS},
        "algorithm": random_hyperparameters(theorem, rng),
        "run": {"rounds": 1, "seeds": 2},
    }
    if theorem.scope.network != "none":
        names = DIRECTED if directed else UNDIRECTED
        document["topology"] = {"name": str(rng.choice(names))}
    return document


def run_of(document, rounds):
    """Return the record of a one-round run of a document, declared as having more
    rounds.
    """
    run = copy(read_experiment(document, trust=True).cell.instance().run())
    run.rounds = int(rounds)
    return run


def changed(document, run, suggestion):
    """Return the document and the horizon after a suggestion."""
    values = {**suggestion.values, **suggestion.settings}
    fields = hyperparameter_fields(type(run.algorithm), values)
    algorithm = {**document["algorithm"], **fields}
    return {**document, "algorithm": algorithm}, values.get("T", run.rounds)


def given_constants(theorem, run, rng):
    """Return random values of the constants that the run does not know."""
    known = run_values(run, theorem)
    names = [
        n for n in theorem.needs if n not in known or not np.isfinite(known[n]).all()
    ]
    points = draw_values(names, 1, rng, theorem.glossary) if names else {}
    return {name: float(points[name][0]) for name in names}


def compared(run, theorem, given):
    try:
        return dfl.compare(run, theorem, **given)
    except InputError:  # a drawn constant contradicts the run
        return None


def check_settings(theorem, settings):
    """Return how many suggestions of random settings were applied to documents."""
    rng = np.random.default_rng(sum(map(ord, f"{theorem}")))
    tested = 0
    for _ in range(settings):
        document = random_document(theorem, rng)
        rounds = int(10 ** rng.uniform(0, 4))
        run = run_of(document, rounds)
        given = given_constants(theorem, run, rng)
        verdict = compared(run, theorem, given)
        if verdict is None or verdict.kind != "not applicable":
            continue
        suggestions = verdict.suggestions
        assert str(suggestions)
        for alternative in suggestions.alternatives:
            other, horizon = changed(document, run, alternative)
            after = run_of(other, horizon)
            values = run_values(after, theorem, given)
            obstacle = find_obstacle(after, theorem, values)
            assert obstacle is None, (document, rounds, str(alternative))
            tested += 1
    return tested


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "theorem", statements(), ids=lambda theorem: f"{theorem.key}:{theorem.variant}"
)
def test_suggestion_put_into_the_document_makes_the_theorem_apply(theorem):
    check_settings(theorem, SETTINGS_EACH)


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        ("dfedsam.theorem_4_5", "corrected"),
        ("dfedsam.corollary_4_6", "corrected"),
        ("dfedsgpsm.theorem_1", "corrected"),
        ("dfedmdc.theorem_1", "corrected"),
    ],
)
def test_random_settings_have_suggestions(key, variant):
    assert check_settings(dfl.bounds.get(key, variant), 2 * SETTINGS_EACH) >= 2
