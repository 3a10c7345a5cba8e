"""Random networks: the search enumerates all draws, and the training core draws its
own.
"""

import dataclasses
import sys

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Theorem
from dfltheory.constants import FRESH_STEP
from dfltheory.counterexamples import falsify
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_matrices import matchings
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import SEARCHED_MEASURES
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.errors import InputError
from dfltheory.graphs import RandomMatching, mean_square_contraction


def a_matching(W):
    """A user's law for three clients or more, in which each client averages with at
    most one other.
    """
    averages = (
        len(W) > 2 and np.abs(W @ W - W).max() < 1e-12 and (W > 0).sum(0).max() <= 2
    )
    return None if averages else "it is no matching"


MATCHINGS = Theorem(
    key="mine.matchings",
    variant="mine",
    kind="theorem",
    title="Consensus over random matchings",
    source="a test",
    lhs=LeftSide(
        "consensus", r"\frac1T\sum_{t=1}^T", "mean", first=s.T / s.T, last=s.T
    ),
    # in root mean square the deviation of round t + 1 is at most lam (that of round t +
    # eta B)
    parts={"consensus": (s.eta * s.B * s.lam * (1 - s.lam**s.T) / (1 - s.lam)) ** 2},
    scope=Scope(
        ("DPSGD",),
        a_matching,
        sequence=("fixed", "periodic", FRESH_STEP),
        common_start=True,
        bounded_gradients=True,
        hyperparameters={"order": "adapt-then-combine"},
    ),
)
HALVED = dataclasses.replace(
    MATCHINGS, parts={"consensus": MATCHINGS.parts["consensus"] / 2}
)


def four_clients(rounds_law=True, seed=0):
    rng = np.random.default_rng(seed)
    ramps = Ramps(
        rng.normal(size=(1, 4, 2)),
        rng.uniform(0.5, 2, (1, 4, 2)),
        rng.normal(size=(1, 4, 2)),
        rng.normal(size=(1, 4)),
    )
    algorithm = dfl.algorithms.DFedSAM(eta=0.1, K=2, rho=0.2)
    x0 = rng.normal(size=(1, 4, 1))
    return CandidateBatch(
        algorithm, ramps, x0, matchings(4)[None], np.zeros((1, 1)), drawn=rounds_law
    )


@pytest.mark.parametrize("m", [3, 4])
def test_matchings_are_those_of_the_package_each_as_likely(m):
    every, rng = matchings(m), np.random.default_rng(0)
    sequence = RandomMatching(m)
    seen = [sequence.matrix(0, rng) for _ in range(600)]
    counts = [
        sum(
            np.array_equal(np.asarray(getattr(W, "toarray", lambda W=W: W)()), one)
            for W in seen
        )
        for one in every
    ]
    assert sum(counts) == 600
    assert min(counts) > 150
    (net,) = [n for n in candidate_networks(MATCHINGS) if n.m == m]
    _, values, _ = net.draw(type("Read", (), {"u": np.zeros((2, 1))}), False)
    assert values["lam"] == pytest.approx(
        mean_square_contraction(sequence).lam, rel=1e-12
    )


def test_all_ways_together_are_the_mean_of_a_walk_over_the_tree_of_draws():
    batch = four_clients()
    path = simulate(batch, 3, moments=True)
    values_of_walk = [[[] for _ in range(4)] for _ in range(4)]

    def walk(t, W):
        fixed = dataclasses.replace(batch, W=np.array([[*W, np.eye(4)]]), drawn=False)
        one = simulate(fixed, t, moments=True)
        rows = one.left["grad_norm_sq"], one.value, one.left["consensus"]
        for k, row in enumerate(rows):
            values_of_walk[k][t].append(row[t, 0])
        if t < 3:
            for nxt in batch.W[0]:
                walk(t + 1, [*W, nxt])

    walk(0, [])
    assert [len(row) for row in values_of_walk[0]] == [1, 3, 9, 27]
    for k, row in enumerate(
        (path.left["grad_norm_sq"], path.value, path.left["consensus"])
    ):
        assert row[:, 0] == pytest.approx(
            [np.mean(one) for one in values_of_walk[k]], rel=1e-12
        ), k
    assert np.ptp(values_of_walk[0][3]) > 1e-4
    assert not path.cycle[0]


def test_the_second_moment_is_that_of_all_ways():
    batch = four_clients()
    every = [
        simulate(
            dataclasses.replace(batch, W=np.array([[one, two]]), drawn=False),
            2,
            moments=True,
        ).moment[0]
        for one in batch.W[0]
        for two in batch.W[0]
    ]
    moment = simulate(batch, 2, moments=True).moment[0]
    assert min(every) <= moment <= max(every)


@pytest.mark.slow
def test_the_core_draws_its_own_and_agrees():
    batch = four_clients()
    instance = batch.alone(0, batch.x0, 4)
    assert instance.document()["topology"] == {"name": "random_matching"}
    again = CandidateBatch.of(built(instance.document()))
    assert again.drawn
    assert np.array_equal(again.W, batch.W)
    history = instance.run(seeds=1500, progress=False)
    exact = simulate(batch, 4).left["grad_norm_sq"][:, 0]
    error = history.grad_norm_sq.std(0) / 1500**0.5
    assert (np.abs(history.grad_norm_sq.mean(0) - exact) < 5 * error + 1e-12).all()
    assert history.constants is not None


def test_what_cannot_be_run_in_all_ways_is_one_line():
    batch = four_clients()
    assert batch.longest == 5
    with pytest.raises(InputError, match="rounds = "):
        simulate(batch, 6)
    with pytest.raises(InputError, match="rounds = 6"):
        built(batch.alone(0, batch.x0, 6).document())
    noisy = dataclasses.replace(batch, sigma=np.ones((1, 1))).alone(0, batch.x0, 3)
    with pytest.raises(InputError, match="noise on a random network"):
        CandidateBatch.of(noisy)
    other = batch.alone(0, batch.x0, 3)
    with pytest.raises(InputError, match="random_matching"):
        CandidateBatch.of(
            dataclasses.replace(other, network=dfl.graphs.RandomNeighbors(4, 1))
        )


@pytest.mark.slow
def test_falsify_refutes_half_of_a_bound_on_random_matchings_and_not_the_bound(
    monkeypatch,
):
    assert [net.name for net in candidate_networks(MATCHINGS)] == [
        "random matchings of 3",
        "random matchings of 4",
    ]
    true = falsify(MATCHINGS, candidates=600, seed=1)
    assert not true.violated
    assert 0.55 < true.ratio <= 1 + 1e-9
    false = falsify(HALVED, seconds=60, enough=1.1)
    assert false.violated, str(false)
    assert isinstance(false.instance.network, RandomMatching)
    assert false.certificate.core["low"] > 1
    assert false.certificate.core["seeds"] >= 16
    # the rest depends on the exact expectation and the scope, not on how often the
    # core is run
    monkeypatch.setattr(sys.modules[certify.__module__], "RUN_LIMITS", ((40, 400),) * 2)
    certificate = certify(false.instance, MATCHINGS)
    assert not certificate.violated
    fixed = dataclasses.replace(
        HALVED, scope=dataclasses.replace(HALVED.scope, sequence=("fixed",))
    )
    certificate = certify(false.instance, fixed)
    assert certificate.exact["ratio"] > 1
    assert "one fixed mixing matrix" in " ".join(certificate.obstacles)


@pytest.mark.slow
def test_statements_about_random_networks_in_the_registry_are_searched_over_them():
    fixed = {
        "lam_min",
        "delta",
        "C",
        "q",
        "window",
    }  # constants that only a fixed network has
    # one statement of each kind: equal scopes and measures have the same search
    kinds = {}
    for theorem in bounds.statements():
        if not theorem.order and theorem.kind in ("theorem", "corollary"):
            asked = frozenset(fixed & set(theorem.needs))
            kinds.setdefault((str(theorem.scope), theorem.lhs.measure, asked), theorem)
    assert any(FRESH_STEP in theorem.scope.sequence for theorem in kinds.values())
    for theorem in kinds.values():
        if theorem.lhs.measure not in SEARCHED_MEASURES[theorem.scope.two_blocks]:
            continue
        try:
            names = [family.name for family in search_spaces(theorem)]
        except InputError:
            continue
        admits = FRESH_STEP in theorem.scope.sequence and not theorem.scope.two_blocks
        admits &= theorem.scope.network in ("symmetric", "doubly stochastic")
        admits &= not fixed & set(theorem.needs)
        assert any("random matchings" in name for name in names) is admits, str(theorem)
