"""Weight rules agree with their formulas, entry by entry, on random graphs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError, UnknownNameError
from dfltheory.graphs.adjacency_weights import laplacian_weights_of, metropolis_of
from dfltheory.graphs.matrices import read_matrix
from dfltheory.testing import connected_graphs, strongly_connected_digraphs

SYMMETRIC = ("metropolis", "max_degree", "lazy", "laplacian")


def literal(graph, weight):
    """Return W with w_ij = weight(i, j) on links, and the diagonal for which rows sum
    to one.
    """
    m = len(graph)
    W = np.zeros((m, m))
    for i in range(m):
        for j in graph[i]:
            W[i, j] = weight(i, j)
        W[i, i] = 1 - W[i].sum()
    return W


@given(connected_graphs())
def test_rules_are_their_formulas(graph):
    d = dict(graph.degree())
    m, largest = len(graph), max(d.values())
    metropolis = literal(graph, lambda i, j: 1 / (1 + max(d[i], d[j])))
    np.testing.assert_allclose(graphs.metropolis(graph), metropolis, atol=1e-15)
    np.testing.assert_allclose(
        graphs.lazy(graph), (np.eye(m) + metropolis) / 2, atol=1e-15
    )
    np.testing.assert_allclose(
        graphs.max_degree(graph),
        literal(graph, lambda i, j: 1 / (1 + largest)),
        atol=1e-15,
    )
    np.testing.assert_allclose(
        graphs.uniform(graph), literal(graph, lambda i, j: 1 / (1 + d[i])), atol=1e-15
    )
    np.testing.assert_allclose(
        graphs.laplacian(graph, alpha=0.1), literal(graph, lambda i, j: 0.1), atol=1e-15
    )
    np.testing.assert_allclose(
        graphs.column_stochastic(graph), graphs.uniform(graph).T, atol=1e-15
    )


@given(connected_graphs(min_m=2))
def test_the_best_laplacian_constant_is_the_best(graph):
    L = nx.laplacian_matrix(graph, nodelist=range(len(graph))).toarray().astype(float)
    m = len(graph)

    def norm(alpha):
        return np.linalg.norm(np.eye(m) - alpha * L - 1 / m, 2)

    W = graphs.laplacian(graph)
    best = (
        float(-W[~np.eye(m, dtype=bool)].min())
        if m == 1
        else float(W[~np.eye(m, dtype=bool)].max())
    )
    values = np.linalg.eigvalsh(L)
    assert best == pytest.approx(2 / (values[1] + values[-1]), rel=1e-9)
    assert all(norm(best) <= norm(best * c) + 1e-12 for c in (0.9, 0.99, 1.01, 1.1))


@given(strongly_connected_digraphs())
def test_directed_rules(graph):
    m = len(graph)
    P, R = np.zeros((m, m)), np.zeros((m, m))
    for j in range(m):
        for i in [*graph.successors(j), j]:
            P[i, j] = 1 / (1 + graph.out_degree(j))
            R[i, j] = 1 / (1 + graph.in_degree(i))
    np.testing.assert_allclose(graphs.column_stochastic(graph), P, atol=1e-15)
    np.testing.assert_allclose(graphs.row_stochastic(graph), R, atol=1e-15)
    np.testing.assert_allclose(graphs.uniform(graph), R, atol=1e-15)
    np.testing.assert_allclose(
        graphs.weights(graph, "column-stochastic", sparse=True).toarray(), P, atol=1e-15
    )


def test_weighted_shares():
    graph = nx.DiGraph(
        [
            (0, 1, {"n": 3.0}),
            (1, 0, {"n": 1.0}),
            (1, 2, {"n": 2.0}),
            (2, 0, {"n": 5.0}),
            (2, 2, {"n": 4.0}),
        ]
    )
    P = graphs.column_stochastic(graph, weight="n")
    # columns: 0 sends 1 (to itself), 3; 1 sends 1, 1 (to itself), 2; 2 sends 5, 4
    # (to itself, a self-loop)
    np.testing.assert_allclose(
        P, [[1 / 4, 1 / 4, 5 / 9], [3 / 4, 1 / 4, 0], [0, 2 / 4, 4 / 9]]
    )
    R = graphs.row_stochastic(graph, weight="n")
    np.testing.assert_allclose(
        R, [[1 / 7, 1 / 7, 5 / 7], [3 / 4, 1 / 4, 0], [0, 2 / 6, 4 / 6]]
    )
    graph[0][1]["n"] = -1.0
    with pytest.raises(InputError, match=r"n = -1\.0"):
        graphs.column_stochastic(graph, weight="n")


def test_sparse_by_size_and_on_demand():
    assert isinstance(graphs.metropolis(graphs.ring(2048)), np.ndarray)
    assert sp.issparse(graphs.metropolis(graphs.ring(2049)))
    assert sp.issparse(graphs.metropolis(graphs.ring(5), sparse=True))
    dense = graphs.metropolis(graphs.ring(5), sparse=False)
    np.testing.assert_array_equal(
        graphs.metropolis(graphs.ring(5), sparse=True).toarray(), dense
    )


@pytest.mark.parametrize(
    "rule", [*SYMMETRIC, "uniform", "column_stochastic", "row_stochastic"]
)
def test_disconnected_graphs_are_refused_with_a_witness(rule):
    graph = nx.Graph([(0, 1), (2, 3)])
    with pytest.raises(
        GraphError,
        match=r"node 0 .*node 2",
    ):
        graphs.weights(graph, rule)


@pytest.mark.parametrize("isolated", range(4))
def test_client_without_links_keeps_its_model_under_weights_of_an_adjacency(isolated):
    others = [k for k in range(4) if k != isolated]
    A = np.zeros((4, 4))
    A[np.ix_(others, others)] = 1 - np.eye(3)
    expected = np.eye(4)
    expected[np.ix_(others, others)] = 1 / 3
    adjacency = sp.csr_array(A)
    for W in (metropolis_of(adjacency), laplacian_weights_of(adjacency, 1 / 3)):
        np.testing.assert_allclose(W.toarray(), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("arcs", "pair"),
    [([(0, 1), (1, 2)], ("1", "0")), ([(1, 0), (1, 2), (2, 1)], ("0", "1"))],
)
def test_one_way_digraphs_are_refused_with_a_witness(arcs, pair):
    with pytest.raises(
        GraphError, match=f"node {pair[0]} sends reaches node {pair[1]}"
    ):
        graphs.column_stochastic(nx.DiGraph(arcs))


def test_metropolis_on_a_one_way_link_says_which():
    with pytest.raises(GraphError, match=r"metropolis .*2 -> 0"):
        graphs.metropolis(graphs.directed_ring(3))
    both = nx.DiGraph([(0, 1), (1, 0)])
    np.testing.assert_allclose(graphs.metropolis(both), 0.5)


def test_node_order_is_by_number_where_nodes_are_numbers():
    graph = nx.Graph()
    graph.add_nodes_from([2, 0, 1])
    graph.add_edges_from([(0, 1), (1, 2)])
    assert graphs.metropolis(graph)[1, 1] == pytest.approx(1 / 3)
    named = nx.Graph([("b", "a"), ("b", "c")])
    assert graphs.metropolis(named)[0, 0] == pytest.approx(1 / 3)


def test_parallel_links_count_once():
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 2)])
    np.testing.assert_allclose(
        graphs.metropolis(multi), graphs.metropolis(nx.path_graph(3))
    )


def test_unknown_rules_and_wrong_things():
    with pytest.raises(UnknownNameError, match="metropolis"):
        graphs.weights(graphs.ring(4), "metropolitan")
    with pytest.raises(InputError, match="takes a networkx graph"):
        graphs.metropolis(np.eye(3))
    with pytest.raises(InputError, match="takes a networkx graph"):
        graphs.uniform(np.eye(3))
    with pytest.raises(InputError, match="alpha = 0"):
        graphs.laplacian(graphs.ring(4), alpha=0)
    with pytest.raises(GraphError, match="0 nodes"):
        graphs.metropolis(nx.Graph())


# -- reading matrices


@given(connected_graphs(min_m=2), st.sampled_from(["float32", "float64", "float16"]))
def test_all_forms_of_a_matrix_are_the_same_matrix(graph, dtype):
    W = graphs.metropolis(graph).astype(dtype)
    t = torch.from_numpy(W)
    weighted = nx.from_numpy_array(W.astype(float))
    forms = [
        W,
        W.tolist(),
        sp.csr_array(W.astype(float)),
        t,
        t.to_sparse_coo(),
        t.requires_grad_(),
        weighted,
    ]
    for form in forms:
        A = graphs.as_matrix(form)
        np.testing.assert_array_equal(
            A.toarray() if sp.issparse(A) else A, W.astype(float)
        )
    assert [read_matrix(W)[1], read_matrix(t)[1]] == [np.finfo(dtype).eps] * 2


def test_bfloat16_and_sparse_csr_tensors():
    W = torch.tensor(graphs.metropolis(graphs.ring(6)))
    A, eps = read_matrix(W.bfloat16())
    assert eps == 2**-7
    assert A.dtype == np.float64
    assert graphs.check_mixing_matrix(W.bfloat16()).ok


def test_the_input_is_left_as_it_was():
    S = sp.csr_array(([0.5, 0.5, 0.0, 1.0], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    kept = S.copy()
    A = graphs.as_matrix(S)
    A.data[:] = 7
    assert (kept != S).nnz == 0
    assert S.nnz == 4
    D = np.eye(3)
    graphs.as_matrix(D)[0, 0] = 5
    assert D[0, 0] == 1


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), "shape 2x3"),
        (np.ones(4), "shape 4: it must be m x m"),
        (1.0, "shape of a single number"),
        (np.empty((0, 0)), "empty"),
        ([[1.0, 2.0], [1.0]], "unequal length"),
        (np.eye(2) * 1j, "complex"),
        (np.array([["a", "b"], ["c", "d"]]), "has the type"),
        (torch.eye(2, dtype=torch.complex64), "complex"),
        (nx.path_graph(2), "has no weight"),
    ],
)
def test_what_is_no_matrix_is_refused(W, message):
    with pytest.raises(GraphError, match=message):
        graphs.as_matrix(W)
