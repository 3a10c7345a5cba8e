"""Random communication graphs, redrawn until they are connected."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dfltheory.errors import GraphError, InputError, whole_number
from dfltheory.graphs.graph_creation import (
    GraphType,
    make_digraph,
    make_graph,
    refuse_many,
)
from dfltheory.graphs.graph_types import (
    DiGraph,
    Graph,
    binomial_graph,
    is_connected,
    is_strongly_connected,
    regular_graph,
)
from dfltheory.graphs.matrices import check_clients, real
from dfltheory.number_ranges import NonnegativeInt, PositiveFloat, PositiveInt

ATTEMPTS = 1000
"""Largest number of draws of a random graph until it is connected."""


def random_regular(
    m: int, degree: NonnegativeInt | None = None, seed: NonnegativeInt | None = 0
) -> Graph:
    """Return a random connected graph in which all clients have equal degrees.

    Parameters
    ----------
    m : int
        Number of clients.
    degree : int, optional
        Number of neighbors of each client; m * degree must be even. By default 4, or
        m - 1 if m < 5.
    seed : int, optional
        Seed; None draws a different graph in each call.

    Raises
    ------
    GraphError
        If such a graph cannot be connected, or no draw is connected.
    InputError
        If ``degree`` is out of range.
    """
    m = check_clients(m)
    degree = (
        min(4, m - 1) if degree is None else whole_number("degree", degree, at_least=0)
    )
    if not 0 <= degree < m or (m * degree) % 2:
        raise InputError(
            f"degree = {degree} must be below m = {m}, with m * degree even"
        )
    if m > 1 and (degree == 0 or (degree == 1 and m > 2)):
        raise GraphError(
            f"degree = {degree} never connects {m} clients: take degree >= 2"
        )
    refuse_many("random_regular", m, m * degree / 2)
    rng = _generator(seed)

    def draw() -> Graph:
        return regular_graph(m, degree, seed=int(rng.integers(2**32)))

    name = f"random_regular(m={m}, degree={degree})"
    graph = _draw_until(draw, is_connected, name)
    return make_graph(m, graph.edges, "random_regular")


def erdos_renyi(
    m: int, p: PositiveFloat | None = None, seed: NonnegativeInt | None = 0
) -> Graph:
    """Return a connected draw of the random graph G(m, p).

    Parameters
    ----------
    m : int
        Number of clients.
    p : float, optional
        Probability of each link. By default 2 log(m) / m, twice the threshold of
        connectivity.
    seed : int, optional
        Seed; None draws a different graph in each call.

    Raises
    ------
    GraphError
        If no draw is connected.
    InputError
        If ``p`` is not in (0, 1].
    """
    m = check_clients(m)
    if p is None:
        p = min(1.0, 2 * math.log(m) / m) if m > 2 else 1.0
    p = real("p", p)
    if not 0 < p <= 1:
        raise InputError(f"p = {p} must be a probability above 0")
    if m > 1 and 1 - p == 1:
        raise GraphError(f"p = {p} is 0 to machine precision: take a larger p")
    refuse_many("erdos_renyi", m, p * m * (m - 1) / 2)
    rng = _generator(seed)
    probability = p

    def draw() -> Graph:
        seed_of_draw = int(rng.integers(2**32))
        return binomial_graph(m, probability, seed=seed_of_draw)

    graph = _draw_until(draw, is_connected, f"erdos_renyi(m={m}, p={p:g})")
    return make_graph(m, graph.edges, "erdos_renyi")


def random_out_degree(
    m: int, degree: PositiveInt = 10, seed: NonnegativeInt | None = 0
) -> DiGraph:
    """Return a strongly connected digraph in which clients send to random others.

    Parameters
    ----------
    m : int
        Number of clients.
    degree : int
        Number of clients to which each client sends, capped at m - 1 (the papers' "at
        most 10 neighbors").
    seed : int, optional
        Seed; None draws a different graph in each call.

    Raises
    ------
    GraphError
        If no draw is strongly connected.
    """
    m = check_clients(m)
    degree = whole_number("degree", degree, at_least=1)
    rng = _generator(seed)

    def draw() -> DiGraph:
        targets = random_targets(m, degree, rng)
        arcs = ((i, j) for i, row in enumerate(targets) for j in row)
        return make_digraph(m, arcs, "random_out_degree")

    name = f"random_out_degree(m={m}, degree={degree})"
    return _draw_until(draw, is_strongly_connected, name)


def random_targets(m: int, degree: int, rng: np.random.Generator) -> np.ndarray:
    """For each client, draw other clients uniformly without replacement.

    Parameters
    ----------
    m : int
        Number of clients.
    degree : int
        Number of others; at most m - 1 are drawn.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    (m, min(degree, m - 1)) array of int
        Row i contains the clients drawn for i.
    """
    k = min(degree, m - 1)
    if k == 0:
        return np.empty((m, 0), dtype=int)
    if m <= 4096:  # select from random orders of all others
        others = np.argpartition(rng.random((m, m - 1)), k - 1, axis=1)[:, :k]
    elif k * k < m:  # draw with replacement, and redraw the few rows with repeats
        others = rng.integers(m - 1, size=(m, k))
        repeated = _rows_with_repetitions(others)
        while len(repeated):
            others[repeated] = rng.integers(m - 1, size=(len(repeated), k))
            repeated = _rows_with_repetitions(others)
    else:
        rows = [
            rng.choice(m - 1, size=k, replace=False, shuffle=False) for _ in range(m)
        ]
        others = np.stack(rows)
    return others + (others >= np.arange(m)[:, None])  # skip the client itself


def _rows_with_repetitions(values: np.ndarray) -> np.ndarray:
    """Return the indices of rows in which a value occurs twice."""
    steps = np.diff(np.sort(values, axis=1), axis=1)
    return np.flatnonzero((steps == 0).any(axis=1))


def _generator(seed: object) -> np.random.Generator:
    """Return the generator of a seed >= 0; None draws a fresh seed in each call."""
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng(whole_number("seed", seed, at_least=0))


def _draw_until(
    draw: Callable[[], GraphType], accepts: Callable[[GraphType], bool], name: str
) -> GraphType:
    """Return the first connected draw; raise GraphError if there is none."""
    for _ in range(ATTEMPTS):
        graph = draw()
        if accepts(graph):
            return graph
    raise GraphError(f"{name} was not connected in {ATTEMPTS} draws: allow more links")
