"""Checks of the individual laws of a mixing matrix.

Each check returns None if the law holds, and otherwise one violation: the largest, or
the first where violations have no size (entries that are not finite, missing links).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import scipy.sparse as sp

from dfltheory.graphs.assumptions import Failure
from dfltheory.graphs.connectivity import components
from dfltheory.graphs.eigen import extreme_eigenvalues
from dfltheory.graphs.graph_types import Graph, graph_of_links, is_bipartite
from dfltheory.graphs.matrices import (
    entry_tolerance,
    line_sums,
    nodes_in_order,
    read_matrix,
    sum_tolerances,
    support,
)

Violation = tuple[str, float, float, str]
"""Location of a violation, its value, the tolerance, and a message."""


class CheckedMatrix:
    """A matrix with its tolerances for entries and for sums.

    Parameters
    ----------
    W : matrix
        Anything that ``read_matrix`` accepts.
    tol : float or None
        Absolute tolerance; None derives it from the rounding unit.
    eps : float
        Rounding unit of the original type, if W has been converted.

    Attributes
    ----------
    allowed : (m, m) sparse array or None
        Links of the network that W may use.
    broken : set of str
        Laws found to be broken so far.
    """

    def __init__(self, W: object, tol: float | None, eps: float = 0.0):
        self.W, own_eps = read_matrix(W)
        eps = max(eps, own_eps)
        self.m = self.W.shape[0]
        self.broken: set[str] = set()
        self.allowed: sp.csr_array | None = None
        self.coo = sp.coo_array(self.W)
        self.entry_tol = entry_tolerance(eps) if tol is None else tol
        self.sum_tol: list[np.ndarray] = []  # of rows, and of columns
        for index in self.coo.coords:
            if tol is None:
                counts = np.bincount(index, minlength=self.m)
                self.sum_tol.append(sum_tolerances(eps, counts))
            else:
                self.sum_tol.append(np.full(self.m, tol))

    @functools.cached_property
    def links(self) -> sp.csr_array:
        """The off-diagonal links of W, as ones."""
        return support(self.W)

    @functools.cached_property
    def parts(self) -> tuple[int, np.ndarray]:
        """Number of connected components, and the component of each client."""
        return components(self.links)

    def at(self, i: int, j: int) -> float:
        """Return w_ij."""
        return float(self.W[i, j])  # type: ignore[index]

    def stored(self, k: int) -> tuple[int, int, float]:
        """Return row, column and value of the k-th stored entry."""
        i, j = (int(index[k]) for index in self.coo.coords)
        return i, j, float(self.coo.data[k])


def _check_finite(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that every entry is finite."""
    bad = np.flatnonzero(~np.isfinite(matrix.coo.data))
    if not len(bad):
        return None
    i, j, value = matrix.stored(bad[0])
    more = f" (and {len(bad) - 1} more entries)" if len(bad) > 1 else ""
    message = f"entry ({i}, {j}) is {value}, not a finite number{more}"
    return f"({i}, {j})", value, 0.0, message


def _check_range(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that every entry lies in [0, 1]."""
    excess = np.maximum(-matrix.coo.data, matrix.coo.data - 1.0)
    if not len(excess) or excess.max() <= matrix.entry_tol:
        return None
    i, j, value = matrix.stored(int(np.argmax(excess)))
    problem = "negative" if value < 0 else "above 1"
    message = f"entry ({i}, {j}) is {value:.6g}, {problem}: weights lie in [0, 1]"
    return f"({i}, {j})", value, matrix.entry_tol, message


def _check_graph(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that W has no weight where the graph has no link."""
    if graph is None or matrix.allowed is None:
        return None
    i, j = matrix.coo.coords
    size = np.abs(matrix.coo.data)
    heavy = (size > matrix.entry_tol) & (i != j)
    shape = (matrix.m, matrix.m)
    used = sp.csr_array(sp.coo_array((size[heavy], (i[heavy], j[heavy])), shape=shape))
    outside = sp.coo_array(used - used.multiply(matrix.allowed))
    outside.eliminate_zeros()
    if not outside.nnz:
        return None
    a, b = (int(index[0]) for index in outside.coords)
    names = nodes_in_order(graph)
    value = matrix.at(a, b)
    arc = f"from {names[b]} to {names[a]}"
    message = f"entry ({a}, {b}) is {value:.6g}, but the graph has no link {arc}"
    return f"({a}, {b})", value, matrix.entry_tol, message


def _check_links(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that every link of the graph has a weight."""
    if graph is None or matrix.allowed is None:
        return None
    i, j = sp.coo_array(matrix.allowed).coords
    weights = np.empty(0)
    if len(i):
        weights = np.asarray(sp.csr_array(matrix.W)[i, j]).ravel()
    missing = np.flatnonzero(weights == 0)
    if not len(missing):
        return None
    a = int(i[missing[0]])
    b = int(j[missing[0]])
    names = nodes_in_order(graph)
    message = (
        f"entry ({a}, {b}) is 0, but the graph has a link from {names[b]} to"
        f" {names[a]}: its weight must be above 0"
    )
    return f"({a}, {b})", 0.0, 0.0, message


def _check_self_weights(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that the diagonal is positive."""
    diagonal = matrix.W.diagonal()
    bad = np.flatnonzero(~(diagonal > 0))
    if not len(bad):
        return None
    i = int(bad[np.argmin(diagonal[bad])])
    message = f"entry ({i}, {i}) is {diagonal[i]:.6g}: the diagonal must be > 0"
    return f"({i}, {i})", diagonal[i], 0.0, message


def _check_symmetry(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that W = W'."""
    difference = abs(matrix.W - matrix.W.T)
    if float(difference.max()) <= matrix.entry_tol:
        return None
    i, j = sorted(divmod(int(difference.argmax()), matrix.m))  # type: ignore[arg-type]
    upper = matrix.at(i, j)
    lower = matrix.at(j, i)
    message = f"entry ({i}, {j}) is {upper:.6g} but ({j}, {i}) is {lower:.6g}"
    return f"({i}, {j})", upper - lower, matrix.entry_tol, message


def _check_row_sums(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that each row sums to 1."""
    return _check_sums(matrix, axis=1)


def _check_column_sums(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that each column sums to 1."""
    return _check_sums(matrix, axis=0)


def _check_sums(matrix: CheckedMatrix, axis: int) -> Violation | None:
    """Check that the rows (axis 1) or columns (axis 0) sum to 1."""
    sums = line_sums(matrix.W, axis=axis)
    tol = matrix.sum_tol[1 - axis]
    deviation = np.abs(sums - 1.0)
    k = int(np.argmax(deviation - tol))
    if deviation[k] <= tol[k]:
        return None
    value = float(sums[k])
    line = f"row {k}" if axis == 1 else f"column {k}"
    shown = f"{value:.5g}" if abs(value - 1) > 1e-3 else f"{value:.12g}"
    message = f"{line} sums to {shown}, not 1 (tolerance {tol[k]:.1g})"
    return line, value, tol[k], message


def _check_null_space(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that W is connected.

    For nonnegative weights, the multiplicity of the eigenvalue 1 is the number of
    closed classes, so the check is combinatorial and free of rounding errors.
    """
    count, label = matrix.parts
    if count == 1:
        return None
    smallest = int(np.bincount(label).min())
    other = int(np.argmax(label != label[0]))
    nodes = "node" if smallest == 1 else "nodes"
    message = (
        f"disconnected: no path of weights joins node 0 to node {other} ({count}"
        f" components, the smallest of {smallest} {nodes})"
    )
    return f"nodes 0 and {other}", count, 0.0, message


def _check_spectrum(matrix: CheckedMatrix, graph: Graph | None) -> Violation | None:
    """Check that the eigenvalues of W lie in (-1, 1]."""
    if (matrix.coo.data < -matrix.entry_tol).any():
        return _check_eigenvalues(matrix)
    return _check_periodicity(matrix)


def _check_eigenvalues(matrix: CheckedMatrix) -> Violation | None:
    """Check that the eigenvalues of W lie in (-1, 1]."""
    if "row sums" in matrix.broken:
        return None  # wrong row sums shift the spectrum and are already reported
    low, high, error = extreme_eigenvalues(matrix.W)
    tol = max(matrix.entry_tol, error)
    if low <= -1.0 + tol:
        problem = "periodic" if low >= -1.0 - tol else "W^t diverges"
        message = f"eigenvalue {low:.6g} ({problem}): it must be above -1"
        return "the least eigenvalue", low, tol, message
    if high > 1.0 + tol:
        message = f"eigenvalue {high:.6g} is above 1: W^t diverges"
        return "the largest eigenvalue", high, tol, message
    return None


def _check_periodicity(matrix: CheckedMatrix) -> Violation | None:
    """Check a nonnegative W for the eigenvalue -1.

    It has this eigenvalue if and only if a component is bipartite and has no
    self-weight.
    """
    count, label = matrix.parts
    has_self_weight = np.zeros(count, dtype=bool)
    np.logical_or.at(has_self_weight, label, matrix.W.diagonal() > 0)
    for part in np.flatnonzero(~has_self_weight):
        nodes = np.flatnonzero(label == part)
        if len(nodes) <= 1:
            continue
        component = graph_of_links(matrix.links[nodes][:, nodes])
        if is_bipartite(component):
            first = int(nodes[0])
            message = (
                f"eigenvalue -1 (periodic): the component of node {first} with"
                f" {len(nodes)} nodes is bipartite: make some w_ii > 0"
            )
            return f"the component of node {first}", -1.0, 0.0, message
    return None


_CHECKS: dict[str, Callable[[CheckedMatrix, Graph | None], Violation | None]] = {
    "finite": _check_finite,
    "range": _check_range,
    "graph": _check_graph,
    "links": _check_links,
    "self-weights": _check_self_weights,
    "symmetry": _check_symmetry,
    "row sums": _check_row_sums,
    "column sums": _check_column_sums,
    "null space": _check_null_space,
    "spectrum": _check_spectrum,
}
"""The check of each law; "shape" is checked when the matrix is read."""


def broken_laws(
    matrix: CheckedMatrix, names: Iterable[str], graph: Graph | None = None
) -> Iterator[Failure]:
    """Yield the laws that a matrix breaks; stop after a failure of "finite".

    Parameters
    ----------
    matrix : CheckedMatrix
        The matrix.
    names : iterable of str
        Names of the laws to check.
    graph : networkx.Graph, optional
        The network whose links the matrix may use.

    Yields
    ------
    Failure
        Each broken law.
    """
    for law in names:
        if law not in _CHECKS:
            continue
        violation = _CHECKS[law](matrix, graph)
        if violation is None:
            continue
        matrix.broken.add(law)
        place, value, tol, message = violation
        yield Failure(law, place, float(value), float(tol), message)
        if law == "finite":
            return
