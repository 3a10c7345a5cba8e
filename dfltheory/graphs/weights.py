"""Weight rules: from a graph to a mixing matrix W (or a push-sum matrix P).

Row i of W tells how client i weighs what it hears: x_i <- sum_j w_ij x_j, over its neighbors j and
itself. All rules take ``sparse``: True for CSR, False for dense, None (default) for dense up to
:data:`~dfltheory.graphs.matrices.DENSE_LIMIT` clients and CSR above, so that no m x m array is ever
built for a large sparse graph. A graph that is not connected is refused (:class:`GraphError`), because
no weights can then bring all clients together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import DFLTheoryError, GraphError, InputError, MissingExtraError, UnknownNameError
from dfltheory.graphs.connectivity import check_connected
from dfltheory.graphs.eigen import laplacian_extremes
from dfltheory.graphs.matrices import Matrix, adjacency, call, line_sums, nodes_in_order, real, settle


def metropolis(graph: nx.Graph, sparse: bool | None = None) -> Matrix:
    """Metropolis-Hastings weights: w_ij = 1 / (1 + max(d_i, d_j)), w_ii = 1 - sum of the others.

    Symmetric, doubly stochastic and with a positive diagonal on every connected undirected graph: it
    satisfies Definition 1.  [Xiao, Boyd and Kim 2007]
    """
    return settle(metropolis_of(_undirected(graph, "metropolis")), sparse)


def max_degree(graph: nx.Graph, sparse: bool | None = None) -> Matrix:
    """w_ij = 1 / (1 + d_max) on every link: I - L / (1 + d_max) with the graph Laplacian L."""
    A = _undirected(graph, "max_degree")
    return settle(laplacian_weights_of(A, 1 / (1 + np.diff(A.indptr).max())), sparse)


def laplacian(graph: nx.Graph, alpha: float | None = None, sparse: bool | None = None) -> Matrix:
    """I - alpha L; without ``alpha`` the best constant 2 / (lambda_2(L) + lambda_m(L)).

    The best constant minimizes lambda among all constants; on strongly irregular graphs (a star) it makes
    some w_ii negative, and then Definition 1 does not hold: ``check_mixing_matrix`` says so.
    [Xiao and Boyd 2004]
    """
    A = _undirected(graph, "laplacian")
    if alpha is None:
        low, high = laplacian_extremes(A)
        alpha = 2 / (low + high) if high > 0 else 0.0
    elif not 0 < real("alpha", alpha) < math.inf:
        raise InputError(f"alpha = {alpha} must be finite and above 0")
    return settle(laplacian_weights_of(A, alpha), sparse)


def lazy(graph: nx.Graph, sparse: bool | None = None) -> Matrix:
    """(I + W) / 2 with Metropolis W: every eigenvalue is >= 0, so that lambda = lambda_2."""
    W = metropolis_of(_undirected(graph, "lazy"))
    return settle(sp.csr_array((sp.eye_array(W.shape[0], format="csr") + W) / 2), sparse)


def uniform(graph: nx.Graph, sparse: bool | None = None) -> Matrix:
    """w_ij = 1 / (1 + d_i) for every neighbor j that i hears, and for i itself.

    Rows sum to one; columns do too exactly where the graph is regular (every neighbor counts the same
    everywhere), so on other graphs the mean is not kept and Definition 1 fails.
    """
    return row_stochastic(graph, sparse=sparse)


def row_stochastic(graph: nx.Graph, weight: str | None = None, sparse: bool | None = None) -> Matrix:
    """Each client divides by what it hears: w_ij = a_ij / sum_l a_il over in-neighbors and itself.

    ``weight`` names an edge attribute a_ij > 0 (default: all 1); a self-loop gives a_ii, else 1.
    """
    A = _strongly(graph, weight, "row_stochastic")
    return settle(sp.csr_array(sp.diags_array(1 / line_sums(A, axis=1)) @ A), sparse)


def column_stochastic(graph: nx.Graph, weight: str | None = None, sparse: bool | None = None) -> Matrix:
    """Each client divides what it sends: p_ij = a_ij / sum_l a_lj over out-neighbors and itself.

    Without ``weight`` this is DFedSGPSM's p_ij = 1 / |N_j^out|. Columns sum to one (the total is kept);
    rows need not, which push-sum repairs. ``weight`` as in :func:`row_stochastic`.
    """
    A = _strongly(graph, weight, "column_stochastic")
    return settle(sp.csr_array(A @ sp.diags_array(1 / line_sums(A, axis=0))), sparse)


# -- the rules on adjacency matrices, connected or not (a single round of a sequence may not be) ------


def metropolis_of(A: sp.csr_array) -> sp.csr_array:
    """Metropolis weights on a symmetric 0/1 adjacency matrix."""
    d = np.diff(A.indptr)
    links = sp.coo_array(A)
    i, j = links.coords
    w = 1.0 / (1.0 + np.maximum(d[i], d[j]))
    return _with_diagonal(i, j, w, A.shape[0])


def laplacian_weights_of(A: sp.csr_array, alpha: float) -> sp.csr_array:
    """I - alpha L on a symmetric 0/1 adjacency matrix."""
    i, j = sp.coo_array(A).coords
    return _with_diagonal(i, j, np.full(len(i), float(alpha)), A.shape[0])


def column_stochastic_of(A: sp.csr_array) -> sp.csr_array:
    """Out-degree weights on a 0/1 adjacency matrix A[i, j] = 1 where j sends to i."""
    A = sp.csr_array(A + sp.eye_array(A.shape[0], format="csr"))
    return sp.csr_array(A @ sp.diags_array(1 / line_sums(A, axis=0)))


def _with_diagonal(i: np.ndarray, j: np.ndarray, w: np.ndarray, m: int) -> sp.csr_array:
    """The links (i, j, w) and the diagonal that makes every row sum to one."""
    diagonal = 1.0 - np.bincount(i, weights=w, minlength=m)
    # a diagonal that is zero in exact arithmetic must not become a rounding error of either sign
    diagonal[np.abs(diagonal) <= 4 * np.finfo(float).eps * (1 + np.bincount(i, minlength=m))] = 0.0
    here = np.arange(m)
    data, rows, cols = np.r_[w, diagonal], np.r_[i, here], np.r_[j, here]
    W = sp.csr_array(sp.coo_array((data, (rows, cols)), shape=(m, m)))
    W.eliminate_zeros()
    return W


def _undirected(graph: nx.Graph, rule: str) -> sp.csr_array:
    if not isinstance(graph, nx.Graph):
        raise InputError(f"{rule} takes a networkx graph, not {type(graph).__name__}: see from_matrix")
    A = adjacency(graph)
    if graph.is_directed() and abs(A - A.T).nnz:
        i, j = next(zip(*(A - A.T > 0).nonzero()))
        names = nodes_in_order(graph)
        raise GraphError(
            f"{rule} needs links that work both ways, but {names[j]} -> {names[i]} has no way back: "
            "take graph.to_undirected() or column_stochastic(graph)"
        )
    check_connected(A, graph)
    return A


def _strongly(graph: nx.Graph, weight: str | None, rule: str) -> sp.csr_array:
    """Weighted adjacency with self-weights (1 where there is no self-loop), strongly connected."""
    if not isinstance(graph, nx.Graph):
        raise InputError(f"{rule} takes a networkx graph, not {type(graph).__name__}: see from_matrix")
    A = adjacency(graph)
    check_connected(A, graph)
    m = A.shape[0]
    if weight is None:
        return sp.csr_array(A + sp.eye_array(m, format="csr"))
    nodes = nodes_in_order(graph)
    B = sp.csr_array(nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=float).T)
    bad = ~(B.data > 0) | ~np.isfinite(B.data)
    if bad.any():
        raise InputError(f"{rule}: an edge has {weight} = {B.data[bad][0]}: it must be finite and above 0")
    own = B.diagonal()
    return sp.csr_array(B + sp.diags_array(np.where(own == 0, 1.0, 0.0)))


# -- the symmetric W on a graph that mixes fastest: a convex program ---------------------------------


def fastest_mixing(graph: nx.Graph, least: float = 0.0, sparse: bool | None = None) -> Matrix:
    """The symmetric doubly stochastic W on the links of ``graph`` with the smallest lambda.

        minimize t   subject to   -t I <= W - 11'/m <= t I,   W = I - sum_e w_e L_e,
                                  w_e >= least,   w_ii >= least

    ``least`` > 0 keeps every weight on links and diagonal positive, as Definition 1 asks (with 0 the
    optimum may have w_ii = 0, as on a path). Solved by clarabel through cvxpy (extra ``[convex]``), to about
    1e-8 in lambda; meant for m up to a few hundred clients. [Boyd, Diaconis and Xiao 2004]
    """
    if graph.is_directed():
        raise GraphError("fastest_mixing needs an undirected graph: take graph.to_undirected()")
    A = adjacency(graph)
    check_connected(A, graph)
    m = A.shape[0]
    largest = 1 / (1 + int(np.diff(A.indptr).max()))
    least = real("least", least)
    if not 0 <= least <= largest:
        raise InputError(f"least = {least} must be between 0 and {largest:.6g}, 1/(1 + the largest degree)")
    if m == 1:
        return settle(sp.csr_array(np.ones((1, 1))), sparse)
    cp = convex_solver("computing the fastest-mixing weights")
    i, j = sp.coo_array(sp.triu(A, 1)).coords
    edges, ones = np.arange(len(i)), np.ones(len(i))
    incidence = sp.csr_array((np.r_[ones, -ones], (np.r_[i, j], np.r_[edges, edges])), shape=(m, len(i)))
    w, t = cp.Variable(len(i)), cp.Variable()
    centered = np.eye(m) - 1.0 / m - incidence @ cp.diag(w) @ incidence.T
    bounded = [centered << t * np.eye(m), centered >> -t * np.eye(m)]
    problem = cp.Problem(cp.Minimize(t), [*bounded, w >= least, abs(incidence) @ w <= 1 - least])
    problem.solve(solver=cp.CLARABEL)
    if w.value is None:
        raise DFLTheoryError(f"the solver found no fastest-mixing weights: {problem.status}")
    found = np.maximum(np.asarray(w.value, dtype=float), least)  # by its tolerance onto the constraints
    heaviest = float((abs(incidence) @ found).max())
    found *= min(1.0, (1 - least) / heaviest)
    return settle(_with_diagonal(np.r_[i, j], np.r_[j, i], np.r_[found, found], m), sparse)


def convex_solver(what: str) -> Any:
    """Return cvxpy if it and clarabel are installed; ``what`` needs them."""
    try:
        import clarabel  # noqa: F401 - the solver that cvxpy is asked for
        import cvxpy
    except ImportError as error:
        raise MissingExtraError(what, "convex") from error
    return cvxpy


WEIGHT_RULES: dict[str, Callable[..., Matrix]] = {
    f.__name__: f
    for f in (
        *(metropolis, uniform, max_degree, lazy, laplacian),
        *(column_stochastic, row_stochastic, fastest_mixing),
    )
}
"""The weight rules by name."""


def weights(graph: nx.Graph, rule: str, /, **options: Any) -> Matrix:
    """The matrix that the rule called ``rule`` (see :data:`WEIGHT_RULES`; '-' counts as '_') gives."""
    key = rule.replace("-", "_")
    if key not in WEIGHT_RULES:
        raise UnknownNameError("weight rule", rule, set(WEIGHT_RULES))
    return call(f"weight rule {key}", WEIGHT_RULES[key], graph, options)


def default_weights(graph: nx.Graph, sparse: bool | None = None) -> Matrix:
    """Metropolis weights on an undirected graph, out-degree column-stochastic ones on a directed graph."""
    rule = column_stochastic if graph.is_directed() else metropolis
    return rule(graph, sparse=sparse)
