"""Mixing matrices of candidates, decoded from points of the unit cube.

Each function returns matrices (P, m, m), or (P, B, m, m) if B matrices are used in
turn. With ``copies`` all clients are identical, and free weights are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np

from dfltheory.counterexamples.cube import Reader

Make = Callable[[Reader, bool], np.ndarray]


def _pair(read: Reader, copies: bool) -> np.ndarray:
    """Return [[1 - w, w], [w, 1 - w]] with a free weight w.

    It is 1/2 for copies, where it has no effect.
    """
    w = read.log(1e-6, 0.97)
    w = np.full_like(w, 0.5) if copies else w
    return np.stack([np.stack([1 - w, w], -1), np.stack([w, 1 - w], -1)], -2)


def _single_client(read: Reader, copies: bool) -> np.ndarray:
    """Return the network of a single client."""
    return np.ones((len(read.unit()), 1, 1))


def _circle(read: Reader, copies: bool) -> np.ndarray:
    """Return a I + b S + c S' of three clients, with S the cyclic shift.

    It is doubly stochastic, and symmetric if b = c.
    """
    share, side = read.log(1e-2, 0.98), read.unit()
    shift = np.roll(np.eye(3), 1, axis=0)
    b, c = share * side, share * (1 - side)
    weights = np.stack([1 - share, b, c])[..., None, None]
    self_weight, left, right = weights
    return self_weight * np.eye(3) + left * shift + right * shift.T


def _uniform_ring(read: Reader, copies: bool) -> np.ndarray:
    """Return a symmetric ring of four clients with one weight for all edges."""
    w = read.log(1e-2, 0.49)
    ring = np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0)
    return (1 - 2 * w)[:, None, None] * np.eye(4) + w[:, None, None] * ring


def _directed(read: Reader, copies: bool) -> np.ndarray:
    """Return a directed ring of three clients with a chord.

    Weights are 1/out-degree, so that W is not doubly stochastic.
    """
    P = np.array([[1 / 3, 0, 1 / 2], [1 / 3, 1 / 2, 0], [1 / 3, 1 / 2, 1 / 2]])
    return np.repeat(P[None], len(read.unit()), 0)


def _level(read: Reader) -> np.ndarray:
    """Return a weight on a grid of 13 values from 1e-3 to 0.97.

    On a grid, only a few matrices need their constants computed.
    """
    return 1e-3 * 970 ** (np.round(12 * read.unit()) / 12)


def _unbalanced(read: Reader, copies: bool) -> np.ndarray:
    """Return two clients that send each other different shares a and b.

    Their push-sum weights converge to the ratio b : a.
    """
    return _sharing(_level(read), 0) @ _sharing(_level(read), 1)


def _alternating_matrices(read: Reader, copies: bool) -> np.ndarray:
    """Return a pair of matrices, the first of which is the identity.

    Windows of two rounds contract, although even rounds do not communicate.
    """
    W = _unbalanced(read, copies)
    return np.stack([np.eye(2) + 0 * W, W], 1)


def _matchings(read: Reader, copies: bool) -> np.ndarray:
    """Return four clients that are paired differently in even and in odd rounds.

    No single round connects them.
    """
    w = _level(read)[:, None, None, None]
    return (1 - w) * np.eye(4) + w * np.eye(4)[[[1, 0, 3, 2], [3, 2, 1, 0]]]


@lru_cache(maxsize=1)
def digraphs() -> np.ndarray:
    """Return strongly connected digraphs of four clients, drawn once, (B, 4, 4).

    Each contains a ring, to which every other arc is added with probability 1/2. Each
    client sends shares in random ratios between 1 : 1 and 1 : 1e-3. The number of
    digraphs is small, so that the constants of each are computed only once.
    """
    rng, n = np.random.default_rng(0), 64
    ring = np.roll(np.eye(4), 1, axis=0) + np.eye(4)
    arcs = np.maximum(ring, rng.random((n, 4, 4)) < 0.5)
    W = arcs * 10.0 ** (-3 * rng.random((n, 1, 1)) * rng.random((n, 4, 4)))
    return W / W.sum(1, keepdims=True)


def _random_digraph(read: Reader, copies: bool) -> np.ndarray:
    """Return one of :func:`digraphs`."""
    graphs = digraphs()
    return graphs[np.minimum((len(graphs) * read.unit()).astype(int), len(graphs) - 1)]


def matchings(m: int) -> np.ndarray:
    """Return all matrices of :class:`~dfltheory.graphs.RandomMatching`, (B, m, m).

    All are equally likely.
    """
    matrices = np.repeat(np.eye(m)[None], math.factorial(m), 0)
    for W, order in zip(matrices, permutations(range(m)), strict=True):
        for pair in zip(order[: m - m % 2 : 2], order[1::2], strict=True):
            W[np.ix_(pair, pair)] = 0.5
    return np.unique(matrices, axis=0)


def _sharing(share: np.ndarray, client: int) -> np.ndarray:
    """Return two clients, one of which sends a share to the other."""
    W = np.repeat(np.eye(2)[None], len(share), 0)
    W[:, client, client] = 1 - share
    W[:, 1 - client, client] = share
    return W


def _complete(read: Reader, copies: bool) -> np.ndarray:
    """Return W = lam I + (1 - lam) 11'/16 of sixteen clients.

    If the problem has copies of clients, lam = 0.
    """
    lam = read.between(0, 1 - copies)[:, None, None]
    return lam * np.eye(16) + (1 - lam) / 16


def server(read: Reader, copies: bool) -> np.ndarray:
    """Return the averaging matrix of a server with two clients."""
    return np.full((len(read.unit()), 2, 2), 0.5)


MATRIX_KINDS: dict[str, tuple[int, Make]] = {
    "pair": (2, _pair),
    "circle": (3, _circle),
    "even circle": (4, _uniform_ring),
    "directed": (3, _directed),
    "unbalanced": (2, _unbalanced),
    "random digraph": (4, _random_digraph),
    "in turn": (2, _alternating_matrices),
    "matchings": (4, _matchings),
    "complete": (16, _complete),
    "alone": (1, _single_client),
}
"""Number of clients, and the function that returns the matrices, by name."""


def whole_network(W: np.ndarray, copies: int) -> np.ndarray:
    """Expand a matrix of groups of identical clients to that of all clients."""
    if copies == 1:
        return W
    return np.kron(W, np.full((copies, copies), 1 / copies))


__all__ = ["MATRIX_KINDS", "Make", "digraphs", "matchings", "server", "whole_network"]
