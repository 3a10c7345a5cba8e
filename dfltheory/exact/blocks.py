"""Measures as squared norms of affine functions of a state, and their expectations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.exact.moments import Affine, Moments, Stage, backward
from dfltheory.exact.network import MatrixDistribution


class MeetingError(Exception):
    """Raised if a map couples coordinates that were assumed to be decoupled.

    The caller catches it, and computes again without decoupling.
    """


@dataclass(frozen=True, eq=False)
class Square:
    """The function constant + ||G s + g||^2 of a state s (B, m, p).

    Attributes
    ----------
    G : (B, k, m, p) array
        k linear functions of each of the B decoupled problems.
    g : (B, k) array
    constant : float
    """

    G: np.ndarray
    g: np.ndarray
    constant: float = 0.0

    def expected(self, state: Moments) -> float:
        """Return the expectation of the function of a random state."""
        mean = np.einsum("zkmp,zmp->zk", self.G, state.mu) + self.g
        value = self.constant + float((mean**2).sum())
        if state.cov is None:
            return value
        G = self.G.reshape(*self.G.shape[:2], -1)
        n = G.shape[-1]
        # applying G on both sides keeps cancellations accurate
        spread = float((G @ state.cov.reshape(-1, n, n) * G).sum())
        return value + max(0.0, spread)

    def rounding(self, state: Moments) -> float:
        """Return a bound of the expectation's error by rounding of the covariance.

        If terms cancel in G, it is much larger than eps times the expectation.
        """
        if state.cov is None:
            return 0.0
        n = state.mu[0].size
        G = self.G.reshape(*self.G.shape[:2], n)
        variances = np.einsum("znn->zn", state.cov.reshape(-1, n, n))
        deviations = np.sqrt(variances.clip(0))
        sizes = np.einsum("zkn,zn->zk", np.abs(G), deviations)
        return 8 * float(np.finfo(float).eps * (sizes**2).sum())


@dataclass(frozen=True, eq=False)
class Blocks:
    """The gradient grad_u F(ubar, V) = u s + v s + g, and other two-block measures.

    s is the state, ubar the mean of the shared parts, and V the personal parts (heads).

    Attributes
    ----------
    u : (B, k, m, p) array
        The term of ubar.
    v : (B, k, m, p) array
        The term of the heads.
    g : (B, k) array
        The constant term.
    head : Square
        Mean of the squared gradients in v.
    value : Square
        F(ubar, V).
    L_u, L_v : float
        Smoothness constants of the blocks.
    """

    u: np.ndarray
    v: np.ndarray
    g: np.ndarray
    head: Square
    value: Square
    L_u: float
    L_v: float

    def squares(self) -> dict[str, Square]:
        """Return the two-block measures at (ubar^t, V^t)."""
        body = Square(self.u + self.v, self.g)
        root_L_u, root_L_v = self.L_u**0.5, self.L_v**0.5
        G = np.concatenate([body.G / root_L_u, self.head.G / root_L_v], 1)
        g = np.concatenate([body.g / root_L_u, self.head.g / root_L_v], 1)
        return {
            "grad_u_sq": body,
            "grad_v_sq": self.head,
            "two_block": Square(G, g),
            "two_block_value": self.value,
        }

    def following(self, state: Moments, step: Step, after: Moments) -> dict[str, float]:
        """Return the expected measures of grad_u F(ubar^t, V^{t+1}).

        With s the state of round t and s' that of round t + 1, this gradient is
        u s + v s' + g. The expectation of its squared norm is

            E||v s' + g||^2 + E||u s||^2 + 2 E<u s, v s' + g>.

        The last term contains the covariance of s and s', which is Cov(s) M' if M is
        the linear part of the round.

        Parameters
        ----------
        state : Moments
            Mean and covariance of s.
        step : Step
            The round from s to s'.
        after : Moments
            Mean and covariance of s'.

        Returns
        -------
        dict of str to float
            ``grad_u_sq_next``, and ``two_block_next``, its sum with the squared
            gradient in v at (ubar^t, V^t), each divided by its smoothness constant.
        """
        grad_u_sq = Square(self.v, self.g).expected(after)
        # the other two terms, of the means
        mean_after = np.einsum("zkmp,zmp->zk", self.v, after.mu) + self.g
        mean_before = np.einsum("zkmp,zmp->zk", self.u, state.mu)
        grad_u_sq += float((mean_before**2 + 2 * mean_before * mean_after).sum())
        if state.cov is not None:
            # and of the deviations: tr(u Cov(s) (u + 2 v M)')
            n = state.mu[0].size
            v_rows = self.v.transpose(0, 2, 3, 1)  # (B, m, p, k)
            v_M = backward(v_rows, step.stages, step.laws)[0].transpose(0, 3, 1, 2)
            u_cov = self.u.reshape(*self.u.shape[:2], n) @ state.cov.reshape(-1, n, n)
            rows = (2 * v_M + self.u).reshape(u_cov.shape)
            grad_u_sq += float((u_cov * rows).sum())
        grad_v_sq = self.head.expected(state)
        return {
            "grad_u_sq_next": grad_u_sq,
            "two_block_next": grad_u_sq / self.L_u + grad_v_sq / self.L_v,
        }


@dataclass(frozen=True, eq=False)
class Readings:
    """The measures of a state, and the clients' models as a map of the state.

    Attributes
    ----------
    squares : dict of str to Square
        Each measure, by name.
    models : Affine
        The clients' models.
    blocks : Blocks, optional
        Two-block measures, for tasks with personal parts.
    """

    squares: dict[str, Square]
    models: Affine
    blocks: Blocks | None = None

    def expected(self, state: Moments) -> dict[str, float]:
        """Return the expectation of every measure."""
        return {name: square.expected(state) for name, square in self.squares.items()}


@dataclass(frozen=True, eq=False)
class Step:
    """One round in the coordinates of the recursion.

    Attributes
    ----------
    stages : list of Stage
        Local maps and exchanges, in order.
    laws : list of list of Law
        For each stage, the distributions of the matrices of its exchange, in order.
    """

    stages: list[Stage]
    laws: list[list[MatrixDistribution]]


__all__ = ["Blocks", "MeetingError", "Readings", "Square", "Step"]
