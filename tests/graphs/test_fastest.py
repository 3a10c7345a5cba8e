"""The fastest-mixing W: optima known in closed form, and optimality against other
weights.
"""

import math
import sys

import networkx as nx
import numpy as np
import pytest

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError, MissingExtraError

pytest.importorskip("cvxpy")
pytest.importorskip("clarabel")
# scipy and cvxpy may emit FutureWarnings
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning"
)


def ring_optimum(m):
    """Return the best constant weight 2/(l_2 + l_m), if w_ii >= 0.

    On an edge-transitive graph, all weights may be equal.
    """
    L = 4 * np.sin(np.pi * np.arange(m) / m) ** 2
    low, high = np.sort(L)[[1, -1]]
    return (high - low) / (high + low)


@pytest.mark.parametrize(
    ("graph", "optimum"),
    [
        # Boyd, Diaconis, Sun and Xiao: 1/2 on all links of a path
        (graphs.path(4), math.cos(math.pi / 4)),
        (graphs.path(7), math.cos(math.pi / 7)),
        (graphs.ring(6), ring_optimum(6)),
        (graphs.ring(9), ring_optimum(9)),
        # leaves can give at most 1/(m-1) each to the centre
        (graphs.star(6), 1 - 1 / 5),
        (graphs.complete(5), 0.0),
        (graphs.hypercube(8), 1 / 2),  # L of the cube: 2, 4, 6: (6 - 2)/(6 + 2)
    ],
    ids=lambda x: str(x) if isinstance(x, nx.Graph) else "",
)
def test_known_optima(graph, optimum):
    W = graphs.fastest_mixing(graph)
    assert graphs.lam(W) == pytest.approx(optimum, abs=2e-6)
    assert graphs.check_mixing_matrix(
        W, graph, laws=["range", "graph", "symmetry", "row sums", "column sums"]
    ).ok


def test_fastest_mixing_has_the_smallest_lam():
    graph = graphs.erdos_renyi(12, seed=3)
    best = graphs.lam(graphs.fastest_mixing(graph))
    for rule in ("metropolis", "max_degree", "lazy"):
        assert best <= graphs.lam(graphs.weights(graph, rule)) + 1e-7
    rng = np.random.default_rng(0)
    W = graphs.fastest_mixing(graph)
    for _ in range(200):  # feasible steps from the optimum never improve it
        V = graphs.LinkFailures(W, 0.5).matrix(0, rng)
        t = rng.random()
        assert graphs.lam((1 - t) * W + t * V) >= best - 1e-6


def test_least_weight_keeps_definition_1():
    graph = graphs.path(5)
    assert graphs.fastest_mixing(graph).diagonal().min() < 1e-6
    W = graphs.weights(graph, "fastest-mixing", least=0.05)
    assert graphs.check_mixing_matrix(W, graph).ok
    assert W.diagonal().min() >= 0.05 - 1e-12
    assert W[0, 1] >= 0.05 - 1e-12


def test_refusals(monkeypatch):
    with pytest.raises(GraphError, match="undirected"):
        graphs.fastest_mixing(graphs.directed_ring(4))
    with pytest.raises(GraphError, match="disconnected"):
        graphs.fastest_mixing(nx.Graph([(0, 1), (2, 3)]))
    with pytest.raises(InputError, match=r"least = 0\.4"):
        graphs.fastest_mixing(graphs.ring(4), least=0.4)
    np.testing.assert_array_equal(graphs.fastest_mixing(graphs.ring(1)), [[1.0]])
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtraError, match="convex"):
        graphs.fastest_mixing(graphs.ring(4))
