"""Squared norms and measures as functions of the moments of a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.exact.moments import Affine, Moments, Stage, backward
from dfltheory.exact.network import Law


class MeetingError(Exception):
    """Raised if a map couples coordinates that were assumed to be decoupled."""


@dataclass(frozen=True, eq=False)
class Square:
    """The function constant + ||G s + g||^2 of a state s.

    G is (B, k, m, p), and g is (B, k).
    """

    G: np.ndarray
    g: np.ndarray
    constant: float = 0.0

    def expected(self, state: Moments) -> float:
        """Return the expectation of the function."""
        at = np.einsum("zkmp,zmp->zk", self.G, state.mu) + self.g
        value = self.constant + float((at**2).sum())
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
        G, n = self.G.reshape(*self.G.shape[:2], -1), state.mu[0].size
        deviations = np.sqrt(np.einsum("znn->zn", state.cov.reshape(-1, n, n)).clip(0))
        return 8 * float(
            np.finfo(float).eps
            * (np.einsum("zkn,zn->zk", np.abs(G), deviations) ** 2).sum()
        )


@dataclass(frozen=True, eq=False)
class Blocks:
    """The gradient grad_u F(ubar, V) = u s + v s + g, and other two-block measures.

    Only the term v s depends on the heads V.
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
        scaled = (self.L_u**0.5, self.L_v**0.5)
        G = np.concatenate([body.G / scaled[0], self.head.G / scaled[1]], 1)
        g = np.concatenate([body.g / scaled[0], self.head.g / scaled[1]], 1)
        both = Square(G, g)
        return {
            "grad_u_sq": body,
            "grad_v_sq": self.head,
            "two_block": both,
            "two_block_value": self.value,
        }

    def following(self, state: Moments, step: Step, after: Moments) -> dict[str, float]:
        """Return the two-block measures with grad_u F at V^{t+1}.

        ``step`` is the round that leads from ``state`` to ``after``.
        """
        # add the square of the term u s, and the mixed term
        value = Square(self.v, self.g).expected(after)
        at = np.einsum("zkmp,zmp->zk", self.v, after.mu) + self.g
        u_part = np.einsum("zkmp,zmp->zk", self.u, state.mu)
        value += float((u_part**2 + 2 * u_part * at).sum())
        if state.cov is not None:
            n = state.mu[0].size
            back = backward(self.v.transpose(0, 2, 3, 1), step.stages, step.laws)[0]
            seen = self.u.reshape(*self.u.shape[:2], n) @ state.cov.reshape(-1, n, n)
            rows = (2 * back.transpose(0, 3, 1, 2) + self.u).reshape(seen.shape)
            value += float((seen * rows).sum())
        head = self.head.expected(state)
        return {
            "grad_u_sq_next": value,
            "two_block_next": value / self.L_u + head / self.L_v,
        }


@dataclass(frozen=True, eq=False)
class Readings:
    """The measures of a state, and the clients' models as a map of the state."""

    squares: dict[str, Square]
    models: Affine
    blocks: Blocks | None = None

    def expected(self, state: Moments) -> dict[str, float]:
        """Return the expectation of every measure."""
        return {name: square.expected(state) for name, square in self.squares.items()}


@dataclass(frozen=True, eq=False)
class Step:
    """One round in the coordinates of the recursion."""

    stages: list[Stage]
    laws: list[list[Law]]


__all__ = ["Blocks", "MeetingError", "Readings", "Square", "Step"]
