"""Further quantities of a network: spectral sums, diameter, degrees, heterogeneity.

Functions of the spectrum take a symmetric matrix, or the name of a topology with ``m``;
complete graphs, rings, tori, hypercubes and others have closed forms. Matrices of these
topologies are recognized at any size: one Fourier transform computes the spectrum, and
one search from a single client computes the diameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.circulant import group_kernel
from dfltheory.graphs.closed_forms import closed_form_eigenvalues
from dfltheory.graphs.eigen import (
    DENSE_SPECTRUM,
    EPS,
    fft_error,
    require_doubly_stochastic,
)
from dfltheory.graphs.matrices import (
    Matrix,
    asymmetry,
    compress,
    entry_tolerance,
    is_sparse,
    to_dense,
)
from dfltheory.graphs.spectral import NamedOptions, read_network

LARGEST_WITHOUT_CLOSED_FORM = 5000
"""Largest number of clients for functions of all eigenvalues or of all distances.

Closed forms and matrices that depend only on client differences have no such limit. The
computation takes about half a minute.
"""


class WithError(NamedTuple):
    """A number and a bound of its rounding error."""

    value: float
    error: float


def spectrum_sum(
    W: object,
    function: Callable[[np.ndarray], ArrayLike],
    *,
    m: int | None = None,
    **options: Unpack[NamedOptions],
) -> float:
    """Return the sum of ``function(l)`` over the eigenvalues of W.

    The eigenvalue 1 of the vector of ones is left out.

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
        The sum; :func:`sum_with_error` also returns its rounding error.

    Raises
    ------
    GraphError
        If W is not symmetric and doubly stochastic.
    """
    return sum_with_error(W, function, m=m, **options).value


def sum_with_error(
    W: object,
    function: Callable[[np.ndarray], ArrayLike],
    *,
    m: int | None = None,
    **options: Unpack[NamedOptions],
) -> WithError:
    """Return :func:`spectrum_sum` and its rounding error.

    The error is the sum over all terms of the change when the eigenvalue moves by its
    own rounding error, m eps.
    """
    terms, shifts = _over_spectrum(W, function, m, options)
    error = shifts.sum() + (len(terms) + 1) * EPS * np.abs(terms).sum()
    return WithError(float(terms.sum()), float(error))


def spectrum_min(
    W: object,
    function: Callable[[np.ndarray], ArrayLike],
    *,
    m: int | None = None,
    **options: Unpack[NamedOptions],
) -> float:
    """Return the minimum of ``function(l)`` over the eigenvalues of W.

    The eigenvalue 1 of the vector of ones is left out. Parameters as in
    :func:`spectrum_sum`.

    Raises
    ------
    GraphError
        If W is not symmetric and doubly stochastic, or has one client only.
    """
    return min_with_error(W, function, m=m, **options).value


def min_with_error(
    W: object,
    function: Callable[[np.ndarray], ArrayLike],
    *,
    m: int | None = None,
    **options: Unpack[NamedOptions],
) -> WithError:
    """Return :func:`spectrum_min` and its rounding error."""
    terms, shifts = _over_spectrum(W, function, m, options)
    if not terms.size:
        raise GraphError("spectrum_min needs two clients or more: use a larger matrix")
    least = float(terms.min())
    error = float(shifts.max() + 4 * EPS * abs(least))
    return WithError(least, error)


def _over_spectrum(
    W: object,
    function: Callable[[np.ndarray], ArrayLike],
    m: int | None,
    options: NamedOptions,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the function at all eigenvalues except that of 1, and rounding errors.

    Both arrays have the shape (m - 1,).
    """
    values, step = _symmetric_spectrum(W, m, options)
    others = values[1:]
    with np.errstate(all="ignore"):
        terms, low, high = (
            np.broadcast_to(np.asarray(function(at), dtype=float), others.shape)
            for at in (others, others - step, others + step)
        )
        return terms, np.maximum(np.abs(low - terms), np.abs(high - terms))


def effective_neighbors(
    W: object, gamma: float, *, m: int | None = None, **options: Unpack[NamedOptions]
) -> float:
    """Return the effective number of neighbors at the decay ``gamma``.

    It is 1/(1 - gamma) divided by the mean of l^2/(1 - gamma l^2) over all eigenvalues,
    and lies between 1 and m for nonnegative weights.

    Parameters
    ----------
    W, m, **options
        As in :func:`spectrum_sum`.
    gamma : float
        Decay, in [0, 1).

    Raises
    ------
    GraphError
        If W is not symmetric and doubly stochastic.
    InputError
        If ``gamma`` is out of range.

    References
    ----------
    Vogels, Hendrikx and Jaggi (2023), Definition 1 and eq. (6).
    """
    return neighbors_with_error(W, gamma, m=m, **options).value


def neighbors_with_error(
    W: object, gamma: float, *, m: int | None = None, **options: Unpack[NamedOptions]
) -> WithError:
    """Return :func:`effective_neighbors` and its rounding error."""
    if not 0 <= gamma < 1:
        raise InputError(f"effective_neighbors: gamma = {gamma} must be in [0, 1)")
    values, error = _symmetric_spectrum(W, m, options)
    n = len(values)
    rest = np.minimum(values[1:] ** 2, 1.0)
    total = 1 + (1 - gamma) * float((rest / (1 - gamma * rest)).sum())
    # l^2 changes by at most twice the error of l
    step = 2 * error
    shift = float(((1 - gamma) * step / (1 - gamma * rest) ** 2).sum())
    return WithError(n / total, n / total * (shift / total + 2 * n * EPS))


def diameter(W: object) -> float:
    """Return the largest distance between two clients, in links.

    It is infinite if some client cannot be reached. W is a matrix or a graph.

    Raises
    ------
    GraphError
        If W has more than :data:`LARGEST_WITHOUT_CLOSED_FORM` clients and its entries
        do not depend only on client differences.
    """
    A = _in_rows(read_network(W)[0])
    m = A.shape[0]
    if group_kernel(A) is not None:  # the network looks the same from all clients
        return float(_distances(A, 0).max())
    _refuse_above_dense(m, "the diameter")
    return float(max(_distances(A, client).max() for client in range(m)))


def _distances(A: sp.csr_array, client: int) -> np.ndarray:
    """Return the distances (m,) from a client to all clients, in links."""
    from scipy.sparse.csgraph import shortest_path

    links = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    return shortest_path(links, unweighted=True, indices=client)


def average_degree(W: object) -> float:
    """Return the mean in-degree of a matrix or a graph, self-loops excluded."""
    A = _in_rows(read_network(W)[0])
    return float((A.nnz - np.count_nonzero(A.diagonal())) / A.shape[0])


def neighborhood_heterogeneity(
    W: object, deviations: ArrayLike, sigma_l: float = 0.0
) -> WithError:
    """Return the neighborhood heterogeneity H of gradients on a network.

    H is the mean over clients i of E||sum_j w_ij g_j - mean_j g_j||^2, where g_j is
    client j's stochastic gradient. With independent noise of variance sigma_l^2 at
    every client it is (||(W - 11'/m) G||_F^2 + sigma_l^2 ||W - 11'/m||_F^2)/m, where
    row j of G is the deviation of client j's gradient from the mean gradient.

    Parameters
    ----------
    W : matrix or networkx graph
        Doubly stochastic.
    deviations : (m, d) array_like
        grad f_j - grad f of every client.
    sigma_l : float
        Root mean square of the gradient noise.

    Returns
    -------
    WithError
        H, and a bound of its rounding error.

    Raises
    ------
    GraphError
        If W is not doubly stochastic.
    InputError
        If ``deviations`` has no row for each client.

    References
    ----------
    Le Bars, Bellet, Tommasi, Lavoie and Kermarrec (2023), Assumption 4 and eq. (4).
    """
    G = np.asarray(deviations, dtype=float)
    A, eps = read_network(W)
    m = A.shape[0]
    if G.ndim != 2 or len(G) != m:
        raise InputError(
            f"deviations has the shape {G.shape}: it needs a row for each of the {m}"
            " clients"
        )
    require_doubly_stochastic(A, eps)
    mixed = A @ G - G.mean(axis=0)
    bias = float((mixed**2).sum()) / m
    unit = 8 * EPS * (np.diff(_in_rows(A).indptr).max() + 2)
    size = float(np.linalg.norm(G)) / math.sqrt(m)
    bias_error = unit * size * (2 * math.sqrt(bias) + unit * size)
    noise = noise_share(A)
    variance = sigma_l**2
    heterogeneity = bias + variance * noise.value
    error = bias_error + variance * noise.error + 4 * EPS * heterogeneity
    return WithError(heterogeneity, error)


def noise_share(W: object) -> WithError:
    """Return ||W - 11'/m||_F^2 / m, the fraction of gradient noise left after mixing.

    It is the fraction of the noise variance that remains in the clients' deviations
    from their mean.

    References
    ----------
    Le Bars et al. (2023), eq. (4).
    """
    A = _in_rows(read_network(W)[0])
    m = A.shape[0]
    squares = float((A.data**2).sum())  # ||W||_F^2 = ||W - 11'/m||_F^2 + 1
    return WithError(max(squares - 1.0, 0.0) / m, 4 * EPS * (A.nnz / m + squares / m))


def _symmetric_spectrum(
    W: object, m: int | None, options: NamedOptions
) -> tuple[np.ndarray, float]:
    """Return all eigenvalues (m,) of a symmetric W, and a bound of their errors.

    The eigenvalue of the vector 1 is first; the others follow in descending order.
    """
    topology_options = options.copy()
    rule = topology_options.pop("weights", None)
    if isinstance(W, str) and m is not None:
        values = closed_form_eigenvalues(W, m, rule, **topology_options)
        if values is not None:
            return values, max(len(values), 4) * EPS
    A, eps = read_network(W, m, rule, topology_options)
    require_doubly_stochastic(A, eps)
    difference = asymmetry(A)
    if difference > entry_tolerance(eps):
        raise GraphError(
            "the sum over the spectrum needs a symmetric W, but an entry differs by"
            f" {difference:.3g} from the transposed one: use (W + W.T) / 2"
        )
    clients = A.shape[0]
    kernel = group_kernel(A) if clients > DENSE_SPECTRUM else None
    if kernel is not None:
        values = np.fft.fftn(kernel).real.ravel()
        return np.r_[values[0], np.sort(values[1:])[::-1]], fft_error(clients)
    _refuse_above_dense(clients, "the spectrum")
    dense = to_dense(A)
    values = np.linalg.eigvalsh((dense + dense.T) / 2)[::-1]
    # Negative weights can have eigenvalues above 1, so 1 need not be the largest.
    first = np.argmin(np.abs(values - 1.0))
    return np.r_[values[first], np.delete(values, first)], max(clients, 4) * EPS


def _in_rows(A: Matrix) -> sp.csr_array:
    """Return A as a CSR array."""
    return A if is_sparse(A) else compress(np.asarray(A))


def _refuse_above_dense(m: int, what: str) -> None:
    """Raise GraphError if ``what`` has too many clients to be computed."""
    if m > LARGEST_WITHOUT_CLOSED_FORM:
        raise GraphError(
            f"{what} of {m} clients has no closed form for this W, and takes minutes"
            f" and gigabytes above {LARGEST_WITHOUT_CLOSED_FORM} clients: use fewer"
            " clients, or a"
            " complete graph, ring, torus or hypercube"
        )


__all__ = [
    "WithError",
    "average_degree",
    "diameter",
    "effective_neighbors",
    "min_with_error",
    "neighborhood_heterogeneity",
    "neighbors_with_error",
    "noise_share",
    "spectrum_min",
    "spectrum_sum",
    "sum_with_error",
]
