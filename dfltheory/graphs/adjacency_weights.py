"""Weight rules for adjacency matrices, which need not be connected.

The rules for graphs in ``weights`` require connected graphs; a single round of a
sequence may be disconnected.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dfltheory.graphs.matrices import line_sums


def metropolis_of(A: sp.csr_array) -> sp.csr_array:
    """Return Metropolis weights.

    Parameters
    ----------
    A : (m, m) sparse array
        Symmetric 0/1 adjacency matrix, connected or not.

    Returns
    -------
    (m, m) sparse array
        W.
    """
    degree = np.diff(A.indptr)
    i, j = sp.coo_array(A).coords
    w = 1.0 / (1.0 + np.maximum(degree[i], degree[j]))
    return with_diagonal(i, j, w, A.shape[0])


def laplacian_weights_of(A: sp.csr_array, alpha: float) -> sp.csr_array:
    """Return I - alpha L.

    Parameters
    ----------
    A : (m, m) sparse array
        Symmetric 0/1 adjacency matrix, connected or not.
    alpha : float
        Weight of a link.

    Returns
    -------
    (m, m) sparse array
        W.
    """
    i, j = sp.coo_array(A).coords
    return with_diagonal(i, j, np.full(len(i), float(alpha)), A.shape[0])


def column_stochastic_of(A: sp.csr_array) -> sp.csr_array:
    """Return out-degree weights.

    Parameters
    ----------
    A : (m, m) sparse array
        0/1 adjacency matrix, connected or not; A[i, j] = 1 if j sends to i.

    Returns
    -------
    (m, m) sparse array
        P; columns sum to 1.
    """
    arcs = sp.csr_array(A + sp.eye_array(A.shape[0], format="csr"))
    return sp.csr_array(arcs @ sp.diags_array(1 / line_sums(arcs, axis=0)))


def with_diagonal(i: np.ndarray, j: np.ndarray, w: np.ndarray, m: int) -> sp.csr_array:
    """Return the matrix with the given links and the diagonal that makes rows sum to 1.

    Parameters
    ----------
    i, j : (links,) array of int
        Receiver and sender of each link.
    w : (links,) array
        Weights.
    m : int
        Number of clients.

    Returns
    -------
    (m, m) sparse array
        W.
    """
    degree = np.bincount(i, minlength=m)
    diagonal = 1.0 - np.bincount(i, weights=w, minlength=m)
    # A diagonal that is 0 in exact arithmetic must not become a rounding error.
    rounding_error = 4 * np.finfo(float).eps * (1 + degree)
    diagonal[np.abs(diagonal) <= rounding_error] = 0.0
    nodes = np.arange(m)
    entries = (np.r_[w, diagonal], (np.r_[i, nodes], np.r_[j, nodes]))
    W = sp.csr_array(sp.coo_array(entries, shape=(m, m)))
    W.eliminate_zeros()
    return W
