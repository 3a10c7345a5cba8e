"""Strategies for graphs, admissible mixing matrices and sequences, and near-misses of them."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dfltheory.graphs import column_stochastic
from dfltheory.graphs.matrices import to_dense
from dfltheory.graphs.sequences import Periodic


@dataclass(frozen=True, eq=False)
class NearMiss:
    """A matrix that breaks exactly one ``law`` of its list, by construction, at ``place`` (i, j)."""

    W: np.ndarray
    law: str
    place: tuple[int, int]


class Shown(nx.Graph):
    """A graph that Hypothesis can show: its nodes and links in place of an address in memory."""

    def __repr__(self) -> str:
        return f"{'digraph' if self.is_directed() else 'graph'} of {len(self)}: {list(self.edges)}"


class ShownDigraph(nx.DiGraph):
    """The same for arcs."""

    __repr__ = Shown.__repr__


@st.composite
def connected_graphs(draw: st.DrawFn, min_m: int = 1, max_m: int = 12) -> nx.Graph:
    """Connected undirected graphs with nodes 0..m-1: a random tree and some more links."""
    m = draw(st.integers(min_m, max_m))
    graph = Shown()
    graph.add_nodes_from(range(m))
    graph.add_edges_from((i, draw(st.integers(0, i - 1))) for i in range(1, m))
    graph.add_edges_from(draw(_links(m)))
    return graph


@st.composite
def strongly_connected_digraphs(draw: st.DrawFn, min_m: int = 1, max_m: int = 10) -> nx.DiGraph:
    """Strongly connected digraphs with nodes 0..m-1: a directed cycle in random order and more arcs."""
    m = draw(st.integers(min_m, max_m))
    order = draw(st.permutations(range(m)))
    graph = ShownDigraph()
    graph.add_nodes_from(range(m))
    graph.add_edges_from((a, b) for a, b in zip(order, order[1:] + order[:1]) if a != b)
    graph.add_edges_from(draw(_links(m)))
    return graph


@st.composite
def mixing_matrices(draw: st.DrawFn, min_m: int = 1, max_m: int = 12) -> np.ndarray:
    """Matrices (m, m) that satisfy Definition 1: W = I - sum_e w_e L_e with w_e > 0, scaled to w_ii > 0.

    Every admissible W on a connected graph has this form; the weights of links are drawn independently.
    """
    graph = draw(connected_graphs(min_m, max_m))
    return _weighted(draw, graph)


@st.composite
def column_stochastic_matrices(draw: st.DrawFn, min_m: int = 1, max_m: int = 10) -> np.ndarray:
    """Push-sum matrices P (m, m): columns sum to one, p_ii > 0, strongly connected; rows sum as they like."""
    graph = draw(strongly_connected_digraphs(min_m, max_m))
    share = st.floats(0.05, 1.0)
    for _, _, data in graph.edges(data=True):
        data["share"] = draw(share)
    return to_dense(column_stochastic(graph, weight="share"))


@st.composite
def mixing_sequences(draw: st.DrawFn, min_m: int = 1, max_m: int = 10, max_period: int = 4) -> Periodic:
    """Periodic sequences of matrices that each satisfy Definition 1, on one set of clients."""
    m = draw(st.integers(min_m, max_m))
    period = draw(st.integers(1, max_period))
    return Periodic(tuple(draw(mixing_matrices(m, m)) for _ in range(period)))


@st.composite
def push_sum_sequences(draw: st.DrawFn, min_m: int = 2, max_m: int = 7, max_period: int = 4) -> Periodic:
    """Periodic column-stochastic sequences whose links are strongly connected only together, over a period.

    The arcs of one strongly connected graph are dealt out over the rounds, so that a single round need not
    be connected, and the smallest window may be as long as the period.
    """
    graph = draw(strongly_connected_digraphs(min_m, max_m))
    period = draw(st.integers(1, max_period))
    arcs = list(graph.edges)
    rounds = [np.eye(len(graph)) for _ in range(period)]
    for j, i in arcs:
        rounds[draw(st.integers(0, period - 1))][i, j] = 1.0
    return Periodic(tuple(P / P.sum(axis=0) for P in rounds))


@st.composite
def near_misses(draw: st.DrawFn, min_m: int = 4, max_m: int = 10, law: str | None = None) -> NearMiss:
    """Matrices that break exactly one law of Definition 1, and which one (a name of ``DEFINITION_1``).

    Laws: "finite", "range", "self-weights", "symmetry", "null space", "row sums" (with the column of the
    same number, as symmetry demands) and "spectrum" (periodic, with zero diagonal as it must have).
    """
    known = ("finite", "range", "self-weights", "symmetry", "row sums", "null space", "spectrum")
    law = law or draw(st.sampled_from(known))
    m = draw(st.integers(max(min_m, 4), max_m))
    size = draw(st.floats(1e-6, 0.01))
    if law == "null space":
        cut = draw(st.integers(1, m - 1))
        W = np.zeros((m, m))
        W[:cut, :cut], W[cut:, cut:] = (
            draw(mixing_matrices(cut, cut)),
            draw(mixing_matrices(m - cut, m - cut)),
        )
        return NearMiss(W, law, (0, cut))
    if law == "spectrum":  # a ring of even length whose clients keep nothing of their own
        n = m + m % 2
        W = np.roll(np.eye(n), 1, axis=0) / 2 + np.roll(np.eye(n), -1, axis=0) / 2
        return NearMiss(W, law, (0, 0))
    W = draw(mixing_matrices(m, m)) * 0.5 + 0.5 / m  # every weight well above 0
    i, j, k = draw(st.permutations(range(m)))[:3]
    if law == "finite":
        W[i, j] = W[j, i] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    elif law == "row sums":
        W[i, i] += size
        j = i
    elif law == "symmetry":  # along a cycle of three: all sums stay
        for a, b in ((i, j), (j, k), (k, i)):
            W[a, b] += size
            W[b, a] -= size
    elif law == "range":  # a negative weight, made good on the diagonal
        _move_to_diagonal(W, i, j, W[i, j] + size)
    else:  # self-weights: the least w_ii is dealt out over its links, which the other diagonals pay for
        i = j = int(np.argmin(W.diagonal()))
        share = W[i, i] / (m - 1)
        for other in set(range(m)) - {i}:
            _move_to_diagonal(W, i, other, -share)
        W[i, i] = 0.0
    return NearMiss(W, law, (i, j))


@st.composite
def push_sum_near_misses(draw: st.DrawFn, min_m: int = 3, max_m: int = 8, law: str | None = None) -> NearMiss:
    """Matrices that break exactly one law of ``PUSH_SUM``: all but its shape."""
    law = law or draw(st.sampled_from(("finite", "column sums", "range", "self-weights", "connectivity")))
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
    else:  # client j hears no other
        P[j, :] = np.eye(m)[j] * P[j, j]
        P /= P.sum(axis=0)
    return NearMiss(P, law, (i, j))


def _links(m: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    node = st.integers(0, max(m - 1, 0))
    return (
        st.lists(st.tuples(node, node).filter(lambda e: e[0] != e[1]), max_size=2 * m)
        if m > 1
        else st.just([])
    )


def _weighted(draw: st.DrawFn, graph: nx.Graph) -> np.ndarray:
    m = graph.number_of_nodes()
    i, j = np.array([*graph.edges], dtype=int).reshape(-1, 2).T
    w = np.array(draw(st.lists(st.floats(0.05, 1.0), min_size=len(i), max_size=len(i))))
    W = np.zeros((m, m))
    W[i, j] = W[j, i] = w
    kept = draw(st.floats(0.02, 0.9))  # the least self-weight
    W *= (1 - kept) / max(float(W.sum(axis=1).max()), 1e-9) if m > 1 else 1.0
    return W + np.diag(1 - W.sum(axis=1))


def _move_to_diagonal(W: np.ndarray, i: int, j: int, amount: float) -> None:
    """Take ``amount`` off the link {i, j} and give it to both ends: symmetric, and all sums stay."""
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
