"""Constants of push-sum: how fast x/w reaches consensus under column-stochastic P^t.

Let w^{t+1} = P^t w^t with w^0 = 1, and D_t = diag(w^t). The matrix
S^t = D_{t+1}^{-1/2} P^t D_t^{1/2} maps sqrt(w^t) to sqrt(w^{t+1}) and has norm 1. Its
norm on the complement of sqrt(w^t) is sigma_2(S^t). In the norm weighted by w,

    ||z^{t+1} - 1 xbar^{t+1}||
        <= sigma_2(S^t) (||z^t - 1 xbar^t|| + eta ||H^t||_F / sqrt(m delta)),

so with ``delta`` = inf w_i^t, ``q`` = sup sigma_2(S^t) and ``C`` = 1/delta the models
contract by q in each round. If single rounds are not connected, q_B is defined likewise
for products over B rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.arpack import arpack
from dfltheory.graphs.connectivity import window as smallest_window
from dfltheory.graphs.matrices import (
    ROUNDING_UNIT,
    Matrix,
    entries,
    entry_tolerance,
    line_sums,
    to_dense,
    worst_sum,
)
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import MixingSequence, Rounds, rounds_of

SETTLED = 1e-13
"""Largest relative change of a converged weight over one period."""

PATIENCE = 100_000
"""Number of rounds after which weights that have not converged raise an error."""

DENSE_SINGULAR = 256
"""Largest number of clients for LAPACK's sigma_2; above it, Lanczos."""


@dataclass(frozen=True)
class PushSumConstants:
    """Constants of push-sum on a network.

    Attributes
    ----------
    m : int
        Number of clients.
    delta : float
        Smallest weight over all rounds.
    q : float
        Contraction over ``window`` rounds (q_B).
    window : int
        Number of rounds B.
    w_max : float
        Largest weight over all rounds.
    rounds : int
        Number of rounds that were examined.
    exact : bool
        Whether the constants are valid for all rounds (constant or periodic P).
        Otherwise they are valid for the examined rounds only.
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
        """Evidence: "computed" if the constants cover all rounds, else "estimate"."""
        return "computed" if self.exact else "estimate"

    def __str__(self) -> str:
        windows = "" if self.window == 1 else f" over windows of {self.window} rounds"
        how = "computed, for all rounds"
        if not self.exact:
            how = f"estimates from {self.rounds} rounds"
        values = f"delta = {self.delta:.6g}, q = {self.q:.6g}, C = {self.C:.6g}"
        return f"{values}{windows} ({how})"

    @property
    def C(self) -> float:
        """1/delta: ||z_i^t - xbar^t|| <= C q^t (...) in root mean square if B = 1."""
        return 1.0 / self.delta

    @property
    def q_effective(self) -> float:
        """Smallest one-step q that covers both window factors of the bounds.

        It satisfies q/(1 - q) >= (B - 1 + q_B)/(1 - q_B) and
        1/(1 - q^2) >= B/(1 - q_B^2). The B-th root of q_B would make both factors too
        small. For B = 1 it equals q.
        """
        B = self.window
        return max((B - 1 + self.q) / B, math.sqrt(1 - (1 - self.q**2) / B))

    @property
    def pair(self) -> tuple[float, float]:
        """(C, q) with q_B^floor(t/B) / delta <= C q^t for all t, as in papers."""
        if self.window == 1:
            return self.C, self.q
        q = max(self.q, 2.0**-self.window) ** (1 / self.window)
        return self.C / q ** (self.window - 1), q


def push_sum_constants(
    network: object, *, window: int | None = None, rounds: int = 200, seed: int = 0
) -> PushSumConstants:
    """Compute delta, q and C of a column-stochastic matrix or sequence.

    A constant or periodic P is applied until the weights have converged, so its
    constants are valid for all rounds.

    Parameters
    ----------
    network : object
        Anything that ``as_sequence`` accepts.
    window : int, optional
        Number B of rounds over which products contract. By default 1 if each round
        contracts, else the smallest B such that the union of any B consecutive rounds
        is strongly connected.
    rounds : int
        Number of rounds to examine if the sequence has no period.
    seed : int
        Seed of the draws of a random sequence.

    Returns
    -------
    PushSumConstants
        The constants.

    Raises
    ------
    GraphError
        If a column does not sum to 1, or no window of rounds is strongly connected
        (delta would be 0).
    """
    if window is not None and window < 1:
        raise InputError(f"window = {window} must be at least 1 round")
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    for t, P in enumerate(drawn.matrices):
        name = "P" if len(drawn.matrices) == 1 else f"P of round {t}"
        require_column_stochastic(P, name, drawn.eps)
    drawn.matrices[:] = map(_normalize_columns, drawn.matrices)
    connected, _ = smallest_window(drawn.matrices, periodic=drawn.exact)
    if connected is None:
        raise GraphError(
            "the network is not strongly connected over any window of rounds, so some"
            " weight would tend to 0: check_push_sum names two clients"
        )
    weights = _weights(sequence, drawn)
    rounds_together = window or 1
    q = _contraction(drawn, weights, rounds_together)
    if window is None and q >= 1 - 1e-12 and connected > 1:
        rounds_together = connected
        q = _contraction(drawn, weights, rounds_together)
    low = min(w.min() for w in weights)
    high = max(w.max() for w in weights)
    examined = len(weights) - 1
    return PushSumConstants(
        sequence.m, float(low), q, rounds_together, float(high), examined, drawn.exact
    )


def _normalize_columns(P: Matrix) -> Matrix:
    """Rescale the columns to sum to 1, so rounding errors do not accumulate."""
    sums = line_sums(P, axis=0)
    if not np.abs(sums - 1).max() > SETTLED / 10:
        return P
    if isinstance(P, np.ndarray):
        return P / sums
    return sp.csr_array(P @ sp.diags_array(1 / sums))


def sigma_2(P: Matrix, w: np.ndarray, w_next: np.ndarray) -> float:
    """Return ||D_{t+1}^{-1/2} P D_t^{1/2}|| on the complement of sqrt(w^t).

    Parameters
    ----------
    P : (m, m) matrix
        Column-stochastic; may be a product over a window of rounds.
    w : (m,) array
        Weights before P.
    w_next : (m,) array
        P w, the weights after P.

    Returns
    -------
    float
        In [0, 1]; 0 for one client.
    """
    m = len(w)
    if m == 1:
        return 0.0
    root = np.sqrt(w)
    root_next = np.sqrt(w_next)
    total = float(w.sum())
    if m <= DENSE_SINGULAR:
        S = to_dense(P) * (root / root_next[:, None])
        deflated = S - np.outer(root_next, root) / total
        return min(float(np.linalg.norm(deflated, 2)), 1.0)

    def gram_product(x: np.ndarray) -> np.ndarray:
        y = (P @ (root * x)) / root_next - root_next * (root @ x / total)
        return root * (P.T @ (y / root_next)) - root * (root_next @ y / total)

    values, _ = arpack(gram_product, m, tol=1e-11, ncv=40)
    return min(math.sqrt(max(float(values[0]), 0.0)), 1.0)


def require_column_stochastic(
    P: Matrix, what: str = "P", eps: float = ROUNDING_UNIT
) -> None:
    """Raise an error unless P is nonnegative and its columns sum to 1.

    Parameters
    ----------
    P : (m, m) matrix
        The matrix.
    what : str
        Name of the matrix in messages.
    eps : float
        Rounding unit of its original type.

    Raises
    ------
    GraphError
        The message names the column.
    """
    values = entries(P)
    if not np.isfinite(values).all():
        raise GraphError(f"{what} has an entry that is not finite")
    if (values < -entry_tolerance(eps)).any():
        raise GraphError(
            f"{what} has a negative weight, {values.min():.6g}: weights lie in [0, 1]"
        )
    worst = worst_sum(P, 0, eps)
    if worst is not None:
        column, value = worst
        raise GraphError(
            f"{what}: column {column} sums to {value:.10g}, not 1: push-sum divides"
            " what each client sends (divide each column by its sum)"
        )


def _weights(sequence: MixingSequence, drawn: Rounds) -> list[np.ndarray]:
    """Return w^0, w^1, ... over the examined rounds.

    For a periodic P the rounds continue until the weights have converged.
    """
    weights: list[np.ndarray] = [np.ones(sequence.m)]
    if not drawn.exact:
        for P in drawn.matrices:
            weights.append(P @ weights[-1])
        return weights
    period = len(drawn.matrices)
    while len(weights) <= PATIENCE:
        for matrix in drawn.matrices:
            weights.append(matrix @ weights[-1])
        if np.max(np.abs(weights[-1] / weights[-1 - period] - 1)) <= SETTLED:
            return weights
    raise GraphError(
        f"the push-sum weights have not converged in {PATIENCE} rounds, so the sequence"
        " mixes very slowly: check that it has self-loops (see check_push_sum)"
    )


@dataclass(frozen=True, eq=False)
class _Window:
    """A window of B rounds whose sigma_2 was computed.

    Attributes
    ----------
    before, after : (m,) arrays
        The weights before its first and after its last round.
    sigma : float
        sigma_2 of the product of its rounds.
    """

    before: np.ndarray
    after: np.ndarray
    sigma: float


def _contraction(drawn: Rounds, weights: list[np.ndarray], B: int) -> float:
    """Return q_B, the largest sigma_2(S^{l+B-1} ... S^l) over all windows of B rounds.

    Windows that start at the same round of the period have the same product of
    matrices P, and differ only in their weights. So their sigma_2 is computed only
    where the change of the weights could raise q_B (see :func:`_can_skip`).

    Parameters
    ----------
    drawn : Rounds
        The matrices of the examined rounds, or of one period.
    weights : list of (m,) array
        w^0, w^1, ... over these rounds, or until they have converged. In the second
        case the result is the supremum over all rounds.
    B : int
        Number of rounds of a window.

    Raises
    ------
    InputError
        If fewer than B rounds were examined.
    """
    last_round = len(weights) - 1
    period = len(drawn.matrices)
    if drawn.exact:
        weights = [*weights]
        # extend by B rounds, for windows that start before convergence and end after it
        for k in range(last_round, last_round + B):
            weights.append(drawn.matrices[k % period] @ weights[-1])
    elif last_round < B:
        raise InputError(
            f"window = {B} needs at least that many rounds, not {last_round}"
        )
    products: dict[int, Matrix] = {}
    last_computed: dict[int, _Window] = {}
    q = 0.0
    for first_round in range(len(weights) - B):
        phase = first_round % period
        before = weights[first_round]
        after = weights[first_round + B]
        if phase in last_computed and _can_skip(last_computed[phase], before, after, q):
            continue
        if phase not in products:
            products[phase] = _product(drawn, first_round, B)
        sigma = sigma_2(products[phase], before, after)
        last_computed[phase] = _Window(before, after, sigma)
        q = max(q, sigma)
    return q


def _can_skip(
    computed: _Window, before: np.ndarray, after: np.ndarray, q: float
) -> bool:
    """Return whether a window with the same matrices cannot raise q noticeably.

    Let P be the product of the matrices, and S_0 and S its scaled forms in the computed
    window and in this one. They satisfy S = E S_0 D with the diagonal matrices
    D = (before / before_0)^{1/2} and E = (after_0 / after)^{1/2}. So sigma_2(S) <=
    max(D) max(E) sigma_2(S_0), by the inequality for singular values of products.

    Parameters
    ----------
    computed : _Window
        A window with the same P, whose sigma_2 is known.
    before, after : (m,) arrays
        The weights of the window in question.
    q : float
        The largest sigma_2 so far.

    Returns
    -------
    bool
        True if sigma_2 <= q, or sigma_2 <= s + 1e-6 (1 - s) with s = computed.sigma.
    """
    ratio = (before / computed.before).max() * (computed.after / after).max()
    growth = math.sqrt(float(ratio))
    cannot_exceed_q = computed.sigma * growth <= q
    return cannot_exceed_q or growth - 1 <= 1e-6 * (1 - computed.sigma)


def _product(drawn: Rounds, start: int, B: int) -> Matrix:
    """Return P^{start+B-1} ... P^start."""
    m = drawn.matrices[0].shape[0]
    total: Matrix = sp.csr_array(sp.eye_array(m, format="csr"))
    for k in range(start, start + B):
        total = drawn.matrices[k % len(drawn.matrices)] @ total
    return total
