"""Hypothesis strategies for sequences of mixing matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dfltheory.constants import FRESH_STEP
from dfltheory.errors import InputError
from dfltheory.graphs.sequences import Periodic, UserSequence
from dfltheory.testing.networks import (
    connected_graphs,
    draw_weights,
    mixing_matrices,
    strongly_connected_digraphs,
)


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
def b_connected_sequences(
    draw: st.DrawFn, min_m: int = 2, max_m: int = 8, max_B: int = 4
) -> Periodic:
    """Draw periodic sequences of symmetric matrices, connected over B rounds.

    The edges of one connected graph are distributed over the B rounds of a period, so
    that the union of any B consecutive rounds is connected. Each matrix is symmetric
    and doubly stochastic with a positive diagonal, but need not be connected.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.
    max_B : int
        Largest B.

    Returns
    -------
    Periodic
        Its ``period`` is B.
    """
    if max_B < 1:
        raise InputError(f"max_B = {max_B} must be at least 1")
    graph = draw(connected_graphs(min_m, max_m))
    B = draw(st.integers(1, max_B))
    parts = [nx.Graph() for _ in range(B)]
    for part in parts:
        part.add_nodes_from(graph)
    for edge in graph.edges:
        parts[draw(st.integers(0, B - 1))].add_edge(*edge)
    return Periodic(tuple(draw_weights(draw, part) for part in parts))


@st.composite
def random_sequences(
    draw: st.DrawFn, min_m: int = 2, max_m: int = 8, choices: int = 3
) -> UserSequence:
    """Draw sequences that sample one of several matrices for each gossip step.

    Parameters
    ----------
    min_m, max_m : int
        Smallest and largest number of clients.
    choices : int
        Largest number of matrices to choose from. Each satisfies Definition 1.

    Returns
    -------
    UserSequence
        A sequence with independent draws for each gossip step.
    """
    if choices < 1:
        raise InputError(f"choices = {choices} must be at least 1")
    m = draw(st.integers(min_m, max_m))
    count = draw(st.integers(1, choices))
    matrices = [draw(mixing_matrices(m, m)) for _ in range(count)]

    def one_of_the_matrices(t: int, rng: np.random.Generator) -> np.ndarray:
        return matrices[rng.integers(count)]

    name = f"one of {count} matrices each gossip step"
    return UserSequence(one_of_the_matrices, m, True, name, kind=FRESH_STEP)


__all__ = [
    "b_connected_sequences",
    "mixing_sequences",
    "push_sum_sequences",
    "random_sequences",
]
