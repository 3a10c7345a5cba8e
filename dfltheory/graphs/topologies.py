"""Static communication graphs, as networkx (Di)Graphs with nodes 0..m-1.

Every generator takes the number m of clients first and works for m = 1 (one client, no links). An arc
(j, i) of a directed graph means that j sends to i. Random graphs are drawn from ``seed`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np

from dfltheory.errors import GraphError, InputError, UnknownNameError, whole_number
from dfltheory.graphs.matrices import as_matrix, call, check_clients, real, support

ATTEMPTS = 1000
"""How often a random graph is redrawn before it is given up as hardly ever connected."""


# -- rings, lines and products of them -------------------------------------------------------------


def ring(m: int) -> nx.Graph:
    """The cycle 0 - 1 - ... - (m-1) - 0 (one link for m = 2)."""
    m = check_clients(m)
    return _graph(m, ((i, (i + 1) % m) for i in range(m)), "ring")


def directed_ring(m: int) -> nx.DiGraph:
    """The directed cycle 0 -> 1 -> ... -> (m-1) -> 0."""
    m = check_clients(m)
    return _graph(m, ((i, (i + 1) % m) for i in range(m)), "directed_ring", nx.DiGraph)


def path(m: int) -> nx.Graph:
    """The line 0 - 1 - ... - (m-1)."""
    m = check_clients(m)
    return _graph(m, ((i, i + 1) for i in range(m - 1)), "path")


def grid(m: int, sides: tuple[int, int] | None = None) -> nx.Graph:
    """The open grid of a x b = m clients; client r b + c stands in row r, column c.

    ``sides`` (a, b); without it the two factors of m nearest to each other (a prime m gives a path).
    """
    m = check_clients(m)
    a, b = check_sides(m, sides)
    return _graph(m, _lattice(a, b, wrap=False), "grid", sides=(a, b))


def torus(m: int, sides: tuple[int, int] | None = None) -> nx.Graph:
    """The grid with opposite sides joined: the product of the cycles of a and b clients, a b = m.

    ``sides`` as in :func:`grid`. A side of 2 or 1 adds one link or none, never a double link, so that a
    2 x 2 torus is the ring of 4, and that of a prime m, which is 1 x m, the ring of m.
    """
    m = check_clients(m)
    a, b = check_sides(m, sides)
    return _graph(m, _lattice(a, b, wrap=True), "torus", sides=(a, b))


def hypercube(m: int) -> nx.Graph:
    """Clients are linked where their numbers differ in one binary digit; m must be a power of two."""
    m = check_clients(m)
    if m & (m - 1):
        raise InputError(f"m = {m} is not a power of two: a hypercube has 1, 2, 4, 8, ... clients")
    bits = m.bit_length() - 1
    return _graph(m, ((i, i ^ (1 << k)) for i in range(m) for k in range(bits)), "hypercube")


# -- exponential graphs ----------------------------------------------------------------------------


def exponential(m: int) -> nx.Graph:
    """The static exponential graph made symmetric: i is linked to i +- 2^k mod m, 2^k < m.

    It suits every symmetric weight rule (Definition 1); :func:`directed_exponential` is the directed
    graph of Ying et al. (2021), whose uniform weights have the gap 2/(1 + ceil(log2 m)) for even m.
    """
    m = check_clients(m)
    _refuse_many("exponential", m, m * len(hops(m)))
    return _graph(m, ((i, (i + s) % m) for i in range(m) for s in hops(m)), "exponential")


def directed_exponential(m: int) -> nx.DiGraph:
    """The static exponential graph: i sends to i + 1, i + 2, i + 4, ... mod m.  [Ying et al. 2021]"""
    m = check_clients(m)
    _refuse_many("directed_exponential", m, m * len(hops(m)))
    return _graph(
        m, ((i, (i + s) % m) for i in range(m) for s in hops(m)), "directed_exponential", nx.DiGraph
    )


def hops(m: int) -> list[int]:
    """The powers of two below m: the hops of the exponential graph."""
    return [1 << k for k in range((m - 1).bit_length())] if m > 1 else []


# -- dense and tree-like graphs --------------------------------------------------------------------


def complete(m: int) -> nx.Graph:
    """Every client is linked to every other."""
    m = check_clients(m)
    _refuse_many("complete", m, m * (m - 1) / 2)
    return _graph(m, ((i, j) for i in range(m) for j in range(i)), "complete")


def star(m: int) -> nx.Graph:
    """Client 0 is linked to all others, and these to client 0 alone."""
    m = check_clients(m)
    return _graph(m, ((0, i) for i in range(1, m)), "star")


def two_cliques(m: int, bridges: int = 1) -> nx.Graph:
    """Two complete halves (0..h-1 and h..m-1, h = m // 2) joined by ``bridges`` disjoint links."""
    m = check_clients(m)
    half, bridges = m // 2, whole_number("bridges", bridges, at_least=0)
    if m > 1 and not 1 <= bridges <= half:
        raise InputError(f"bridges = {bridges} must be between 1 and {half}, the size of the smaller clique")
    _refuse_many("two_cliques", m, m * m / 4)
    halves = (range(half), range(half, m))
    inside = ((i, j) for nodes in halves for i in nodes for j in nodes if j < i)
    across = ((i, half + i) for i in range(min(bridges, half)))
    return _graph(m, [*inside, *across], "two_cliques")


def binary_tree(m: int) -> nx.Graph:
    """The complete binary tree filled level by level: the parent of i is (i - 1) // 2."""
    m = check_clients(m)
    return _graph(m, ((i, (i - 1) // 2) for i in range(1, m)), "binary_tree")


# -- random graphs ---------------------------------------------------------------------------------


def random_regular(m: int, degree: int | None = None, seed: int | None = 0) -> nx.Graph:
    """A random connected graph in which every client has ``degree`` neighbors (m * degree must be even).

    ``degree`` is 4 by default, or m - 1 where m is smaller than 5.
    """
    m = check_clients(m)
    degree = min(4, m - 1) if degree is None else whole_number("degree", degree, at_least=0)
    if not 0 <= degree < m or (m * degree) % 2:
        raise InputError(f"degree = {degree} must be below m = {m}, with m * degree even")
    if m > 1 and (degree == 0 or (degree == 1 and m > 2)):
        raise GraphError(
            f"a graph of {m} clients with {degree} neighbors each is never connected: take degree >= 2"
        )
    _refuse_many("random_regular", m, m * degree / 2)
    rng = _generator(seed)
    draw = lambda: nx.random_regular_graph(degree, m, seed=int(rng.integers(2**32)))  # noqa: E731
    graph = _until(draw, nx.is_connected, f"random_regular(m={m}, degree={degree})")
    return _graph(m, graph.edges, "random_regular")


def erdos_renyi(m: int, p: float | None = None, seed: int | None = 0) -> nx.Graph:
    """G(m, p) redrawn until it is connected; ``p`` defaults to 2 log(m) / m, twice the threshold."""
    m = check_clients(m)
    if p is None:
        p = min(1.0, 2 * math.log(m) / m) if m > 2 else 1.0
    p = real("p", p)
    if not 0 < p <= 1:
        raise InputError(f"p = {p} must be a probability above 0")
    if m > 1 and 1 - p == 1:
        raise GraphError(f"p = {p} is 0 to machine precision, and the graph never connected: take a larger p")
    _refuse_many("erdos_renyi", m, p * m * (m - 1) / 2)
    rng = _generator(seed)
    draw = lambda: nx.fast_gnp_random_graph(m, p, seed=int(rng.integers(2**32)))  # noqa: E731
    graph = _until(draw, nx.is_connected, f"erdos_renyi(m={m}, p={p:g})")
    return _graph(m, graph.edges, "erdos_renyi")


def random_out_degree(m: int, degree: int = 10, seed: int | None = 0) -> nx.DiGraph:
    """Every client sends to ``degree`` others drawn at random; redrawn until strongly connected.

    ``degree`` is cut to m - 1 where m is small, as in the papers' "at most 10 neighbors".
    """
    m = check_clients(m)
    degree = whole_number("degree", degree, at_least=1)
    rng = _generator(seed)

    def draw() -> nx.DiGraph:
        arcs = ((i, j) for i, row in enumerate(random_targets(m, degree, rng)) for j in row)
        return _graph(m, arcs, "random_out_degree", nx.DiGraph)

    return _until(draw, nx.is_strongly_connected, f"random_out_degree(m={m}, degree={degree})")


def random_targets(m: int, degree: int, rng: np.random.Generator) -> np.ndarray:
    """(m, min(degree, m-1)): for each client, others drawn uniformly without replacement."""
    k = min(degree, m - 1)
    if k == 0:
        return np.empty((m, 0), dtype=int)
    if m <= 4096:  # one shuffle of all others for every client at once
        order = np.argpartition(rng.random((m, m - 1)), k - 1, axis=1)[:, :k]
    elif k * k < m:  # with replacement, and the few rows in which a client comes twice once more
        order = rng.integers(m - 1, size=(m, k))
        twice = lambda: (np.diff(np.sort(order, axis=1), axis=1) == 0).any(axis=1)  # noqa: E731
        while len(again := np.flatnonzero(twice())):
            order[again] = rng.integers(m - 1, size=(len(again), k))
    else:
        order = np.stack([rng.choice(m - 1, size=k, replace=False, shuffle=False) for _ in range(m)])
    return order + (order >= np.arange(m)[:, None])  # leave out oneself


# -- by name, and from matrices --------------------------------------------------------------------

TOPOLOGIES: dict[str, Callable[..., nx.Graph]] = {
    f.__name__: f
    for f in (
        *(ring, path, star, complete, grid, torus, hypercube, exponential, directed_exponential),
        *(directed_ring, random_regular, erdos_renyi, random_out_degree, two_cliques, binary_tree),
    )
}
"""Every static topology by its name."""


def topology(name: str, m: int, /, **options: Any) -> nx.Graph:
    """The topology called ``name`` (see :data:`TOPOLOGIES`; '-' counts as '_') with m clients."""
    key = name.replace("-", "_")
    if key not in TOPOLOGIES:
        raise UnknownNameError("topology", name, set(TOPOLOGIES))
    return call(f"topology {key}", TOPOLOGIES[key], m, options)


def from_matrix(W: Any) -> nx.Graph:
    """The graph of the non-zero off-diagonal entries of an adjacency or weight matrix (dense or sparse).

    Undirected where the pattern is symmetric, else directed with an arc j -> i for w_ij != 0.
    """
    S = support(as_matrix(W, "the adjacency matrix"))
    m = S.shape[0]
    i, j = S.nonzero()
    arcs = zip(j.tolist(), i.tolist())
    symmetric = abs(S - S.T).nnz == 0
    return _graph(m, arcs, "custom", nx.Graph if symmetric else nx.DiGraph)


def as_graph(network: Any) -> nx.Graph:
    """A networkx graph as it is; the graph of anything else that :func:`from_matrix` takes."""
    return network if isinstance(network, nx.Graph) else from_matrix(network)


def check_sides(m: int, sides: tuple[int, int] | None) -> tuple[int, int]:
    """(a, b) with a b = m: as given, or the factors of m nearest to each other, a <= b."""
    if sides is None:
        a = math.isqrt(m)
        while m % a:
            a -= 1
        return a, m // a
    try:
        a, b = (check_clients(s) for s in sides)
    except (TypeError, ValueError) as error:
        raise InputError(f"sides = {sides!r} must be two whole numbers >= 1") from error
    if a * b != m:
        raise InputError(f"sides {a} x {b} hold {a * b} clients, not m = {m}")
    return a, b


def _lattice(a: int, b: int, wrap: bool) -> Iterable[tuple[int, int]]:
    for r in range(a):
        for c in range(b):
            if wrap or c + 1 < b:
                yield r * b + c, r * b + (c + 1) % b
            if wrap or r + 1 < a:
                yield r * b + c, ((r + 1) % a) * b + c


MOST_LINKS = 10**7
"""As Python objects: 160 bytes a link in a complete graph, 490 in a ring, its node included; so 2 to 5 GB."""


def _refuse_many(name: str, m: int, links: float) -> None:
    if links > MOST_LINKS:
        raise InputError(
            f"{name}({m}) has {links:.3g} links, above {MOST_LINKS:.0e}: take fewer clients or links"
        )


def _graph(
    m: int, edges: Iterable[tuple[int, int]], name: str, kind: type[nx.Graph] = nx.Graph, **about: Any
) -> Any:
    graph = kind(name=f"{name}({m})", topology=name, **about)
    graph.add_nodes_from(range(m))
    graph.add_edges_from((i, j) for i, j in edges if i != j)
    return graph


def _generator(seed: Any) -> np.random.Generator:
    """The generator of a seed: a whole number >= 0, or None for a new one every time."""
    return np.random.default_rng(None if seed is None else whole_number("seed", seed, at_least=0))


def _until(draw: Callable[[], Any], connected: Callable[[Any], bool], what: str) -> Any:
    for _ in range(ATTEMPTS):
        graph = draw()
        if connected(graph):
            return graph
    raise GraphError(f"{what} was not connected in {ATTEMPTS} draws: allow more links")
