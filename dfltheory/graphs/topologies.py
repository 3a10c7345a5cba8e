"""Static communication graphs as networkx (Di)Graphs with nodes 0..m-1.

Each function takes the number m >= 1 of clients first. An arc (j, i) of a directed
graph means that j sends to i. The randomness of a graph depends on ``seed`` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypedDict, Unpack

from dfltheory.errors import InputError, UnknownNameError, whole_number
from dfltheory.graphs.graph_creation import make_digraph, make_graph, refuse_many
from dfltheory.graphs.graph_types import DiGraph, Graph
from dfltheory.graphs.matrices import as_matrix, call, check_clients, is_graph, support
from dfltheory.graphs.random_topologies import (
    erdos_renyi,
    random_out_degree,
    random_regular,
)
from dfltheory.number_ranges import PositiveInt

# -- rings, lines and products of them -------------------------------------------------


def ring(m: int) -> Graph:
    """Return the cycle 0 - 1 - ... - (m-1) - 0 (one link for m = 2)."""
    m = check_clients(m)
    return make_graph(m, _cycle(m), "ring")


def directed_ring(m: int) -> DiGraph:
    """Return the directed cycle 0 -> 1 -> ... -> (m-1) -> 0."""
    m = check_clients(m)
    return make_digraph(m, _cycle(m), "directed_ring")


def path(m: int) -> Graph:
    """Return the path 0 - 1 - ... - (m-1)."""
    m = check_clients(m)
    return make_graph(m, ((i, i + 1) for i in range(m - 1)), "path")


def grid(m: int, sides: tuple[int, int] | None = None) -> Graph:
    """Return the grid of a x b = m clients.

    Parameters
    ----------
    m : int
        Number of clients. Client r b + c is in row r and column c.
    sides : pair of int, optional
        (a, b). By default the two factors of m that are closest to each other; for a
        prime m the grid is a path.
    """
    m = check_clients(m)
    a, b = check_sides(m, sides)
    return make_graph(m, _lattice(a, b, wrap=False), "grid", sides=(a, b))


def torus(m: int, sides: tuple[int, int] | None = None) -> Graph:
    """Return the product of the cycles of a and b clients, a b = m.

    There are no double links: a side of 2 contributes one link, and a side of 1 none.
    So a 2 x 2 torus is the ring of 4, and for a prime m (1 x m) it is the ring of m.

    Parameters
    ----------
    m : int
        Number of clients.
    sides : pair of int, optional
        (a, b); by default as in :func:`grid`.
    """
    m = check_clients(m)
    a, b = check_sides(m, sides)
    return make_graph(m, _lattice(a, b, wrap=True), "torus", sides=(a, b))


def hypercube(m: int) -> Graph:
    """Return the hypercube: clients are linked if their numbers differ in one bit.

    Parameters
    ----------
    m : int
        Number of clients, a power of two.

    Raises
    ------
    InputError
        If m is not a power of two.
    """
    m = check_clients(m)
    if m & (m - 1):
        raise InputError(
            f"m = {m} is not a power of two: a hypercube has 1, 2, 4, 8, ... clients"
        )
    bits = m.bit_length() - 1
    links = ((i, i ^ (1 << k)) for i in range(m) for k in range(bits))
    return make_graph(m, links, "hypercube")


# -- exponential graphs ----------------------------------------------------------------


def exponential(m: int) -> Graph:
    """Return the undirected exponential graph: links i ~ i +- 2^k mod m, 2^k < m.

    All symmetric weight rules apply to it (Definition 1). :func:`directed_exponential`
    is the directed graph of Ying et al. (2021), whose uniform weights have the gap
    2/(1 + ceil(log2 m)) for even m.
    """
    m = check_clients(m)
    refuse_many("exponential", m, m * len(hops(m)))
    return make_graph(m, _exponential_arcs(m), "exponential")


def directed_exponential(m: int) -> DiGraph:
    """Return the static exponential graph: i sends to i + 1, i + 2, i + 4, ... mod m.

    References
    ----------
    Ying et al. (2021).
    """
    m = check_clients(m)
    refuse_many("directed_exponential", m, m * len(hops(m)))
    return make_digraph(m, _exponential_arcs(m), "directed_exponential")


def hops(m: int) -> list[int]:
    """Return the powers of two below m, the hops of the exponential graph."""
    return [1 << k for k in range((max(m, 1) - 1).bit_length())]


# -- dense and tree-like graphs --------------------------------------------------------


def complete(m: int) -> Graph:
    """Return the graph that links each client to all others."""
    m = check_clients(m)
    refuse_many("complete", m, m * (m - 1) / 2)
    return make_graph(m, ((i, j) for i in range(m) for j in range(i)), "complete")


def star(m: int) -> Graph:
    """Return the star whose center is client 0."""
    m = check_clients(m)
    return make_graph(m, ((0, i) for i in range(1, m)), "star")


def two_cliques(m: int, bridges: PositiveInt = 1) -> Graph:
    """Return two complete graphs joined by disjoint links.

    Parameters
    ----------
    m : int
        Number of clients; the halves are 0..h-1 and h..m-1 with h = m // 2.
    bridges : int
        Number of links between the halves, from 1 to h.

    Raises
    ------
    InputError
        If ``bridges`` is out of range.
    """
    m = check_clients(m)
    half = m // 2
    bridges = whole_number("bridges", bridges, at_least=0)
    if m > 1 and not 1 <= bridges <= half:
        raise InputError(
            f"bridges = {bridges} must be between 1 and {half}, the smaller clique"
        )
    refuse_many("two_cliques", m, m * m / 4)
    links: list[tuple[int, int]] = []
    for nodes in (range(half), range(half, m)):
        links += [(i, j) for i in nodes for j in nodes if j < i]
    links += [(i, half + i) for i in range(min(bridges, half))]
    return make_graph(m, links, "two_cliques")


def binary_tree(m: int) -> Graph:
    """Return the complete binary tree in which the parent of i is (i - 1) // 2."""
    m = check_clients(m)
    return make_graph(m, ((i, (i - 1) // 2) for i in range(1, m)), "binary_tree")


# -- by name, and from matrices --------------------------------------------------------

TOPOLOGIES: dict[str, Callable[..., Graph]] = {
    "ring": ring,
    "path": path,
    "star": star,
    "complete": complete,
    "grid": grid,
    "torus": torus,
    "hypercube": hypercube,
    "exponential": exponential,
    "directed_exponential": directed_exponential,
    "directed_ring": directed_ring,
    "random_regular": random_regular,
    "erdos_renyi": erdos_renyi,
    "random_out_degree": random_out_degree,
    "two_cliques": two_cliques,
    "binary_tree": binary_tree,
}
"""Static topologies by name."""

OTHER_NAMES = {
    "full": "complete",
    "fully_connected": "complete",
    "mesh": "grid",
    "random": "erdos_renyi",
}
"""Aliases of names of :data:`TOPOLOGIES`."""


def topology_key(name: str) -> str:
    """Return the canonical name of a topology.

    Names that are not aliases are returned with "-" replaced by "_".
    """
    key = name.replace("-", "_")
    return OTHER_NAMES.get(key, key)


class TopologyOptions(TypedDict, total=False):
    """Options of the topologies; each topology has only some of them."""

    sides: tuple[int, int] | None
    degree: int | None
    p: float | None
    seed: int | None
    bridges: int


def topology(name: str, m: int, /, **options: Unpack[TopologyOptions]) -> Graph:
    """Return a topology by name.

    Parameters
    ----------
    name : str
        A name of :data:`TOPOLOGIES` or :data:`OTHER_NAMES`; "-" is equivalent to "_".
    m : int
        Number of clients.
    **options
        Options of the topology.

    Returns
    -------
    networkx.Graph
        The graph.

    Raises
    ------
    UnknownNameError
        If there is no such topology.
    InputError
        If the topology does not have one of the options.
    """
    key = topology_key(name)
    if key not in TOPOLOGIES:
        raise UnknownNameError("topology", name, set(TOPOLOGIES))
    return call(f"topology {key}", TOPOLOGIES[key], m, options)


def from_matrix(W: object) -> Graph:
    """Return the graph of the nonzero off-diagonal entries of a matrix.

    Parameters
    ----------
    W : (m, m) matrix
        An adjacency or weight matrix.

    Returns
    -------
    networkx.Graph
        Undirected if the pattern is symmetric, else directed with an arc j -> i for
        each w_ij != 0.
    """
    S = support(as_matrix(W, "the adjacency matrix"))
    m = S.shape[0]
    i, j = S.nonzero()
    arcs = zip(j.tolist(), i.tolist())
    is_symmetric = abs(S - S.T).nnz == 0
    if is_symmetric:
        return make_graph(m, arcs, "custom")
    return make_digraph(m, arcs, "custom")


def as_graph(network: object) -> Graph:
    """Return a networkx graph unchanged, or the graph of a matrix."""
    return network if is_graph(network) else from_matrix(network)


def check_sides(m: int, sides: tuple[int, int] | None) -> tuple[int, int]:
    """Return the sides (a, b) of a lattice of m clients.

    Parameters
    ----------
    m : int
        Number of clients.
    sides : pair of int or None
        (a, b) with a b = m; None selects the closest pair of factors, a <= b.

    Returns
    -------
    pair of int
        The sides.

    Raises
    ------
    InputError
        If ``sides`` are not two positive integers with product m.
    """
    if sides is None:
        a = math.isqrt(m)
        while m % a:
            a -= 1
        return a, m // a
    try:
        a, b = (check_clients(s) for s in sides)
    except (TypeError, ValueError) as error:
        raise InputError(f"sides = {sides!r} must be two integers >= 1") from error
    if a * b != m:
        raise InputError(f"sides = {a} x {b} give {a * b} clients, not m = {m}")
    return a, b


def _cycle(m: int) -> Iterable[tuple[int, int]]:
    """Yield the arcs i -> i + 1 mod m."""
    for i in range(m):
        yield i, (i + 1) % m


def _exponential_arcs(m: int) -> Iterable[tuple[int, int]]:
    """Yield the arcs i -> i + 2^k mod m."""
    for i in range(m):
        for hop in hops(m):
            yield i, (i + hop) % m


def _lattice(a: int, b: int, wrap: bool) -> Iterable[tuple[int, int]]:
    """Yield the links of an a x b grid, or torus if ``wrap`` is true."""
    for r in range(a):
        for c in range(b):
            if wrap or c + 1 < b:
                yield r * b + c, r * b + (c + 1) % b
            if wrap or r + 1 < a:
                yield r * b + c, ((r + 1) % a) * b + c
