"""Hypothesis strategies for matrices that violate exactly one law."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from dfltheory.errors import checked_name
from dfltheory.graphs.user_laws import NetworkLaw
from dfltheory.testing.networks import (
    column_stochastic_matrices,
    connected_graphs,
    draw_weights,
    mixing_matrices,
)


@dataclass(frozen=True, eq=False)
class NearMiss:
    """A matrix that violates exactly one law.

    Its ``repr`` rounds weights to six digits.

    Attributes
    ----------
    W : (m, m) array
        The matrix.
    law : str
        The law that it violates.
    place : pair of int
        Row and column of the violation.
    graph : networkx.Graph or None
        The network to check against, for the laws "graph" and "links".
    """

    W: np.ndarray
    law: str
    place: tuple[int, int]
    graph: nx.Graph | None = None

    def __repr__(self) -> str:
        rows = [[float(f"{weight:.6g}") for weight in row] for row in self.W]
        graph = "" if self.graph is None else f" on a {self.graph}"
        return f"breaks {self.law} at {self.place}{graph}: {rows}"


@st.composite
def near_misses(
    draw: st.DrawFn,
    min_m: int = 4,
    max_m: int = 10,
    law: str | NetworkLaw | None = None,
) -> NearMiss:
    """Draw matrices that violate exactly one law of Definition 1, or a user's law.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients; at least 4.
    law : str or NetworkLaw, optional
        The law to violate. By default one of "finite", "range", "self-weights",
        "symmetry", "row sums" (and the sum of the same column, as W stays symmetric),
        "null space" and "spectrum" (with a zero diagonal) is drawn. The following are
        available only by name: "shape", "column sums" (and symmetry, as rows sum to
        1), and "graph" and "links", which refer to the ``graph`` of the near miss. For
        a law of :func:`dfltheory.testing.law`, the matrices satisfy Definition 1 and
        violate this law.

    Returns
    -------
    NearMiss
        The matrix, the law and the place.

    Raises
    ------
    UnknownNameError
        If there is no such law.
    """
    if isinstance(law, NetworkLaw):
        return _draw_user_miss(draw, law, max(min_m, 2), max_m)
    name = draw(st.sampled_from(_LAWS)) if law is None else law
    checked_name("law", name, {*_LAWS, *_LAWS_BY_NAME})
    m = draw(st.integers(max(min_m, 4), max_m))
    if name in ("graph", "links"):
        return _draw_graph_miss(draw, m, name)
    size = draw(st.floats(1e-6, 0.01))
    if name == "null space":
        return _draw_disconnected(draw, m)
    if name == "spectrum":
        return _periodic_ring(m)
    W = draw(mixing_matrices(m, m)) * 0.5 + 0.5 / m  # keeps every weight far above 0
    if name == "shape":
        return NearMiss(W[:, :-1], name, (0, m - 1))
    nodes = draw(st.permutations(range(m)))[:3]
    if name == "finite":
        i, j = nodes[:2]
        W[i, j] = W[j, i] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        return NearMiss(W, name, (i, j))
    break_law = _WAYS_TO_BREAK[name]
    return NearMiss(W, name, break_law(W, nodes, size))


@st.composite
def push_sum_near_misses(
    draw: st.DrawFn, min_m: int = 3, max_m: int = 8, law: str | None = None
) -> NearMiss:
    """Draw matrices that violate exactly one law of push-sum matrices.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients; at least 3.
    law : str, optional
        The law to violate: "finite", "column sums", "range", "self-weights" or
        "connectivity". By default it is drawn.

    Returns
    -------
    NearMiss
        The matrix, the law and the place.

    Raises
    ------
    UnknownNameError
        If there is no such law.
    """
    law = draw(st.sampled_from(_PUSH_SUM_LAWS)) if law is None else law
    checked_name("law", law, _PUSH_SUM_LAWS)
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
_LAWS_BY_NAME = ("shape", "column sums", "graph", "links")
_PUSH_SUM_LAWS = ("finite", "column sums", "range", "self-weights", "connectivity")

Nodes = list[int]
MatrixEntry = tuple[int, int]


def _draw_user_miss(
    draw: st.DrawFn, law: NetworkLaw, min_m: int, max_m: int
) -> NearMiss:
    """Draw a matrix that satisfies Definition 1 and violates a user's law."""
    W = draw(mixing_matrices(min_m, max_m))
    failure = law.failure_of([W])
    assume(failure is not None)
    digits = re.findall(r"\d+", failure.place) if failure is not None else []
    numbers = [int(digit) for digit in digits] or [0]
    return NearMiss(W, law.name, (numbers[0], numbers[-1]))


def _draw_graph_miss(draw: st.DrawFn, m: int, law: str) -> NearMiss:
    """Draw a matrix with one weight too many or too few for its graph."""
    used = draw(connected_graphs(m, m))
    W = draw_weights(draw, used)
    graph = used.copy()
    if law == "graph":
        i, j = draw(st.sampled_from(sorted(used.edges)))
        graph.remove_edge(i, j)
    else:
        absent = sorted(nx.non_edges(used))
        assume(absent)
        i, j = draw(st.sampled_from(absent))
        graph.add_edge(i, j)
    return NearMiss(W, law, (i, j), graph)


def _draw_disconnected(draw: st.DrawFn, m: int) -> NearMiss:
    """Draw a matrix of two parts that no edge connects."""
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


def _break_row_sum(W: np.ndarray, nodes: Nodes, size: float) -> MatrixEntry:
    """Increase a self-weight."""
    i = nodes[0]
    W[i, i] += size
    return (i, i)


def _break_column_sum(W: np.ndarray, nodes: Nodes, size: float) -> MatrixEntry:
    """Shift weight within a row."""
    i, j, k = nodes
    W[i, j] += size
    W[i, k] -= size
    return (i, j)


def _break_symmetry(W: np.ndarray, nodes: Nodes, size: float) -> MatrixEntry:
    """Shift weight along a cycle of three nodes, which preserves all sums."""
    i, j, k = nodes
    for start, end in ((i, j), (j, k), (k, i)):
        W[start, end] += size
        W[end, start] -= size
    return (i, j)


def _break_range(W: np.ndarray, nodes: Nodes, size: float) -> MatrixEntry:
    """Make a weight negative and add its amount to the diagonal."""
    i, j = nodes[:2]
    _move_to_diagonal(W, i, j, W[i, j] + size)
    return (i, j)


def _break_self_weight(W: np.ndarray, nodes: Nodes, size: float) -> MatrixEntry:
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


_WAYS_TO_BREAK: dict[str, Callable[[np.ndarray, Nodes, float], MatrixEntry]] = {
    "row sums": _break_row_sum,
    "column sums": _break_column_sum,
    "symmetry": _break_symmetry,
    "range": _break_range,
    "self-weights": _break_self_weight,
}
"""Functions that modify a matrix in place and return the place of the violation."""


def _move_to_diagonal(W: np.ndarray, i: int, j: int, amount: float) -> None:
    """Move ``amount`` from the edge {i, j} to the self-weights of its ends.

    This preserves the symmetry and the sums of W.
    """
    W[i, j] -= amount
    W[j, i] = W[i, j]
    W[i, i] += amount
    W[j, j] += amount


__all__ = ["NearMiss", "near_misses", "push_sum_near_misses"]
