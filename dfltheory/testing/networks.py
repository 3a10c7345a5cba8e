"""Hypothesis strategies for graphs, mixing matrices, sequences and near misses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dfltheory.graphs import column_stochastic
from dfltheory.graphs.matrices import to_dense
from dfltheory.graphs.sequences import Periodic


@dataclass(frozen=True, eq=False)
class NearMiss:
    """A matrix that breaks exactly one law.

    Attributes
    ----------
    W : (m, m) array
        The matrix.
    law : str
        The law that it breaks.
    place : pair of int
        Row and column of the violation.
    """

    W: np.ndarray
    law: str
    place: tuple[int, int]


class ReadableGraph(nx.Graph):
    """A graph whose ``repr`` lists its nodes and edges, for Hypothesis' reports."""

    def __repr__(self) -> str:
        kind = "digraph" if self.is_directed() else "graph"
        return f"{kind} of {len(self)}: {list(self.edges)}"


class ReadableDiGraph(nx.DiGraph):
    """A directed graph whose ``repr`` lists its nodes and arcs."""

    __repr__ = ReadableGraph.__repr__


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
    return _draw_weights(draw, graph)


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


@st.composite
def mixing_sequences(
    draw: st.DrawFn, min_m: int = 1, max_m: int = 10, max_period: int = 4
) -> Periodic:
    """Draw periodic sequences of matrices that each satisfy Definition 1.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.
    max_period : int
        Largest period.

    Returns
    -------
    Periodic
        The sequence.
    """
    m = draw(st.integers(min_m, max_m))
    period = draw(st.integers(1, max_period))
    matrices = [draw(mixing_matrices(m, m)) for _ in range(period)]
    return Periodic(tuple(matrices))


@st.composite
def push_sum_sequences(
    draw: st.DrawFn, min_m: int = 2, max_m: int = 7, max_period: int = 4
) -> Periodic:
    """Draw periodic column-stochastic sequences that are connected over a period.

    The arcs of one strongly connected digraph are distributed over the rounds. A
    single round need not be connected, and the smallest connected window can be as
    long as the period.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.
    max_period : int
        Largest period.

    Returns
    -------
    Periodic
        The sequence.
    """
    graph = draw(strongly_connected_digraphs(min_m, max_m))
    period = draw(st.integers(1, max_period))
    arcs = list(graph.edges)
    rounds = [np.eye(len(graph)) for _ in range(period)]
    for sender, receiver in arcs:
        chosen = draw(st.integers(0, period - 1))
        rounds[chosen][receiver, sender] = 1.0
    return Periodic(tuple(P / P.sum(axis=0) for P in rounds))


@st.composite
def near_misses(
    draw: st.DrawFn, min_m: int = 4, max_m: int = 10, law: str | None = None
) -> NearMiss:
    """Draw matrices that break exactly one law of Definition 1.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients; at least 4.
    law : str, optional
        The law to break: "finite", "range", "self-weights", "symmetry", "row sums"
        (with the column of the same number, because W stays symmetric), "null space"
        or "spectrum" (with a zero diagonal). By default it is drawn.

    Returns
    -------
    NearMiss
        The matrix, the law and the place.
    """
    law = law or draw(st.sampled_from(_LAWS))
    m = draw(st.integers(max(min_m, 4), max_m))
    size = draw(st.floats(1e-6, 0.01))
    if law == "null space":
        return _draw_disconnected(draw, m)
    if law == "spectrum":
        return _periodic_ring(m)
    W = draw(mixing_matrices(m, m)) * 0.5 + 0.5 / m  # keeps every weight far above 0
    nodes = draw(st.permutations(range(m)))[:3]
    if law == "finite":
        i, j = nodes[:2]
        W[i, j] = W[j, i] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        return NearMiss(W, law, (i, j))
    break_law = _WAYS_TO_BREAK[law]
    return NearMiss(W, law, break_law(W, nodes, size))


@st.composite
def push_sum_near_misses(
    draw: st.DrawFn, min_m: int = 3, max_m: int = 8, law: str | None = None
) -> NearMiss:
    """Draw matrices that break exactly one law of push-sum matrices.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients; at least 3.
    law : str, optional
        The law to break: "finite", "column sums", "range", "self-weights" or
        "connectivity". By default it is drawn.

    Returns
    -------
    NearMiss
        The matrix, the law and the place.
    """
    law = law or draw(st.sampled_from(_PUSH_SUM_LAWS))
    m = draw(st.integers(max(min_m, 3), max_m))
    P = draw(column_stochastic_matrices(m, m)) * 0.5 + 0.5 / m
    i, j = draw(st.permutations(range(m)))[:2]
    if law == "finite":
        P[i, j] = np.nan
    elif law == "column sums":
        P[i, j] += draw(st.floats(1e-6, 0.01))
    elif law == "range":
        P[j, j] += P[i, j] + 0.01
        P[i, j] = -0.01
        P[:, j] /= P[:, j].sum()
    elif law == "self-weights":
        P[i, j] += P[j, j]
        P[j, j] = 0.0
        i = j
    else:  # connectivity: client j receives nothing from the others
        P[j, :] = np.eye(m)[j] * P[j, j]
        P /= P.sum(axis=0)
    return NearMiss(P, law, (i, j))


_LAWS = (
    "finite",
    "range",
    "self-weights",
    "symmetry",
    "row sums",
    "null space",
    "spectrum",
)
_PUSH_SUM_LAWS = ("finite", "column sums", "range", "self-weights", "connectivity")

Nodes = list[int]
Place = tuple[int, int]


def _draw_disconnected(draw: st.DrawFn, m: int) -> NearMiss:
    """Draw a matrix of two parts without edges between them."""
    cut = draw(st.integers(1, m - 1))
    W = np.zeros((m, m))
    W[:cut, :cut] = draw(mixing_matrices(cut, cut))
    W[cut:, cut:] = draw(mixing_matrices(m - cut, m - cut))
    return NearMiss(W, "null space", (0, cut))


def _periodic_ring(m: int) -> NearMiss:
    """Return a ring of even length without self-weights, with eigenvalue -1."""
    even = m + m % 2
    identity = np.eye(even)
    W = np.roll(identity, 1, axis=0) / 2 + np.roll(identity, -1, axis=0) / 2
    return NearMiss(W, "spectrum", (0, 0))


def _break_row_sum(W: np.ndarray, nodes: Nodes, size: float) -> Place:
    i = nodes[0]
    W[i, i] += size
    return (i, i)


def _break_symmetry(W: np.ndarray, nodes: Nodes, size: float) -> Place:
    """Shift weight along a cycle of three nodes, which preserves all sums."""
    i, j, k = nodes
    for start, end in ((i, j), (j, k), (k, i)):
        W[start, end] += size
        W[end, start] -= size
    return (i, j)


def _break_range(W: np.ndarray, nodes: Nodes, size: float) -> Place:
    """Make a weight negative and add its amount to the diagonal."""
    i, j = nodes[:2]
    _move_to_diagonal(W, i, j, W[i, j] + size)
    return (i, j)


def _break_self_weight(W: np.ndarray, nodes: Nodes, size: float) -> Place:
    """Distribute the smallest self-weight over the edges of its node.

    The self-weights of the other nodes decrease by the same amounts.
    """
    m = len(W)
    i = int(np.argmin(W.diagonal()))
    share = W[i, i] / (m - 1)
    for other in set(range(m)) - {i}:
        _move_to_diagonal(W, i, other, -share)
    W[i, i] = 0.0
    return (i, i)


_WAYS_TO_BREAK: dict[str, Callable[[np.ndarray, Nodes, float], Place]] = {
    "row sums": _break_row_sum,
    "symmetry": _break_symmetry,
    "range": _break_range,
    "self-weights": _break_self_weight,
}
"""Functions that change a matrix in place and return the place of the violation."""


def _node_pairs(m: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Return a strategy for lists of pairs of different nodes."""
    if m <= 1:
        return st.just([])
    node = st.integers(0, m - 1)
    pair = st.tuples(node, node).filter(_are_different)
    return st.lists(pair, max_size=2 * m)


def _are_different(pair: tuple[int, int]) -> bool:
    return pair[0] != pair[1]


def _draw_weights(draw: st.DrawFn, graph: nx.Graph) -> np.ndarray:
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


def _move_to_diagonal(W: np.ndarray, i: int, j: int, amount: float) -> None:
    """Move ``amount`` from the edge {i, j} to the self-weights of its ends.

    W stays symmetric and its sums stay equal.
    """
    W[i, j] -= amount
    W[j, i] = W[i, j]
    W[i, i] += amount
    W[j, j] += amount


__all__ = [
    "NearMiss",
    "column_stochastic_matrices",
    "connected_graphs",
    "mixing_matrices",
    "mixing_sequences",
    "near_misses",
    "push_sum_near_misses",
    "push_sum_sequences",
    "strongly_connected_digraphs",
]
