"""Networks that change from round to round. Doubly stochastic unless the text says column-stochastic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.constants import FRESH_ROUND, FRESH_STEP
from dfltheory.errors import InputError, UnknownNameError, whole_number
from dfltheory.graphs.eigen import report_of
from dfltheory.graphs.matrices import (
    Matrix,
    adjacency,
    asymmetry,
    check_clients,
    line_sums,
    read_matrix,
    real,
    settle,
    tolerance,
)
from dfltheory.graphs.sequences import Periodic, as_sequence, kind_of
from dfltheory.graphs.topologies import hops, random_targets
from dfltheory.graphs.weights import column_stochastic_of, default_weights, metropolis_of


def one_peer_exponential(m: int) -> Periodic:
    """In round t every client averages with the client 2^(t mod tau) ahead, tau = ceil(log2 m).

    Column- and row-stochastic, not symmetric; for m a power of two, tau rounds give the exact average.
    [Ying et al. 2021]
    """
    m = check_clients(m)
    i = np.arange(m)
    rounds = []
    for hop in hops(m) or [0]:
        # client j sends half to j + hop: P[j + hop, j] = 1/2
        entries = (np.full(2 * m, 0.5), (np.r_[i, (i + hop) % m], np.r_[i, i]))
        rounds.append(settle(sp.csr_array(sp.coo_array(entries, shape=(m, m))), None))
    return Periodic(tuple(rounds), name=f"one_peer_exponential({m})")


@dataclass(frozen=True, eq=False)
class RandomMatching:
    """Pairs drawn at random average: w_ii = w_ij = 1/2 for matched i, j; the others keep theirs.

    On all clients a uniformly random perfect matching (one sits out where m is odd), for which
    lambda^2 = (m-2)/(2(m-1)) for even m and 1/2 for odd m > 1; on a ``graph`` a maximal matching of its
    links, taken greedily in random order.
    """

    m: int
    graph: nx.Graph | None = None
    name: str = "random_matching"
    random: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        _check_links(self.name, self.m, 1)
        if self.graph is not None and self.graph.number_of_nodes() != self.m:
            raise InputError(f"the graph has {self.graph.number_of_nodes()} nodes, not m = {self.m}")

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        i, j = self._pairs(rng)
        return settle(averaging(self.m, np.stack([i, j], axis=1)), None)

    def contraction_squared(self) -> float | None:
        """lambda^2 = ||E[W] - 11'/m||, because W'W = W; E[W] is even outside its diagonal."""
        if self.graph is not None:
            return None
        if self.m == 1:
            return 0.0
        return (self.m - 2) / (2 * (self.m - 1)) if self.m % 2 == 0 else 0.5

    def _pairs(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.graph is None:
            order = rng.permutation(self.m)[: 2 * (self.m // 2)]
            return order[::2], order[1::2]
        a, b = sp.coo_array(sp.triu(adjacency(self.graph))).coords
        free = np.ones(self.m, dtype=bool)
        chosen = []
        for e in rng.permutation(len(a)):
            if free[a[e]] and free[b[e]]:
                free[a[e]] = free[b[e]] = False
                chosen.append(e)
        return a[chosen], b[chosen]


@dataclass(frozen=True, eq=False)
class RandomNeighbors:
    """Every client draws k others in every round: the papers' "at most 10 of 100".

    ``directed`` False: a link works both ways once either end has drawn it, with Metropolis weights
    (symmetric, doubly stochastic). True: j sends to the k that it draws, p_ij = 1/(k+1), column-stochastic.
    A single round need not be connected.
    """

    m: int
    k: int = 10
    directed: bool = False
    name: str = "random_neighbors"
    random: bool = field(default=True, init=False)
    exchangeable: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        _check_links(self.name, self.m, self.k)

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        A = arcs_to(random_targets(self.m, self.k, rng))
        if self.directed:
            return settle(column_stochastic_of(A), None)
        both = sp.csr_array(A + A.T)
        both.data[:] = 1.0
        return settle(metropolis_of(both), None)


@dataclass(frozen=True, eq=False)
class ClientSampling:
    """A server averages k of the m clients, drawn without replacement; the others keep their models.

    W = 11'/k on the sample and I elsewhere: a projection, with lambda^2 = (m - k)/(m - 1).
    """

    m: int
    k: int
    name: str = "client_sampling"
    random: bool = field(default=True, init=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        _check_links(self.name, self.m, 1)
        if whole_number("k", self.k, at_least=1) > self.m:
            raise InputError(f"k = {self.k} must be between 1 and m = {self.m} sampled clients")

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        sample = rng.choice(self.m, size=self.k, replace=False)
        return settle(averaging(self.m, sample[None, :]), None)

    def contraction_squared(self) -> float:
        """lambda^2 = ||E[W] - 11'/m||, because W'W = W; E[W] is even outside its diagonal."""
        return (self.m - self.k) / (self.m - 1) if self.m > 1 else 0.0


@dataclass(frozen=True, eq=False)
class LinkFailures:
    """Every link of W fails in each round with probability p, by itself; its weight goes back to the ends.

    Symmetric W: a failed {i, j} adds w_ij to w_ii and to w_jj, so that W_t stays symmetric and doubly
    stochastic. Directed, column-stochastic P: a failed j -> i adds p_ij to p_jj. ``base`` is a matrix or a
    graph (with its default weights).
    """

    base: Any
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
        weighted = not isinstance(self.base, nx.Graph) or nx.is_weighted(self.base)
        W, eps = read_matrix(self.base if weighted else default_weights(self.base, sparse=True))
        object.__setattr__(self, "W", sp.csr_array(W, copy=True))
        object.__setattr__(self, "symmetric", asymmetry(W) <= float(tolerance(eps, 1)))
        object.__setattr__(self, "eps", eps)

    @property
    def m(self) -> int:
        return self.W.shape[0]

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        links = sp.coo_array(
            sp.triu(self.W, 1) if self.symmetric else self.W - sp.diags_array(self.W.diagonal())
        )
        i, j = links.coords
        lost = (rng.random(len(i)) < self.p) & (links.data != 0)
        i, j, w = i[lost], j[lost], links.data[lost]
        back = np.bincount(j, weights=w, minlength=self.m).astype(float)
        if self.symmetric:
            back = back + np.bincount(i, weights=w, minlength=self.m)
            i, j, w = np.r_[i, j], np.r_[j, i], np.r_[w, w]
        gone = sp.coo_array((w, (i, j)), shape=self.W.shape)
        W = sp.csr_array(self.W - gone + sp.diags_array(back))
        W.eliminate_zeros()
        return settle(W, None)

    def contraction_squared(self) -> float | None:
        """||E[W_t^2] - 11'/m|| for symmetric W = I - L, L = sum_e w_e L_e over the links, L_e^2 = 2 L_e:

        E[W_t^2] = (I - (1-p) L)^2 + 2 p (1-p) sum_e w_e^2 L_e.
        """
        if not self.symmetric:
            return None
        links = sp.csr_array(self.W - sp.diags_array(self.W.diagonal()))
        L, V = (sp.diags_array(line_sums(A, axis=1)) - A for A in (links, links.multiply(links)))
        mean = sp.eye_array(self.m) - (1 - self.p) * L
        return report_of(sp.csr_array(mean @ mean + 2 * self.p * (1 - self.p) * V), self.eps).lam


@dataclass(frozen=True, eq=False)
class LossDriven:
    """DFedSGPSM-S: client i sends to k others, drawn by p_ij ~ exp(|f_i - f_j|).  [its Eq. 2]

    The paper leaves open with or without replacement (here without, since the number of neighbors is
    fixed) and whether i may draw itself (here not: it always keeps a share anyway). The draw is the Gumbel
    top-k of |f_i - f_j|: exactly sequential sampling without replacement, and no exponential is ever taken,
    so that no loss is too large. Column-stochastic, p_ji = 1/(k+1).
    """

    m: int
    k: int = 10
    name: str = "loss_driven"
    random: bool = field(default=True, init=False)
    needs_losses: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        _check_links(self.name, self.m, self.k)

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        """P of a round in which the clients have the given ``losses`` (m,)."""
        f = self._checked(losses)
        k = min(self.k, self.m - 1)
        if k == 0:
            return np.ones((1, 1))
        targets = np.empty((self.m, k), dtype=np.intp)
        for rows in _blocks(self.m):
            noisy = self._logits(f, rows)
            noisy += rng.gumbel(size=noisy.shape)
            targets[rows] = np.argpartition(-noisy, k - 1, axis=1)[:, :k]
        return settle(column_stochastic_of(arcs_to(targets)), None)

    def probabilities(self, losses: np.ndarray) -> np.ndarray:
        """(m, m): row i holds the chances of the first draw of client i (0 for itself)."""
        weight = np.exp(self._logits(self._checked(losses), slice(0, self.m)))
        total = weight.sum(axis=1, keepdims=True)
        return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)

    def _checked(self, losses: np.ndarray | None) -> np.ndarray:
        if losses is None:
            raise InputError("the loss-driven choice of neighbors needs the clients' losses of this round")
        f = np.asarray(losses, dtype=float)
        if f.shape != (self.m,):
            raise InputError(f"losses have shape {f.shape}, not ({self.m},)")
        if not np.isfinite(f).all():
            i = int(np.argmin(np.isfinite(f)))
            raise InputError(
                f"the loss of client {i} is {f[i]}: neighbors can only be chosen by finite losses"
            )
        return f

    def _logits(self, f: np.ndarray, rows: slice) -> np.ndarray:
        """|f_i - f_j| minus the largest of its row, -inf at j = i; halved on the way against overflow."""
        halves = np.abs(f[rows, None] / 2 - f[None, :] / 2)
        own = np.arange(self.m)[rows]
        halves[own - rows.start, own] = -np.inf
        if self.m == 1:
            return halves
        with np.errstate(over="ignore"):
            return 2 * (halves - halves.max(axis=1, keepdims=True))


_FORWARDED = (
    "m",
    "random",
    "period",
    "eps",
    "needs_losses",
    "exchangeable",
    "contraction_squared",
    "law",
)
"""What :class:`OnePerRound` takes over from its sequence, if that has it."""


class OnePerRound:
    """Another sequence, one matrix of it for each round: all gossip steps of round t apply the same W_t.

    With ``Q`` gossip steps, round t mixes by the power W_t^Q, as Algorithm 1 of DFedSAM-MGS is printed. The
    package's sequences otherwise give each gossip step a matrix of its own. If the draws are independent,
    E||(W_t - P)^Q x||^2 may be far larger than lambda^(2Q) ||x||^2.
    """

    m: int
    random: bool
    one_per_round: ClassVar[bool] = True

    def __init__(self, sequence: Any):
        self.of = as_sequence(sequence)
        self.name = f"one_per_round({getattr(self.of, 'name', type(self.of).__name__)})"
        for name in _FORWARDED:
            if hasattr(self.of, name):
                setattr(self, name, getattr(self.of, name))

    @property
    def kind(self) -> str:
        """The kind of the sequence, of which draws are made once a round."""
        kind = kind_of(self.of)
        return FRESH_ROUND if kind == FRESH_STEP else kind

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        """W_t of round t."""
        return self.of.matrix(t, rng) if losses is None else self.of.matrix(t, rng, losses)


def one_per_round(
    m: int,
    of: Literal["random_matching", "random_neighbors", "client_sampling"] = "random_matching",
    k: int | None = None,
) -> OnePerRound:
    """Return one draw of a random network for each round, by name; ``k`` as for that network."""
    if of == "random_matching":
        if k is not None:
            raise InputError("k is for random_neighbors and client_sampling: random_matching has no k")
        return OnePerRound(RandomMatching(m))
    if of == "random_neighbors":
        return OnePerRound(RandomNeighbors(m) if k is None else RandomNeighbors(m, k))
    if of != "client_sampling":
        known = {"random_matching", "random_neighbors", "client_sampling"}
        raise UnknownNameError("random network", of, known)
    if k is None:
        raise InputError("client_sampling needs k, the number of sampled clients")
    return OnePerRound(ClientSampling(m, k))


MOST_LINKS = 10**9
"""Of one round: as arrays of numpy they take some 16 GB."""


def _check_links(name: str, m: int, k: int) -> None:
    links = check_clients(m) * min(whole_number("k", k, at_least=1), max(m - 1, 1))
    if links > MOST_LINKS:
        raise InputError(
            f"{name}: a round of m = {m} with k = {k} has {links:.3g} links, above {MOST_LINKS:.0e}:"
            " take fewer"
        )


def _blocks(m: int, entries: int = 2**20) -> Iterator[slice]:
    """The rows of an m x m table in slices of at most about ``entries`` numbers: it is never held whole."""
    step = max(1, entries // m)
    return (slice(first, min(first + step, m)) for first in range(0, m, step))


def arcs_to(targets: np.ndarray) -> sp.csr_array:
    """0/1 adjacency A[i, j] = 1 where i is among the targets (m, k) that j sends to."""
    m, k = targets.shape
    senders = np.repeat(np.arange(m), k)
    return sp.csr_array(sp.coo_array((np.ones(m * k), (targets.ravel(), senders)), shape=(m, m)))


def averaging(m: int, groups: np.ndarray) -> sp.csr_array:
    """Each row of ``groups`` (disjoint clients) takes its mean; the others keep theirs."""
    size = groups.shape[1]
    rows, columns = np.repeat(groups, size, axis=1).ravel(), np.tile(groups, (1, size)).ravel()
    alone = np.setdiff1d(np.arange(m), groups)
    data = np.r_[np.full(len(rows), 1.0 / size), np.ones(len(alone))]
    return sp.csr_array(sp.coo_array((data, (np.r_[rows, alone], np.r_[columns, alone])), shape=(m, m)))
