"""Networks that change from round to round.

The matrices are doubly stochastic unless documented as column-stochastic. Each
sequence has the interface of :class:`~dfltheory.graphs.sequences.MixingSequence`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from dfltheory.constants import FRESH_STEP
from dfltheory.errors import InputError, whole_number
from dfltheory.graphs.eigen import report_of
from dfltheory.graphs.graph_types import Graph
from dfltheory.graphs.matrices import (
    Matrix,
    adjacency,
    as_sparse_or_dense,
    asymmetry,
    check_clients,
    entry_tolerance,
    is_unweighted_graph,
    line_sums,
    read_matrix,
    real,
)
from dfltheory.graphs.random_topologies import random_targets
from dfltheory.graphs.round_matrices import arcs_to, averaging, check_links
from dfltheory.graphs.sequences import Periodic
from dfltheory.graphs.topologies import hops
from dfltheory.graphs.weights import (
    column_stochastic_of,
    default_weights,
    metropolis_of,
)
from dfltheory.number_ranges import PositiveInt


def one_peer_exponential(m: int) -> Periodic:
    """Return the one-peer exponential network.

    In round t each client averages with the client 2^(t mod tau) ahead, where
    tau = ceil(log2 m). The matrices are doubly stochastic and not symmetric. If m is a
    power of two, tau rounds compute the exact average.

    Parameters
    ----------
    m : int
        Number of clients.

    Returns
    -------
    Periodic
        The sequence with period tau.

    References
    ----------
    Ying et al. (2021).
    """
    m = check_clients(m)
    senders = np.arange(m)
    rounds: list[Matrix] = []
    for hop in hops(m) or [0]:
        # client j sends half to j + hop: P[j + hop, j] = 1/2
        receivers = (senders + hop) % m
        places = (np.r_[senders, receivers], np.r_[senders, senders])
        entries = (np.full(2 * m, 0.5), places)
        P = sp.csr_array(sp.coo_array(entries, shape=(m, m)))
        rounds.append(as_sparse_or_dense(P, None))
    return Periodic(tuple(rounds), name=f"one_peer_exponential({m})")


@dataclass(frozen=True, eq=False)
class RandomMatching:
    """Random pairs of clients average: w_ii = w_ij = 1/2 for matched i, j.

    Without a graph, the matching is uniformly random on all clients and perfect (for
    odd m, one client is not matched): lambda^2 = (m-2)/(2(m-1)) for even m and 1/2 for
    odd m > 1. With a graph, it is a maximal matching of its links, taken greedily in
    random order.

    Parameters
    ----------
    m : int
        Number of clients.
    graph : networkx.Graph, optional
        A graph of m clients.
    name : str
        Name of the sequence.
    """

    m: int
    graph: Graph | None = None
    name: str = "random_matching"
    random: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        check_links(self.name, self.m, 1)
        if self.graph is not None and self.graph.number_of_nodes() != self.m:
            nodes = self.graph.number_of_nodes()
            raise InputError(f"the graph has {nodes} nodes, not m = {self.m}")

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return a draw of W_t."""
        i, j = self._draw_pairs(rng)
        return as_sparse_or_dense(averaging(self.m, np.stack([i, j], axis=1)), None)

    def contraction_squared(self) -> float | None:
        """Return lambda^2 = ||E[W] - 11'/m||, or None with a graph.

        It holds because W'W = W, and E[W] is constant outside of its diagonal.
        """
        if self.graph is not None:
            return None
        if self.m == 1:
            return 0.0
        return (self.m - 2) / (2 * (self.m - 1)) if self.m % 2 == 0 else 0.5

    def _draw_pairs(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return both clients of each pair."""
        if self.graph is None:
            order = rng.permutation(self.m)[: 2 * (self.m // 2)]
            return order[::2], order[1::2]
        a, b = sp.coo_array(sp.triu(adjacency(self.graph))).coords
        free = np.ones(self.m, dtype=bool)
        chosen: list[int] = []
        for link in rng.permutation(len(a)):
            if free[a[link]] and free[b[link]]:
                free[a[link]] = free[b[link]] = False
                chosen.append(int(link))
        return a[chosen], b[chosen]


@dataclass(frozen=True, eq=False)
class RandomNeighbors:
    """Each client draws k others in each round (the papers' "at most 10 of 100").

    A single round need not be connected.

    Parameters
    ----------
    m : int
        Number of clients.
    k : int
        Number of neighbors that each client draws, capped at m - 1.
    directed : bool
        If False, a drawn link is used in both directions with Metropolis weights
        (symmetric, doubly stochastic). If True, client j sends to the k clients that
        it draws, with p_ij = 1/(k+1) (column-stochastic).
    name : str
        Name of the sequence.
    """

    m: int
    k: PositiveInt = 10
    directed: bool = False
    name: str = "random_neighbors"
    random: bool = field(default=True, init=False)
    exchangeable: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        check_links(self.name, self.m, self.k)

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return a draw of W_t."""
        A = arcs_to(random_targets(self.m, self.k, rng))
        if self.directed:
            return as_sparse_or_dense(column_stochastic_of(A), None)
        both = sp.csr_array(A + A.T)
        both.data[:] = 1.0
        return as_sparse_or_dense(metropolis_of(both), None)


@dataclass(frozen=True, eq=False)
class ClientSampling:
    """A server averages k of the m clients; the others keep their models.

    W = 11'/k on the sample and I elsewhere. This is a projection with
    lambda^2 = (m - k)/(m - 1).

    Parameters
    ----------
    m : int
        Number of clients.
    k : int
        Number of clients, drawn without replacement.
    name : str
        Name of the sequence.
    """

    m: int
    k: PositiveInt
    name: str = "client_sampling"
    random: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        check_links(self.name, self.m, 1)
        if whole_number("k", self.k, at_least=1) > self.m:
            raise InputError(f"k = {self.k} must be between 1 and m = {self.m}")

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return a draw of W_t."""
        sample = rng.choice(self.m, size=self.k, replace=False)
        return as_sparse_or_dense(averaging(self.m, sample[None, :]), None)

    def contraction_squared(self) -> float:
        """Return lambda^2 = ||E[W] - 11'/m||.

        It holds because W'W = W, and E[W] is constant outside of its diagonal.
        """
        return (self.m - self.k) / (self.m - 1) if self.m > 1 else 0.0


@dataclass(frozen=True, eq=False)
class LinkFailures:
    """Each link of W fails independently with probability p in each round.

    If W is symmetric, a failed link {i, j} adds w_ij to w_ii and w_jj, so W_t is
    symmetric and doubly stochastic. If P is column-stochastic, a failed arc j -> i adds
    p_ij to p_jj.

    Parameters
    ----------
    base : matrix or networkx.Graph
        The network without failures. A graph uses its edge weights, or else its default
        weights.
    p : float
        Probability of a failure, in [0, 1).
    name : str
        Name of the sequence.

    Attributes
    ----------
    W : (m, m) sparse array
        The matrix without failures.
    symmetric : bool
        Whether W is symmetric.
    eps : float
        Rounding unit of the original type of W.
    """

    base: object
    p: float
    name: str = "link_failures"
    random: bool = field(default=True, init=False)
    W: sp.csr_array = field(init=False, repr=False)
    symmetric: bool = field(init=False)
    eps: float = field(init=False, repr=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        if not 0 <= real("p", self.p) < 1:
            raise InputError(f"p = {self.p} must be a probability below 1")
        base = self.base
        if is_unweighted_graph(base):
            base = default_weights(base, sparse=True)
        W, eps = read_matrix(base)
        object.__setattr__(self, "W", sp.csr_array(W, copy=True))
        object.__setattr__(self, "symmetric", asymmetry(W) <= entry_tolerance(eps))
        object.__setattr__(self, "eps", eps)

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.W.shape[0]

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return a draw of W_t."""
        if self.symmetric:
            links = sp.coo_array(sp.triu(self.W, 1))
        else:
            links = sp.coo_array(self.W - sp.diags_array(self.W.diagonal()))
        i, j = links.coords
        fails = (rng.random(len(i)) < self.p) & (links.data != 0)
        i = i[fails]
        j = j[fails]
        w = links.data[fails]
        returned = np.bincount(j, weights=w, minlength=self.m).astype(float)
        if self.symmetric:
            returned = returned + np.bincount(i, weights=w, minlength=self.m)
            i, j = np.r_[i, j], np.r_[j, i]
            w = np.r_[w, w]
        failed = sp.coo_array((w, (i, j)), shape=self.W.shape)
        W = sp.csr_array(self.W - failed + sp.diags_array(returned))
        W.eliminate_zeros()
        return as_sparse_or_dense(W, None)

    def contraction_squared(self) -> float | None:
        """Return ||E[W_t^2] - 11'/m||, or None if W is not symmetric.

        For W = I - L with L = sum_e w_e L_e over the links, L_e^2 = 2 L_e gives
        E[W_t^2] = (I - (1-p) L)^2 + 2 p (1-p) sum_e w_e^2 L_e.
        """
        if not self.symmetric:
            return None
        links = sp.csr_array(self.W - sp.diags_array(self.W.diagonal()))
        squares = links.multiply(links)
        L = sp.diags_array(line_sums(links, axis=1)) - links
        V = sp.diags_array(line_sums(squares, axis=1)) - squares
        mean = sp.eye_array(self.m) - (1 - self.p) * L
        moment = mean @ mean + 2 * self.p * (1 - self.p) * V
        return report_of(sp.csr_array(moment), self.eps).lam
