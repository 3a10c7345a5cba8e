"""Partially personalized problems F_i(u, v_i) whose constants are known exactly.

The parameter vector of a client is x_i = (u_i, v_i); ``shared`` is the slice of u.
``f_star`` is the minimum of F(u, V) = (1/m) sum_i F_i(u, v_i) over u and all v_i. It is
a lower bound of f, in which all clients also share v.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Unpack

import torch
from torch import Tensor

from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError, whole_number
from dfltheory.number_ranges import (
    NONNEGATIVE,
    POSITIVE,
    NonnegativeFloat,
    PositiveFloat,
    PositiveInt,
    checked_number,
)
from dfltheory.tasks.coupled_minimum import Coupling, coupled_floor
from dfltheory.tasks.noise import Gaussian
from dfltheory.tasks.sizes import refuse_beyond_memory
from dfltheory.tasks.synthetic import NumbersLike, Placement, Synthetic, matrix, of_size


class BlockGaussian(Gaussian):
    """Independent Gaussian noise in u and v.

    Parameters
    ----------
    sigma_u, sigma_v : float
        Root mean square of the noise in each block: E||xi_u||^2 = sigma_u^2 and
        E||xi_v||^2 = sigma_v^2.
    d_u, d_v : int
        Number of coordinates of each block.
    """

    def __init__(self, sigma_u: float, sigma_v: float, d_u: int, d_v: int):
        for name, sigma in (("sigma_u", sigma_u), ("sigma_v", sigma_v)):
            if not 0 <= sigma < math.inf:
                raise InputError(f"noise {name} = {sigma} must be a number >= 0")
        self.sigma_u, self.sigma_v, self.d_u, self.d_v = sigma_u, sigma_v, d_u, d_v
        super().__init__(math.hypot(sigma_u, sigma_v))

    def scale(self, d: int, like: Tensor) -> Tensor:
        """Return the standard deviations of the entries, with the type of ``like``."""
        scale_u = self.sigma_u / math.sqrt(self.d_u)
        scale_v = self.sigma_v / math.sqrt(max(self.d_v, 1))
        scales = [scale_u] * self.d_u + [scale_v] * self.d_v
        return torch.tensor(scales, dtype=torch.float64).to(like)


class Personal(Synthetic):
    """Base class of problems with d_u shared and then d_v personal coordinates.

    Parameters
    ----------
    m : int
        Number of clients.
    d_u, d_v : int
        Number of coordinates of u and of v, >= 1.
    sigma_u, sigma_v : float
        Root mean square of the Gaussian noise in each block.
    **options
        ``dtype`` and ``device``.
    """

    def __init__(
        self,
        m: int,
        d_u: int,
        d_v: int,
        sigma_u: float,
        sigma_v: float,
        **options: Unpack[Placement],
    ):
        if min(d_u, d_v) < 1:
            raise InputError(
                f"u and v need at least one coordinate each, not {d_u} and {d_v}"
            )
        self.d_u, self.d_v = d_u, d_v
        self.block_noise = BlockGaussian(sigma_u, sigma_v, d_u, d_v)
        super().__init__(m, d_u + d_v, self.block_noise, **options)
        self.shared = slice(0, d_u)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The slices of u and v in x."""
        return slice(0, self.d_u), slice(self.d_u, self.d)


class Coupled(Personal):
    """Quadratics in u and v with a bounded coupling.

    F_i(u, v) = (h_u/2)||u - a_i||^2 + (h_v/2)||v - b_i||^2 + k sum_j sin(u_j) sin(v_j).

    F is nonconvex if k > min(h_u, h_v). The exact constants are L = max(h_u, h_v) + k,
    L_u = h_u + k, L_v = h_v + k, L_uv = L_vu = k, and delta_u: the deviations of grad_u
    are -h_u (a_i - mean a) + k cos(u) (sin(v_i) - mean sin(v)), where u and all v_i are
    free. Their variance is convex in the sines, so its maximum has sines +1 or -1. For
    a given number of each, the maximizer follows the order of the a_i, which leaves m +
    1 cases for each coordinate. f* is a lower bound from a certified search over each
    u_j (:mod:`~dfltheory.tasks.coupled_minimum`).

    Parameters
    ----------
    a, b : (m, p) arrays
        The clients' centers of u and of v.
    h_u, h_v : float
        Curvatures > 0 of the parabolas.
    k : float
        Strength >= 0 of the coupling.
    sigma_u, sigma_v : float
        Root mean square of the Gaussian noise in each block.
    **options
        ``dtype`` and ``device``.
    """

    name = "coupled"

    def __init__(
        self,
        a: NumbersLike,
        b: NumbersLike,
        h_u: float = 1.0,
        h_v: float = 1.0,
        k: float = 0.5,
        sigma_u: float = 0.0,
        sigma_v: float = 0.0,
        **options: Unpack[Placement],
    ):
        a, b = matrix(a, "a"), matrix(b, "b")
        if a.shape != b.shape:
            raise InputError(
                f"a has shape {tuple(a.shape)}, but b {tuple(b.shape)}: both must be"
                " (m, p)"
            )
        if not (0 < h_u < math.inf and 0 < h_v < math.inf and 0 <= k < math.inf):
            raise InputError(
                f"need h_u > 0, h_v > 0, k >= 0, not h_u = {h_u}, h_v = {h_v}, k = {k}"
            )
        super().__init__(len(a), a.shape[1], b.shape[1], sigma_u, sigma_v, **options)
        self.centre = torch.cat([self._tensor(a, "a"), self._tensor(b, "b")], 1)
        self.h_u, self.h_v, self.k = float(h_u), float(h_v), float(k)
        h = [self.h_u] * self.d_u + [self.h_v] * self.d_v
        self._h = torch.tensor(h, dtype=self.dtype, device=self.device)

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""
        u, v = x[..., : self.d_u], x[..., self.d_u :]
        coupling = (u.sin() * v.sin()).sum(-1)
        parabolas = (self._h * (x - self.centre).square()).sum(-1) / 2
        return parabolas + self.k * coupling

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return grad f_i(x_i): (..., m, d) -> (..., m, d)."""
        u, v = x[..., : self.d_u], x[..., self.d_u :]
        coupling = torch.cat([u.cos() * v.sin(), u.sin() * v.cos()], -1)
        return self._h * (x - self.centre) + self.k * coupling

    @cached_property
    def _delta(self) -> float:
        """delta_u, the maximum over the m + 1 cases for each coordinate."""
        pull = (self.h_u * self.centre[:, : self.d_u]).sort(0, descending=True).values
        pull = pull - pull.mean(0)
        ranks = torch.arange(self.m, dtype=self.dtype, device=self.device)
        cases = torch.arange(self.m + 1, dtype=self.dtype, device=self.device)
        # (m, cases): +1 for the r largest pulls
        signs = 2 * (ranks[:, None] < cases).to(self.dtype) - 1
        # (m, cases, d_u)
        deviations = pull[:, None] + self.k * (signs - signs.mean(0)).unsqueeze(-1)
        return float(deviations.square().mean(0).amax(0).sum().sqrt())

    @cached_property
    def constants(self) -> ProblemConstants:
        """The exactly known constants of this problem."""
        centers = self.centre.double().cpu().numpy()
        a, b = centers[:, : self.d_u], centers[:, self.d_u :]
        k, noise = self.k, self.block_noise
        L_u, L_v = self.h_u + k, self.h_v + k
        return ProblemConstants(
            L=max(self.h_u, self.h_v) + k,
            L_u=L_u,
            L_v=L_v,
            L_uv=k,
            L_vu=k,
            chi=k / math.sqrt(L_u * L_v) if L_u * L_v > 0 else None,
            delta_u=self._delta,
            sigma_u=noise.sigma_u,
            sigma_v=noise.sigma_v,
            sigma_l=noise.sigma,
            f_star=coupled_floor(Coupling(self.h_u, self.h_v, k), a, b),
            standing={"f_star": "bound"},
        )


def coupled(
    m: PositiveInt = 16,
    p: PositiveInt = 5,
    L_u: PositiveFloat = 1.0,
    L_v: PositiveFloat = 1.0,
    chi: NonnegativeFloat = 0.3,
    spread: NonnegativeFloat = 0.5,
    sigma_u: NonnegativeFloat = 0.1,
    sigma_v: NonnegativeFloat = 0.1,
    seed: int = 0,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Coupled:
    """Return a random :class:`Coupled` with prescribed constants.

    Parameters
    ----------
    m : int
        Number of clients.
    p : int
        Number of shared, and of personal, coordinates.
    L_u, L_v : float
        Smoothness constants of the blocks [c s^-2].
    chi : float
        Coupling L_uv / sqrt(L_u L_v), such that chi sqrt(L_u L_v) < min(L_u, L_v).
    spread : float
        Root mean square deviation of the clients' centers in u, and in v [s].
    sigma_u, sigma_v : float
        Root mean square of the noise in each block [c s^-1].
    seed : int
        Seed of the centers.
    dtype, device
        Type and device of all tensors.

    Raises
    ------
    InputError
        If a number is out of range, or the task exceeds this machine's memory.
    """
    m = whole_number("m", m, at_least=1)
    p = whole_number("p", p, at_least=1)
    for name, value in (("L_u", L_u), ("L_v", L_v)):
        checked_number(name, value, POSITIVE)
    for name, value in (("chi", chi), ("spread", spread)):
        checked_number(name, value, NONNEGATIVE)
    k = chi * math.sqrt(L_u * L_v)
    if k >= min(L_u, L_v):
        raise InputError(
            f"chi = {chi} is too large: chi sqrt(L_u L_v) = {k:.6g} must be below"
            f" min(L_u, L_v) = {min(L_u, L_v):.6g}"
        )
    refuse_beyond_memory("coupled", 2 * m * p, m=m, p=p)
    g = torch.Generator().manual_seed(seed)
    drawn_a, drawn_b = torch.randn(2, m, p, generator=g, dtype=torch.float64)
    return Coupled(
        a=_with_spread(drawn_a, spread),
        b=_with_spread(drawn_b, spread),
        h_u=L_u - k,
        h_v=L_v - k,
        k=k,
        sigma_u=sigma_u,
        sigma_v=sigma_v,
        dtype=dtype,
        device=device,
    )


def _with_spread(centers: Tensor, spread: float) -> Tensor:
    """Return centers with this RMS deviation from their mean, which does not change."""
    mean = centers.mean(0)
    return mean + of_size(centers - mean, spread)
