"""Clients with a shared and a personal coordinate, many problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dfltheory.counterexamples.ramps import Ramps, per_problem

COUPLING_ERROR = 1e-13
"""Rounding error of F relative to k, the size of the coupling. That of the ramps is
part of the error of the gap, see :meth:`.Ramps.unsure`.
"""


@dataclass(frozen=True, eq=False)
class Splits(Ramps):
    """Problems with two blocks: a shared u with ramps, and a personal v in a parabola.

    The functions are

        F_i(u, v) = r_i(u) + (h/2)(v - b_i)^2 + k sin(p u) sin(q v)

    where the ramps define r_i'. ``b`` has shape (P, m), and ``h``, ``k``, ``p``, ``q``
    have shape (P,). Without coupling (k = 0) every constant is exact. Otherwise L_u,
    L_v, L_uv and L_vu are upper bounds, delta_u is the diversity of the ramps plus k p,
    and f* is that of the ramps minus k, or the lower bound for a bowl if that is larger
    (:meth:`_least_of_bowl`), so that the problem satisfies the assumptions.
    """

    axes: ClassVar[dict[str, int]] = {
        **Ramps.axes,
        "b": 1,
        "h": 0,
        "k": 0,
        "p": 0,
        "q": 0,
    }
    b: np.ndarray
    h: np.ndarray
    k: np.ndarray
    p: np.ndarray
    q: np.ndarray

    @property
    def affine(self) -> bool:
        """Whether all gradients are affine, given that runs stay on the one ramp."""
        return self.knots.shape[-1] == 1 and not self.k.any()

    @classmethod
    def of(cls, ramps: Ramps, b: np.ndarray, h: np.ndarray, k: np.ndarray) -> Splits:
        """Return problems with these ramps and parabolas, with p = q = 1."""
        ones = np.ones(len(b))
        return cls(
            ramps.knots, ramps.widths, ramps.slopes, ramps.left, b, h, k, ones, ones
        )

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradients of F_i in u and in v, stacked on the last axis."""
        u, v = x[..., 0], x[..., 1]
        gradient = np.empty(x.shape)
        gradient[..., 0] = Ramps.gradient(self, x[..., :1])[..., 0]
        gradient[..., 1] = per_problem(self.h, 2) * (v - self.b[:, None])
        if self.k.any():
            k, p, q = (per_problem(a, 2) for a in (self.k, self.p, self.q))
            gradient[..., 0] += k * p * np.cos(p * u) * np.sin(q * v)
            gradient[..., 1] += k * q * np.sin(p * u) * np.cos(q * v)
        return gradient

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return F_i(u, v) of all clients: ramps, parabola and coupling."""
        u, v = x[..., 0], x[..., 1]
        k, p, q, h = (per_problem(a, 2) for a in (self.k, self.p, self.q, self.h))
        bowl = h / 2 * (v - self.b[:, None]) ** 2
        return Ramps.value(self, x[..., :1]) + bowl + k * np.sin(p * u) * np.sin(q * v)

    def parts(self, breadth: np.ndarray) -> np.ndarray:
        """Return the sum of the absolute terms of both blocks' gradients, (P, m)."""
        bowl = per_problem(self.h, 1) * (per_problem(breadth, 1) + np.abs(self.b))
        steepest = np.maximum(np.abs(self.p), np.abs(self.q))
        wave = per_problem(np.abs(self.k) * steepest, 1)
        return Ramps.parts(self, breadth) + bowl + wave

    def constants(self) -> dict[str, np.ndarray]:
        """Return ``L_u, L_v, L_uv, L_vu, chi, delta_u, f_star``, (P,) each."""
        known, k, p, q = Ramps.constants(self), self.k, self.p, self.q
        L_u, L_v, cross = known["L"] + k * p**2, self.h + k * q**2, k * p * q
        with np.errstate(all="ignore"):
            chi = cross / np.sqrt(L_u * L_v)
        several = float(self.m > 1)
        names = {"L_u": L_u, "L_v": L_v, "L_uv": cross, "L_vu": cross, "chi": chi}
        return names | {
            "delta_u": known["sigma_g"] + several * k * p,
            "f_star": self._least_value(known["f_star"]),
        }

    def _least_value(self, ramps_least: np.ndarray) -> np.ndarray:
        """Return a lower bound of F (P,), from the minimum of the ramps' mean.

        It is exact without coupling.
        """
        without_bowl = ramps_least - self.k
        bowl = self._least_of_bowl() - COUPLING_ERROR * self.k
        return np.where(self.k > 0, np.maximum(without_bowl, bowl), without_bowl)

    def _least_of_bowl(self) -> np.ndarray:
        """Return a lower bound of F (P,) for bowls around u = v = 0; -inf for others.

        In a bowl, b = 0, h > 0, and each client has one ramp, of slope s >= 0 between
        -R' < 0 and R'' > 0. Let R = min(R', R''), d = |r_i'(0)| <= s R/2, and w = k |q|
        max(|p| R, 1). Then

            F_i >= r_i(0) - d R - e,  e = max(w^2/h - s R^2, 0)/2

        as |sin x| <= min(|x|, 1) and w |y v| <= (h v^2 + w^2 y^2/h)/2 for all y:

        * If |u| <= R, r_i(u) - r_i(0) >= s u^2/2 - d R. For y = u/R, the coupling is
          at most k |p q u v| <= w |y v|, so the rest is (s R^2 - w^2/h) y^2/2 >= -e.
        * If |u| > R, r_i(u) - r_i(0) >= s R^2/2 - d R, as r_i' is nondecreasing and has
          the sign of u. The coupling is at most k |q v| <= w |v|; now y = 1.

        For k p q <= sqrt(s h), p R >= 1 and d = 0, the minimum is exact, since e = 0.
        """
        none = np.full(len(self.k), -np.inf)
        if self.knots.shape[-1] > 1:
            return none
        slope, left_end = self.slopes[..., 0], -self.knots[..., 0]
        R = np.minimum(left_end, self.widths[..., 0] - left_end)  # (P, m)
        origin = np.zeros((len(self.k), 1, self.m, 1))
        d = np.abs(Ramps.gradient(self, origin)[:, 0, :, 0])
        is_bowl = (
            (self.h > 0)
            & (self.b == 0).all(1)
            & ((R > 0) & (d <= slope * R / 2)).all(1)
        )
        h, k, p, q = (per_problem(a, 1) for a in (self.h, self.k, self.p, self.q))
        w = k * np.abs(q) * np.maximum(np.abs(p) * R, 1)
        with np.errstate(all="ignore"):  # h = 0
            e = np.maximum(w**2 / h - slope * R**2, 0) / 2
        least = Ramps.value(self, origin)[:, 0] - d * R - e
        return np.where(is_bowl, least.mean(1), none)

    def scaled(
        self, f: np.ndarray, x: np.ndarray, v: np.ndarray | None = None
    ) -> Splits:
        """Return the same problems in other units.

        Values are multiplied by f, u by x and v by v, (P,) each.
        """
        r = Ramps.scaled(self, f, x)
        v = np.ones_like(x) if v is None else v
        parts = (
            self.b * v[:, None],
            self.h * f / v**2,
            self.k * f,
            self.p / x,
            self.q / v,
        )
        return Splits(r.knots, r.widths, r.slopes, r.left, *parts)


__all__ = ["Splits"]
