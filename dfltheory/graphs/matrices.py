"""One way in for matrices (dense, sparse, networkx or torch: numpy float64 or scipy CSR) and for options."""

from __future__ import annotations

import functools
import inspect
import numbers
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError, whole_number

Matrix = np.ndarray | sp.csr_array
"""A square float64 matrix, dense or in compressed rows."""

ROUNDING = float(np.finfo(float).eps)
"""The rounding unit of float64."""

LARGEST_DENSE = 20_000
"""Clients up to which a sparse matrix is ever made dense (3.2 GB; its spectrum takes minutes or an hour)."""
DENSE_LIMIT = 2048
"""Weight rules return a dense array up to this many clients, and compressed sparse rows above it."""


def nodes_in_order(graph: nx.Graph) -> list[Any]:
    """Row i of every matrix belongs to node i where the nodes are 0..m-1, else to the i-th node added."""
    m = graph.number_of_nodes()
    if all(isinstance(v, (int, np.integer)) for v in graph) and set(graph) == set(range(m)):
        return list(range(m))
    return list(graph)


def adjacency(graph: nx.Graph) -> sp.csr_array:
    """A (m, m) of zeros and ones without self-loops: A[i, j] = 1 where i hears j (an arc j -> i)."""
    m = graph.number_of_nodes()
    if m == 0:
        raise GraphError("the graph has 0 nodes: a network needs at least 1")
    unweighted: Any = None
    links = nx.to_scipy_sparse_array(graph, nodelist=nodes_in_order(graph), weight=unweighted, dtype=float)
    i, j = links.tocoo().coords
    off = i != j
    ones = np.ones(int(off.sum()))
    A = sp.coo_array((ones, (j[off], i[off])), shape=(m, m)).tocsr()
    A.data[:] = 1.0  # parallel edges of a multigraph are one link
    return A


def read_matrix(W: Any, what: str = "the mixing matrix") -> tuple[Matrix, float]:
    """W as a float64 matrix, and the rounding unit of the type that it came in.

    Accepts a dense array (anything numpy reads), a scipy sparse matrix, a torch tensor (dense or sparse;
    torch itself is never imported here) and a networkx graph whose edges carry ``weight``: then
    W[i, j] is the weight of j -> i and self-loops are the diagonal. Wrong shapes and types raise
    :class:`GraphError`; values are not judged here. The result may share its memory with W: do not write
    to it (:func:`as_matrix` gives a copy).
    """
    if isinstance(W, nx.Graph):
        return _from_networkx(W), ROUNDING
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
        raise GraphError(f"{what} has rows of unequal length: it must be m x m") from error
    _check_square(dense.shape, what)
    _check_real(dense.dtype, what)
    return dense.astype(float, copy=False), _eps(dense.dtype)


def as_matrix(W: Any, what: str = "the mixing matrix") -> Matrix:
    """A copy of W as a float64 numpy array or CSR array; see :func:`read_matrix`."""
    A, _ = read_matrix(W, what)
    return A.copy()


def support(W: Matrix) -> sp.csr_array:
    """The off-diagonal links of W: ones where w_ij != 0 and i != j."""
    S = sp.coo_array(W)
    i, j = S.coords
    keep = (i != j) & (S.data != 0)
    return sp.coo_array((np.ones(int(keep.sum())), (i[keep], j[keep])), shape=S.shape).tocsr()


def settle(W: sp.csr_array, sparse: bool | None) -> Matrix:
    """W in the form asked for: sparse, dense, or by size where ``sparse`` is None (see DENSE_LIMIT)."""
    if sparse is None:
        sparse = W.shape[0] > DENSE_LIMIT
    return W if sparse else W.toarray()


def is_sparse(W: Any) -> TypeGuard[sp.csr_array]:
    """Whether W is the sparse kind of :data:`Matrix`."""
    return sp.issparse(W)


def to_dense(W: Matrix) -> np.ndarray:
    """W as a numpy array; a sparse one of more than :data:`LARGEST_DENSE` clients is refused."""
    if not is_sparse(W):
        return np.asarray(W)
    if (m := W.shape[0]) > LARGEST_DENSE:
        raise InputError(
            f"m = {m}: this needs W as a dense array of {8e-9 * m**2:.3g} GB: take m <= {LARGEST_DENSE}"
        )
    return W.toarray()


def compress(W: np.ndarray) -> sp.csr_array:
    """CSR of a dense array, by the flat positions of its non-zeros (faster than scipy's own way)."""
    m = W.shape[0]
    flat = np.flatnonzero(W)
    rows = flat // m
    indptr = np.r_[0, np.cumsum(np.bincount(rows, minlength=m))]
    return sp.csr_array((W.ravel()[flat], flat - rows * m, indptr), shape=W.shape)


def entries(W: Matrix) -> np.ndarray:
    """The stored values of W, in one line."""
    return W.data if is_sparse(W) else np.asarray(W).ravel()


def line_sums(W: Matrix, axis: int) -> np.ndarray:
    """Sums of the columns (axis 0) or rows (axis 1), shape (m,)."""
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite sum is told as such
        return np.asarray(W.sum(axis=axis)).ravel()


def line_counts(W: Matrix, axis: int) -> np.ndarray:
    """How many non-zeros each column (axis 0) or row (axis 1) has, shape (m,)."""
    nonzero: Any = W != 0
    return np.asarray(nonzero.sum(axis=axis)).ravel()


def asymmetry(W: Matrix) -> float:
    """max |w_ij - w_ji|."""
    return float(abs(W - W.T).max())


def tolerance(eps: float, terms: np.ndarray | int) -> Any:
    """How far a sum of ``terms`` weights may be from its exact value by rounding alone.

    Each weight is off by eps/2 of itself and each addition by eps/2 of the sum, so that 4 eps (1 + terms)
    is generous; 1e-10 is allowed in any case (products of matrices, solvers), far below what any bound sees.
    """
    return np.maximum(1e-10, 4.0 * eps * (1.0 + np.asarray(terms)))


def worst_sum(W: Matrix, axis: int, eps: float) -> tuple[int, float] | None:
    """The column (axis 0) or row (axis 1) whose sum is farthest from 1, and that sum; None where rounding by
    ``eps`` explains them all."""
    sums = line_sums(W, axis)
    off = np.abs(sums - 1.0) - tolerance(eps, line_counts(W, axis))
    worst = int(np.argmax(off))
    return (worst, float(sums[worst])) if off[worst] > 0 else None


check_clients = functools.partial(whole_number, "m", at_least=1)
"""m as an int >= 1."""


def call(what: str, f: Callable[..., Any], subject: Any, options: Mapping[str, Any]) -> Any:
    """f(subject, **options), or :class:`InputError` naming the options that ``f`` does not have."""
    known = list(inspect.signature(f).parameters)[1:]
    unknown = [name for name in options if name not in known]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes no options"
        raise InputError(f"{what} does not take {', '.join(unknown)}: {takes}")
    return f(subject, **options)


def real(name: str, value: Any) -> float:
    """``value`` as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} = {value!r} must be a number")
    return float(value)


def _from_networkx(graph: nx.Graph) -> sp.csr_array:
    if graph.number_of_nodes() == 0:
        raise GraphError("the graph has 0 nodes: a network needs at least 1")
    for u, v, weight in graph.edges(data="weight"):
        if weight is None:
            raise GraphError(
                f"edge ({u}, {v}) has no weight: a graph is a matrix only where every edge carries one; "
                "use a weight rule such as metropolis(graph)"
            )
    A = nx.to_scipy_sparse_array(graph, nodelist=nodes_in_order(graph), weight="weight", dtype=float)
    return sp.csr_array(A.T)


def _from_torch(W: Any, what: str) -> tuple[Matrix, float]:
    torch = sys.modules["torch"]  # the caller holds a tensor, so it is there
    _check_square(tuple(W.shape), what)
    if W.dtype.is_complex:
        raise GraphError(f"{what} is complex: weights are real numbers")
    eps = max(float(torch.finfo(W.dtype).eps), ROUNDING) if W.dtype.is_floating_point else ROUNDING
    W = W.detach().cpu().double()
    if W.layout == torch.strided:
        return W.numpy(), eps
    W = W.to_sparse_coo().coalesce()
    i, j = W.indices().numpy()
    S = sp.csr_array(sp.coo_array((W.values().numpy().copy(), (i, j)), shape=tuple(W.shape)))
    S.eliminate_zeros()
    return S, eps


def _check_square(shape: tuple[int, ...], what: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(
            f"{what} has shape {'x'.join(map(str, shape)) or 'of a single number'}: it must be m x m"
        )
    if shape[0] == 0:
        raise GraphError(f"{what} is empty: a network needs at least 1 client")


def _check_real(dtype: np.dtype, what: str) -> None:
    if dtype.kind == "c":
        raise GraphError(f"{what} is complex: weights are real numbers")
    if dtype.kind not in "biuf":
        raise GraphError(f"{what} holds {dtype} instead of numbers")


def _eps(dtype: np.dtype) -> float:
    return max(float(np.finfo(dtype).eps), ROUNDING) if dtype.kind == "f" else ROUNDING
