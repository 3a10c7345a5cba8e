"""Every generator agrees with a plain implementation of its definition."""

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.random_topologies import random_targets
from dfltheory.testing import connected_graphs, strongly_connected_digraphs
from dfltheory.training import setup


def links(graph):
    return {frozenset(e) for e in graph.edges}


def both_ways(m, hops):
    return {
        frozenset((i, (i + h) % m)) for i in range(m) for h in hops if (i + h) % m != i
    }


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 9, 12, 16, 17])
def test_static_links(m):
    powers = [2**k for k in range(20) if 2**k < m]
    assert links(graphs.ring(m)) == both_ways(m, [1])
    assert links(graphs.path(m)) == {frozenset((i, i + 1)) for i in range(m - 1)}
    assert links(graphs.star(m)) == {frozenset((0, i)) for i in range(1, m)}
    assert links(graphs.complete(m)) == both_ways(m, range(1, m))
    assert links(graphs.exponential(m)) == both_ways(m, powers)
    assert set(graphs.directed_exponential(m).edges) == {
        (i, (i + h) % m) for i in range(m) for h in powers
    }
    assert set(graphs.directed_ring(m).edges) == {
        (i, (i + 1) % m) for i in range(m) if m > 1
    }
    assert links(graphs.binary_tree(m)) == {
        frozenset((i, (i - 1) // 2)) for i in range(1, m)
    }
    a, b = max((a, m // a) for a in range(1, m + 1) if m % a == 0 and a * a <= m)
    cell = {(r, c): r * b + c for r in range(a) for c in range(b)}
    open_links = {
        frozenset((cell[r, c], cell[r, c + 1])) for r in range(a) for c in range(b - 1)
    }
    open_links |= {
        frozenset((cell[r, c], cell[r + 1, c])) for r in range(a - 1) for c in range(b)
    }
    assert links(graphs.grid(m)) == open_links
    wrapped = {frozenset((cell[r, 0], cell[r, b - 1])) for r in range(a)}
    wrapped |= {frozenset((cell[0, c], cell[a - 1, c])) for c in range(b)}
    assert links(graphs.torus(m)) == open_links | {e for e in wrapped if len(e) == 2}


def test_hypercube_is_networkx_hypercube():
    assert nx.is_isomorphic(graphs.hypercube(16), nx.hypercube_graph(4))
    assert all(bin(i ^ j).count("1") == 1 for i, j in graphs.hypercube(32).edges)
    with pytest.raises(InputError, match="m = 12"):
        graphs.hypercube(12)


def test_small_tori_have_no_double_links_and_that_of_a_prime_is_the_ring():
    assert nx.is_isomorphic(graphs.torus(4), graphs.ring(4))
    assert links(graphs.torus(17)) == links(graphs.ring(17))
    assert dict(graphs.torus(6, sides=(2, 3)).degree()) == dict.fromkeys(range(6), 3)
    assert graphs.torus(8, sides=(4, 2)).graph["sides"] == (4, 2)
    assert graphs.grid(12).graph["sides"] == (3, 4)


@pytest.mark.parametrize("sides", [(3, 4), (0, 10), "ab", 7, (2, 5, 1)])
def test_impossible_sides_are_refused(sides):
    with pytest.raises(InputError, match="sides"):
        graphs.torus(10, sides=sides)


def test_two_cliques():
    graph = graphs.two_cliques(9, bridges=2)
    assert graph.number_of_edges() == math.comb(4, 2) + math.comb(5, 2) + 2
    assert {(0, 4), (1, 5)} <= set(graph.edges)
    with pytest.raises(InputError, match="bridges = 5"):
        graphs.two_cliques(9, bridges=5)


def test_random_graphs_follow_their_seed_alone():
    for draw in (graphs.random_regular, graphs.erdos_renyi, graphs.random_out_degree):
        np.random.seed(1)  # noqa: NPY002 - the global state must have no say
        first = set(draw(20, seed=3).edges)
        np.random.seed(2)  # noqa: NPY002
        assert set(draw(20, seed=3).edges) == first
        assert set(draw(20, seed=4).edges) != first
    assert set(dict(graphs.random_regular(12, degree=3, seed=1).degree()).values()) == {
        3
    }
    assert set(dict(graphs.random_out_degree(30, degree=7).out_degree()).values()) == {
        7
    }
    assert set(dict(graphs.random_out_degree(5, degree=10).out_degree()).values()) == {
        4
    }


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7, 16])
def test_every_topology_is_connected_with_nodes_0_to_m(m):
    for name in graphs.TOPOLOGIES:
        if name == "hypercube" and m & (m - 1):
            continue
        graph = graphs.topology(name.replace("_", "-"), m)
        assert list(graph) == list(range(m)), name
        assert graph.graph["topology"] == name
        assert nx.number_of_selfloops(graph) == 0
        connected = nx.is_strongly_connected if graph.is_directed() else nx.is_connected
        assert connected(graph), name
    assert set(dict(graphs.random_regular(m).degree()).values()) == {min(4, m - 1)}


@pytest.mark.parametrize("k", [1, 5, 60, 80])
def test_many_clients_draw_distinct_others_evenly(k):
    m = 4100
    targets = random_targets(m, k, np.random.default_rng(k))
    assert targets.shape == (m, k)
    assert (targets != np.arange(m)[:, None]).all()
    assert targets.min() >= 0
    assert targets.max() < m
    assert (np.diff(np.sort(targets, axis=1), axis=1) > 0).all()
    in_degrees = np.bincount(
        targets.ravel(), minlength=m
    )  # binomial(m - 1, k / (m - 1))
    assert in_degrees.var() == pytest.approx(k * (1 - k / (m - 1)), rel=0.15)
    if k > 1:  # nor does the position in a row matter
        assert abs(np.corrcoef(targets[:, 0], targets[:, 1])[0, 1]) < 0.06


def test_erdos_renyi_is_redrawn_until_connected():
    # at p = 0.12 most draws of 20 nodes are disconnected
    assert all(
        nx.is_connected(graphs.erdos_renyi(20, p=0.12, seed=s)) for s in range(20)
    )
    with pytest.raises(GraphError):
        graphs.erdos_renyi(40, p=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: graphs.topology("tours", 9), "did you mean torus"),
        (lambda: graphs.ring(0), "m = 0 must be an integer >= 1"),
        (lambda: graphs.ring(2.5), "m = 2.5 must be an integer"),
        (lambda: graphs.ring(True), "must be an integer"),
        (lambda: graphs.random_regular(5, degree=3), "m \\* degree even"),
        (lambda: graphs.random_regular(6, degree=1), "degree = 1"),
        (lambda: graphs.erdos_renyi(5, p=0.0), "p = 0.0"),
        (lambda: graphs.random_out_degree(5, degree=0), "degree = 0"),
        (
            lambda: graphs.random_out_degree(5, degree="x"),
            "degree = 'x' must be an integer",
        ),
        (
            lambda: graphs.random_regular(10, degree=2.5),
            "degree = 2.5 must be an integer",
        ),
        (
            lambda: graphs.two_cliques(10, bridges=1.5),
            "bridges = 1.5 must be an integer",
        ),
        (lambda: graphs.erdos_renyi(5, p="a"), "p = 'a' must be a number"),
        (lambda: graphs.erdos_renyi(5, seed=-1), "seed = -1 must be an integer >= 0"),
        (lambda: graphs.erdos_renyi(5, seed="a"), "seed = 'a' must be an integer"),
        (
            lambda: graphs.topology("random-out-degree", 9, k=3),
            "does not take k: it takes degree, seed$",
        ),
        (lambda: graphs.topology("ring", 9, m=4), "topology ring does not take m"),
        (
            lambda: graphs.weights(graphs.ring(5), "metropolis", alpha=1),
            "does not take alpha: it takes sparse",
        ),
        (
            lambda: graphs.laplacian(graphs.ring(5), alpha="x"),
            "alpha = 'x' must be a number",
        ),
        (
            lambda: graphs.topology("ring", 5, sides=(1, 5)),
            "topology ring does not take sides: it takes no options",
        ),
    ],
)
def test_bad_arguments_get_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@given(st.integers(2, 40), st.integers(1, 45), st.integers(0, 5))
def test_random_targets_are_others_without_repetition(m, k, seed):
    targets = random_targets(m, k, np.random.default_rng(seed))
    assert targets.shape == (m, min(k, m - 1))
    for i, row in enumerate(targets):
        assert i not in row
        assert len(set(row.tolist())) == len(row)
        assert set(row.tolist()) <= set(range(m))


def test_random_targets_are_uniform():
    rng = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    for _ in range(4000):
        for i, row in enumerate(random_targets(5, 2, rng)):
            counts[i, row] += 1
    off = counts[~np.eye(5, dtype=bool)] / 4000
    assert off == pytest.approx(0.5, abs=0.04)  # 5 standard deviations of a binomial


@given(connected_graphs(min_m=2))
def test_from_matrix_gives_the_graph_back(graph):
    A = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    for form in (A, sp.csr_array(A), A + np.eye(len(A))):
        assert links(graphs.from_matrix(form)) == links(graph)
    assert graphs.as_graph(graph) is graph


@given(strongly_connected_digraphs(min_m=3))
def test_from_matrix_reads_row_i_column_j_as_an_arc_from_j(graph):
    W = np.zeros((len(graph),) * 2)
    for j, i in graph.edges:
        W[i, j] = 1
    back = graphs.from_matrix(W)
    arcs = (
        set(back.edges)
        if back.is_directed()
        else {e for a, b in back.edges for e in ((a, b), (b, a))}
    )
    assert arcs == set(graph.edges)


@pytest.mark.parametrize(
    ("name", "m", "options"),
    [
        ("complete", 10**6, {}),
        ("two_cliques", 10**6, {}),
        ("random_regular", 10**6, {"degree": 1000}),
        ("erdos_renyi", 10**6, {"p": 0.5}),
    ],
)
def test_more_links_than_memory_holds_are_refused_with_their_number(name, m, options):
    with pytest.raises(
        InputError, match=rf"{name}\(m = 1000000\) has [25](\.5)?e\+(08|11) links"
    ):
        graphs.topology(name, m, **options)


@pytest.mark.parametrize(("other", "name"), graphs.OTHER_NAMES.items())
def test_another_name_of_a_topology_gives_the_same_graph(other, name):
    options = {"seed": 0} if name == "erdos_renyi" else {}
    found, known = (
        graphs.topology(other, 12, **options),
        graphs.topology(name, 12, **options),
    )
    assert found.name == known.name
    assert found.edges == known.edges


def test_another_name_works_in_reports_and_in_training():
    assert (
        graphs.spectral_report("mesh", m=16).gap
        == graphs.spectral_report("grid", m=16).gap
    )
    assert setup.network_called("full") is graphs.complete
