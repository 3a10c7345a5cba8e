"""Network constants of random and other networks: mean-square contraction by
enumeration, and NetworkConstants.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.matrices import to_dense
from dfltheory.testing import mixing_sequences

# -- mean-square contraction


def matchings(nodes):
    """Yield all perfect matchings of an even, or near-perfect ones of an odd, number of
    nodes.
    """
    if len(nodes) % 2:
        return [
            m for alone in nodes for m in matchings([v for v in nodes if v != alone])
        ]
    if not nodes:
        return [[]]
    a, rest = nodes[0], nodes[1:]
    return [
        [(a, b), *others]
        for b in rest
        for others in matchings([v for v in rest if v != b])
    ]


def squared_norm(moment):
    return np.linalg.eigvalsh(moment - 1 / len(moment))[-1]


def check_enumerated(sequence, m, every):
    """Compare lam^2 with E[W'W] over all equally likely rounds, in which groups
    average.
    """
    moment = np.zeros((m, m))
    for groups in every:
        W = np.eye(m)
        for group in groups:
            W[np.ix_(group, group)] = 1 / len(group)
        moment += W.T @ W / len(every)
    found = graphs.mean_square_contraction(sequence)
    assert found.exact
    assert found.lam**2 == pytest.approx(max(squared_norm(moment), 0), abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 7])
def test_matching_contraction_by_enumeration(m):
    check_enumerated(graphs.RandomMatching(m), m, matchings(list(range(m))))


@pytest.mark.parametrize(("m", "k"), [(2, 1), (4, 2), (5, 3), (6, 6), (6, 1)])
def test_sampling_contraction_by_enumeration(m, k):
    check_enumerated(
        graphs.ClientSampling(m, k),
        m,
        [[s] for s in itertools.combinations(range(m), k)],
    )


@pytest.mark.parametrize(
    "graph", [graphs.ring(4), graphs.star(5), graphs.path(4)], ids=str
)
def test_failure_contraction_by_enumeration(graph):
    p, W = 0.3, graphs.metropolis(graph)
    moment, edges = np.zeros_like(W), list(graph.edges)
    for lost in itertools.product((0, 1), repeat=len(edges)):
        V = W.copy()
        for (a, b), gone in zip(edges, lost):
            if gone:
                V[a, a] += W[a, b]
                V[b, b] += W[a, b]
                V[a, b] = V[b, a] = 0
        moment += p ** sum(lost) * (1 - p) ** (len(lost) - sum(lost)) * V.T @ V
    found = graphs.mean_square_contraction(graphs.LinkFailures(graph, p))
    assert found.exact
    assert found.lam**2 == pytest.approx(squared_norm(moment), abs=1e-12)


class Hidden:
    """A sequence with an unknown law."""

    def __init__(self, inner, **about):
        self.inner, self.m, self.random = inner, inner.m, True
        self.__dict__ |= about

    def matrix(self, t, rng, losses=None):
        return self.inner.matrix(t, rng)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("draws", [40, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("about", [{}, {"exchangeable": True}], ids=["draws", "trace"])
@pytest.mark.parametrize(
    "inner",
    [graphs.RandomMatching(8), graphs.ClientSampling(9, 4)],
    ids=lambda s: s.name,
)
def test_estimates_lie_around_the_exact_value(inner, about, draws):
    exact = graphs.mean_square_contraction(inner).lam
    estimates = [
        graphs.mean_square_contraction(Hidden(inner, **about), draws=draws, seed=s)
        for s in range(12)
    ]
    for e in estimates:
        assert e.method == ("trace" if about else "draws")
        assert not e.exact
        assert abs(e.lam - exact) < 5 * e.standard_error + 1e-12
        assert "standard error" in str(e)
    spread = np.std([e.lam for e in estimates], ddof=1)
    standard_error = np.mean([e.standard_error for e in estimates])
    # 12 draws: chi-square far tails
    assert (
        0.4 * standard_error <= spread <= 2.2 * standard_error or standard_error < 1e-12
    )


def test_draws_find_the_worst_direction():
    # a path with failing links: the slow direction is one of many; the others
    # contract much faster
    inner = graphs.LinkFailures(graphs.path(8), 0.2)
    exact = graphs.mean_square_contraction(inner).lam
    found = graphs.mean_square_contraction(Hidden(inner), draws=400)
    assert found.lam == pytest.approx(exact, abs=max(5 * found.standard_error, 2e-3))
    assert found.standard_error < 2e-3


def test_the_standard_error_is_that_of_lambda():
    n, sequence = 50, graphs.RandomNeighbors(9, 2)
    found = graphs.mean_square_contraction(
        Hidden(sequence, exchangeable=True), draws=n, seed=4
    )
    rng = np.random.default_rng(4)
    squares = [
        (np.linalg.norm(to_dense(sequence.matrix(t, rng))) ** 2 - 1) / 8
        for t in range(n)
    ]
    lam = math.sqrt(np.mean(squares))
    assert found.lam == pytest.approx(lam)
    assert found.standard_error == pytest.approx(
        np.std(squares, ddof=1) / math.sqrt(n) / (2 * lam)
    )
    assert found.draws == n
    assert (
        found.method,
        graphs.mean_square_contraction(graphs.ClientSampling(9, 4)).draws,
    ) == ("trace", 0)


def test_contraction_of_what_is_not_random_and_of_what_has_none():
    Ws = [graphs.metropolis(graphs.ring(5)), graphs.metropolis(graphs.star(5))]
    found = graphs.mean_square_contraction(Ws)
    assert found.exact
    assert found.lam == pytest.approx(max(graphs.lam(W) for W in Ws))
    assert graphs.mean_square_contraction(graphs.RandomMatching(1)).lam == 0
    assert graphs.mean_square_contraction(graphs.RandomMatching(2)).lam == 0
    with pytest.raises(GraphError, match=r"round 0 .*row"):
        graphs.mean_square_contraction(graphs.RandomNeighbors(9, 2, directed=True))
    with pytest.raises(InputError, match="draws = 3"):
        graphs.mean_square_contraction(graphs.RandomMatching(4), draws=3)


# -- network_constants


def test_network_constants_of_gossip():
    W = graphs.metropolis(graphs.grid(12))
    c = graphs.network_constants(W)
    assert (c.m, c.lam) == (12, pytest.approx(graphs.lam(W)))
    assert (c.delta, c.C, c.q) == (None, None, None)
    assert c.standing_of("lam") == "exact"
    both = graphs.network_constants(W, push_sum=True)
    assert (both.delta, both.C) == pytest.approx((1, 1))
    assert both.q == pytest.approx(c.lam)  # doubly stochastic: sigma_2 = lambda


def test_network_constants_of_push_sum():
    P = graphs.column_stochastic(graphs.random_out_degree(12, 3))
    c = graphs.network_constants(P)
    expected = graphs.push_sum_constants(P)
    assert c.lam is None
    assert (c.delta, c.C, c.q) == (expected.delta, expected.C, expected.q)
    assert 1 / c.delta == c.C
    assert c.standing == {}
    windows = [np.eye(2), np.full((2, 2), 0.5)]
    assert graphs.network_constants(windows).lam == pytest.approx(1)
    assert graphs.network_constants(windows, push_sum=True).q == pytest.approx(
        math.sqrt(0.5)
    )


def test_network_constants_of_random_sequences_say_how_they_are_known():
    exact = graphs.network_constants(graphs.RandomMatching(10))
    assert exact.lam == pytest.approx(2 / 3)
    assert exact.standing_of("lam") == "exact"
    assert (
        graphs.network_constants(graphs.RandomNeighbors(12, 3), rounds=20).standing_of(
            "lam"
        )
        == "estimate"
    )
    moving = graphs.network_constants(graphs.LossDriven(12, 3), rounds=20)
    assert moving.lam is None
    assert {moving.standing_of(n) for n in ("delta", "C", "q")} == {"estimate"}
    assert 0 < moving.q < 1
    assert (
        graphs.network_constants(lambda t: np.full((3, 3), 1 / 3)).standing_of("lam")
        == "estimate"
    )


@given(mixing_sequences(min_m=2))
def test_network_constants_of_periods(sequence):
    c = graphs.network_constants(sequence)
    assert c.lam == pytest.approx(
        max(np.linalg.norm(W - 1 / sequence.m, 2) for W in sequence.Ws), abs=1e-12
    )


@pytest.mark.parametrize(
    "W",
    [[[0.5, 0.5], [0.5, 0.6]], graphs.uniform(graphs.star(4)), [[np.nan, 1], [1, 0]]],
)
def test_network_constants_refuse_what_is_neither(W):
    with pytest.raises(GraphError):
        graphs.network_constants(W)


@pytest.mark.parametrize("push_sum", [False, None, True])
def test_network_constants_reject_matrix_that_satisfies_no_law(push_sum):
    W = np.array([[0.5, 0.2], [0.2, 0.5]])  # neither rows nor columns sum to 1
    with pytest.raises(GraphError):
        graphs.network_constants(W, push_sum=push_sum)


def test_network_constants_without_push_sum_reject_matrix_that_is_only_column_stochastic():
    W = np.array([[0.5, 0.2], [0.5, 0.8]])
    with pytest.raises(GraphError):
        graphs.network_constants(W, push_sum=False)
    assert graphs.network_constants(W).delta is not None


ROW_STOCHASTIC = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
COLUMN_STOCHASTIC = ROW_STOCHASTIC.T
"""Not doubly stochastic: the first column of the first matrix sums to 3/4."""


@pytest.mark.parametrize("push_sum", [None, True])
def test_constants_of_a_network_with_lossy_columns_are_refused(push_sum):
    with pytest.raises(GraphError, match="column"):
        graphs.network_constants(ROW_STOCHASTIC, push_sum=push_sum)


def test_doubly_stochastic_constants_of_a_push_sum_network_are_refused():
    assert graphs.network_constants(COLUMN_STOCHASTIC).delta is not None
    with pytest.raises(GraphError):
        graphs.network_constants(COLUMN_STOCHASTIC, push_sum=False)


def test_one_lossy_matrix_among_others_is_refused():
    with pytest.raises(GraphError, match="column"):
        graphs.network_constants([COLUMN_STOCHASTIC, ROW_STOCHASTIC])


def test_mean_square_contraction_of_a_function_of_the_round_is_no_mean_over_rounds():
    Ws = [np.full((2, 2), 0.5), np.array([[0.9, 0.1], [0.1, 0.9]])]
    contraction = graphs.mean_square_contraction(lambda t: Ws[t % 2], draws=5)
    assert contraction.lam == pytest.approx(graphs.mean_square_contraction(Ws).lam)
    assert not contraction.exact
    assert contraction.draws == 5
    assert "standard error" not in str(contraction)


class LossDrivenWithPeriod:
    """A sequence that declares a period, although its matrix depends on the losses."""

    m = 2
    random = False
    needs_losses = True
    period = 1

    def matrix(self, t, rng, losses=None):
        equal = losses is not None and losses[0] == losses[1]
        return np.full((2, 2), 0.5) if equal else np.eye(2)


def test_constants_of_loss_dependent_matrices_are_estimates_whatever_period_is_declared():
    sequence = LossDrivenWithPeriod()
    constants = graphs.network_constants(sequence, rounds=5)
    assert constants.standing_of("lam") == "estimate"
    assert constants.lam_min is None
    assert graphs.push_sum_constants(sequence, rounds=5).standing == "estimate"
    report = graphs.check_push_sum(sequence, rounds=5)
    assert report.details["rounds looked at"] == 5
