"""Separable nonconvex and clipped problems with exact constants.

f_i(x) = sum_k phi(x_k - c_ik). The coordinates are independent, so each supremum over x
is a sum of suprema over single numbers, which have closed forms.
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
from dfltheory.tasks.noise import NoiseLike
from dfltheory.tasks.sizes import refuse_beyond_memory
from dfltheory.tasks.synthetic import NumbersLike, Placement, Synthetic, matrix, of_size


class Separable(Synthetic):
    """f_i(x) = sum_k phi(x_k - c_ik) with centers c (m, d) [s].

    ``x_star`` (d,) minimizes f.
    """

    x_star: Tensor

    def __init__(self, c: NumbersLike, noise: NoiseLike, **options: Unpack[Placement]):
        c = matrix(c, "c")
        m, d = c.shape
        super().__init__(m, d, noise, **options)
        self.c = self._tensor(c, "c")

    @cached_property
    def f_star(self) -> float:
        """The minimum of f."""
        return float(self.global_loss(self.x_star))


class Sinusoidal(Separable):
    """f_i(x) = a sum_k (1 - cos(w (x_k - c_ik))), non-convex and bounded.

    Its gradients are a w sin(w (x - c_i)).

    An average of sinusoids of one frequency is a sinusoid. With the phasors p_ik =
    exp(-i w c_ik) and q = p - mean_i p, all constants are exact: L = a w^2, B = a w
    sqrt(d), beta = a w max_i ||q_i||, sigma_g^2 = (a w)^2 sum_k (mean_i |q_ik|^2 +
    |mean_i q_ik^2|) / 2, f* = a sum_k (1 - |mean_i p_ik|).

    Parameters
    ----------
    c : (m, d) array
        Centers [s].
    a : float
        Amplitude > 0 [c].
    w : float
        Frequency > 0 [1/s].
    noise : float, sequence of float, or Noise
        As for :class:`~dfltheory.tasks.Quadratic`.
    **options
        ``dtype`` and ``device``.
    """

    name = "sinusoidal"

    def __init__(
        self,
        c: NumbersLike,
        a: float = 1.0,
        w: float = 1.0,
        noise: NoiseLike = 0.0,
        **options: Unpack[Placement],
    ):
        if not (0 < a < math.inf and 0 < w < math.inf):
            raise InputError(f"amplitude a = {a} and frequency w = {w} must be > 0")
        super().__init__(c, noise, **options)
        self.a, self.w = float(a), float(w)

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""
        return 2 * self.a * torch.sin(self.w / 2 * (x - self.c)).square().sum(-1)

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return grad f_i(x_i): (..., m, d) -> (..., m, d)."""
        return self.a * self.w * torch.sin(self.w * (x - self.c))

    @cached_property
    def _phasors(self) -> Tensor:
        """The phasors p_ik = exp(-i w c_ik), (m, d), complex."""
        # torch has no complex type for half precision
        angle = -self.w * self.c.to(torch.promote_types(self.dtype, torch.float32))
        return torch.polar(torch.ones_like(angle), angle)

    @cached_property
    def x_star(self) -> Tensor:  # type: ignore[override]
        """The minimizer of f, (d,)."""
        return (-self._phasors.mean(0).angle() / self.w).to(self.dtype)

    @cached_property
    def constants(self) -> ProblemConstants:
        """The exact constants of this problem."""
        slope = self.a * self.w
        q = self._phasors - self._phasors.mean(0)
        squares = q.abs().square()
        largest_variances = (squares.mean(0) + (q * q).mean(0).abs()) / 2
        largest_deviation = squares.sum(-1).max().sqrt()
        return ProblemConstants(
            L=self.a * self.w**2,
            sigma_l=self.noise.sigma,
            sigma_g=slope * float(largest_variances.sum().sqrt()),
            beta=slope * float(largest_deviation),
            B=slope * math.sqrt(self.d),
            f_star=self.f_star,
        )


class Clipped(Separable):
    """f_i(x) = h sum_k huber(x_k - c_ik), convex.

    Its gradient is h (x - c_i) clipped to [-h r, h r].

    The exact constants are L = h, B = h r sqrt(d), and mu = 0, because f is linear far
    from the centers. Between the kinks c_ik -+ r, the deviations of the gradients are
    linear in x_k and their variance is a convex quadratic, so sigma_g and beta are
    attained at kinks.

    Parameters
    ----------
    c : (m, d) array
        Centers [s].
    h : float
        Curvature > 0 [c s^-2].
    r : float
        Radius > 0 of the quadratic part [s].
    noise : float, sequence of float, or Noise
        As for :class:`~dfltheory.tasks.Quadratic`.
    **options
        ``dtype`` and ``device``.
    """

    name = "clipped"

    def __init__(
        self,
        c: NumbersLike,
        h: float = 1.0,
        r: float = 1.0,
        noise: NoiseLike = 0.0,
        **options: Unpack[Placement],
    ):
        if not (0 < h < math.inf and 0 < r < math.inf):
            raise InputError(f"curvature h = {h} and radius r = {r} must be > 0")
        super().__init__(c, noise, **options)
        self.h, self.r = float(h), float(r)

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""
        slope = self._clip(x - self.c)
        return self.h * (slope * (x - self.c - slope / 2)).sum(-1)

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return grad f_i(x_i): (..., m, d) -> (..., m, d)."""
        return self.h * self._clip(x - self.c)

    def _clip(self, t: Tensor) -> Tensor:
        """Return t clipped to [-r, r]."""
        return t.clamp(-self.r, self.r)

    @cached_property
    def _kinks(self) -> tuple[Tensor, Tensor]:
        """The sorted kinks (2m, d), and the gradients / h at them (2m, m, d)."""
        kinks = torch.cat([self.c - self.r, self.c + self.r]).sort(0).values
        return kinks, self._clip(kinks[:, None] - self.c)

    @cached_property
    def x_star(self) -> Tensor:  # type: ignore[override]
        """The minimizer of f, (d,)."""
        kinks, slopes = self._kinks
        mean = slopes.mean(1)  # increases from -r to r along the kinks
        zeros = torch.zeros_like(self.c[0]).unsqueeze(1)
        after = torch.searchsorted(mean.T.contiguous(), zeros).T
        after = after.clamp(1, len(kinks) - 1)
        before = after - 1
        g1, x1 = mean.gather(0, after)[0], kinks.gather(0, after)[0]
        g0, x0 = mean.gather(0, before)[0], kinks.gather(0, before)[0]
        is_flat = g1 == g0
        increase = torch.where(is_flat, 1.0, g1 - g0)
        return torch.where(is_flat, x1, x0 - g0 * (x1 - x0) / increase)

    @cached_property
    def constants(self) -> ProblemConstants:
        """The exact constants of this problem."""
        _, slopes = self._kinks
        squares = (slopes - slopes.mean(1, keepdim=True)).square()
        largest_variances = squares.mean(1).amax(0)  # (d,)
        largest_squares = squares.amax(0)  # (m, d)
        return ProblemConstants(
            L=self.h,
            mu=0.0,
            sigma_l=self.noise.sigma,
            sigma_g=self.h * float(largest_variances.sum().sqrt()),
            beta=self.h * float(largest_squares.sum(-1).max().sqrt()),
            B=self.h * self.r * math.sqrt(self.d),
            f_star=self.f_star,
        )


def _random_centers(
    task: str,
    m: int,
    d: int,
    L: float,
    B: float,
    spread: float,
    distance: float,
    seed: int,
) -> Tensor:
    """Return random centers (m, d).

    Their mean has norm ``distance``, and their RMS deviation is ``spread``.
    """
    m = whole_number("m", m, at_least=1)
    d = whole_number("d", d, at_least=1)
    for name, value in (("L", L), ("B", B)):
        checked_number(name, value, POSITIVE)
    for name, value in (("spread", spread), ("distance", distance)):
        checked_number(name, value, NONNEGATIVE)
    refuse_beyond_memory(task, m * d, m=m, d=d)
    g = torch.Generator().manual_seed(seed)
    c = torch.randn(m, d, generator=g, dtype=torch.float64)
    middle = torch.randn(1, d, generator=g, dtype=torch.float64)
    return of_size(c - c.mean(0), spread) + of_size(middle, distance)


def sinusoidal(
    m: PositiveInt = 16,
    d: PositiveInt = 10,
    L: PositiveFloat = 1.0,
    B: PositiveFloat = 1.0,
    sigma: NonnegativeFloat = 0.1,
    spread: NonnegativeFloat = 0.5,
    distance: NonnegativeFloat = 1.0,
    seed: int = 0,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Sinusoidal:
    """Return a random :class:`Sinusoidal` with prescribed L, B and sigma_l.

    Parameters
    ----------
    m, d : int
        Numbers of clients and parameters.
    L : float
        Smoothness constant > 0 [c s^-2].
    B : float
        Largest norm > 0 of a client's gradient [c s^-1].
    sigma : float
        sigma_l, the root mean square of the gradient noise [c s^-1].
    spread : float
        Root mean square deviation of the centers [s].
    distance : float
        Norm of the mean of the centers [s].
    seed : int
        Seed of the centers.
    dtype, device
        Type and device of all tensors.
    """
    c = _random_centers("sinusoidal", m, d, L, B, spread, distance, seed)
    w = L * math.sqrt(d) / B
    if not 1e-150 < w < 1e150:
        raise InputError(
            f"sinusoidal: L = {L}, B = {B} need the frequency w = {w:g}, which must be"
            " in (1e-150, 1e150)"
        )
    return Sinusoidal(c, L / w**2, w, sigma, dtype=dtype, device=device)


def clipped(
    m: PositiveInt = 16,
    d: PositiveInt = 10,
    L: PositiveFloat = 1.0,
    B: PositiveFloat = 1.0,
    sigma: NonnegativeFloat = 0.1,
    spread: NonnegativeFloat = 0.5,
    distance: NonnegativeFloat = 1.0,
    seed: int = 0,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Clipped:
    """Return a random :class:`Clipped` with prescribed L, B and sigma_l.

    Parameters are those of :func:`sinusoidal`.
    """
    c = _random_centers("clipped", m, d, L, B, spread, distance, seed)
    radius = B / (L * math.sqrt(d))
    return Clipped(c, L, radius, sigma, dtype=dtype, device=device)
