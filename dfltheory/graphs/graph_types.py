"""Typed aliases of networkx graphs, and typed wrappers of networkx functions.

The stubs of networkx are generic in the node type, but its classes cannot be
subscripted at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
    DiGraph = nx.DiGraph[Any]
else:
    Graph = nx.Graph
    DiGraph = nx.DiGraph

_networkx: Any = nx

is_connected: Callable[[Graph], bool] = _networkx.is_connected
is_strongly_connected: Callable[[DiGraph], bool] = _networkx.is_strongly_connected
is_bipartite: Callable[[Graph], bool] = _networkx.is_bipartite


def weights_by_sender(
    graph: Graph, nodes: Sequence[Hashable], weight: str | None
) -> sp.csr_array:
    """Return the arc weights as a sparse array; entry (u, v) is the arc u -> v.

    Parameters
    ----------
    graph : networkx.Graph
        The graph.
    nodes : sequence
        Its nodes in the order of rows and columns.
    weight : str, optional
        Edge attribute; None gives every edge the weight 1.
    """
    return _networkx.to_scipy_sparse_array(
        graph, nodelist=nodes, weight=weight, dtype=float
    )


def graph_of_links(links: sp.csr_array) -> Graph:
    """Return the undirected graph of a symmetric pattern."""
    return _networkx.from_scipy_sparse_array(links)


def colored_nodes(graph: Graph) -> dict[Hashable, int]:
    """Return a proper coloring: a color 0, 1, ... for each node."""
    return _networkx.greedy_color(graph, "DSATUR")


def line_graph(links: Sequence[Sequence[int]]) -> Graph:
    """Return the line graph: its nodes are links, adjacent if they share a client."""
    return _networkx.line_graph(_networkx.Graph(links))


def regular_graph(m: int, degree: int, seed: int) -> Graph:
    """Return a random regular graph, connected or not."""
    return _networkx.random_regular_graph(degree, m, seed=seed)


def binomial_graph(m: int, p: float, seed: int) -> Graph:
    """Return a sample of G(m, p), connected or not."""
    return _networkx.fast_gnp_random_graph(m, p, seed=seed)


def edges_with(graph: Graph, attribute: str) -> Iterable[tuple[Any, Any, Any]]:
    """Return the edges (u, v, value of the attribute, or None)."""
    edges: Any = graph.edges
    return edges(data=attribute)


def distance_layout(graph: Graph) -> np.ndarray:
    """Return node positions (m, 2) whose distances approximate path lengths."""
    return np.array([*_networkx.kamada_kawai_layout(graph).values()])


__all__ = [
    "DiGraph",
    "Graph",
    "binomial_graph",
    "colored_nodes",
    "distance_layout",
    "edges_with",
    "graph_of_links",
    "is_bipartite",
    "is_connected",
    "is_strongly_connected",
    "line_graph",
    "regular_graph",
    "weights_by_sender",
]
