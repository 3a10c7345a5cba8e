"""Numbers of a network beyond its constants: sums and minima over its spectrum,
effective neighbors, diameter and average degree.

Each takes a symmetric matrix, or the name of a topology with ``m``, for which complete,
ring, torus, hypercube and others have closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.eigen import EPS, require_doubly_stochastic
from dfltheory.graphs.matrices import asymmetry, to_dense, tolerance
from dfltheory.graphs.spectral import eigenvalues, read_network


class WithError(NamedTuple):
    """A number, and what rounding of the eigenvalues may change of it."""

    value: float
    error: float


def spectrum_sum(
    W: Any,
    function: Callable[[np.ndarray], Any],
    *,
    m: int | None = None,
    **options: Any,
) -> float:
    """Return the sum of ``function(l)`` over all eigenvalues but the first, which is 1.

    Parameters
    ----------
    W : matrix, networkx graph or str
        Symmetric and doubly stochastic; or the name of a topology.
    function : callable
        Maps an array of eigenvalues to an array of values.
    m : int, optional
        Number of clients of a topology by name.
    **options
        Weight rule and options of a topology by name.

    Returns
    -------
    float
        The sum; :func:`sum_with_error` has its rounding error, too.

    Raises
    ------
    GraphError
        If W is not symmetric and doubly stochastic.
    """
    return sum_with_error(W, function, m=m, **options).value


def sum_with_error(
    W: Any,
    function: Callable[[np.ndarray], Any],
    *,
    m: int | None = None,
    **options: Any,
) -> WithError:
    """Return :func:`spectrum_sum` and its rounding error.

    The error is the sum of the changes of each term when its eigenvalue moves by its
    rounding error m eps.
    """
    terms, moved = _over_spectrum(W, function, m, options)
    error = moved.sum() + (len(terms) + 1) * EPS * np.abs(terms).sum()
    return WithError(float(terms.sum()), float(error))


def spectrum_min(
    W: Any,
    function: Callable[[np.ndarray], Any],
    *,
    m: int | None = None,
    **options: Any,
) -> float:
    """Return the least ``function(l)`` over all eigenvalues but the first, which is 1.

    The parameters and errors are those of :func:`spectrum_sum`.

    Raises
    ------
    GraphError
        If W is not symmetric and doubly stochastic, or has one client only.
    """
    return min_with_error(W, function, m=m, **options).value


def min_with_error(
    W: Any,
    function: Callable[[np.ndarray], Any],
    *,
    m: int | None = None,
    **options: Any,
) -> WithError:
    """Return :func:`spectrum_min` and its rounding error."""
    terms, moved = _over_spectrum(W, function, m, options)
    if not terms.size:
        raise GraphError("spectrum_min needs two clients or more: give a larger matrix")
    least = float(terms.min())
    error = float(moved.max() + 4 * EPS * abs(least))
    return WithError(least, error)


def _over_spectrum(
    W: Any,
    function: Callable[[np.ndarray], Any],
    m: int | None,
    options: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """The function at all eigenvalues but the first, and its changes by rounding."""
    values = _symmetric_spectrum(W, m, options)
    others = values[1:]
    step = max(len(values), 4) * EPS
    with np.errstate(all="ignore"):
        terms, low, high = (
            np.broadcast_to(np.asarray(function(at), dtype=float), others.shape)
            for at in (others, others - step, others + step)
        )
        return terms, np.maximum(np.abs(low - terms), np.abs(high - terms))


def effective_neighbors(
    W: Any, gamma: float, *, m: int | None = None, **options: Any
) -> float:
    """Return the effective number of neighbors at the decay ``gamma``.

    That is 1/(1 - gamma) over the mean of l^2/(1 - gamma l^2) over all eigenvalues:
    between 1 and m for nonnegative weights.

    References
    ----------
    Vogels, Hendrikx and Jaggi (2023), Definition 1 and eq. (6).
    """
    return neighbors_with_error(W, gamma, m=m, **options).value


def neighbors_with_error(
    W: Any, gamma: float, *, m: int | None = None, **options: Any
) -> WithError:
    """Return :func:`effective_neighbors` and its rounding error."""
    if not 0 <= gamma < 1:
        raise InputError(f"effective_neighbors: gamma = {gamma} must be in [0, 1)")
    values = _symmetric_spectrum(W, m, options)
    n = len(values)
    rest = np.minimum(values[1:] ** 2, 1.0)
    total = 1 + (1 - gamma) * float((rest / (1 - gamma * rest)).sum())
    # a square moves by 2 n eps, its term by that over (1 - gamma)
    step = 2 * max(n, 4) * EPS
    moved = float(((1 - gamma) * step / (1 - gamma * rest) ** 2).sum())
    return WithError(n / total, n / total * (moved / total + 2 * n * EPS))


def diameter(W: Any) -> float:
    """Return the largest number of links between two clients.

    Infinite if no path joins them.
    """
    graph = _links(W)
    joins = nx.is_strongly_connected if graph.is_directed() else nx.is_connected
    return float(nx.diameter(graph)) if joins(graph) else float("inf")


def average_degree(W: Any) -> float:
    """Return the mean number of neighbors that a client receives from, itself
    excluded.
    """
    A = to_dense(read_network(W)[0])
    return float((np.count_nonzero(A) - np.count_nonzero(np.diag(A))) / len(A))


def _links(W: Any) -> Any:
    A = to_dense(read_network(W)[0]) != 0
    np.fill_diagonal(A, False)
    kind = nx.Graph if np.array_equal(A, A.T) else nx.DiGraph
    return nx.from_numpy_array(A.astype(int), create_using=kind)


def _symmetric_spectrum(W: Any, m: int | None, options: dict[str, Any]) -> np.ndarray:
    """All eigenvalues in descending order."""
    if isinstance(W, str):
        values = eigenvalues(W, m=m, **options)
        if np.iscomplexobj(values):
            raise GraphError(f"sums over the spectrum need a symmetric W, not {W!r}")
        return values
    A, eps = read_network(W)
    require_doubly_stochastic(A, eps)
    if asymmetry(A) > float(tolerance(eps, 1)):
        raise GraphError("sums over the spectrum need a symmetric W")
    dense = to_dense(A)
    return np.linalg.eigvalsh((dense + dense.T) / 2)[::-1]


__all__ = [
    "WithError",
    "average_degree",
    "diameter",
    "effective_neighbors",
    "min_with_error",
    "neighbors_with_error",
    "spectrum_min",
    "spectrum_sum",
    "sum_with_error",
]
