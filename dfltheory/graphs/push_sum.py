"""Push-sum: how fast x/w agrees when P^t is column-stochastic but not doubly so.

With w^{t+1} = P^t w^t, w^0 = 1 and D_t = diag(w^t), the matrix S^t = D_{t+1}^{-1/2} P^t D_t^{1/2} maps
sqrt(w^t) to sqrt(w^{t+1}), has norm 1, and on the complement of sqrt(w^t) the norm sigma_2(S^t). In the
norm weighted by w,

    ||z^{t+1} - 1 xbar^{t+1}|| <= sigma_2(S^t) ( ||z^t - 1 xbar^t|| + eta ||H^t||_F / sqrt(m delta) ),

so that with ``delta`` = inf w_i^t, ``q`` = sup sigma_2(S^t) and ``C`` = 1/delta the models contract by q in
every round, rigorously and for the matrix at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError
from dfltheory.graphs.matrices import Matrix, tolerance

SETTLED = 1e-13
"""The weights of a constant or periodic P count as settled when a period changes none by more, relatively."""

ROUNDS = 200_000
"""Rounds after which weights that have not settled are given up."""


@dataclass(frozen=True)
class PushSumConstants:
    """``delta`` the least weight, ``q`` the contraction over ``window`` rounds, ``C`` = 1/delta.

    ``w_max`` the largest weight; ``rounds`` how many rounds were looked at; ``exact``: they stand for all
    rounds to come (constant or periodic P), else they are what those rounds showed.
    """

    m: int
    delta: float
    q: float
    window: int
    w_max: float
    rounds: int
    exact: bool

    @property
    def C(self) -> float:
        return 1.0 / self.delta

    @property
    def geometric(self) -> float:
        """What q/(1 - q) becomes in the bounds: (B - 1 + q_B)/(1 - q_B) for a window of B rounds."""
        return (self.window - 1 + self.q) / (1 - self.q) if self.q < 1 else np.inf

    @property
    def geometric_square(self) -> float:
        """What 1/(1 - q^2) becomes in the bounds: B/(1 - q_B^2)."""
        return self.window / (1 - self.q**2) if self.q < 1 else np.inf


def sigma_2(P: Matrix, w: np.ndarray, w_next: np.ndarray) -> float:
    """||D_{t+1}^{-1/2} P D_t^{1/2}|| on the complement of sqrt(w^t); P may be a product over a window."""
    m = len(w)
    if m == 1:
        return 0.0
    root, root_next = np.sqrt(w), np.sqrt(w_next)
    if m <= 1024 or not sp.issparse(P):
        S = (P.toarray() if sp.issparse(P) else P) * (root / root_next[:, None])
        return float(np.linalg.norm(S - np.outer(root_next, root) / m, 2))
    from scipy.sparse.linalg import LinearOperator, eigsh

    S = sp.diags_array(1 / root_next) @ P @ sp.diags_array(root)
    forth = lambda x: S @ x - root_next * (root @ x / m)  # noqa: E731
    back = lambda y: S.T @ y - root * (root_next @ y / m)  # noqa: E731
    operator = LinearOperator((m, m), matvec=lambda x: back(forth(x)), dtype=float)
    start = np.random.default_rng(0).standard_normal(m)
    value = eigsh(operator, k=1, which="LA", v0=start, tol=1e-10, ncv=40, return_eigenvectors=False)
    return float(np.sqrt(max(float(value[0]), 0.0)))


def require_column_stochastic(P: Matrix, eps: float, what: str = "P") -> None:
    """Raise :class:`GraphError` naming the place unless P >= 0 and every column sums to one."""
    entries = P.data if sp.issparse(P) else P
    if not np.isfinite(entries).all():
        raise GraphError(f"{what} holds a value that is not finite")
    if (entries < -tolerance(eps, 1)).any():
        raise GraphError(f"{what} has a negative weight, {entries.min():.6g}: weights lie in [0, 1]")
    sums = np.asarray(P.sum(axis=0)).ravel()
    off = np.abs(sums - 1) - tolerance(eps, np.asarray((P != 0).sum(axis=0)).ravel())
    worst = int(np.argmax(off))
    if off[worst] > 0:
        raise GraphError(
            f"{what}: column {worst} sums to {sums[worst]:.6g}, not 1: push-sum divides what each client "
            "sends (divide each column by its sum)"
        )


def weights_over_time(Ps: Iterable[Matrix], m: int) -> Iterator[tuple[Matrix, np.ndarray, np.ndarray]]:
    """(P^t, w^t, w^{t+1}) for t = 0, 1, ..., from w^0 = 1."""
    w = np.ones(m)
    for P in Ps:
        w_next = P @ w
        yield P, w, w_next
        w = w_next
