"""Weight rules: from a graph to a mixing matrix W or a push-sum matrix P.

Row i of W contains the weights that client i applies to what it receives:
x_i <- sum_j w_ij x_j over its in-neighbors j and i itself.

All rules take ``sparse``: True returns a CSR array, False a dense one. None (default)
returns a dense array up to :data:`~dfltheory.graphs.matrices.DENSE_LIMIT` clients and
CSR above, so no m x m array is created for a large sparse graph. A graph that is not
connected raises :class:`GraphError`, because no weights reach consensus on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError, UnknownNameError
from dfltheory.graphs.adjacency_weights import (
    column_stochastic_of,
    laplacian_weights_of,
    metropolis_of,
)
from dfltheory.graphs.connectivity import check_connected
from dfltheory.graphs.convex_weights import fastest_mixing
from dfltheory.graphs.eigen import laplacian_extremes
from dfltheory.graphs.graph_types import Graph, weights_by_sender
from dfltheory.graphs.matrices import (
    Matrix,
    adjacency,
    as_sparse_or_dense,
    call,
    is_graph,
    line_sums,
    nodes_in_order,
    real,
)


def metropolis(graph: Graph, sparse: bool | None = None) -> Matrix:
    """Return Metropolis-Hastings weights w_ij = 1 / (1 + max(d_i, d_j)).

    They satisfy Definition 1 on every connected undirected graph: symmetric, doubly
    stochastic, with a positive diagonal w_ii = 1 - sum_j w_ij.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W.

    References
    ----------
    Xiao, Boyd and Kim (2007).
    """
    return as_sparse_or_dense(
        metropolis_of(_undirected_adjacency(graph, "metropolis")), sparse
    )


def max_degree(graph: Graph, sparse: bool | None = None) -> Matrix:
    """Return I - L / (1 + d_max), where L is the graph Laplacian.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W, with w_ij = 1 / (1 + d_max) on all links.
    """
    A = _undirected_adjacency(graph, "max_degree")
    return as_sparse_or_dense(
        laplacian_weights_of(A, 1 / (1 + np.diff(A.indptr).max())), sparse
    )


def laplacian(
    graph: Graph, alpha: float | None = None, sparse: bool | None = None
) -> Matrix:
    """Return I - alpha L, where L is the graph Laplacian.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    alpha : float, optional
        Weight of a link. By default 2 / (lambda_2(L) + lambda_m(L)), which minimizes
        lambda. On very irregular graphs such as a star it makes some w_ii negative,
        so that Definition 1 fails.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W.

    References
    ----------
    Xiao and Boyd (2004).
    """
    A = _undirected_adjacency(graph, "laplacian")
    if alpha is None:
        low, high = laplacian_extremes(A)
        alpha = 2 / (low + high) if high > 0 else 0.0
    elif not 0 < real("alpha", alpha) < math.inf:
        raise InputError(f"alpha = {alpha} must be finite and above 0")
    return as_sparse_or_dense(laplacian_weights_of(A, alpha), sparse)


def lazy(graph: Graph, sparse: bool | None = None) -> Matrix:
    """Return (I + W) / 2 with Metropolis weights W.

    All eigenvalues are nonnegative, so lambda = lambda_2.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        The lazy matrix.
    """
    W = metropolis_of(_undirected_adjacency(graph, "lazy"))
    identity = sp.eye_array(W.shape[0], format="csr")
    return as_sparse_or_dense(sp.csr_array((identity + W) / 2), sparse)


def uniform(graph: Graph, sparse: bool | None = None) -> Matrix:
    """Return w_ij = 1 / (1 + d_i) for each in-neighbor j of i, and for i itself.

    Rows sum to 1. Columns sum to 1 only if the graph is regular; otherwise the mean is
    not preserved and Definition 1 fails.

    Parameters
    ----------
    graph : networkx.Graph
        Strongly connected.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W.
    """
    return row_stochastic(graph, sparse=sparse)


def row_stochastic(
    graph: Graph, weight: str | None = None, sparse: bool | None = None
) -> Matrix:
    """Return w_ij = a_ij / sum_l a_il over in-neighbors l and i itself.

    Parameters
    ----------
    graph : networkx.Graph
        Strongly connected.
    weight : str, optional
        Name of an edge attribute a_ij > 0; by default all a_ij = 1. A self-loop sets
        a_ii; without one, a_ii = 1.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W; rows sum to 1.
    """
    A = _weighted_adjacency(graph, weight, "row_stochastic")
    return as_sparse_or_dense(
        sp.csr_array(sp.diags_array(1 / line_sums(A, axis=1)) @ A), sparse
    )


def column_stochastic(
    graph: Graph, weight: str | None = None, sparse: bool | None = None
) -> Matrix:
    """Return p_ij = a_ij / sum_l a_lj over out-neighbors l and j itself.

    Without ``weight`` these are DFedSGPSM's p_ij = 1 / |N_j^out|.

    Parameters
    ----------
    graph : networkx.Graph
        Strongly connected.
    weight : str, optional
        As in :func:`row_stochastic`.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        P. Columns sum to 1, so the total is preserved. Rows need not sum to 1;
        push-sum corrects for that.
    """
    A = _weighted_adjacency(graph, weight, "column_stochastic")
    return as_sparse_or_dense(
        sp.csr_array(A @ sp.diags_array(1 / line_sums(A, axis=0))), sparse
    )


def _require_graph(graph: object, rule: str) -> None:
    """Raise InputError unless the argument of a weight rule is a networkx graph."""
    if not is_graph(graph):
        kind = type(graph).__name__
        raise InputError(f"{rule} takes a networkx graph, not {kind}: see from_matrix")


def _undirected_adjacency(graph: Graph, rule: str) -> sp.csr_array:
    """Return the adjacency matrix of a connected graph with symmetric links."""
    _require_graph(graph, rule)
    A = adjacency(graph)
    if graph.is_directed() and abs(A - A.T).nnz:
        receivers, senders = (A - A.T > 0).nonzero()
        names = nodes_in_order(graph)
        raise GraphError(
            f"{rule} needs links in both directions, but {names[senders[0]]} ->"
            f" {names[receivers[0]]} has no link back: use graph.to_undirected() or"
            " column_stochastic(graph)"
        )
    check_connected(A, graph)
    return A


def _weighted_adjacency(graph: Graph, weight: str | None, rule: str) -> sp.csr_array:
    """Return the weights a_ij (m, m) of the arcs j -> i, self-weights included.

    The graph must be strongly connected. The self-weight of a client without self-loop
    is 1.
    """
    _require_graph(graph, rule)
    A = adjacency(graph)
    check_connected(A, graph)
    m = A.shape[0]
    if weight is None:
        return sp.csr_array(A + sp.eye_array(m, format="csr"))
    nodes = nodes_in_order(graph)
    B = sp.csr_array(weights_by_sender(graph, nodes, weight).T)
    bad = ~(B.data > 0) | ~np.isfinite(B.data)
    if bad.any():
        raise InputError(
            f"{rule}: {weight} = {B.data[bad][0]} of an edge must be finite and above 0"
        )
    missing = np.where(B.diagonal() == 0, 1.0, 0.0)
    return sp.csr_array(B + sp.diags_array(missing))


WEIGHT_RULES: dict[str, Callable[..., Matrix]] = {
    "metropolis": metropolis,
    "uniform": uniform,
    "max_degree": max_degree,
    "lazy": lazy,
    "laplacian": laplacian,
    "column_stochastic": column_stochastic,
    "row_stochastic": row_stochastic,
    "fastest_mixing": fastest_mixing,
}
"""Weight rules by name."""


def weights(graph: Graph, rule: str, /, **options: object) -> Matrix:
    """Return the matrix of a weight rule by name.

    Parameters
    ----------
    graph : networkx.Graph
        The graph.
    rule : str
        A name of :data:`WEIGHT_RULES`; "-" is equivalent to "_".
    **options
        Options of the rule.

    Returns
    -------
    (m, m) matrix
        W or P.

    Raises
    ------
    UnknownNameError
        If there is no such rule.
    InputError
        If the rule does not have one of the options.
    """
    key = rule.replace("-", "_")
    if key not in WEIGHT_RULES:
        raise UnknownNameError("weight rule", rule, set(WEIGHT_RULES))
    return call(f"weight rule {key}", WEIGHT_RULES[key], graph, options)


def default_weights(graph: Graph, sparse: bool | None = None) -> Matrix:
    """Return Metropolis weights, or out-degree weights of a directed graph.

    Parameters
    ----------
    graph : networkx.Graph
        Connected, or strongly connected if directed.
    sparse : bool, optional
        Type of the result, see the module.

    Returns
    -------
    (m, m) matrix
        W, or a column-stochastic P.
    """
    if graph.is_directed():
        return column_stochastic(graph, sparse=sparse)
    return metropolis(graph, sparse=sparse)


__all__ = [
    "WEIGHT_RULES",
    "column_stochastic",
    "column_stochastic_of",
    "default_weights",
    "fastest_mixing",
    "laplacian",
    "laplacian_weights_of",
    "lazy",
    "max_degree",
    "metropolis",
    "metropolis_of",
    "row_stochastic",
    "uniform",
    "weights",
]
