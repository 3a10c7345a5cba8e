"""Construction of the matrices of single rounds, with a limit on their size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError, whole_number
from dfltheory.graphs.matrices import check_clients

MOST_LINKS_PER_ROUND = 10**9
"""Largest number of links of a round; as numpy arrays they take about 16 GB."""


def check_links(name: str, m: int, k: int) -> None:
    """Raise an error if m or k is invalid, or a round has too many links.

    Parameters
    ----------
    name : str
        Name of the sequence.
    m : int
        Number of clients.
    k : int
        Number of links of each client.

    Raises
    ------
    InputError
        If m or k is not a positive integer, or there are too many links.
    """
    links = check_clients(m) * min(whole_number("k", k, at_least=1), max(m - 1, 1))
    if links > MOST_LINKS_PER_ROUND:
        raise InputError(
            f"{name}: a round with m = {m} and k = {k} has {links:.3g} links; at most"
            f" {MOST_LINKS_PER_ROUND:.0e} are allowed: take a smaller m or k"
        )


def arcs_to(targets: np.ndarray) -> sp.csr_array:
    """Return the adjacency matrix in which clients send to the given targets.

    Parameters
    ----------
    targets : (m, k) array of int
        Row j contains the clients to which j sends.

    Returns
    -------
    (m, m) sparse array
        A[i, j] = 1 if j sends to i.
    """
    m, k = targets.shape
    senders = np.indices((m, k))[0].ravel()
    entries = (np.ones(m * k), (targets.ravel(), senders))
    return sp.csr_array(sp.coo_array(entries, shape=(m, m)))


def averaging(m: int, groups: np.ndarray) -> sp.csr_array:
    """Return the matrix that averages within disjoint groups of clients.

    Parameters
    ----------
    m : int
        Number of clients.
    groups : (n, size) array of int
        Each row is a group; clients in no group keep their values.

    Returns
    -------
    (m, m) sparse array
        W.
    """
    size = groups.shape[1]
    rows = np.repeat(groups, size, axis=1).ravel()
    columns = np.tile(groups, (1, size)).ravel()
    others = np.setdiff1d(np.arange(m), groups)
    data = np.r_[np.full(len(rows), 1.0 / size), np.ones(len(others))]
    places = (np.r_[rows, others], np.r_[columns, others])
    return sp.csr_array(sp.coo_array((data, places), shape=(m, m)))
