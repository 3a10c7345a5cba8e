"""Reachability over time: windows of rounds whose links together connect all clients, and diameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError
from dfltheory.graphs.matrices import Matrix, nodes_in_order, support


def components(S: sp.csr_array, connection: Literal["weak", "strong"] = "weak") -> tuple[int, np.ndarray]:
    """How many components the links of S fall into, and that of each client.

    ``connection`` "weak": whichever way the links point; "strong": every client in it reaches all the others.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import, and not always needed

    parts, label = connected_components(S, directed=True, connection=connection)
    return int(parts), label


def union(supports: Sequence[sp.csr_array]) -> sp.csr_array:
    """The links of all of these."""
    total = supports[0]
    for S in supports[1:]:
        total = sp.csr_array(total + S)
    total.data[:] = 1.0
    return total


def window(Ps: Sequence[Matrix], *, periodic: bool) -> tuple[int | None, int]:
    """(B, l): the smallest B such that every B rounds in a row are strongly connected together.

    ``periodic``: the list goes on for ever, so that windows wrap around; else only windows inside it count.
    Where no B serves, B is None; ``l`` is a round at which a window of B - 1 (or of all) fails.
    """
    links = [support(P) for P in Ps]
    T = len(links)

    def first_failure(B: int) -> int | None:
        starts = range(T) if periodic else range(T - B + 1)
        for l in starts:
            if components(union([links[(l + k) % T] for k in range(B)]), "strong")[0] > 1:
                return l
        return None

    # B = low fails (at ``where``), B = high serves: more rounds only add links. Doubling finds them first,
    # because B is small as a rule, and windows near T cost the most.
    low, high, where = 0, 1, 0
    while (failed := first_failure(high)) is not None:
        if high == T:
            return None, failed
        low, high, where = high, min(2 * high, T), failed
    while high - low > 1:
        middle = (low + high) // 2
        failed = first_failure(middle)
        low, high, where = (low, middle, where) if failed is None else (middle, high, failed)
    return high, where


def diameter(S: sp.csr_array) -> float:
    """The longest of all shortest directed paths; infinite where a client is out of reach."""
    from scipy.sparse.csgraph import shortest_path

    if S.shape[0] == 1:
        return 0.0
    # S[i, j] is a link j -> i; the diameter is the same read backwards
    return float(shortest_path(S, method="D", unweighted=True).max())


def unreached(S: sp.csr_array) -> tuple[int, int]:
    """(j, i): a client i that nothing sent by j ever reaches, where S is not strongly connected."""
    from scipy.sparse.csgraph import breadth_first_order

    m = S.shape[0]
    seen = np.zeros(m, dtype=bool)
    seen[breadth_first_order(sp.csr_array(S.T), 0, return_predecessors=False)] = True
    if not seen.all():
        return 0, int(np.argmin(seen))
    seen[:] = False  # every client hears client 0, so there is one that client 0 does not hear
    seen[breadth_first_order(S, 0, return_predecessors=False)] = True
    return int(np.argmin(seen)), 0


def check_connected(A: sp.csr_array, graph: nx.Graph | None = None) -> None:
    """Raise :class:`GraphError`, with a witness, unless every client can reach every other."""
    parts, _ = components(A, "strong")
    if parts == 1:
        return
    names: list[Any] = list(range(A.shape[0])) if graph is None else nodes_in_order(graph)
    weak, label = components(A)
    if weak > 1:
        other = int(np.argmax(label != label[0]))
        raise GraphError(
            f"the graph is disconnected: {weak} components, and no path joins node {names[0]} "
            f"to node {names[other]}: add a link between them"
        )
    source, target = unreached(A)
    raise GraphError(
        f"the directed graph is not strongly connected: {parts} components, and nothing that node "
        f"{names[source]} sends ever reaches node {names[target]}: add an arc"
    )
