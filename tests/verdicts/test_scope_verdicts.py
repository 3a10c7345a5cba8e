"""Scopes of theorems: a third-party theorem, violated laws of the network, and
histories from files.
"""

from dataclasses import MISSING, dataclass, fields, replace

import networkx as nx
import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory import algorithms, bounds
from dfltheory.algorithms import (
    DPSGD,
    SGP,
    DFedADMM,
    DFedAvg,
    DFedMDC,
    DFedSAM,
    DFedSGPSM,
    FedAvg,
)
from dfltheory.bounds import Condition, Scope
from dfltheory.constants import FRESH_STEP
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.files import json_text
from dfltheory.tasks import registry
from dfltheory.training import setup
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.history import History
from dfltheory.verdicts import applicability
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.hyperparameters import hyperparameter_values
from dfltheory.verdicts.schedule import scheduled_algorithm

OWN_ORDER = Scope(
    ("DPSGD",),
    "definition 1",
    common_start=True,
    hyperparameters={"order": "combine-then-adapt"},
)
RING = dfl.graphs.metropolis(dfl.graphs.ring(4))
COLUMNS = dfl.graphs.weights(
    nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]), "column_stochastic"
)


def own_theorem(scope=OWN_ORDER, **changes):
    """Return Theorem A at K = Q = 1 and rho = 0, a true statement on D-PSGD, as a
    third-party package would state it.
    """
    known = bounds.get("dfedsam.theorem_4_5", "corrected")
    at = {bounds.GLOSSARY[n].symbol: v for n, v in (("K", 1), ("Q", 1), ("rho", 0))}

    def put(expr):
        return sp.sympify(expr).subs(at)

    fields = {
        "key": "mine.dpsgd",
        "variant": "printed",
        "parts": {n: put(known.expand(e)) for n, e in known.parts.items()},
        "definitions": (),
        "conditions": tuple(
            Condition(c.name, put(c.left), put(c.right)) for c in known.conditions
        ),
        "assumptions": (),
        "schedule": {},
        "scope": scope,
    }
    return replace(known, **(fields | changes))


def task(m=4):
    return dfl.tasks.quadratic(m=m, d=3, sigma=0.0, zeta=0.1, seed=0)


def run_of(algorithm, network=RING, rounds=200, m=4, x0=None, **options):
    return dfl.train(
        algorithm,
        task(m),
        network,
        rounds=rounds,
        x0=[3.0] * 3 if x0 is None else x0,
        **options,
    )


def test_compare_judges_a_third_party_theorem_within_its_scope():
    own, other = (
        run_of(DPSGD(eta=0.05)),
        run_of(DPSGD(eta=0.05, order="adapt-then-combine")),
    )
    assert compare(own, own_theorem()).kind == "holds"
    verdict = compare(other, own_theorem())
    assert verdict.kind == "not applicable"
    assert (
        "order = combine-then-adapt, and this run has order = adapt-then-combine"
        in verdict.reason
    )
    assert (
        compare(
            other,
            own_theorem(
                replace(OWN_ORDER, hyperparameters={"order": "adapt-then-combine"})
            ),
        ).kind
        == "holds"
    )
    silent = compare(own, own_theorem(replace(OWN_ORDER, hyperparameters={})))
    assert silent.kind == "not applicable"
    assert "order" in silent.reason


def test_a_theorem_without_a_scope_cannot_be_made():
    with pytest.raises(InputError, match="scope"):
        own_theorem(None)


def test_compare_refutes_a_third_party_theorem_with_false_constants():
    false = own_theorem()
    false = replace(
        false, parts={n: e * sp.Rational(1, 10**4) for n, e in false.parts.items()}
    )
    assert compare(run_of(DPSGD(eta=0.05)), false).kind == "violated"


@pytest.mark.parametrize(
    ("algorithm", "options", "words"),
    [
        (DFedADMM(eta=0.01, K=1, lam=0.1), {}, "DPSGD"),
        (DFedAvg(eta=0.05, K=1), {}, "DFedAvg"),
        (SGP(eta=0.05), {"network": COLUMNS, "m": 5}, "SGP"),
        (FedAvg(eta=0.05, K=1), {"network": None}, "FedAvg"),
        (DPSGD(eta=0.05), {"x0": 18 * np.eye(4, 3)}, "start at the same model"),
        (DPSGD(eta=0.05), {"x0": 1e6 + 18 * np.eye(4, 3)}, "start at the same model"),
        (DPSGD(eta=0.05, decay=0.99), {}, "decay = 1.0, and this run has decay = 0.99"),
        (DPSGD(eta=0.05, weight_decay=0.1), {}, "weight_decay = 0.0"),
        (
            DPSGD(eta=0.05),
            {"network": [RING, (RING + np.eye(4)) / 2]},
            "one fixed mixing matrix",
        ),
        (
            DPSGD(eta=0.05),
            {"network": dfl.graphs.uniform(dfl.graphs.directed_ring(4))},
            "breaks Definition 1",
        ),
    ],
)
def test_compare_names_what_is_outside_the_scope(algorithm, options, words):
    verdict = compare(run_of(algorithm, rounds=20, **options), own_theorem())
    assert verdict.kind == "not applicable"
    assert words in verdict.reason, verdict.reason


def test_hyperparameters_outside_bound_and_scope_are_neutral_or_reported():
    scope = Scope(("DFedSAM", "DFedAvg"), "definition 1")
    assert (
        compare(run_of(DFedSAM(eta=0.05, K=1, rho=0.0)), own_theorem(scope)).kind
        == "holds"
    )
    for algorithm, words in (
        (DFedSAM(eta=0.05, K=2, rho=0.0), "K = 1, and this run has K = 2"),
        (DFedSAM(eta=0.05, K=1, rho=0.1), "rho = 0.0, and this run has rho = 0.1"),
        (DFedSAM(eta=0.05, K=1, rho=0.0, Q=3), "Q = 1.0, and this run has Q = 3"),
    ):
        assert words in compare(run_of(algorithm, rounds=20), own_theorem(scope)).reason
    two = replace(scope, hyperparameters={"K": 2})
    assert (
        compare(run_of(DFedSAM(eta=0.05, K=2, rho=0.0)), own_theorem(two)).kind
        == "holds"
    )
    assert (
        "K = 2, and this run has K = 1"
        in compare(run_of(DFedSAM(eta=0.05, K=1, rho=0.0)), own_theorem(two)).reason
    )
    penalty = Scope(("DFedADMM",), "definition 1")
    found = compare(run_of(DFedADMM(eta=0.01, K=1, lam=0.1)), own_theorem(penalty))
    assert "lam_admm" in found.reason
    sampled_scope = Scope(
        ("DFedAvg",), "definition 1", hyperparameters={"participation": 0.5}
    )
    assert (
        "participation"
        in compare(run_of(DFedAvg(0.05, 1)), own_theorem(sampled_scope)).reason
    )
    with pytest.raises(UnknownNameError, match="theta"):
        Scope(("DFedAvg",), "definition 1", hyperparameters={"theta": 0.5})


@dataclass(frozen=True)
class Damped(DFedAvg):
    """A user's algorithm with a hyperparameter that no glossary contains."""

    damping: float = 0.5


def test_compare_covers_a_users_algorithm_at_its_declared_hyperparameter():
    run = run_of(Damped(eta=0.05, K=1))
    assert (
        "Damped"
        in compare(run, own_theorem(Scope(("DFedAvg",), "definition 1"))).reason
    )
    own = Scope((Damped,), "definition 1")
    assert "damping" in compare(run, own_theorem(own)).reason
    assert (
        compare(run, own_theorem(replace(own, hyperparameters={"damping": 0.5}))).kind
        == "holds"
    )


def test_sampled_clients_and_runs_without_a_network():
    server = Scope(("FedAvg",), "none")
    lam = {"lam": 0.0}
    assert (
        compare(run_of(FedAvg(eta=0.05, K=1), None), own_theorem(server), **lam).kind
        == "holds"
    )
    half = run_of(FedAvg(eta=0.05, K=1, participation=0.5), None, seeds=2)
    assert "participation = 1.0" in compare(half, own_theorem(server), **lam).reason
    sampled = replace(server, participation="sampled")
    assert compare(half, own_theorem(sampled), **lam).kind != "not applicable"
    gossip = replace(sampled, network="doubly stochastic")
    assert (
        "a network, and this run has none"
        in compare(half, own_theorem(gossip), **lam).reason
    )
    none = replace(OWN_ORDER, network="none")
    assert (
        "without a network"
        in compare(run_of(DPSGD(eta=0.05)), own_theorem(none)).reason
    )


def test_scope_limits_how_a_network_may_change():
    lazy = (RING + np.eye(4)) / 2
    periodic = run_of(DPSGD(eta=0.02), [RING, lazy])
    draws = dfl.graphs.as_sequence(
        lambda t, rng: RING if rng.random() < 0.5 else lazy, kind=FRESH_STEP
    )
    random = run_of(DPSGD(eta=0.02), draws, seeds=2)
    judged = {}
    for kind in ("fixed", "periodic", FRESH_STEP):
        thm = own_theorem(replace(OWN_ORDER, sequence=(kind,)))
        judged[kind] = [
            compare(run, thm).kind != "not applicable" for run in (periodic, random)
        ]
    assert judged == {
        "fixed": [False, False],
        "periodic": [True, False],
        FRESH_STEP: [False, True],
    }


def test_bounded_gradients_and_two_blocks_are_asked_for():
    bounded = own_theorem(replace(OWN_ORDER, bounded_gradients=True))
    run = run_of(DPSGD(eta=0.05))
    assert "bounded gradients" in compare(run, bounded).reason
    assert compare(run, bounded, B=10.0).kind == "holds"
    two = own_theorem(replace(OWN_ORDER, two_blocks=True))
    assert "a shared and a personal part" in compare(run, two).reason


# -- laws of the registered papers' networks


def test_compare_reports_not_applicable_for_dfedmdc_without_doubly_stochastic_matrix():
    """With lam from the caller, the matrix must still be checked; otherwise the theorem
    would seem violated.
    """
    coupled = dfl.tasks.get("coupled", m=4, p=3)
    rows = np.array(
        [[0.9, 0.1, 0, 0], [0.9, 0.1, 0, 0], [0.9, 0, 0.1, 0], [0.9, 0, 0, 0.1]]
    )
    method = DFedMDC(0.001, 0.001, 2, 2)
    for network in (rows, [rows, np.full((4, 4), 0.25)]):
        run = dfl.train(
            method,
            coupled,
            network,
            rounds=3,
            seeds=2,
            x0=[1.0] * coupled.d,
            check_topology=False,
        )
        verdict = compare(run, "dfedmdc.theorem_1", variant="corrected", lam=0.5)
        assert verdict.kind == "not applicable"
        assert "column" in verdict.reason
        assert "doubly stochastic" in verdict.reason
    # doubly stochastic and not symmetric: enough
    directed = dfl.graphs.uniform(dfl.graphs.directed_ring(4))
    run = dfl.train(method, coupled, directed, rounds=3, seeds=2, x0=[1.0] * coupled.d)
    assert (
        compare(run, "dfedmdc.theorem_1", variant="corrected").kind != "not applicable"
    )


def test_push_sum_over_a_row_stochastic_matrix_is_not_applicable():
    clipped = dfl.tasks.get("clipped", m=5, d=3, sigma=0.1)
    method = DFedSGPSM(eta=0.001, K=2, alpha=0.5, rho=0.0)
    run = dfl.train(
        method,
        clipped,
        np.asarray(COLUMNS).T,
        rounds=5,
        seeds=2,
        x0=[1.0] * 3,
        check_topology=False,
    )
    for variant in ("printed", "corrected"):
        verdict = compare(run, "dfedsgpsm.theorem_1", variant=variant)
        assert verdict.kind == "not applicable"
        assert "column-stochastic" in verdict.reason
        assert "sums to" in verdict.reason


# -- what the run has fixed


@pytest.mark.parametrize(
    "given",
    [
        {"T": 10**9},
        {"eta": 1e-3},
        {"K": 7},
        {"Q": 3},
        {"rho": 0.5},
        {"alpha": 0.5},
        {"m": 400},
        {"lam": 0.9},
        {"x0_spread": 1.0},
    ],
)
def test_what_the_run_has_fixed_cannot_be_given(given):
    run = run_of(DFedSAM(eta=0.01, K=5, rho=0.1), rounds=20)
    (name,) = given
    with pytest.raises(InputError, match=f"{name} = "):
        compare(run, "dfedsam.theorem_4_5", variant="corrected", **given)


def test_rho0_is_what_rho_is_under_the_schedule_and_repeating_what_is_known_is_no_offence():
    thm = bounds.get("dfedsam.corollary_4_6", "corrected")
    clear = task()
    method = scheduled_algorithm(thm, clear, 600, RING, rho0=0.5, K=2)
    run = dfl.train(method, clear, RING, rounds=600, x0=[3.0] * 3)
    assert (
        compare(run, thm, rho0=0.5, T=600, m=4).kind
        == compare(run, thm).kind
        != "not applicable"
    )
    with pytest.raises(InputError, match="rho0 = 7"):
        compare(run, thm, rho0=7.0)


def test_constants_of_the_problem_can_be_given_and_are_listed():
    run = run_of(DFedSAM(eta=0.01, K=5, rho=0.1))
    verdict = compare(run, "dfedsam.theorem_4_5", variant="corrected", sigma_g=0.7)
    assert verdict.given == verdict.to_dict()["given"] == {"sigma_g": 0.7}
    assert "given sigma_g = 0.7" in str(verdict)
    assert (
        verdict.bound > compare(run, "dfedsam.theorem_4_5", variant="corrected").bound
    )


# -- histories from files


OPTIONS = {
    name: {"k": 2} for name in ("client_sampling", "random_neighbors", "loss_driven")
}
OPTIONS["random_out_degree"] = {"degree": 2}
LIKE_A_RING = (
    "path",
    "star",
    "complete",
    "grid",
    "torus",
    "hypercube",
    "exponential",
    "random_regular",
    "two_cliques",
    "binary_tree",
)
"""Fixed undirected networks: one of them is a quick case, as is one for every other
law.
"""
NETWORKS = [
    *setup.network_builders(),
    "given, periodic",
    "given, drawn",
    "given, one-way",
]


def network_named(kind):
    lazy = (RING + np.eye(4)) / 2
    own = {
        "given, periodic": [RING, lazy],
        "given, drawn": lambda t, rng: RING if rng.random() < 0.5 else lazy,
    }
    if kind in own:
        return own[kind]
    if kind == "given, one-way":
        return COLUMNS
    made = setup.network_builders()[kind](m=4, **OPTIONS.get(kind, {}))
    if not isinstance(made, nx.Graph):
        return made
    return (
        dfl.graphs.uniform(made) if made.is_directed() else dfl.graphs.metropolis(made)
    )


def the_same_from_its_file(run, folder, asked=None, estimate_on=None):
    """Check that a run read from a file gets the same verdicts as the fresh one; return
    their kinds.
    """
    again = History.load(run.save(folder / "run.safetensors"))
    assert again.topology is None
    kinds = []
    for thm in asked or [
        t for t in bounds.statements() if t.scope.covers(run.algorithm)
    ]:
        given: dict = {"estimate_on": estimate_on} | (
            {"S2": 4.0} if "S2" in thm.needs else {}
        )
        fresh, loaded = compare(run, thm, **given), compare(again, thm, **given)
        assert json_text(loaded.to_dict()) == json_text(fresh.to_dict()), thm
        kinds.append(fresh.kind)
    assert kinds
    return kinds


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=[pytest.mark.slow] * (k in LIKE_A_RING)) for k in NETWORKS],
)
def test_a_file_gives_the_verdict_of_the_fresh_run_over_every_network(
    kind, every, tmp_path
):
    network, m = network_named(kind), 5 if kind == "given, one-way" else 4
    column = kind in ("given, one-way", "random_out_degree")
    method = (
        DFedSGPSM(eta=0.001, K=2, alpha=0.5, rho=0.0)
        if column
        else DFedSAM(eta=0.005, K=5)
    )
    problem = dfl.tasks.get("clipped", m=m, d=3, sigma=0.1)
    run = dfl.train(
        method, problem, network, rounds=20, seeds=3, x0=[3.0] * 3, check_topology=False
    )
    asked = [t for t in bounds.statements() if t.scope.covers(run.algorithm)][::every]
    kinds = the_same_from_its_file(run, tmp_path, asked)
    if every == 1 and kind in (
        "ring",
        "given, periodic",
        "random_matching",
        "given, one-way",
    ):
        assert set(kinds) - {"not applicable"}
    if kind == "loss_driven":
        assert set(kinds) == {"not applicable"}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", sorted(registry._FACTORIES))
def test_a_file_gives_the_verdict_of_the_fresh_run_on_every_task(name, tmp_path):
    problem = dfl.tasks.get(name, m=4)
    method = (
        DFedSAM(eta=0.005, K=2)
        if problem.shared is None
        else DFedMDC(0.001, 0.001, 2, 2)
    )
    run = dfl.train(method, problem, RING, rounds=10, seeds=3)
    the_same_from_its_file(run, tmp_path)
    if name == "two_layer":  # its constants may be estimated along the run
        some = [bounds.get("dfedsam.theorem_4_5", "corrected")]
        assert the_same_from_its_file(run, tmp_path, some, estimate_on=problem) != [
            "not applicable"
        ]


@pytest.mark.drawn(4)
@pytest.mark.parametrize("kind", list(algorithms.ALGORITHMS.values()))
def test_a_file_gives_the_verdict_of_the_fresh_run_of_every_algorithm(kind, tmp_path):
    hyperparameters = dict.fromkeys(("eta", "eta_u", "eta_v"), 0.001) | dict.fromkeys(
        ("K", "K_u", "K_v"), 2
    )
    hyperparameters |= {"lam": 0.5, "gamma": 0.2}
    needed = {
        f.name
        for f in fields(kind)
        if f.default is MISSING and f.default_factory is MISSING
    }
    problem = (
        dfl.tasks.get("coupled", m=4, p=2)
        if kind.__name__ in ("DFedMDC", "DFedSMDC")
        else task()
    )
    method = kind(**{n: v for n, v in hyperparameters.items() if n in needed})
    network = (
        (dfl.graphs.star(4) if kind.links == "tree" else RING)
        if kind.needs_topology
        else None
    )
    run = dfl.train(method, problem, network, rounds=5, seeds=2, x0=[1.0] * problem.d)
    some = [
        bounds.get("dfedsam.theorem_4_5", "corrected"),
        own_theorem(Scope((kind,), "doubly stochastic")),
    ]
    the_same_from_its_file(run, tmp_path, some)


def test_a_file_that_does_not_know_its_network_is_not_judged(tmp_path):
    run = run_of(DFedSAM(eta=0.01, K=5, rho=0.0))
    assert compare(run, "dfedsam.theorem_4_5").kind == "holds"
    again = History.load(run.save(tmp_path / "run.safetensors"))
    again.__dict__["network_facts"] = None  # as in files of the older format
    for thm in (
        "dfedsam.theorem_4_5",
        own_theorem(Scope(("DFedSAM",), "definition 1", hyperparameters={"K": 5})),
    ):
        verdict = compare(again, thm)
        assert verdict.kind == "not applicable"
        assert "the network of its run" in verdict.reason


@pytest.mark.parametrize(
    "kind",
    [DPSGD, DFedSAM, DFedADMM, SGP, DFedSGPSM, DFedMDC, FedAvg, algorithms.DisPFL],
)
def test_hyperparameters_have_names_that_a_scope_can_carry(kind):
    hyperparameters = {
        "eta": 0.1,
        "eta_u": 0.1,
        "eta_v": 0.1,
        "K": 2,
        "K_u": 2,
        "K_v": 2,
        "lam": 0.5,
    }
    needed = {
        f.name
        for f in fields(kind)
        if f.default is MISSING and f.default_factory is MISSING
    }
    made = kind(**{n: v for n, v in hyperparameters.items() if n in needed})
    own = hyperparameter_values(made)
    assert "lam" not in own  # the glossary's lam is the network's
    assert own.get("lam_admm") == (0.5 if kind is DFedADMM else None)
    assert {"decay", "weight_decay", *made.theory_values()} <= set(own)


def test_missing_network_does_not_change_and_a_periodic_one_is_not_fixed():
    own_scope = Scope(("FedAvg",), "none")
    assert (
        applicability.law_obstacle(NetworkFacts("none", 4), own_scope, None, 10, 1)
        is None
    )
    found = applicability.law_obstacle(
        NetworkFacts("periodic", 4), OWN_ORDER, None, 10, 1
    )
    assert "one fixed mixing matrix" in found
