"""Construction of networkx graphs, with a limit on their size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import networkx as nx

from dfltheory.errors import InputError
from dfltheory.graphs.graph_types import DiGraph, Graph

GraphType = TypeVar("GraphType", bound=Graph)

MOST_LINKS = 10**7
"""Largest number of links; as Python objects they take 2 to 5 GB."""


def refuse_many(name: str, m: int, links: float) -> None:
    """Raise an error if a graph would have more than :data:`MOST_LINKS` links.

    Parameters
    ----------
    name : str
        Name of the topology.
    m : int
        Number of clients.
    links : float
        Number of links.

    Raises
    ------
    InputError
        If there are too many links.
    """
    if links > MOST_LINKS:
        raise InputError(
            f"{name}(m = {m}) has {links:.3g} links; at most {MOST_LINKS:.0e} are"
            " allowed: take fewer clients or links"
        )


def make_graph(
    m: int, edges: Iterable[tuple[int, int]], name: str, **attributes: object
) -> Graph:
    """Return a graph with nodes 0..m-1 and without self-loops.

    Parameters
    ----------
    m : int
        Number of clients.
    edges : iterable of pairs of int
        Links; self-loops are ignored.
    name : str
        Name of the topology.
    **attributes
        Further attributes of the graph.

    Returns
    -------
    networkx.Graph
        The graph; its attributes contain the name and the topology.
    """
    graph: Graph = nx.Graph(name=f"{name}({m})", topology=name)
    graph.graph.update(attributes)
    return _fill(graph, m, edges)


def make_digraph(m: int, arcs: Iterable[tuple[int, int]], name: str) -> DiGraph:
    """Return a directed graph; parameters as in :func:`make_graph`."""
    graph: DiGraph = nx.DiGraph(name=f"{name}({m})", topology=name)
    return _fill(graph, m, arcs)


def _fill(graph: GraphType, m: int, edges: Iterable[tuple[int, int]]) -> GraphType:
    """Add nodes 0..m-1 and edges to a graph, and return it."""
    graph.add_nodes_from(range(m))
    graph.add_edges_from((i, j) for i, j in edges if i != j)
    return graph
