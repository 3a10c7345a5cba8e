"""Fastest-mixing weights: the symmetric W that minimizes lambda on a graph."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import DFLTheoryError, GraphError, InputError, MissingExtraError
from dfltheory.graphs.adjacency_weights import with_diagonal
from dfltheory.graphs.connectivity import check_connected
from dfltheory.graphs.graph_types import Graph
from dfltheory.graphs.matrices import Matrix, adjacency, as_sparse_or_dense, real


def fastest_mixing(
    graph: Graph, least: float = 0.0, sparse: bool | None = None
) -> Matrix:
    """Return the symmetric doubly stochastic W with the smallest lambda.

        minimize t   subject to   -t I <= W - 11'/m <= t I,   W = I - sum_e w_e L_e,
                                  w_e >= least,   w_ii >= least

    Solved by clarabel through cvxpy (extra ``[convex]``). The error in lambda is about
    1e-8; practical for m up to a few hundred clients.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and connected.
    least : float
        Smallest weight of links and diagonal. Definition 1 needs ``least`` > 0: with
        0 the optimum may have w_ii = 0, as on a path.
    sparse : bool, optional
        Type of the result; see :mod:`dfltheory.graphs.weights`.

    Returns
    -------
    (m, m) matrix
        W.

    References
    ----------
    Boyd, Diaconis and Xiao (2004).
    """
    if graph.is_directed():
        raise GraphError(
            "fastest_mixing needs an undirected graph: use graph.to_undirected()"
        )
    A = adjacency(graph)
    check_connected(A, graph)
    m = A.shape[0]
    largest = 1 / (1 + int(np.diff(A.indptr).max()))
    least = real("least", least)
    if not 0 <= least <= largest:
        raise InputError(
            f"least = {least} must be in [0, {largest:.6g}] (1/(1 + largest degree))"
        )
    if m == 1:
        return as_sparse_or_dense(sp.csr_array(np.ones((1, 1))), sparse)
    i, j = sp.coo_array(sp.triu(A, 1)).coords
    optimum = _solve_fastest_mixing(i, j, m, least)
    W = with_diagonal(np.r_[i, j], np.r_[j, i], np.r_[optimum, optimum], m)
    return as_sparse_or_dense(W, sparse)


def _solve_fastest_mixing(
    i: np.ndarray, j: np.ndarray, m: int, least: float
) -> np.ndarray:
    """Return the optimal weights of the links {i, j}."""
    cp = convex_solver("computing the fastest-mixing weights")
    count = len(i)
    edges = np.arange(count)
    ones = np.ones(count)
    places = (np.r_[i, j], np.r_[edges, edges])
    incidence = sp.csr_array((np.r_[ones, -ones], places), shape=(m, count))
    degrees = abs(incidence)
    w = cp.Variable(count)
    t = cp.Variable()
    centered = np.eye(m) - 1.0 / m - incidence @ cp.diag(w) @ incidence.T
    constraints = [
        centered << t * np.eye(m),
        centered >> -t * np.eye(m),
        w >= least,
        degrees @ w <= 1 - least,
    ]
    problem = cp.Problem(cp.Minimize(t), constraints)
    problem.solve(solver=cp.CLARABEL)
    if w.value is None:
        raise DFLTheoryError(
            f"the solver found no fastest-mixing weights: {problem.status}"
        )
    # The solver satisfies the constraints only up to its tolerance.
    optimum = np.maximum(np.asarray(w.value, dtype=float), least)
    largest_sum = float((degrees @ optimum).max())
    optimum *= min(1.0, (1 - least) / largest_sum)
    return optimum


def convex_solver(what: str) -> Any:
    """Import and return cvxpy.

    Parameters
    ----------
    what : str
        The purpose, for the message.

    Raises
    ------
    MissingExtraError
        If cvxpy or clarabel is not installed.
    """
    try:
        import cvxpy

        import_module("clarabel")  # the solver that cvxpy calls
    except ImportError as error:
        raise MissingExtraError(what, "convex") from error
    return cvxpy
