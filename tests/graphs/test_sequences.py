"""Sequences: their laws in each round, expectations by enumeration, and contraction."""

import itertools
import math
from functools import reduce

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.matrices import to_dense
from dfltheory.graphs.sequences import MixingSequence
from dfltheory.testing import connected_graphs, strongly_connected_digraphs

rng_of = np.random.default_rng


def dense(sequence, t, seed=0, losses=None):
    return to_dense(sequence.matrix(t, rng_of(seed), losses))


# -- as_sequence


def test_as_sequence_takes_what_users_have():
    W = graphs.metropolis(graphs.ring(5))
    cases = {
        "undirected": (graphs.ring(5), W),
        "directed": (
            graphs.directed_ring(5),
            graphs.column_stochastic(graphs.directed_ring(5)),
        ),
        "weighted": (nx.from_numpy_array(W), W),
        "dense": (W, W),
        "sparse": (sp.csr_array(W), W),
        "torch": (torch.tensor(W), W),
        "nested list": (W.tolist(), W),
        "list of one": ([W], W),
        "list of sparse": ([sp.csr_array(W)], W),
        "f(t)": (lambda t: W, W),
    }
    for name, (given_as, expected) in cases.items():
        sequence = graphs.as_sequence(given_as)
        assert isinstance(sequence, MixingSequence), name
        assert sequence.m == 5
        assert not sequence.random
        np.testing.assert_allclose(dense(sequence, 3), expected, err_msg=name)
    same = graphs.RandomMatching(4)
    assert graphs.as_sequence(same) is same


def test_lists_are_periodic_and_callables_are_asked():
    Ws = [
        graphs.metropolis(graphs.ring(4)),
        np.eye(4),
        graphs.metropolis(graphs.star(4)),
    ]
    sequence = graphs.as_sequence(Ws)
    assert sequence.period == 3
    for t in range(7):
        np.testing.assert_array_equal(dense(sequence, t), Ws[t % 3])
    asked = graphs.as_sequence(lambda t: Ws[t])
    np.testing.assert_array_equal(dense(asked, 2), Ws[2])
    spare = graphs.as_sequence(lambda t, scale=1.0, *, verbose=False: scale * Ws[0])
    assert not spare.random  # parameters with defaults are optional
    noisy = graphs.as_sequence(lambda t, rng: np.eye(3)[rng.permutation(3)])
    assert noisy.random
    np.testing.assert_array_equal(dense(noisy, 0, seed=5), dense(noisy, 0, seed=5))


def test_a_callable_that_changes_size_is_caught():
    sequence = graphs.as_sequence(lambda t: np.eye(2 + t))
    with pytest.raises(GraphError, match=r"round 1 .*3 x 3.*2 x 2"):
        dense(sequence, 1)


# -- one-peer exponential and Base-(k+1): finite-time consensus


@pytest.mark.parametrize("m", [1, 2, 3, 4, 6, 8, 16])
def test_one_peer_exponential(m):
    sequence = graphs.one_peer_exponential(m)
    tau = max(math.ceil(math.log2(m)), 1) if m > 1 else 1
    assert sequence.period == tau
    for t in range(tau):
        W = dense(sequence, t)
        for j in range(m):
            column = np.zeros(m)
            column[j] += 0.5
            column[(j + (2**t if m > 1 else 0)) % m] += 0.5
            np.testing.assert_array_equal(W[:, j], column)
    if m & (m - 1) == 0:
        product = reduce(lambda total, W: to_dense(W) @ total, sequence.Ws, np.eye(m))
        np.testing.assert_array_equal(product, np.full((m, m), 1 / m))  # dyadic: exact


# -- random sequences, round by round

RANDOM = [
    graphs.RandomMatching(10),
    graphs.RandomMatching(9),
    graphs.RandomMatching(1),
    graphs.RandomMatching(12, graphs.grid(12)),
    graphs.RandomNeighbors(20, 4),
    graphs.RandomNeighbors(6, 10),
    graphs.ClientSampling(12, 5),
    graphs.LinkFailures(graphs.torus(12), 0.4),
]
RANDOM_DIRECTED = [
    graphs.RandomNeighbors(20, 4, directed=True),
    graphs.LinkFailures(graphs.directed_exponential(9), 0.4),
    graphs.LossDriven(20, 4),
]


@pytest.mark.parametrize("sequence", RANDOM, ids=lambda s: f"{s.name}-{s.m}")
def test_symmetric_random_rounds(sequence):
    assert sequence.random
    seen = set()
    for seed in range(12):
        W = dense(sequence, 0, seed)
        np.testing.assert_allclose(W, W.T, atol=1e-15)
        assert graphs.check_mixing_matrix(W, laws="doubly stochastic").ok
        # only the generator matters
        np.testing.assert_array_equal(W, dense(sequence, 0, seed))
        seen.add(W.tobytes())
    assert len(seen) > 1 or sequence.m in (1, 6)


@pytest.mark.parametrize("sequence", RANDOM_DIRECTED, ids=lambda s: f"{s.name}-{s.m}")
def test_column_stochastic_random_rounds(sequence):
    losses = np.arange(sequence.m, dtype=float)
    for seed in range(8):
        P = dense(sequence, 0, seed, losses)
        assert P.sum(axis=0) == pytest.approx(1, abs=1e-14)
        assert (P >= 0).all()
        assert (P.diagonal() > 0).all()
        np.testing.assert_array_equal(P, dense(sequence, 0, seed, losses))


def test_random_neighbours_send_to_exactly_k():
    P = dense(graphs.RandomNeighbors(30, 7, directed=True), 0)
    assert ((P > 0).sum(axis=0) == 8).all()
    assert set(np.unique(P)) == {0, 1 / 8}
    W = dense(graphs.RandomNeighbors(30, 7), 0)
    degree = (W > 0).sum(axis=0) - 1
    assert degree.min() >= 7
    assert degree.max() > 7  # some clients are drawn by others
    i, j = np.argwhere((W > 0) & ~np.eye(30, dtype=bool))[0]
    assert W[i, j] == pytest.approx(1 / (1 + max(degree[i], degree[j])))


def test_the_papers_ten_neighbours_are_the_default():
    assert graphs.RandomNeighbors(50).k == graphs.LossDriven(50).k == 10
    assert (
        (dense(graphs.LossDriven(50), 0, losses=np.zeros(50)) > 0).sum(axis=0) == 11
    ).all()


def test_matchings_are_matchings_and_stay_on_the_graph():
    graph = graphs.star(7)
    for seed in range(10):
        W = dense(graphs.RandomMatching(7, graph), 0, seed)
        # a single pair, with the centre
        assert ((W > 0) & ~np.eye(7, dtype=bool)).sum() == 2
        assert W[0, 0] == 0.5
        W = dense(graphs.RandomMatching(8), 0, seed)
        np.testing.assert_array_equal(W.diagonal(), 0.5)
        np.testing.assert_array_equal((W == 0.5).sum(axis=1), 2)
    with pytest.raises(InputError, match="7 nodes"):
        graphs.RandomMatching(6, graph)


@given(connected_graphs(min_m=2, max_m=8), st.floats(0, 0.9), st.integers(0, 20))
def test_failed_links_give_their_weight_back(graph, p, seed):
    W = graphs.metropolis(graph)
    got = dense(graphs.LinkFailures(graph, p), 0, seed)
    off = ~np.eye(len(W), dtype=bool)
    kept = (got == W)[off]
    assert (kept | (got[off] == 0)).all()
    expected = np.where(off, got, 0)
    for i in range(len(W)):
        lost = sum(W[i, j] - expected[i, j] for j in range(len(W)) if j != i)
        assert got[i, i] == pytest.approx(W[i, i] + lost)
    if p == 0:
        np.testing.assert_allclose(got, W)


@given(strongly_connected_digraphs(min_m=2), st.integers(0, 20))
def test_failed_arcs_go_back_to_the_sender(graph, seed):
    P = graphs.column_stochastic(graph)
    assume(not np.allclose(P, P.T))
    got = dense(graphs.LinkFailures(P, 0.5), 0, seed)
    for j in range(len(P)):
        lost = sum(P[i, j] - got[i, j] for i in range(len(P)) if i != j)
        assert got[j, j] == pytest.approx(P[j, j] + lost)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: graphs.RandomNeighbors(5, 0), "k = 0"),
        (lambda: graphs.ClientSampling(5, 6), "k = 6"),
        (lambda: graphs.LinkFailures(graphs.ring(4), 1.0), "p = 1.0"),
        (lambda: graphs.LossDriven(5, 0), "k = 0"),
        (lambda: graphs.RandomNeighbors(5, 2.5), "k = 2.5 must be an integer"),
        (lambda: graphs.ClientSampling(5, "a"), "k = 'a' must be an integer"),
        (lambda: graphs.LinkFailures(graphs.ring(4), "a"), "p = 'a' must be a number"),
        (lambda: graphs.RandomMatching(0), "m = 0"),
        (lambda: graphs.Periodic(()), "Ws"),
        (lambda: graphs.as_sequence("ring"), "'ring' is a name"),
        (lambda: graphs.as_sequence([np.eye(2), np.eye(3)]), "sizes"),
        (lambda: graphs.as_sequence([graphs.ring(3)] * 2), "list of graphs"),
        (lambda: graphs.as_sequence(lambda: np.eye(2)), "f\\(t\\)"),
        (lambda: graphs.as_sequence(np.ones((2, 3))), "shape 2x3"),
        (
            lambda: graphs.as_sequence([[[1.0, 0.0], [1.0]], np.eye(2)]),
            "rows of unequal length",
        ),
        (
            lambda: graphs.as_sequence([np.eye(2), np.ones((2, 3))]),
            "matrix 1 of the list has shape 2x3",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises((GraphError, InputError), match=message):
        make()


# -- DFedSGPSM-S: the loss-driven choice


def test_probabilities_are_equation_2():
    f = np.array([0.0, 0.5, 2.0, 1.0])
    p = graphs.LossDriven(4, 2).probabilities(f)
    for i in range(4):
        weights = [math.exp(abs(f[i] - f[j])) if j != i else 0 for j in range(4)]
        np.testing.assert_allclose(p[i], np.array(weights) / sum(weights), rtol=1e-13)


def test_the_loss_driven_draw_in_blocks_is_the_draw_at_once(monkeypatch):
    """Rows are drawn in blocks to avoid an m x m table, with the same random numbers
    and choices.
    """
    from dfltheory.graphs import loss_driven

    f = np.random.default_rng(1).normal(size=23)
    at_once = dense(graphs.LossDriven(23, 3), 0, 5, f)
    monkeypatch.setattr(
        loss_driven,
        "_row_blocks",
        lambda m: (slice(i, min(i + 4, m)) for i in range(0, m, 4)),
    )
    np.testing.assert_array_equal(dense(graphs.LossDriven(23, 3), 0, 5, f), at_once)


def test_blocks_of_rows_cover_every_row_once_within_the_budget():
    from dfltheory.graphs.loss_driven import _row_blocks

    for m, entries in ((1, 8), (5, 8), (7, 100), (10, 35)):
        blocks = list(_row_blocks(m, entries))
        assert np.concatenate([np.arange(m)[rows] for rows in blocks]).tolist() == list(
            range(m)
        )
        assert all((rows.stop - rows.start) * m <= max(entries, m) for rows in blocks)


@pytest.mark.parametrize("scale", [1e3, 1e100, 1.7e308])
def test_large_losses_are_safe(scale):
    f = np.array([-1.0, 0.0, 0.5, 1.0]) * scale
    sequence = graphs.LossDriven(4, 1)
    p = sequence.probabilities(f)
    assert np.isfinite(p).all()
    assert p.sum(axis=1) == pytest.approx(1)
    # the most distant loss gets all probability
    np.testing.assert_allclose(p[0], [0, 0, 0, 1], atol=1e-200)
    P = dense(sequence, 0, losses=f)
    assert P[3, 0] == 0.5
    assert P[0, 3] == 0.5


@pytest.mark.slow
def test_the_draw_is_sequential_sampling_without_replacement():
    """Compares the frequencies of client 0's pairs with Eq. 2 applied twice, within 5
    standard deviations.
    """
    f, n = np.array([0.0, 0.3, 1.0, 1.6]), 3_000
    sequence = graphs.LossDriven(4, 2)
    p = sequence.probabilities(f)[0]
    counts = dict.fromkeys(itertools.combinations((1, 2, 3), 2), 0)
    rng = rng_of(0)
    for _ in range(n):
        P = to_dense(sequence.matrix(0, rng, f))
        counts[tuple(np.flatnonzero(P[1:, 0]) + 1)] += 1
    for (a, b), count in counts.items():
        chance = p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b])
        assert abs(count / n - chance) < 5 * math.sqrt(chance * (1 - chance) / n)


def test_losses_are_needed_and_must_be_finite():
    sequence = graphs.LossDriven(3, 1)
    assert sequence.needs_losses
    with pytest.raises(InputError, match="losses"):
        sequence.matrix(0, rng_of(0))
    with pytest.raises(InputError, match=r"losses: .*client 1.*nan"):
        sequence.matrix(0, rng_of(0), np.array([0, np.nan, 1]))
    with pytest.raises(InputError, match="shape"):
        sequence.matrix(0, rng_of(0), np.zeros(4))
    np.testing.assert_array_equal(
        graphs.LossDriven(1).matrix(0, rng_of(0), np.zeros(1)), [[1.0]]
    )


def test_the_loss_driven_draw_holds_no_square_array():
    import tracemalloc

    m = 3000
    tracemalloc.start()
    P = graphs.LossDriven(m, 3).matrix(0, rng_of(0), rng_of(1).standard_normal(m))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sp.issparse(P)
    assert P.nnz == 4 * m
    assert peak < 8 * m * m * 0.9


@pytest.mark.parametrize(
    "build",
    [
        lambda: graphs.RandomNeighbors(10**12),
        lambda: graphs.RandomNeighbors(10**6, 10**5),
        lambda: graphs.LossDriven(10**6, 10**5),
        lambda: graphs.RandomMatching(10**12),
        lambda: graphs.ClientSampling(10**12, 5),
    ],
)
def test_rounds_beyond_the_memory_are_refused_with_the_figure(build):
    with pytest.raises(InputError, match=r"m = 10+ .*k = \d+ .*1e\+09"):
        build()
    # k is at most m - 1
    assert graphs.RandomNeighbors(5, 10**6).matrix(0, rng_of(0)).shape == (5, 5)
