"""Hypothesis strategies for graphs and mixing matrices."""

from __future__ import annotations

import functools

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dfltheory.errors import GraphError
from dfltheory.graphs import column_stochastic, metropolis
from dfltheory.graphs.definition_1 import check_mixing_matrix, check_push_sum
from dfltheory.graphs.matrices import nodes_in_order, to_dense


class ReadableGraph(nx.Graph):
    """A graph whose ``repr`` lists its nodes and edges, for Hypothesis' reports."""

    def __repr__(self) -> str:
        kind = "digraph" if self.is_directed() else "graph"
        weighted = len(self.edges) > 0 and nx.is_weighted(self)
        edges = self.edges(data="weight") if weighted else self.edges
        return f"{kind} of {len(self)}: {list(edges)}"

    def to_directed_class(self) -> type[nx.DiGraph]:
        """Return the class of ``to_directed()``, which is also readable."""
        return ReadableDiGraph


class ReadableDiGraph(nx.DiGraph):
    """A directed graph whose ``repr`` lists its nodes and arcs."""

    __repr__ = ReadableGraph.__repr__

    def to_undirected_class(self) -> type[nx.Graph]:
        """Return the class of ``to_undirected()``, which is also readable."""
        return ReadableGraph


@st.composite
def connected_graphs(draw: st.DrawFn, min_m: int = 1, max_m: int = 12) -> nx.Graph:
    """Draw connected undirected graphs: a random tree and additional edges.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of nodes.

    Returns
    -------
    networkx.Graph
        Nodes are 0..m-1; there are no self-loops.
    """
    m = draw(st.integers(min_m, max_m))
    graph = ReadableGraph()
    graph.add_nodes_from(range(m))
    for node in range(1, m):
        graph.add_edge(node, draw(st.integers(0, node - 1)))
    graph.add_edges_from(draw(_node_pairs(m)))
    return graph


@st.composite
def strongly_connected_digraphs(
    draw: st.DrawFn, min_m: int = 1, max_m: int = 10
) -> nx.DiGraph:
    """Draw strongly connected digraphs: a directed cycle and additional arcs.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of nodes.

    Returns
    -------
    networkx.DiGraph
        Nodes are 0..m-1; there are no self-loops.
    """
    m = draw(st.integers(min_m, max_m))
    order = draw(st.permutations(range(m)))
    graph = ReadableDiGraph()
    graph.add_nodes_from(range(m))
    for start, end in zip(order, order[1:] + order[:1]):
        if start != end:
            graph.add_edge(start, end)
    graph.add_edges_from(draw(_node_pairs(m)))
    return graph


@st.composite
def mixing_matrices(draw: st.DrawFn, min_m: int = 1, max_m: int = 12) -> np.ndarray:
    """Draw matrices that satisfy Definition 1.

    Each is I - sum_e w_e L_e with independent weights w_e > 0 of the edges e of a
    connected graph, scaled so that all w_ii > 0. Every matrix that satisfies
    Definition 1 has this form.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.

    Returns
    -------
    (m, m) array
        Symmetric and doubly stochastic.
    """
    graph = draw(connected_graphs(min_m, max_m))
    return draw_weights(draw, graph)


@st.composite
def weights_on(draw: st.DrawFn, graph: nx.Graph) -> np.ndarray:
    """Draw mixing matrices that satisfy Definition 1 on a given graph.

    Parameters
    ----------
    graph : networkx.Graph
        Connected and undirected. Row and column k of W belong to its k-th node, in
        sorted order.

    Returns
    -------
    (m, m) array
        Positive on every edge and on the diagonal, 0 elsewhere.

    Raises
    ------
    GraphError
        If the graph is directed or not connected.
    """
    if graph.is_directed() or len(graph) == 0 or not nx.is_connected(graph):
        raise GraphError(
            f"{graph} must be undirected and connected: no weights on other graphs"
            " satisfy Definition 1"
        )
    names = nodes_in_order(graph)
    places = {name: place for place, name in enumerate(names)}
    numbered = nx.Graph()
    numbered.add_nodes_from(range(len(names)))
    for first, second in graph.edges:
        if first != second:
            numbered.add_edge(places[first], places[second])
    return draw_weights(draw, numbered)


@st.composite
def column_stochastic_matrices(
    draw: st.DrawFn, min_m: int = 1, max_m: int = 10
) -> np.ndarray:
    """Draw push-sum matrices P on strongly connected digraphs.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.

    Returns
    -------
    (m, m) array
        Columns sum to 1 and p_ii > 0; rows can have any sum.
    """
    graph = draw(strongly_connected_digraphs(min_m, max_m))
    share = st.floats(0.05, 1.0)
    for _, _, data in graph.edges(data=True):
        data["share"] = draw(share)
    return to_dense(column_stochastic(graph, weight="share"))


def _node_pairs(m: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Return a strategy for lists of pairs of distinct nodes."""
    if m <= 1:
        return st.just([])
    node = st.integers(0, m - 1)
    pair = st.tuples(node, node).filter(_are_different)
    return st.lists(pair, max_size=2 * m)


def _are_different(pair: tuple[int, int]) -> bool:
    """Return whether the nodes of a pair differ, so that it is no self-loop."""
    return pair[0] != pair[1]


def draw_weights(draw: st.DrawFn, graph: nx.Graph) -> np.ndarray:
    """Draw edge weights and return the mixing matrix of the weighted graph."""
    m = graph.number_of_nodes()
    i, j = np.array([*graph.edges], dtype=int).reshape(-1, 2).T
    count = len(i)
    weights = draw(st.lists(st.floats(0.05, 1.0), min_size=count, max_size=count))
    W = np.zeros((m, m))
    W[i, j] = W[j, i] = np.array(weights)
    smallest_self_weight = draw(st.floats(0.02, 0.9))
    if m > 1:
        largest_sum = max(float(W.sum(axis=1).max()), 1e-9)
        W *= (1 - smallest_self_weight) / largest_sum
    return W + np.diag(1 - W.sum(axis=1))


@functools.cache
def warm_up() -> None:
    """Run the checks once, so that a first example meets Hypothesis' deadline."""
    triangle = nx.cycle_graph(3)
    W = to_dense(metropolis(triangle))
    check_mixing_matrix(W, triangle)
    check_mixing_matrix(W - 0.5 * np.eye(3))
    check_push_sum(to_dense(column_stochastic(nx.DiGraph(triangle))))


warm_up()

__all__ = [
    "ReadableDiGraph",
    "ReadableGraph",
    "column_stochastic_matrices",
    "connected_graphs",
    "draw_weights",
    "mixing_matrices",
    "strongly_connected_digraphs",
    "warm_up",
    "weights_on",
]
