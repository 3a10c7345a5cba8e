"""Push-sum: how fast x/w agrees when P^t is column-stochastic but not doubly so.

With w^{t+1} = P^t w^t, w^0 = 1 and D_t = diag(w^t), the matrix S^t = D_{t+1}^{-1/2} P^t D_t^{1/2} maps
sqrt(w^t) to sqrt(w^{t+1}), has norm 1, and on the complement of sqrt(w^t) the norm sigma_2(S^t). In the
norm weighted by w,

    ||z^{t+1} - 1 xbar^{t+1}|| <= sigma_2(S^t) ( ||z^t - 1 xbar^t|| + eta ||H^t||_F / sqrt(m delta) ),

so that with ``delta`` = inf w_i^t, ``q`` = sup sigma_2(S^t) and ``C`` = 1/delta the models contract by q in
every round. Where single rounds are not connected, q_B is the same for products over B rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.connectivity import diameter, union
from dfltheory.graphs.connectivity import window as window_of
from dfltheory.graphs.eigen import arpack
from dfltheory.graphs.matrices import (
    ROUNDING,
    Matrix,
    entries,
    line_sums,
    support,
    to_dense,
    tolerance,
    worst_sum,
)
from dfltheory.graphs.sequences import MixingSequence, Rounds, as_sequence, rounds_of

SETTLED = 1e-13
"""The weights of a periodic P count as settled when a period changes none of them by more, relatively."""

PATIENCE = 100_000
"""Rounds after which weights that have not settled are given up."""

DENSE_SINGULAR = 256
"""LAPACK finds sigma_2 up to this many clients, Lanczos above it."""


@dataclass(frozen=True)
class PushSumConstants:
    """``delta`` the least weight ever, ``q`` the contraction over ``window`` rounds (q_B).

    ``w_max`` the largest weight ever; ``rounds`` that were looked at; ``exact``: the constants hold in all
    rounds to come (constant or periodic P), else they are what those rounds have shown.
    """

    m: int
    delta: float
    q: float
    window: int
    w_max: float
    rounds: int
    exact: bool

    @property
    def standing(self) -> str:
        """ "computed" for a constant or periodic P; else "estimate", from the rounds that were looked at."""
        return "computed" if self.exact else "estimate"

    def __str__(self) -> str:
        over = "" if self.window == 1 else f" over windows of {self.window} rounds"
        how = "computed, for all rounds" if self.exact else f"estimates from {self.rounds} rounds"
        return f"delta = {self.delta:.6g}, q = {self.q:.6g}, C = {self.C:.6g}{over} ({how})"

    @property
    def C(self) -> float:
        """1/delta: ||z_i^t - xbar^t|| <= C q^t (...) + ... in root mean square, for a window of 1."""
        return 1.0 / self.delta

    @property
    def q_effective(self) -> float:
        """The least one-step q for which q/(1-q) >= (B - 1 + q_B)/(1 - q_B) and 1/(1-q^2) >= B/(1 - q_B^2),
        which stand for them in bounds over windows (q itself for B = 1).

        The B-th root of q_B would not: it makes both factors too small.
        """
        B = self.window
        return max((B - 1 + self.q) / B, math.sqrt(1 - (1 - self.q**2) / B))

    @property
    def pair(self) -> tuple[float, float]:
        """(C, q) with q_B^floor(t/B) / delta <= C q^t for every t: the geometric form of the papers."""
        if self.window == 1:
            return self.C, self.q
        q = max(self.q, 2.0**-self.window) ** (1 / self.window)
        return self.C / q ** (self.window - 1), q


def push_sum_constants(
    network: Any, *, window: int | None = None, rounds: int = 200, seed: int = 0
) -> PushSumConstants:
    """delta, q and C of a column-stochastic matrix or sequence, rigorous and computed from it.

    A constant or periodic P is followed until its weights have settled, so that the constants hold for ever;
    of any other sequence ``rounds`` rounds are looked at (drawn from ``seed``). ``window`` is the number B
    of rounds over which products contract; by default 1 where every round contracts, else the smallest B
    that keeps every B rounds strongly connected. Raises :class:`GraphError` where a column does not sum to
    one, or the network is never strongly connected (delta would be 0).
    """
    if window is not None and window < 1:
        raise InputError(f"window = {window} must be at least 1 round")
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    for t, P in enumerate(drawn.matrices):
        require_column_stochastic(P, "P" if len(drawn.matrices) == 1 else f"P of round {t}", drawn.eps)
    for t, P in enumerate(drawn.matrices):  # what a rounded P lacks would add up over the rounds
        sums = line_sums(P, axis=0)
        if np.abs(sums - 1).max() > SETTLED / 10:
            whole = P / sums if isinstance(P, np.ndarray) else sp.csr_array(P @ sp.diags_array(1 / sums))
            drawn.matrices[t] = whole
    connected, _ = window_of(drawn.matrices, periodic=drawn.exact)
    if connected is None:
        raise GraphError(
            "the network is not strongly connected over any window of rounds: some weight would fall to 0 "
            "(check_push_sum names the clients that are out of reach)"
        )
    w = _weights(sequence, drawn)
    B = window or 1
    q = _contraction(drawn, w, B)
    if window is None and q >= 1 - 1e-12 and connected > 1:
        B = connected
        q = _contraction(drawn, w, B)
    low, high = min(x.min() for x in w), max(x.max() for x in w)
    return PushSumConstants(sequence.m, float(low), q, B, float(high), len(w) - 1, drawn.exact)


def sigma_2(P: Matrix, w: np.ndarray, w_next: np.ndarray) -> float:
    """||D_{t+1}^{-1/2} P D_t^{1/2}|| on the complement of sqrt(w^t); P may be a product over a window.

    ``w`` are the weights before P and ``w_next`` = P w those after it; 0 for a single client.
    """
    m = len(w)
    if m == 1:
        return 0.0
    root, root_next = np.sqrt(w), np.sqrt(w_next)
    total = float(w.sum())
    if m <= DENSE_SINGULAR:
        S = to_dense(P) * (root / root_next[:, None])
        return min(float(np.linalg.norm(S - np.outer(root_next, root) / total, 2)), 1.0)
    forth = lambda x: (P @ (root * x)) / root_next - root_next * (root @ x / total)  # noqa: E731
    back = lambda y: root * (P.T @ (y / root_next)) - root * (root_next @ y / total)  # noqa: E731
    value, _ = arpack(lambda x: back(forth(x)), m, tol=1e-11, ncv=40)
    return min(math.sqrt(max(float(value[0]), 0.0)), 1.0)


def require_column_stochastic(P: Matrix, what: str = "P", eps: float = ROUNDING) -> None:
    """Raise :class:`GraphError` naming the place unless P >= 0 and every column sums to one."""
    values = entries(P)
    if not np.isfinite(values).all():
        raise GraphError(f"{what} holds a value that is not finite")
    if (values < -tolerance(eps, 1)).any():
        raise GraphError(f"{what} has a negative weight, {values.min():.6g}: weights lie in [0, 1]")
    if worst := worst_sum(P, 0, eps):
        raise GraphError(
            f"{what}: column {worst[0]} sums to {worst[1]:.10g}, not 1: push-sum divides what each client "
            "sends (divide each column by its sum)"
        )


def _weights(sequence: MixingSequence, drawn: Rounds) -> list[np.ndarray]:
    """w^0, w^1, ...: over the rounds drawn, or (for a periodic P) until a period changes nothing more."""
    w: list[np.ndarray] = [np.ones(sequence.m)]
    if not drawn.exact:
        for P in drawn.matrices:
            w.append(P @ w[-1])
        return w
    period = len(drawn.matrices)
    while len(w) <= PATIENCE:
        for P in drawn.matrices:
            w.append(P @ w[-1])
        if np.max(np.abs(w[-1] / w[-1 - period] - 1)) <= SETTLED:
            return w
    raise GraphError(
        f"the push-sum weights have not settled in {PATIENCE} rounds: the sequence hardly mixes (are there "
        "self-loops? see check_push_sum)"
    )


def _contraction(drawn: Rounds, w: list[np.ndarray], B: int) -> float:
    """sup over l of sigma_2(S^{l+B-1} ... S^l); for settled weights over all l to come.

    sigma_2 of one round bounds that of another of the same phase by the ratios of their weights (singular
    values of products), and a round whose bound changes nothing is not computed: 1 - q is right to 1e-6.
    """
    T, period = len(w) - 1, len(drawn.matrices)
    if drawn.exact:
        w = [*w]
        for k in range(T, T + B):  # windows that start before the weights have settled and end after
            w.append(drawn.matrices[k % period] @ w[-1])
    elif T < B:
        raise InputError(f"a window of {B} rounds needs at least that many rounds, not {T}")
    starts, eye = range(len(w) - B), sp.eye_array(len(w[0]), format="csr")
    products: dict[int, Matrix] = {}
    last: dict[int, tuple[np.ndarray, np.ndarray, float]] = {}
    q = 0.0
    for l in starts:
        phase = l % period
        before, after = w[l], w[l + B]
        if phase in last:
            w_0, w_1, found = last[phase]
            stretch = math.sqrt(float((before / w_0).max() * (w_1 / after).max()))
            if found * stretch <= q or stretch - 1 <= 1e-6 * (1 - found):
                continue
        if phase not in products:
            products[phase] = reduce(
                lambda total, k: drawn.matrices[k % period] @ total, range(l, l + B), eye
            )
        found = sigma_2(products[phase], before, after)
        last[phase] = before, after, found
        q = max(q, found)
    return q


# -- constants by sizes and degrees alone, as the papers cite them -----------------------------------------
# They are far from the constants of a given matrix: on a directed ring of 100 the cited [C/(1-q)]^2 is 1e121
# where the computed one is 4e6.


@dataclass(frozen=True)
class CitedConstants:
    """C and q of the size given by Assran et al. (2019, Lemma 3), as DFedSGPSM's Theorem 1 cites them.

    ``D`` largest out-degree with oneself, ``diameter`` the largest of the window graphs, ``window`` B.
    ``one_minus_q`` keeps the precision that q itself loses.
    """

    D: int
    diameter: int
    window: int
    lam: float
    one_minus_q: float
    C: float

    @property
    def q(self) -> float:
        return 1.0 - self.one_minus_q


def assran_constants(m: int, D: int, diameter: int, window: int = 1, dim: int = 1) -> CitedConstants:
    """lambda = 1 - m D^-e, q = lambda^(1/(e+1)), C = 2 sqrt(d) D^e / lambda^((e+2)/(e+1)), e = (Diam + 1) B.

    Stated from the cited paper's lemma by memory of it, not from its text; ``dim`` is the number d of
    parameters, whose square root stands in C.
    """
    if min(m, D, diameter + 1, window, dim) < 1:
        raise InputError("m, D, window and dim must be at least 1, the diameter at least 0")
    e = (diameter + 1) * window
    share = math.exp(math.log(m) - e * math.log(D))  # m D^-e
    if share >= 1:
        return CitedConstants(D, diameter, window, 0.0, 1.0, math.inf)
    log_lam = math.log1p(-share)
    log_C = math.log(2) + math.log(dim) / 2 + e * math.log(D) - log_lam * (e + 2) / (e + 1)
    C = math.exp(log_C) if log_C < 709 else math.inf
    return CitedConstants(D, diameter, window, 1 - share, -math.expm1(log_lam / (e + 1)), C)


def cited_constants(network: Any, *, dim: int = 1, rounds: int = 100, seed: int = 0) -> CitedConstants:
    """:func:`assran_constants` with D, diameter and window read off a matrix or sequence."""
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    B, _ = window_of(drawn.matrices, periodic=drawn.exact)
    if B is None:
        raise GraphError("the network is not strongly connected over any window of rounds")
    links = [support(P) for P in drawn.matrices]
    T = len(links)
    D = max(int(np.diff(sp.csc_array(S).indptr).max()) + 1 for S in links)
    starts = range(T) if drawn.exact else range(T - B + 1)
    diam = max(diameter(union([links[(l + k) % T] for k in range(B)])) for l in starts)
    return assran_constants(sequence.m, D, int(diam), B, dim)
