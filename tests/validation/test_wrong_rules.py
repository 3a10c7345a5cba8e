"""Every experiment distinguishes a wrong update rule from the paper's rule."""

import dataclasses

import pytest

import dfltheory as dfl
from dfltheory.experiments.cases import perform
from tests.validation.test_experiments import KEYS, experiment_of, shortest
from validation import effects, images, topologies

KEY = "dfedsam.theorem_4_5"


def like(algorithm, **changed):
    """Return the algorithm under its own name with part of its rule changed."""
    cls = type(algorithm)
    # as a bug in the package would be
    wrong = type(cls.__name__, (cls,), {"__module__": cls.__module__, **changed})
    return wrong(
        **{f.name: getattr(algorithm, f.name) for f in dataclasses.fields(algorithm)}
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        k if k == "dfedadmm.corollary_1" else pytest.param(k, marks=pytest.mark.slow)
        for k in KEYS
    ],
)
def test_local_steps_that_go_nowhere_break_a_bound_that_the_rule_satisfies(key):
    """The planted bound lies between the results of the right rule and of a rule that
    takes no steps.
    """
    cases = [
        c
        for c in experiment_of(key).cases(True)
        if c.variants[0] != "corrected_paper_schedule"
    ]
    case = shortest(
        key, seeds=16, of=[c for c in cases if c.instance.rounds > 1000]
    )  # more than the variation of the start
    stuck = like(case.instance.algorithm, decayed=lambda self, eta, t: 0.0)
    rule, wrong = perform(case), perform(case.with_run(algorithm=stuck))
    a, b = next(
        (v, w)
        for v, w in zip(rule.verdicts, wrong.verdicts)
        if v.kind in ("holds", "vacuous") and v.variant.startswith("corrected")
    )
    assert a.ratio_ci[1] < b.ratio_ci[0]
    theorem = dfl.bounds.get(key, variant=a.variant)
    between = (a.ratio_ci[1] * b.ratio_ci[0]) ** 0.5
    planted = dataclasses.replace(
        theorem, parts={k: part * between for k, part in theorem.parts.items()}
    )
    assert dfl.compare(rule.run, planted, **case.constants).kind == "holds"
    assert dfl.compare(wrong.run, planted, **case.constants).kind == "violated"


@pytest.mark.slow
def test_gossip_without_communication_breaks_the_rankings(monkeypatch):
    """Without communication, neither the graph nor the number of gossip steps has an
    effect.
    """
    real = dfl.algorithms.DFedSAM
    deaf = type(
        "DFedSAM",
        (real,),
        {"communicate": lambda self, state, mix: real.communicate(self, state, alone)},
    )
    monkeypatch.setattr(dfl.algorithms, "DFedSAM", deaf)
    assert {
        claim.verdict for claim in topologies.ranking_claims(quick=True)
    }.isdisjoint({"holds"})


def alone(values, times=1):
    """Return a network without communication."""
    return values


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("claims_of", "name", "fixed"),
    [
        (effects.more_local_steps, "DFedAvg", {"K": 5}),
        (effects.momentum, "DFedSGPM", {"alpha": 0.5}),
        (effects.penalty, "DFedADMM", {"lam": 0.2}),
        (effects.radius, "DFedSAM", {"rho": 0.1}),
    ],
)
def test_rule_that_ignores_its_hyperparameter_shows_no_effect(
    claims_of, name, fixed, monkeypatch
):
    real = getattr(dfl.algorithms, name)
    monkeypatch.setattr(
        dfl.algorithms,
        name,
        lambda **hyperparameters: real(**{**hyperparameters, **fixed}),
    )
    assert {claim.verdict for claim in claims_of(True)}.isdisjoint({"holds"})


@pytest.mark.slow
def test_one_noise_for_all_clients_shows_no_speed_up(monkeypatch):
    """If the floor were the same for every m, the claim that it decreases as 1/m would
    be violated.
    """
    real = dfl.tasks.quadratic
    monkeypatch.setattr(
        dfl.tasks,
        "quadratic",
        lambda m, sigma, **rest: real(m=m, sigma=sigma * (m / 4) ** 0.5, **rest),
    )
    assert [claim.verdict for claim in effects.more_clients(True)] == ["violated"]


@pytest.mark.slow
def test_the_experiment_on_images_can_fail():
    """On the bundled digits, a millionth of every bound is violated, and a wrong
    network is rejected.
    """
    task = dfl.tasks.image_task(
        "digits",
        images.M,
        model="mlp",
        partition="dirichlet",
        alpha=0.6,
        examples=120,
        batch=10,
    )
    first = images.constants_along(
        task, dfl.tasks.estimate.pilot(task, steps=5, keep=2)
    )
    task, W = (
        task.with_constants(first),
        dfl.graphs.metropolis(dfl.graphs.complete(images.M)),
    )
    sam = images.ALGORITHMS[KEY](first.known())

    outcome = images.judged(task, KEY, sam, W, rounds=10)
    assert {v.kind for v in outcome.verdicts} <= {"holds", "vacuous"}
    for verdict in outcome.verdicts:
        theorem = dfl.bounds.get(KEY, variant=verdict.variant)
        planted = dataclasses.replace(
            theorem, parts={k: part / 10**6 for k, part in theorem.parts.items()}
        )
        assert dfl.compare(outcome.run, planted).kind == "violated"
    wrong = W.copy()
    wrong[0, 0] += 0.5
    with pytest.raises(dfl.DFLTheoryError, match="sums to"):
        images.judged(task, KEY, sam, wrong, rounds=10)
