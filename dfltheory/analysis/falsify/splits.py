r"""Two-block problems on the line: a shared u with ramps for a gradient, a personal v in a parabola.

    F_i(u, v) = r_i(u) + (h/2)(v - b_i)^2 + k sin(u) sin(v),    r_i' a sum of ramps

Without coupling (k = 0) every constant is exact. With it, L_u, L_v, L_uv and L_vu are suprema or above
them, delta_u is the ramps' diversity plus k, f* the ramps' minus k: the problem is inside the assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.analysis.falsify.ramps import Ramps, RampTask
from dfltheory.constants import ProblemConstants
from dfltheory.tasks.personal import Personal

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Splits:
    """P problems of m clients: ``ramps`` of u, ``b`` (P, m), ``h`` and ``k`` (P,); u and v are (P, N, m)."""

    ramps: Ramps
    b: Array
    h: Array
    k: Array

    @property
    def m(self) -> int:
        return self.ramps.m

    def gradient_u(self, u: Array, v: Array) -> Array:
        return self.ramps.gradient(u) + self.k[:, None, None] * np.cos(u) * np.sin(v)

    def gradient_v(self, u: Array, v: Array) -> Array:
        pull = self.h[:, None, None] * (v - self.b[:, None])
        return pull + self.k[:, None, None] * np.sin(u) * np.cos(v)

    def value(self, u: Array, v: Array) -> Array:
        bowl = self.h[:, None, None] / 2 * (v - self.b[:, None]) ** 2
        return self.ramps.value(u) + bowl + self.k[:, None, None] * np.sin(u) * np.sin(v)

    def constants(self) -> dict[str, Array]:
        """``L_u, L_v, L_uv, L_vu, chi, delta_u, f_star``, (P,) each."""
        known, k = self.ramps.constants(), self.k
        L_u, L_v = known["L"] + k, self.h + k
        with np.errstate(all="ignore"):
            chi = k / np.sqrt(L_u * L_v)
        several = float(self.m > 1)
        names = {"L_u": L_u, "L_v": L_v, "L_uv": k, "L_vu": k, "chi": chi}
        return names | {"delta_u": known["sigma_g"] + several * k, "f_star": known["f_star"] - k}

    def describe(self, index: int) -> dict[str, Any]:
        ramps = {n: getattr(self.ramps, n)[index].tolist() for n in ("knots", "widths", "slopes", "left")}
        own = {"b": self.b[index].tolist(), "h": float(self.h[index]), "k": float(self.k[index])}
        return {"kind": "split"} | ramps | own


class SplitTask(Personal):
    """The task of one problem of :class:`Splits`, for the training core (one shared, one personal number)."""

    name = "split"

    def __init__(
        self,
        knots: Any,
        widths: Any,
        slopes: Any,
        left: Any,
        b: Any,
        h: float,
        k: float,
        sigma_u: float = 0.0,
        sigma_v: float = 0.0,
    ):
        self.shared_part = RampTask(knots, widths, slopes, left)
        super().__init__(self.shared_part.m, 1, 1, sigma_u, sigma_v)
        one = np.asarray(b, dtype=float)[None], np.array([float(h)]), np.array([float(k)])
        self.splits = Splits(self.shared_part.ramps, *one)
        self._b, self._h, self._k = torch.as_tensor(one[0][0]), float(h), float(k)

    @property
    def constants(self) -> ProblemConstants:
        known: dict[str, Any] = {name: float(v[0]) for name, v in self.splits.constants().items()}
        known |= {"sigma_u": self.block_noise.sigma_u, "sigma_v": self.block_noise.sigma_v}
        return ProblemConstants(sigma_l=self.noise.sigma, **known)

    def client_loss(self, x: Tensor) -> Tensor:
        u, v = x[..., 0], x[..., 1]
        bowl = self._h / 2 * (v - self._b) ** 2
        return self.shared_part.client_loss(x[..., :1]) + bowl + self._k * u.sin() * v.sin()

    def client_gradient(self, x: Tensor) -> Tensor:
        u, v = x[..., 0], x[..., 1]
        body = self.shared_part.client_gradient(x[..., :1])[..., 0] + self._k * u.cos() * v.sin()
        return torch.stack([body, self._h * (v - self._b) + self._k * u.sin() * v.cos()], dim=-1)

    def hessian(self, x: Tensor) -> Tensor:
        u, v = x[..., 0], x[..., 1]
        same, cross = -self._k * u.sin() * v.sin(), self._k * u.cos() * v.cos()
        body = self.shared_part.hessian(x[..., :1])[..., 0, 0] + same
        rows = torch.stack([body, cross], -1), torch.stack([cross, self._h + same], -1)
        return torch.stack(rows, -2)


__all__ = ["SplitTask", "Splits"]
