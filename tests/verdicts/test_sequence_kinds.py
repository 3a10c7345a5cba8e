"""Kinds of network sequences: fixed, periodic, windows, fresh draws each gossip step or
round, any.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory import bounds, graphs
from dfltheory.algorithms import DPSGD, DFedSAM
from dfltheory.bounds import Scope, Theorem, registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import LeftSide
from dfltheory.cli import run as command
from dfltheory.constants import FRESH_ROUND, FRESH_STEP, SEQUENCES, NetworkConstants
from dfltheory.counterexamples import falsify
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_matrices import matchings
from dfltheory.counterexamples.core import simulate as run_batch
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.problems import RampTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.exact import RandomMixing, exact_history
from dfltheory.exact.network import laws_of
from dfltheory.graphs import OnePerRound, kind_of
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import SAMPLED, AlgorithmRound, RuleError, X
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.history import History
from dfltheory.training.setup import EqualWeights
from dfltheory.verdicts.network_scope import law_obstacle
from tests.bounds import proved

RARE = RandomMixing([np.eye(2), np.full((2, 2), 0.5)], [0.99, 0.01])
"""W_t = I with probability 0.99, else 11'/2: lam^2 = 0.99."""
PATH = np.array([[0.7, 0.3, 0.0], [0.3, 0.4, 0.3], [0.0, 0.3, 0.7]])
LAZY = (np.eye(3) + PATH) / 2
THEOREM = ("dfedsam.theorem_4_5", "corrected")


def rare_task():
    """Return f_1' = clip(x, -1, 1) + 1/2 and f_2' = -1/2, with L = 1, sigma_g = 1 and
    x* = 0.
    """
    return RampTask(
        knots=[[-1.0], [0.0]],
        widths=[[2.0], [0.0]],
        slopes=[[1.0], [0.0]],
        left=[-0.5, -0.5],
    )


# -- one W_t applied Q times


def test_one_matrix_applied_q_times_exceeds_the_corrected_bound():
    """With lam^(2Q) applied to a single draw per round, the formula is exceeded by a
    factor of 1e5.
    """
    runs, rounds, eta = 60, 8000, 1e-3
    rng = np.random.default_rng(0)
    x, total = np.zeros((runs, 2)), 0.0
    for _ in range(rounds):
        total += (np.clip(x.mean(1), -1, 1) ** 2).mean() / 4
        gradients = np.stack(
            [np.clip(x[:, 0], -1, 1) + 0.5, np.full(runs, -0.5)], axis=1
        )
        x = x - eta * gradients
        averaged = rng.random(runs) < 0.01  # W^1000 = W for both outcomes
        x[averaged] = x[averaged].mean(1, keepdims=True)
    measured = total / rounds
    constants = rare_task().constants
    bound = bounds.get(*THEOREM).evaluate(
        L=constants.L,
        sigma_g=constants.sigma_g,
        sigma_l=0.0,
        f0_gap=0.0,
        eta=eta,
        K=1,
        Q=1000,
        T=rounds,
        m=2,
        rho=0.0,
        lam=graphs.network_constants(RARE).lam,
    )
    assert measured > 1e5 * bound


def rare_run(network, rounds, Q=1000):
    algorithm = DFedSAM(eta=1e-3, K=1, rho=0.0, Q=Q)
    return dfl.train(
        algorithm,
        rare_task(),
        network,
        rounds=rounds,
        seeds=2,
        x0=[0.0],
        progress=False,
    )


def test_compare_does_not_apply_the_corrected_bound_to_one_draw_for_each_round():
    run = rare_run(OnePerRound(RARE), rounds=150)
    verdict = dfl.compare(run, bounds.get(*THEOREM))
    assert verdict.kind == "not applicable"
    assert FRESH_ROUND in verdict.reason
    assert "Q = 1000" in verdict.reason
    assert (
        dfl.compare(run, bounds.get("dfedsam.corollary_4_8", "corrected")).kind
        == "not applicable"
    )
    wide = bounds.get(*THEOREM)
    wide = replace(
        wide, scope=replace(wide.scope, sequence=(*wide.scope.sequence, FRESH_ROUND))
    )
    assert dfl.compare(run, wide).kind != "not applicable"


@pytest.mark.slow
def test_compare_applies_the_corrected_bound_to_fresh_draws_and_it_holds():
    run = rare_run(RARE, rounds=15, Q=100)
    verdict = dfl.compare(run, bounds.get(*THEOREM), f0_gap=1e-3)
    assert verdict.kind == "holds", verdict.reason


@pytest.mark.parametrize("rounds", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_with_one_gossip_step_both_kinds_of_draws_are_one(rounds):
    pair = graphs.RandomMatching(3)
    task = dfl.tasks.get("quadratic", m=3, d=2, hessians="common", sigma=0.0)
    for network in (pair, OnePerRound(pair)):
        for steps, applies in ((1, True), (2, network is pair)):
            algorithm = DFedSAM(eta=0.01, K=1, rho=0.0, Q=steps)
            run = dfl.train(
                algorithm, task, network, rounds=rounds, seeds=3, progress=False
            )
            verdict = dfl.compare(
                run, bounds.get(*THEOREM), sigma_g=task.constants.sigma_g
            )
            assert (verdict.kind != "not applicable") is applies, (
                network,
                steps,
                verdict.reason,
            )


# -- kinds of sequences


def test_every_sequence_of_the_package_has_a_kind():
    graph = graphs.ring(6)
    made = {
        graphs.as_sequence(graph): "fixed",
        graphs.as_sequence(PATH): "fixed",
        graphs.as_sequence([PATH, LAZY]): "periodic",
        graphs.one_peer_exponential(8): "periodic",
        graphs.RandomMatching(4): FRESH_STEP,
        graphs.RandomMatching(6, graph): FRESH_STEP,
        graphs.RandomNeighbors(5, 2): FRESH_STEP,
        graphs.ClientSampling(5, 2): FRESH_STEP,
        graphs.LinkFailures(PATH, 0.3): FRESH_STEP,
        graphs.LossDriven(5, 2): "any",
        RARE: FRESH_STEP,
        OnePerRound(RARE): FRESH_ROUND,
        OnePerRound(OnePerRound(RARE)): FRESH_ROUND,
        OnePerRound(PATH): "fixed",
        OnePerRound([PATH, LAZY]): "periodic",
        OnePerRound(graphs.LossDriven(5, 2)): "any",
        EqualWeights(graphs.RandomMatching(4), "doubly stochastic"): FRESH_STEP,
        EqualWeights(
            OnePerRound(graphs.RandomMatching(4)), "doubly stochastic"
        ): FRESH_ROUND,
        graphs.as_sequence(lambda t: PATH): "any",
        graphs.as_sequence(lambda t, rng: PATH): "any",
    }
    assert {type(sequence).__name__: kind_of(sequence) for sequence in made}
    for sequence, kind in made.items():
        assert kind_of(sequence) == kind, sequence
    assert set(made.values()) < set(SEQUENCES)


def test_matcha_draws_for_each_gossip_step():
    pytest.importorskip("cvxpy")
    assert kind_of(graphs.Matcha(graphs.ring(4))) == FRESH_STEP


def test_users_declare_the_kind_of_their_sequences():
    class Own:
        m, random, kind = 3, True, FRESH_STEP

        def matrix(self, t, rng, losses=None):
            return PATH

    assert kind_of(Own()) == FRESH_STEP
    assert (
        kind_of(graphs.as_sequence(lambda t, rng: PATH, kind=FRESH_STEP)) == FRESH_STEP
    )
    assert kind_of(graphs.as_sequence(lambda t: PATH, kind="periodic")) == "periodic"
    with pytest.raises(UnknownNameError, match="periodic"):
        graphs.as_sequence(lambda t: PATH, kind="periodical")
    Own.kind = "fresh draws"
    with pytest.raises(UnknownNameError, match="kind"):
        kind_of(Own())
    for f, kind in (
        (lambda t, rng: PATH, "periodic"),
        (lambda t, rng: PATH, "fixed"),
        (lambda t: PATH, "fixed"),
    ):
        with pytest.raises(InputError, match="kind"):
            graphs.as_sequence(f, kind=kind)
    for network in (PATH, graphs.RandomMatching(3)):
        with pytest.raises(InputError, match="kind"):
            graphs.as_sequence(network, kind="fixed")


def judged(network, scope):
    task = dfl.tasks.get("quadratic", m=3, d=2, hessians="common", sigma=0.0)
    run = dfl.train(DPSGD(eta=0.01), task, network, rounds=4, seeds=2, progress=False)
    theorem = replace(
        bounds.get(*THEOREM),
        key="mine.theorem",
        parts={"all": s.f0_gap * s.L * 100 + s.sigma_g**2 * s.lam * 0},
        conditions=(),
        definitions=(),
        schedule={},
        scope=scope,
        of=None,
    )
    return dfl.compare(run, theorem)


SCOPE = Scope(
    ("DPSGD",),
    "symmetric",
    hyperparameters={"order": "combine-then-adapt", "eta": 0.01},
)


def test_an_undeclared_sequence_is_covered_by_any_alone_and_the_reason_says_what_to_declare():
    def drawn(t, rng):
        return PATH if rng.random() < 0.5 else LAZY

    def alternating(t):
        return (PATH, LAZY)[t % 2]

    others = tuple(kind for kind in SEQUENCES if kind != "any")
    verdict = judged(drawn, replace(SCOPE, sequence=others))
    assert verdict.kind == "not applicable"
    assert "kind" in verdict.reason
    assert FRESH_STEP in verdict.reason
    verdict = judged(drawn, replace(SCOPE, sequence=("any",)))
    assert verdict.kind == "not applicable"  # lam of draws is a root mean square
    assert FRESH_STEP in verdict.reason
    verdict = judged(alternating, replace(SCOPE, sequence=("any",)))
    assert verdict.kind != "not applicable", verdict.reason
    declared = graphs.as_sequence(drawn, kind=FRESH_STEP)
    assert (
        judged(declared, replace(SCOPE, sequence=(FRESH_STEP,))).kind
        != "not applicable"
    )
    assert judged(declared, SCOPE).kind == "not applicable"


@pytest.mark.parametrize("kind", [*SEQUENCES])
@pytest.mark.parametrize("covered", [*SEQUENCES])
@pytest.mark.parametrize("steps", [1, 3])
def test_what_a_scope_covers(kind, covered, steps):
    fresh = {FRESH_STEP, FRESH_ROUND}
    same = kind == covered or (steps == 1 and {kind, covered} == fresh)
    expected = same or (covered == "any" and kind in ("fixed", "periodic"))
    assert (
        Scope(("DPSGD",), "symmetric", sequence=(covered,)).covers_sequence(kind, steps)
        is expected
    )


def test_a_contraction_of_each_matrix_is_not_applied_to_random_matchings():
    """lam^(2Q T) x0_spread bounds consensus if each matrix contracts by lam, but the
    square of a matching is the matching itself.
    """
    spread = dfl.bounds.Condition("same clients", s.sigma_g, sp.Integer(0))
    theorem = Theorem(
        key="mine.contraction",
        variant="printed",
        kind="theorem",
        title="contraction",
        source="each matrix contracts",
        lhs=LeftSide(measure="consensus", aggregate="last", last=s.T),
        parts={"contraction": s.lam ** (2 * s.Q * s.T) * s.x0_spread},
        conditions=(
            dfl.bounds.Condition("step", s.eta * s.L, sp.Integer(1)),
            dfl.bounds.Condition("no noise", s.sigma_l, sp.Integer(0)),
            spread,
        ),
        scope=Scope(("DFedSAM",), "doubly stochastic", sequence=("any",)),
    )
    x0 = np.repeat(np.array([[[1.0], [-1.0], [2.0], [-2.0]]]), 60, 0)

    def run(network):
        return dfl.train(
            DFedSAM(eta=1e-3, K=1, rho=0.0, Q=4),
            dfl.tasks.Quadratic(1.0, [[0.0]] * 4),
            network,
            rounds=1,
            seeds=60,
            x0=x0,
            progress=False,
        )

    verdict = dfl.compare(run(graphs.one_per_round(4)), theorem)
    assert verdict.kind == "not applicable"
    assert "fresh draws each round" in verdict.reason
    W = graphs.metropolis(graphs.ring(4))
    assert dfl.compare(run(W), theorem).kind == "holds"
    named = replace(theorem, scope=replace(theorem.scope, sequence=(FRESH_ROUND,)))
    verdict = dfl.compare(run(graphs.one_per_round(4)), named)
    assert verdict.kind == "violated"
    assert (
        "draws" in verdict.reason
    )  # the law of random matrices is checked by sampling


def test_push_sum_covers_undeclared_random_matrices_by_any():
    def drawn(t, rng):
        return PATH if rng.random() < 0.5 else LAZY

    run = dfl.train(
        dfl.algorithms.SGP(eta=0.01),
        dfl.tasks.Quadratic(1.0, [[0.0]] * 3),
        drawn,
        rounds=3,
        seeds=2,
        progress=False,
    )
    scope = Scope(("SGP",), "column-stochastic", sequence=("any",))
    facts = run.network_facts
    assert (facts.kind, facts.sequence) == ("random", "any")
    assert law_obstacle(facts, scope, run.topology, run.rounds, 1) is None
    symmetric = replace(scope, network="symmetric")
    assert law_obstacle(facts, symmetric, run.topology, run.rounds, 1) is not None


class _DeclaredClass:
    """A user's class of sequences that declares one draw per round."""

    m, random, kind = 2, True, FRESH_ROUND

    def matrix(self, t, rng, losses=None):
        return np.full((2, 2), 0.5) if rng.random() < 0.5 else np.eye(2)


@pytest.mark.parametrize("made", ["function", "class"])
def test_a_declared_draw_for_each_round_is_used_by_all_gossip_steps(made):
    network = _DeclaredClass()
    if made == "function":

        def drawn(t, rng):
            return _DeclaredClass().matrix(t, rng)

        network = graphs.as_sequence(drawn, kind=FRESH_ROUND)
    x0 = np.repeat(np.array([[[1.0], [-1.0]]]), 400, 0)
    run = dfl.train(
        DFedSAM(eta=1e-9, K=1, rho=0.0, Q=3),
        dfl.tasks.Quadratic(1.0, [[0.0]] * 2),
        network,
        rounds=1,
        seeds=400,
        x0=x0,
        progress=False,
    )
    assert run.network_facts.sequence == FRESH_ROUND
    unmixed = (run.consensus[:, -1] > 0.5).mean()
    # one draw stays unmixed with probability 1/2, three draws with probability 1/8
    assert unmixed == pytest.approx(0.5, abs=0.1)


def test_exact_expectations_use_a_declared_draw_in_all_gossip_steps():
    law = [(0.5, np.eye(2)), (0.5, np.full((2, 2), 0.5))]
    declared = RandomMixing([W for _, W in law], [p for p, _ in law])
    object.__setattr__(declared, "kind", FRESH_ROUND)
    same = OnePerRound(RandomMixing([W for _, W in law], [p for p, _ in law]))
    for sequence in (declared, same):
        (one,) = laws_of(sequence, 0, 3)
        assert [p for p, _ in one] == [0.5, 0.5]


def test_a_scope_has_kinds_of_the_list_alone():
    with pytest.raises(UnknownNameError, match="periodic"):
        Scope(("DPSGD",), "symmetric", sequence=("periodc",))
    for wrong in ("fixed", ()):
        with pytest.raises(InputError, match="sequence"):
            Scope(("DPSGD",), "symmetric", sequence=wrong)
    assert replace(SCOPE, sequence=("periodic", "fixed", "fixed")).sequence == (
        "fixed",
        "periodic",
    )
    assert SCOPE.sequence == ("fixed",)


# -- one draw for each round in the core, in expectations, and in files


@pytest.mark.parametrize(
    "network", [graphs.RandomMatching(3), [PATH, LAZY, np.full((3, 3), 1 / 3)]]
)
def test_all_gossip_steps_of_a_round_apply_one_matrix(network):
    task = dfl.tasks.get("quadratic", m=3, d=2, hessians="common", sigma=0.0)
    x0 = np.arange(6.0).reshape(3, 2)
    sequence = OnePerRound(network)
    run = dfl.train(
        DFedSAM(eta=1e-300, K=1, rho=0.0, Q=3),
        task,
        sequence,
        rounds=4,
        x0=x0,
        progress=False,
    )
    x = x0
    for t in range(4):
        rng = dfl.randomness.numpy_generator(run.seed, 0, t, "network")
        W = sequence.matrix(t, rng)
        W = W.toarray() if hasattr(W, "toarray") else W
        x = np.linalg.matrix_power(W, 3) @ x
    assert run.x[0] == pytest.approx(x, rel=1e-12)


def test_the_bits_of_one_matrix_applied_twice_are_those_of_two_steps():
    task = dfl.tasks.get("quadratic", m=3, d=2, hessians="common", sigma=0.0)
    algorithm = DFedSAM(eta=0.1, K=1, rho=0.0, Q=2)
    once, twice = (
        dfl.train(algorithm, task, network, rounds=3, progress=False).sent_bits[-1]
        for network in (OnePerRound([PATH, LAZY]), PATH)
    )
    assert np.array_equal(once, twice)


def test_the_exact_expectation_of_one_draw_for_each_round_is_that_of_its_powers():
    task = dfl.tasks.get("quadratic", m=3, d=2, hessians="random", sigma=0.3)
    mixing = RandomMixing([PATH, LAZY, np.eye(3)], [0.5, 0.3, 0.2])
    powers = [np.linalg.matrix_power(W, 3) for W in mixing.matrices]
    x0 = np.arange(6.0).reshape(3, 2)
    held = exact_history(
        DFedSAM(eta=0.1, K=2, rho=0.0, Q=3), task, OnePerRound(mixing), rounds=5, x0=x0
    )
    powered = RandomMixing(powers, mixing.probabilities)
    direct = exact_history(
        DFedSAM(eta=0.1, K=2, rho=0.0, Q=1), task, powered, rounds=5, x0=x0
    )
    fresh = exact_history(
        DFedSAM(eta=0.1, K=2, rho=0.0, Q=3), task, mixing, rounds=5, x0=x0
    )
    assert held.consensus == pytest.approx(direct.consensus, rel=1e-10)
    assert held.grad_norm_sq == pytest.approx(direct.grad_norm_sq, rel=1e-10)
    assert np.abs(held.consensus[:, 1:] / fresh.consensus[:, 1:] - 1).min() > 0.01


def test_the_contraction_of_a_known_distribution_is_exact():
    found = graphs.mean_square_contraction(RARE)
    assert found.exact
    assert found.lam == pytest.approx(0.99**0.5, rel=1e-14)


def test_the_kind_goes_into_files_and_files_without_it_know_less(tmp_path):
    run = rare_run(OnePerRound(RARE), rounds=3, Q=2)
    assert run.network_facts.sequence == FRESH_ROUND
    run.save(tmp_path / "run.npz")
    back = History.load(tmp_path / "run.npz")
    assert back.network_facts == run.network_facts
    assert NetworkFacts("random", 2).sequence == "any"
    assert NetworkFacts("varying", 2).sequence == "any"
    assert NetworkFacts("fixed", 2).sequence == "fixed"
    assert NetworkFacts("periodic", 2).sequence == "periodic"
    with pytest.raises(UnknownNameError, match="kind"):
        NetworkFacts("random", 2, sequence="fresh")
    for network, kind in ((RARE, FRESH_STEP), (OnePerRound(RARE), FRESH_ROUND)):
        assert NetworkFacts.of(network, 5, NetworkConstants(m=2)).sequence == kind


def test_experiment_files_know_one_draw_for_each_round():
    document = {
        "task": {"name": "quadratic", "m": 4, "d": 2, "hessians": "common"},
        "algorithm": {"name": "dfedsam", "eta": 0.01, "K": 1, "rho": 0.0, "Q": 2},
        "topology": {"name": "one_per_round", "of": "random_neighbors", "k": 1},
        "run": {"rounds": 2},
    }
    instance = dfl.Instance.of(document)
    assert isinstance(instance.network, OnePerRound)
    assert isinstance(instance.network.of, graphs.RandomNeighbors)
    assert instance.network.of.k == 1
    assert kind_of(instance.network) == FRESH_ROUND
    with pytest.raises(UnknownNameError, match="off"):
        dfl.Instance.of(
            {
                **document,
                "topology": {"name": "one_per_round", "off": "random_matching"},
            }
        )
    assert isinstance(graphs.one_per_round(4).of, graphs.RandomMatching)
    assert graphs.one_per_round(4, "client_sampling", 2).of.k == 2
    for wrong in ({"k": 2}, {"of": "client_sampling"}, {"of": "ring"}):
        with pytest.raises((InputError, UnknownNameError)):
            graphs.one_per_round(4, **wrong)


# -- what statements cover

GOSSIP = ("fixed", "periodic", FRESH_STEP)
COVERED = {
    "dfedsam": GOSSIP,
    "dfedadmm": (*GOSSIP, FRESH_ROUND),
    "dfedmdc": (*GOSSIP, FRESH_ROUND),
    "dfedsgpsm": (*GOSSIP, FRESH_ROUND, "any"),
}


def test_what_the_registered_statements_cover():
    for theorem in registry.statements():
        paper = theorem.key.split(".")[0]
        expected = ("fixed",)
        rederived = theorem.variant.startswith("corrected") and theorem.kind in (
            "theorem",
            "corollary",
        )
        # its lemmas cover such sequences
        if paper == "dfedsgpsm" or (rederived and paper in COVERED):
            expected = COVERED[paper]
        windows = paper == "dfedsgpsm" and (
            not theorem.variant.startswith("corrected")
            or theorem.variant == "corrected_windows"
        )
        if windows:
            expected = tuple(SEQUENCES)
        assert theorem.scope.sequence == expected, str(theorem)


def test_statements_with_several_gossip_steps_do_not_cover_one_draw_for_each_round():
    for theorem in registry.statements():
        if "Q" in theorem.needs and theorem.scope.network != "none":
            assert not {FRESH_ROUND, "any"} & {*theorem.scope.sequence}, str(theorem)


def test_pages_print_what_a_statement_covers(capsys):
    assert command(["bound", THEOREM[0], "--variant", THEOREM[1]]) == 0
    assert f"fixed, periodic, {FRESH_STEP}" in capsys.readouterr().out
    assert command(["bound", THEOREM[0], "--variant", THEOREM[1], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sequence"] == [*GOSSIP]
    assert command(["bound", "bubeck2015.theorem_3_10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sequence"] == []


def test_documents_of_statements_carry_the_kinds_and_older_ones_are_read():
    theorem = bounds.get(*THEOREM)
    document = bounds.theorem_to_document(theorem)
    assert document["scope"]["sequence"] == [*GOSSIP]
    assert bounds.theorem_from_document(document).scope.sequence == GOSSIP
    for change, kinds in (
        ("fixed", ("fixed",)),
        ("sequence", ("fixed", "periodic")),
        ("random", GOSSIP),
    ):
        older = json.loads(json.dumps(document))
        del older["scope"]["sequence"]
        with pytest.raises(InputError, match="sequence"):
            bounds.theorem_from_document(older)
        older["scope"]["change"] = change
        assert bounds.theorem_from_document(older).scope.sequence == kinds
    for wrong in (["fixd"], [], "fixed", None):
        broken = {**document, "scope": {**document["scope"], "sequence": wrong}}
        with pytest.raises(InputError, match="sequence"):
            bounds.theorem_from_document(broken)


# -- the proof kernel


def with_sequence(claim, *kinds, **more):
    theorem = registry.get(*claim.split(":"))
    return replace(theorem, scope=replace(theorem.scope, sequence=kinds, **more))


def test_a_proof_with_q_gossip_steps_does_not_cover_one_draw_for_each_round():
    claim = "dfedsam.theorem_4_5:corrected"
    script = proved.scripts()[claim]
    answer = proved.check(with_sequence(claim, *GOSSIP, FRESH_ROUND), script)
    assert answer.missing == (f"the proof uses what is not assumed: {h.FRESH.says}",)
    assert h.CONTRACTS.scope(with_sequence(claim, *GOSSIP).scope)
    assert h.FRESH.scope(with_sequence(claim, *GOSSIP).scope)
    for kind in ("windows", "any"):
        assert not h.CONTRACTS.scope(with_sequence(claim, *GOSSIP, kind).scope)
    one_step = with_sequence(
        claim, *GOSSIP, FRESH_ROUND, hyperparameters={"Q": 1}
    ).scope
    assert h.FRESH.scope(one_step)
    assert not h.FRESH.scope(replace(one_step, hyperparameters={"Q": 2}))


def test_the_one_step_contraction_of_push_sum_does_not_cover_windows():
    claim = "dfedsgpsm.theorem_1:corrected"
    scope = registry.get(*claim.split(":")).scope
    assert h.PUSHES.scope(scope)
    assert not h.PUSHES.scope(replace(scope, sequence=(*scope.sequence, "windows")))
    assert h.WINDOWED.scope(replace(scope, sequence=(*scope.sequence, "windows")))


def test_the_rule_of_one_gossip_step_is_not_for_several():
    step = X - s.eta * SAMPLED.sum(s.K)
    several = AlgorithmRound("DFedSAM", step, step, X.mean(), gossips=s.Q)
    with pytest.raises(RuleError) as rejected:
        r.gossip(several)
    assert rejected.value.rule == "gossip"
    assert h.FRESH in r.gossip_steps(several).uses
    one = replace(several, gossips=sp.S.One)
    assert h.FRESH not in r.gossip(one).uses
    assert r.gossip(one).right == r.gossip_steps(one).right


# -- the search


def consensus_of_gossip(*kinds):
    """From a common start, mean over t of E

    x_i - xbar

    ^2 <= (lam^Q eta B (1 - lam^(QT))/(1 - lam^Q))^2.
    """
    power = s.lam**s.Q
    return Theorem(
        key="mine.gossip",
        variant="mine",
        kind="theorem",
        title="Consensus of gossip",
        source="a test",
        lhs=LeftSide("consensus", "E", "mean", first=s.T / s.T, last=s.T),
        parts={
            "consensus": (s.eta * s.B * power * (1 - power**s.T) / (1 - power)) ** 2
        },
        scope=Scope(
            ("DFedSAM",),
            "symmetric",
            sequence=kinds,
            common_start=True,
            bounded_gradients=True,
            hyperparameters={"rho": 0.0, "K": 1},
        ),
    )


def test_the_search_draws_once_a_round_for_statements_that_cover_it():
    both = consensus_of_gossip("fixed", FRESH_STEP, FRESH_ROUND)
    names = [net.name for net in candidate_networks(both)]
    assert sum(name.endswith("one for each round") for name in names) == 2
    first, *_ = [f for f in search_spaces(both) if "one for each round" in f.name]
    assert first.counts["Q"] == 4
    for kinds in (("fixed", FRESH_STEP), ("fixed",), ("fixed", "any")):
        theorem = consensus_of_gossip(*kinds)
        assert not any(
            "one for each round" in net.name for net in candidate_networks(theorem)
        ), kinds
    assert not any(
        net.drawn for net in candidate_networks(consensus_of_gossip("fixed", "any"))
    )


def test_a_batch_of_one_draw_for_each_round_applies_it_in_all_gossip_steps():
    x0 = np.array([[[0.0], [1.0], [3.0], [7.0]]])
    flat = np.zeros((1, 4, 1))
    clients = Ramps(flat, flat, flat, np.zeros((1, 4)))
    algorithm = DFedSAM(eta=1.0, K=1, rho=0.0, Q=2)
    held = CandidateBatch(
        algorithm,
        clients,
        x0,
        matchings(4)[None],
        np.zeros((1, 1)),
        drawn=True,
        one_per_round=True,
    )
    fresh = replace(held, one_per_round=False)
    assert held.longest == 2 * fresh.longest + 1
    x, every = x0[0, :, 0], matchings(4)
    once = np.mean([np.var(W @ x) for W in every])  # matchings are projections
    twice = np.mean([np.var(V @ W @ x) for V in every for W in every])
    assert run_batch(held, 1).left["consensus"][1, 0] == pytest.approx(once, rel=1e-12)
    assert run_batch(fresh, 1).left["consensus"][1, 0] == pytest.approx(
        twice, rel=1e-12
    )
    again = built(held.alone(0, x0, 1).document())
    assert isinstance(again.network, OnePerRound)
    assert kind_of(again.network) == FRESH_ROUND
    assert CandidateBatch.of(again).one_per_round
    assert not CandidateBatch.of(built(fresh.alone(0, x0, 1).document())).one_per_round


@pytest.mark.slow
def test_the_search_refutes_lam_to_the_q_for_one_draw_for_each_round():
    found = falsify(
        consensus_of_gossip("fixed", FRESH_STEP, FRESH_ROUND), candidates=3000, seed=0
    )
    assert found.violated, str(found)
    assert isinstance(found.instance.network, OnePerRound)


@pytest.mark.slow
def test_the_search_does_not_refute_lam_to_the_q_for_fresh_draws():
    assert not falsify(
        consensus_of_gossip("fixed", FRESH_STEP), seconds=30, seed=0
    ).violated
