"""Sequences of mixing matrices from what a caller gives as the network."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeGuard, cast

import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import (
    Matrix,
    as_matrix,
    is_graph,
    is_unweighted_graph,
    read_matrix,
)
from dfltheory.graphs.sequences import (
    Constant,
    MixingSequence,
    Periodic,
    UserSequence,
    kind_of,
)
from dfltheory.graphs.weights import default_weights


def as_sequence(topology: object, kind: str | None = None) -> MixingSequence:
    """Convert a network to a sequence of matrices.

    Parameters
    ----------
    topology : object
        A sequence, which is returned; a networkx graph with edge weights, or without
        (then Metropolis weights, or out-degree weights of a directed graph); a matrix
        (dense, sparse, torch); a list of matrices, which repeats; or a callable
        ``f(t)`` or ``f(t, rng)`` that is called in each round.
    kind : str, optional
        Kind of a callable, a name of :data:`dfltheory.constants.SEQUENCES`. Without
        it, only theorems that cover ``any`` sequence apply to its runs. With "fresh
        draws each round", all gossip steps of a round use one matrix.

    Returns
    -------
    MixingSequence
        The sequence.

    Raises
    ------
    GraphError, InputError
        If the argument is not a network.
    """
    if kind is not None:
        if not _is_function(topology) or hasattr(topology, "matrix"):
            raise InputError(
                f"kind = {kind!r} is for callables f(t) and f(t, rng) only"
            )
        declared = replace(_from_callable(topology), kind=kind)
        kind_of(declared)
        return declared
    if isinstance(topology, MixingSequence):
        return topology
    if is_graph(topology):
        unweighted = is_unweighted_graph(topology)
        matrix = default_weights(topology) if unweighted else as_matrix(topology)
        return Constant(matrix, name=topology.graph.get("name") or "graph")
    if _is_function(topology):
        return _from_callable(topology)
    if isinstance(topology, str):
        raise InputError(
            f"network = {topology!r} is a name: use graphs.topology({topology!r}, m)"
        )
    if _is_list_of_matrices(topology):
        return _from_list(topology)
    W, eps = read_matrix(topology)
    return Constant(W.copy(), eps=eps)


def _is_function(network: object) -> TypeGuard[Callable[..., object]]:
    """Return whether a network is a function of the round, not a callable matrix."""
    return callable(network) and not hasattr(network, "shape")


def _is_list_of_matrices(network: object) -> TypeGuard[Sequence[object]]:
    """Return whether a network is a sequence of matrices, not the rows of one."""
    if not isinstance(network, Sequence):
        return False
    items = cast("Sequence[object]", network)
    return bool(items) and _first_ndim(items) == 2


def _from_list(matrices: Sequence[object]) -> Periodic:
    """Return the periodic sequence of a list of matrices."""
    converted: list[Matrix] = []
    largest_eps = 0.0
    for k, value in enumerate(matrices):
        W, eps = read_matrix(value, f"matrix {k} of the list")
        converted.append(W.copy())
        largest_eps = max(largest_eps, eps)
    return Periodic(tuple(converted), eps=largest_eps)


def _first_ndim(items: Sequence[object]) -> int:
    """Return the dimension of the first item; raise InputError if it is a graph."""
    first = items[0]
    if is_graph(first):
        raise InputError(
            "network is a list of graphs, not of matrices: apply a weight rule to each"
        )
    ndim = getattr(first, "ndim", None)
    return np.asarray(first, dtype=object).ndim if ndim is None else ndim


def _from_callable(f: Callable[..., object]) -> UserSequence:
    """Return the sequence of a function; it is random if it takes two arguments."""
    required = 0
    for p in inspect.signature(f).parameters.values():
        is_positional = p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        if is_positional and p.default is p.empty:
            required += 1
    if required not in (1, 2):
        raise InputError(
            f"network takes {required} arguments: write f(t), or f(t, rng) if random"
        )
    random = required == 2
    first = f(0, np.random.default_rng(0)) if random else f(0)
    W, eps = read_matrix(first, "the matrix of round 0")
    return UserSequence(f, W.shape[0], random, eps=eps)
