"""Conversion of matrices (dense, sparse, networkx, torch) to float64 arrays."""

from __future__ import annotations

import inspect
import numbers
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, TypeVar

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError, whole_number
from dfltheory.graphs.graph_types import Graph, edges_with, weights_by_sender

MatrixResult = TypeVar("MatrixResult")
Matrix = np.ndarray | sp.csr_array
"""A square float64 matrix, dense or CSR."""

ROUNDING_UNIT = float(np.finfo(float).eps)
"""The rounding unit of float64."""

LARGEST_DENSE = 20_000
"""Largest number of clients for a dense copy (3.2 GB; its spectrum takes an hour)."""
DENSE_LIMIT = 2048
"""Largest number of clients for which weight rules return a dense array."""


def nodes_in_order(graph: Graph) -> list[object]:
    """Return the nodes in the order of the rows of matrices.

    Parameters
    ----------
    graph : networkx.Graph
        The graph.

    Returns
    -------
    list
        0..m-1 if these are the nodes; otherwise the nodes in insertion order.
    """
    m = graph.number_of_nodes()
    are_integers = all(isinstance(node, (int, np.integer)) for node in graph)
    if are_integers and set(graph) == set(range(m)):
        return list(range(m))
    return list(graph)


def adjacency(graph: Graph) -> sp.csr_array:
    """Return the adjacency matrix without self-loops.

    Parameters
    ----------
    graph : networkx.Graph
        At least one node.

    Returns
    -------
    (m, m) sparse array
        A[i, j] = 1 if i receives from j (an arc j -> i), else 0.
    """
    m = graph.number_of_nodes()
    if m == 0:
        raise GraphError("the graph has 0 nodes: a network needs at least 1")
    links = weights_by_sender(graph, nodes_in_order(graph), None)
    i, j = links.tocoo().coords
    is_link = i != j
    ones = np.ones(int(is_link.sum()))
    entries = (ones, (j[is_link], i[is_link]))
    A = sp.coo_array(entries, shape=(m, m)).tocsr()
    A.data[:] = 1.0  # parallel edges of a multigraph are one link
    return A


def is_graph(network: object) -> TypeGuard[Graph]:
    """Return whether an object is a networkx graph of any type."""
    return isinstance(network, nx.Graph)


def is_unweighted_graph(network: object) -> TypeGuard[Graph]:
    """Return whether an object is a networkx graph with an edge without weight."""
    return is_graph(network) and not nx.is_weighted(network)


def read_matrix(W: object, what: str = "the mixing matrix") -> tuple[Matrix, float]:
    """Convert a matrix to float64, and return the rounding unit of its type.

    Parameters
    ----------
    W : object
        A dense array (anything that numpy accepts), a scipy sparse matrix, a torch
        tensor (dense or sparse), or a networkx graph whose edges have a ``weight``.
        For a graph, W[i, j] is the weight of j -> i, and self-loops set the diagonal.
    what : str
        Name of the matrix in messages.

    Returns
    -------
    W : (m, m) float64 array or CSR array
        It may share memory with the argument, so it must not be changed;
        :func:`as_matrix` returns a copy.
    eps : float
        The rounding unit.

    Raises
    ------
    GraphError
        If the shape or type is wrong. Values are not checked.
    """
    if is_graph(W):
        return _from_networkx(W), ROUNDING_UNIT
    if type(W).__module__.split(".")[0] == "torch":
        return _from_torch(W, what)
    if is_sparse(W):
        _check_square(W.shape, what)
        _check_real(W.dtype, what)
        eps = _eps(W.dtype)
        S = sp.csr_array(W, copy=True).astype(float)
        S.sum_duplicates()
        S.eliminate_zeros()
        return S, eps
    try:
        dense = np.asarray(W)
    except ValueError as error:
        raise GraphError(
            f"{what} has rows of unequal length: it must be m x m"
        ) from error
    _check_square(dense.shape, what)
    _check_real(dense.dtype, what)
    return dense.astype(float, copy=False), _eps(dense.dtype)


def as_matrix(W: object, what: str = "the mixing matrix") -> Matrix:
    """Return a float64 copy of a matrix; parameters as in :func:`read_matrix`.

    Returns
    -------
    (m, m) array or CSR array
        The copy.
    """
    A, _ = read_matrix(W, what)
    return A.copy()


def support(W: Matrix) -> sp.csr_array:
    """Return the (m, m) links of W: ones where w_ij != 0 and i != j, as a CSR array."""
    S = sp.coo_array(W)
    i, j = S.coords
    keep = (i != j) & (S.data != 0)
    return sp.coo_array(
        (np.ones(int(keep.sum())), (i[keep], j[keep])), shape=S.shape
    ).tocsr()


def as_sparse_or_dense(W: sp.csr_array, sparse: bool | None) -> Matrix:
    """Return W as a sparse or a dense matrix.

    Parameters
    ----------
    W : (m, m) sparse array
        The matrix.
    sparse : bool or None
        Type of the result; None selects dense up to :data:`DENSE_LIMIT` clients.

    Returns
    -------
    (m, m) matrix
        The matrix.
    """
    if sparse is None:
        sparse = W.shape[0] > DENSE_LIMIT
    return W if sparse else W.toarray()


def is_sparse(W: object) -> TypeGuard[sp.csr_array]:
    """Return whether W is the sparse type of :data:`Matrix`."""
    return sp.issparse(W)


def to_dense(W: Matrix) -> np.ndarray:
    """Return W as a numpy array.

    Parameters
    ----------
    W : (m, m) matrix
        The matrix.

    Raises
    ------
    InputError
        If W is sparse with more than :data:`LARGEST_DENSE` clients.
    """
    if not is_sparse(W):
        return np.asarray(W)
    m = W.shape[0]
    if m > LARGEST_DENSE:
        size = 8e-9 * m**2
        raise InputError(
            f"m = {m}: a dense W takes {size:.3g} GB: take m <= {LARGEST_DENSE}"
        )
    return W.toarray()


def compress(W: np.ndarray) -> sp.csr_array:
    """Convert a dense square array to CSR, faster than scipy does."""
    m = W.shape[0]
    flat = np.flatnonzero(W)
    rows = flat // m
    indptr = np.r_[0, np.cumsum(np.bincount(rows, minlength=m))]
    return sp.csr_array((W.ravel()[flat], flat - rows * m, indptr), shape=W.shape)


def entries(W: Matrix) -> np.ndarray:
    """Return the stored values of W as one array."""
    return W.data if is_sparse(W) else np.asarray(W).ravel()


def line_sums(W: Matrix, axis: int) -> np.ndarray:
    """Return the sums (m,) of the columns (axis 0) or rows (axis 1)."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinite sums are allowed
        return np.asarray(W.sum(axis=axis)).ravel()


def line_counts(W: Matrix, axis: int) -> np.ndarray:
    """Return the numbers (m,) of nonzeros in columns (axis 0) or rows (axis 1)."""
    return np.asarray(W.astype(bool).sum(axis=axis)).ravel()


def asymmetry(W: Matrix) -> float:
    """Return max |w_ij - w_ji|."""
    return float(abs(W - W.T).max())


def sum_tolerances(eps: float, terms: np.ndarray) -> np.ndarray:
    """Return the largest rounding errors of sums of weights.

    Each weight has a relative error of eps/2, and each addition one of eps/2, so
    4 eps (1 + terms) is an upper bound. The tolerance is at least 1e-10, which covers
    products of matrices and solvers; no bound is sensitive to it.

    Parameters
    ----------
    eps : float
        Rounding unit of the weights.
    terms : array of int
        Number of weights in each sum.
    """
    return np.maximum(1e-10, 4.0 * eps * (1.0 + terms))


def entry_tolerance(eps: float) -> float:
    """Return the largest rounding error of one weight, see :func:`sum_tolerances`."""
    return max(1e-10, 8.0 * eps)


def worst_sum(W: Matrix, axis: int, eps: float) -> tuple[int, float] | None:
    """Return the row or column whose sum differs most from 1.

    Parameters
    ----------
    W : (m, m) matrix
        The matrix.
    axis : {0, 1}
        0 for columns, 1 for rows.
    eps : float
        Rounding unit of the weights.

    Returns
    -------
    (int, float) or None
        Its index and sum; None if all differences are within rounding error.
    """
    sums = line_sums(W, axis)
    excess = np.abs(sums - 1.0) - sum_tolerances(eps, line_counts(W, axis))
    worst = int(np.argmax(excess))
    return (worst, float(sums[worst])) if excess[worst] > 0 else None


def check_clients(m: object) -> int:
    """Return the number of clients as an int; raise InputError unless it is >= 1."""
    return whole_number("m", m, at_least=1)


def call(
    what: str,
    f: Callable[..., MatrixResult],
    subject: object,
    options: Mapping[str, object],
) -> MatrixResult:
    """Call a function with keyword options, after checking their names.

    Parameters
    ----------
    what : str
        Name of the function in messages.
    f : callable
        The function.
    subject : object
        Its first argument.
    options : mapping of str to object
        Its keyword arguments.

    Raises
    ------
    InputError
        If the function does not have one of the options.
    """
    known = list(inspect.signature(f).parameters)[1:]
    unknown = [name for name in options if name not in known]
    if unknown:
        listed = ", ".join(known) or "no options"
        raise InputError(
            f"{what} does not take {', '.join(unknown)}: it takes {listed}"
        )
    return f(subject, **options)


def real(name: str, value: object) -> float:
    """Return a real number as a float; its range is not checked.

    Parameters
    ----------
    name : str
        Name of the argument in messages.
    value : object
        The number.

    Raises
    ------
    InputError
        If it is not a real number.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} = {value!r} must be a number")
    return float(value)


def _from_networkx(graph: Graph) -> sp.csr_array:
    """Return the edge weights of a graph; raise GraphError if an edge has none."""
    if graph.number_of_nodes() == 0:
        raise GraphError("the graph has 0 nodes: a network needs at least 1")
    for u, v, weight in edges_with(graph, "weight"):
        if weight is None:
            raise GraphError(
                f"edge ({u}, {v}) has no weight: give every edge one, or use a weight"
                " rule such as metropolis(graph)"
            )
    A = weights_by_sender(graph, nodes_in_order(graph), "weight")
    return sp.csr_array(A.T)


def _from_torch(W: Any, what: str) -> tuple[Matrix, float]:
    """Convert a torch tensor, dense or sparse, as :func:`read_matrix` does."""
    # The caller has imported torch; this package must not.
    torch = sys.modules["torch"]
    _check_square(tuple(W.shape), what)
    if W.dtype.is_complex:
        raise GraphError(f"{what} is complex: weights are real numbers")
    eps = ROUNDING_UNIT
    if W.dtype.is_floating_point:
        eps = max(float(torch.finfo(W.dtype).eps), ROUNDING_UNIT)
    values = W.detach().cpu().double()
    if values.layout == torch.strided:
        return values.numpy(), eps
    entries = values.to_sparse_coo().coalesce()
    i, j = entries.indices().numpy()
    weights = entries.values().numpy().copy()
    S = sp.csr_array(sp.coo_array((weights, (i, j)), shape=tuple(W.shape)))
    S.eliminate_zeros()
    return S, eps


def _check_square(shape: tuple[int, ...], what: str) -> None:
    """Raise GraphError unless a shape is (m, m) with m >= 1."""
    if len(shape) != 2 or shape[0] != shape[1]:
        text = "x".join(map(str, shape)) or "of a single number"
        raise GraphError(f"{what} has shape {text}: it must be m x m")
    if shape[0] == 0:
        raise GraphError(f"{what} is empty: a network needs at least 1 client")


def _check_real(dtype: np.dtype, what: str) -> None:
    """Raise GraphError unless a type holds real numbers."""
    if dtype.kind == "c":
        raise GraphError(f"{what} is complex: weights are real numbers")
    if dtype.kind not in "biuf":
        raise GraphError(f"{what} has the type {dtype}: weights are real numbers")


def _eps(dtype: np.dtype) -> float:
    """Return the rounding unit of a type, at least that of float64."""
    return (
        max(float(np.finfo(dtype).eps), ROUNDING_UNIT)
        if dtype.kind == "f"
        else ROUNDING_UNIT
    )
