"""Connectivity of graphs and of windows of rounds, and diameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError
from dfltheory.graphs.graph_types import Graph
from dfltheory.graphs.matrices import Matrix, nodes_in_order, support


def components(
    S: sp.csr_array, connection: Literal["weak", "strong"] = "weak"
) -> tuple[int, np.ndarray]:
    """Return the number of components, and the component of each client.

    Parameters
    ----------
    S : (m, m) sparse array
        Links; S[i, j] != 0 is a link j -> i.
    connection : {"weak", "strong"}
        "weak" ignores the direction of links. In a "strong" component each client
        reaches all others.

    Returns
    -------
    count : int
        Number of components.
    labels : (m,) array of int
        Component of each client.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import

    count, labels = connected_components(S, directed=True, connection=connection)
    return int(count), labels


def union(supports: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return the links that occur in at least one of several arrays, as ones.

    Parameters
    ----------
    supports : sequence of (m, m) sparse array
        At least one array of links.

    Returns
    -------
    (m, m) sparse array
        The links.
    """
    total = supports[0]
    for S in supports[1:]:
        total = sp.csr_array(total + S)
    total.data[:] = 1.0
    return total


def window(Ps: Sequence[Matrix], *, periodic: bool) -> tuple[int | None, int]:
    """Return the smallest B such that any B rounds in a row are strongly connected.

    Parameters
    ----------
    Ps : sequence of (m, m) matrix
        The matrices of the rounds.
    periodic : bool
        Whether the rounds repeat. Otherwise only windows inside the list count.

    Returns
    -------
    B : int or None
        The smallest window, or None if the whole list is not connected.
    start : int
        First round of a window of B - 1 rounds that is not connected (of all rounds if
        B is None); 0 if B = 1.
    """
    links = [support(P) for P in Ps]
    T = len(links)

    def first_failure(B: int) -> int | None:
        """Return the first round of a window of B rounds that is not connected."""
        starts = range(T) if periodic else range(T - B + 1)
        for start in starts:
            in_window = [links[(start + k) % T] for k in range(B)]
            if components(union(in_window), "strong")[0] > 1:
                return start
        return None

    # Invariant: windows of ``low`` rounds fail (at ``start``). Doubling finds a window
    # that works, because B is usually small and long windows are slow to check.
    low, high = 0, 1
    start = 0
    failure = first_failure(high)
    while failure is not None:
        if high == T:
            return None, failure
        start = failure
        low, high = high, min(2 * high, T)
        failure = first_failure(high)
    while high - low > 1:
        middle = (low + high) // 2
        failure = first_failure(middle)
        if failure is None:
            high = middle
        else:
            low = middle
            start = failure
    return high, start


def directed_diameter(S: sp.csr_array) -> float:
    """Return the length of the longest shortest directed path.

    Parameters
    ----------
    S : (m, m) sparse array
        Links; S[i, j] != 0 is a link j -> i.

    Returns
    -------
    float
        Infinite if a client cannot be reached.
    """
    from scipy.sparse.csgraph import shortest_path

    if S.shape[0] == 1:
        return 0.0
    # scipy reads S[i, j] as i -> j; reversing all links preserves the diameter
    return float(shortest_path(S, method="D", unweighted=True).max())


def unreached(S: sp.csr_array) -> tuple[int, int]:
    """Return clients (j, i) such that nothing sent by j reaches i.

    Parameters
    ----------
    S : (m, m) sparse array
        Links that are not strongly connected; S[i, j] != 0 is a link j -> i.

    Returns
    -------
    pair of int
        The sender and the receiver.
    """
    from scipy.sparse.csgraph import breadth_first_order

    m = S.shape[0]
    reached = np.zeros(m, dtype=bool)
    reversed_links = sp.csr_array(S.T)
    reached[breadth_first_order(reversed_links, 0, return_predecessors=False)] = True
    if not reached.all():
        return 0, int(np.argmin(reached))
    # Client 0 reaches all clients, so some client does not reach client 0.
    reached[:] = False
    reached[breadth_first_order(S, 0, return_predecessors=False)] = True
    return int(np.argmin(reached)), 0


def check_connected(A: sp.csr_array, graph: Graph | None = None) -> None:
    """Raise an error unless every client can reach every other client.

    Parameters
    ----------
    A : (m, m) sparse array
        Links; A[i, j] != 0 is a link j -> i.
    graph : networkx.Graph, optional
        Graph of A, for the names of its nodes in the message.

    Raises
    ------
    GraphError
        If the graph is not (strongly) connected; the message names two nodes.
    """
    count, _ = components(A, "strong")
    if count == 1:
        return
    names = list(range(A.shape[0])) if graph is None else nodes_in_order(graph)
    weak_count, labels = components(A)
    if weak_count > 1:
        other = int(np.argmax(labels != labels[0]))
        raise GraphError(
            f"the graph is disconnected: {weak_count} components, and no path joins"
            f" node {names[0]} to node {names[other]}: add a link between them"
        )
    source, target = unreached(A)
    raise GraphError(
        f"the directed graph is not strongly connected: {count} components, and nothing"
        f" that node {names[source]} sends reaches node {names[target]}: add an arc"
    )
