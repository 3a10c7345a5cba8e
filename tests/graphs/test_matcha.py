"""MATCHA's matchings, probabilities and weight, checked by enumeration of all rounds
and against other choices.
"""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import dfltheory as dfl
from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.matrices import to_dense
from dfltheory.testing import connected_graphs


def laplacian(matching, m):
    L = np.zeros((m, m))
    for i, j in matching:
        L[[i, j], [i, j]] += 1
        L[[i, j], [j, i]] -= 1
    return L


def connectivity(sequence, p):
    mean = sum(
        w * laplacian(pairs, sequence.m)
        for w, pairs in zip(p, sequence.matchings, strict=True)
    )
    return np.linalg.eigvalsh(mean)[1]


def of(graph, budget):
    if budget < 1:
        pytest.importorskip("clarabel", reason="the extra [convex] is not installed")
        pytest.importorskip("cvxpy", reason="the extra [convex] is not installed")
    return graphs.Matcha(graph, budget)


@settings(max_examples=30, deadline=None)
@given(connected_graphs(max_m=9).filter(lambda graph: len(graph) > 1))
def test_matchings_partition_the_links_and_touch_each_client_once(graph):
    order = {node: k for k, node in enumerate(graph)}
    sequence = of(graph, 1.0)
    links = [
        tuple(sorted(pair)) for part in sequence.matchings for pair in part.tolist()
    ]
    assert sorted(links) == sorted(
        tuple(sorted((order[a], order[b]))) for a, b in graph.edges
    )
    assert all(len(np.unique(part)) == part.size for part in sequence.matchings)
    assert len(sequence.matchings) < 2 * max(d for _, d in graph.degree)


@pytest.mark.parametrize("budget", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(
    "graph", [graphs.ring(5), graphs.star(5), graphs.two_cliques(6)], ids=str
)
def test_lambda_is_that_of_all_rounds_weighed_and_no_alpha_gives_less(graph, budget):
    sequence = of(graph, budget)
    parts = [laplacian(pairs, sequence.m) for pairs in sequence.matchings]

    def squared(alpha):
        moment = -np.full((sequence.m, sequence.m), 1 / sequence.m)
        for on in itertools.product([False, True], repeat=len(parts)):
            chance = np.prod(np.where(on, sequence.p, 1 - sequence.p))
            W = np.eye(sequence.m) - alpha * sum(
                L for L, b in zip(parts, on, strict=True) if b
            )
            moment = moment + chance * W @ W
        return np.linalg.norm(moment, 2)

    assert sequence.contraction_squared() == pytest.approx(
        squared(sequence.alpha), abs=1e-9
    )
    assert all(
        squared(factor * sequence.alpha) > squared(sequence.alpha)
        for factor in (0.97, 1.03)
    )
    assert graphs.mean_square_contraction(sequence).lam ** 2 == pytest.approx(
        squared(sequence.alpha)
    )


@pytest.mark.drawn(2)
@pytest.mark.parametrize("budget", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(
    "graph", [graphs.star(6), graphs.two_cliques(8), graphs.binary_tree(7)], ids=str
)
def test_probabilities_keep_to_the_budget_and_connect_best(graph, budget):
    sequence = of(graph, budget)
    count, rng = len(sequence.p), np.random.default_rng(0)
    assert sequence.p.sum() <= budget * count + 1e-6
    assert sequence.p.min() >= 0
    assert sequence.p.max() <= 1
    best = connectivity(sequence, sequence.p)
    for _ in range(200):
        other = np.minimum(rng.dirichlet(np.ones(count)) * budget * count, 1)
        assert connectivity(sequence, other) <= best + 1e-6
    assert connectivity(sequence, np.full(count, budget)) <= best + 1e-6


def test_the_bridge_of_two_cliques_comes_up_most():
    sequence = of(graphs.two_cliques(8), 0.5)
    with_bridge = [
        k
        for k, part in enumerate(sequence.matchings)
        if any((i < 4) != (j < 4) for i, j in part)
    ]
    assert with_bridge == [int(np.argmax(sequence.p))]


@pytest.mark.parametrize(
    ("count", "allowed"), [(150, 0.14), pytest.param(600, 0.07, marks=pytest.mark.slow)]
)
def test_rounds_come_up_as_often_as_they_should_and_chance_is_the_generators(
    count, allowed
):
    sequence = of(graphs.star(4), 0.5)
    rng = np.random.default_rng(1)
    rounds = [to_dense(sequence.matrix(t, rng)) for t in range(count)]
    assert all(
        (W == W.T).all() and np.allclose(W.sum(0), 1, rtol=0, atol=1e-14)
        for W in rounds
    )
    mean = np.eye(4) - sequence.alpha * sum(
        p * laplacian(part, 4)
        for p, part in zip(sequence.p, sequence.matchings, strict=True)
    )
    np.testing.assert_allclose(np.mean(rounds, axis=0), mean, rtol=0, atol=allowed)
    again = np.random.default_rng(1)
    np.testing.assert_array_equal(rounds[0], to_dense(sequence.matrix(7, again)))


def test_with_the_whole_budget_it_is_the_graph_with_its_best_equal_weights():
    graph = graphs.two_cliques(6)
    eigenvalues = np.linalg.eigvalsh(nx.laplacian_matrix(graph).toarray().astype(float))
    sequence = of(graph, 1.0)
    assert sequence.alpha == pytest.approx(
        2 / (eigenvalues[1] + eigenvalues[-1]), abs=1e-6
    )
    W = to_dense(sequence.matrix(0, np.random.default_rng(0)))
    expected = np.eye(6) - sequence.alpha * nx.laplacian_matrix(graph).toarray()
    np.testing.assert_allclose(W, expected, rtol=0, atol=1e-14)


def test_it_trains_and_sends_less():
    task = dfl.tasks.quadratic(m=6, d=3, sigma=0.1, seed=0)
    graph = graphs.two_cliques(6)
    algorithm = dfl.algorithms.DPSGD(eta=0.05)
    few, all_links = (
        dfl.train(algorithm, task, of(graph, b), 40, progress=False) for b in (0.4, 1.0)
    )
    assert few.sent_bits[0, -1] < 0.6 * all_links.sent_bits[0, -1]
    assert np.isfinite(few.grad_norm_sq).all()


@pytest.mark.parametrize("budget", [0.0, -0.1, 1.5, float("nan")])
def test_a_budget_is_a_share(budget):
    with pytest.raises(InputError, match=r"budget = "):
        graphs.Matcha(graphs.ring(4), budget)


@pytest.mark.parametrize(
    "graph", [graphs.directed_ring(4), nx.empty_graph(3), nx.empty_graph(1), np.eye(3)]
)
def test_only_connected_undirected_graphs(graph):
    with pytest.raises(GraphError, match=r"undirected|connected|component"):
        graphs.Matcha(graph)
