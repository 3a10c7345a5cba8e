"""Additive gradient noise with an exactly known second moment.

F_i(x; xi) = f_i(x) + <xi, x>.

With such noise, every F_i(.; xi) is as smooth as f_i (so SAM's sample-wise assumption
is satisfied with the same L), E grad F_i(x; xi) = grad f_i(x), and E||grad F_i(x; xi) -
grad f_i(x)||^2 = E||xi||^2 at every x.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import torch
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.randomness import normal, uniform_numbers


class Noise(abc.ABC):
    """Law of xi_i in R^d: mean 0, independent over clients, steps and seeds."""

    sigma: float
    """sigma_l = max_i (E||xi_i||^2)^(1/2), exactly."""

    @abc.abstractmethod
    def covariance(self, m: int, d: int) -> Tensor:
        """Return E xi_i xi_i' of every client, (m, d, d) float64."""

    @abc.abstractmethod
    def sample(
        self, generators: Sequence[torch.Generator], m: int, d: int, like: Tensor
    ) -> Tensor | None:
        """Draw the noise of one step.

        Parameters
        ----------
        generators : sequence of S generators
            One for each seed.
        m, d : int
            Number of clients, and dimension.
        like : tensor
            Determines the dtype and device of the result.

        Returns
        -------
        (S, m, d) tensor or None
            xi; None if it is 0.
        """

    @abc.abstractmethod
    def check(self, m: int, d: int) -> None:
        """Raise InputError unless the noise fits m clients in R^d."""


NoiseLike = Noise | float | Sequence[float] | Tensor
"""A Noise, or the RMS of Gaussian noise: one number, or one for each client."""


class Gaussian(Noise):
    """xi_i ~ N(0, (sigma_i^2 / d) I_d), so E||xi_i||^2 = sigma_i^2 for every d.

    ``sigma`` is one number for all clients, or one for each.

    Raises
    ------
    InputError
        If it is neither, or a number is negative or not finite.
    """

    def __init__(self, sigma: float | Sequence[float] | Tensor):
        try:
            self.sigmas = torch.as_tensor(sigma, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError):
            self.sigmas = torch.empty(0)
        is_valid = (self.sigmas >= 0) & self.sigmas.isfinite()
        has_shape = self.sigmas.ndim <= 1 and self.sigmas.numel() > 0
        if not has_shape or not bool(is_valid.all()):
            raise InputError(
                f"noise sigma = {sigma} must be a number >= 0, or one such number per"
                " client"
            )
        self.sigma = float(self.sigmas.max())
        self._scales: dict[tuple[int, torch.dtype, torch.device], Tensor] = {}

    def scale(self, d: int, like: Tensor) -> Tensor:
        """Return standard deviations that broadcast to (m, d), typed as ``like``."""
        key = d, like.dtype, like.device
        if key not in self._scales:
            self._scales[key] = (self.sigmas.to(like) / d**0.5).unsqueeze(-1)
        return self._scales[key]

    def check(self, m: int, d: int) -> None:
        """Raise InputError unless the noise fits m clients in R^d."""
        if self.sigmas.ndim == 1 and len(self.sigmas) != m:
            raise InputError(
                f"noise has {len(self.sigmas)} sigmas for {m} clients: pass one number"
                f" or {m}"
            )

    def covariance(self, m: int, d: int) -> Tensor:
        """Return E xi_i xi_i' of every client, (m, d, d)."""
        return torch.diag_embed((self.scale(d, self.sigmas) ** 2).expand(m, d))

    def sample(
        self, generators: Sequence[torch.Generator], m: int, d: int, like: Tensor
    ) -> Tensor | None:
        """Draw xi (S, m, d), one seed per generator."""
        if self.sigma == 0:
            return None
        return normal(generators, (m, d), like).mul_(self.scale(d, like))


class FiniteSupport(Noise):
    """xi_i is uniform over n given shifts, so every expectation is a finite sum.

    This models minibatches from a finite set. ``shifts`` is (n, d) for all clients, or
    (m, n, d); each client's shifts must sum to zero.

    Raises
    ------
    InputError
        If the shifts are not such an array, or a client's do not sum to zero.
    """

    def __init__(self, shifts: Tensor | Sequence):
        try:
            self.shifts = torch.as_tensor(shifts, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError):
            self.shifts = torch.empty(0)
        has_shape = self.shifts.ndim in (2, 3) and self.shifts.numel() > 0
        if not has_shape or not self.shifts.isfinite().all():
            raise InputError(
                "noise shifts must be finite and of shape (n, d) or (m, n, d)"
            )
        bias = float(self.shifts.mean(-2).norm(dim=-1).max())
        largest = float(self.shifts.norm(dim=-1).max())
        if bias > 1e-12 * largest:
            raise InputError(
                f"noise shifts average to norm {bias:.3g}, not 0: subtract each"
                " client's mean"
            )
        self.sigma = float(self.shifts.square().sum(-1).mean(-1).max().sqrt())

    @classmethod
    def signs(cls, sigma: float, direction: Tensor | Sequence[float]) -> FiniteSupport:
        """Return noise +sigma or -sigma along a direction, with probability 1/2 each.

        E||xi||^2 = sigma^2.
        """
        v = torch.as_tensor(direction, dtype=torch.float64)
        norm = float(v.norm())
        if v.ndim != 1 or not norm > 0:
            raise InputError(
                "the direction of two-point noise must be a nonzero vector"
            )
        v = sigma / norm * v
        return cls(torch.stack([v, -v]))

    def check(self, m: int, d: int) -> None:
        """Raise InputError unless the noise fits m clients in R^d."""
        clients = len(self.shifts) if self.shifts.ndim == 3 else m
        if self.shifts.shape[-1] != d or clients != m:
            raise InputError(
                f"noise shifts of shape {tuple(self.shifts.shape)} do not fit m = {m}"
                f" clients in R^{d}: pass (n, {d}) or ({m}, n, {d})"
            )

    def covariance(self, m: int, d: int) -> Tensor:
        """Return E xi_i xi_i' of every client, (m, d, d)."""
        n = self.shifts.shape[-2]
        return (self.shifts.mT @ self.shifts / n).expand(m, d, d)

    def sample(
        self, generators: Sequence[torch.Generator], m: int, d: int, like: Tensor
    ) -> Tensor | None:
        """Draw xi (S, m, d), one seed per generator."""
        shifts = self.shifts.to(like).expand(m, -1, -1)
        n = shifts.shape[1]
        numbers = uniform_numbers(generators, (m,), like.new_empty(0).double())
        drawn = (numbers * n).long()
        return shifts[torch.arange(m, device=like.device), drawn]


def as_noise(noise: NoiseLike) -> Noise:
    """Convert an RMS (one number, or one per client) to Gaussian noise.

    A Noise is returned unchanged.
    """
    return noise if isinstance(noise, Noise) else Gaussian(noise)
