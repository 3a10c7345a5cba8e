"""Compressors: functions C(x, uniform) with E||C(x) - x||^2 <= (1 - delta) ||x||^2.

x (S, m, d) contains one vector for each client; vectors are compressed separately.
``uniform(shape)`` draws numbers in [0, 1), as ``mix.uniform`` does; deterministic
compressors do not call it. ``delta(d)`` in (0, 1] is the constant for vectors of d
numbers (omega in assumption 1 of Koloskova et al. 2019). ``bits(d, number)`` is the
size of a compressed vector if an uncompressed number takes ``number`` bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dfltheory.algorithms.scaled_norms import scaled_norm

Uniform = Callable[[tuple[int, ...]], Tensor]
"""Maps a shape (m, d) to uniform random numbers in [0, 1) of shape (S, m, d)."""


class Compressor(Protocol):
    """The interface of a compressor."""

    def __call__(self, x: Tensor, uniform: Uniform) -> Tensor:
        """Return C(x) (S, m, d) as a new tensor."""
        ...

    def delta(self, d: int) -> float:
        """Return the constant delta for vectors of d numbers."""
        ...

    def bits(self, d: int, number: int) -> int:
        """Return the number of bits of C(x) for one x of d numbers."""
        ...


def _count(share: float, d: int) -> int:
    """Return the number of entries that are kept."""
    return max(1, round(share * d))


def _keep(x: Tensor, positions: Tensor) -> Tensor:
    """Return x with all other entries set to 0."""
    return torch.zeros_like(x).scatter_(-1, positions, x.gather(-1, positions))


@dataclass(frozen=True)
class TopK:
    """Keep the k = max(1, round(share d)) largest entries; delta = k/d.

    Parameters
    ----------
    share : float
        Fraction k/d of the entries, in (0, 1].
    """

    share: float

    def __call__(self, x: Tensor, uniform: Uniform) -> Tensor:
        """Return x with only the k largest absolute values of each vector."""
        k = _count(self.share, x.shape[-1])
        return _keep(x, x.abs().topk(k, dim=-1).indices)

    def delta(self, d: int) -> float:
        """Return delta = k/d."""
        return _count(self.share, d) / d

    def bits(self, d: int, number: int) -> int:
        """Return the bits of k numbers and their positions."""
        return _count(self.share, d) * (number + math.ceil(math.log2(d)))


@dataclass(frozen=True)
class RandK:
    """Keep k = max(1, round(share d)) random entries, without scaling; delta = k/d.

    Neighbors derive the positions from the sender's seed, so positions are not sent.

    Parameters
    ----------
    share : float
        Fraction k/d of the entries, in (0, 1].
    """

    share: float

    def __call__(self, x: Tensor, uniform: Uniform) -> Tensor:
        """Return x with only k entries of each vector, at random positions."""
        u = uniform(tuple(x.shape[1:]))
        k = _count(self.share, x.shape[-1])
        return _keep(x, u.topk(k, dim=-1).indices)

    def delta(self, d: int) -> float:
        """Return delta = k/d."""
        return _count(self.share, d) / d

    def bits(self, d: int, number: int) -> int:
        """Return the bits of k numbers; positions are not counted."""
        return _count(self.share, d) * number


@dataclass(frozen=True)
class Sign:
    """C(x) = (||x||_1 / d) sign(x) with sign(0) = 1; delta = 1/d.

    The error is ||C(x) - x||^2 = ||x||^2 - ||x||_1^2/d.
    """

    def __call__(self, x: Tensor, uniform: Uniform) -> Tensor:
        """Return the signs of x times the mean absolute value of each vector."""
        return torch.copysign(x.abs().mean(-1, keepdim=True), x)

    def delta(self, d: int) -> float:
        """Return delta = 1/d."""
        return 1 / d

    def bits(self, d: int, number: int) -> int:
        """Return the bits of d signs and one number."""
        return d + number


@dataclass(frozen=True)
class QSGD:
    """C(x) = sign(x) ||x||/(s tau) floor(s |x|/||x|| + u) with s levels; delta = 1/tau.

    tau = 1 + min(d/s^2, sqrt(d)/s). tau C(x) has mean x and
    E||tau C(x)||^2 <= tau ||x||^2 (Alistarh et al. 2017).

    Parameters
    ----------
    levels : int
        Number s >= 1 of levels.
    """

    levels: int

    def tau(self, d: int) -> float:
        """Return the bound of E||tau C(x)||^2 / ||x||^2."""
        return 1 + min(d / self.levels**2, math.sqrt(d) / self.levels)

    def __call__(self, x: Tensor, uniform: Uniform) -> Tensor:
        """Return x with randomly rounded levels, divided by tau."""
        norm = scaled_norm(x)
        scaled = torch.where(
            norm.value > 0, self.levels * norm.vector.abs() / norm.value, 0
        )
        level = scaled.add_(uniform(tuple(x.shape[1:]))).floor_()
        step = norm.value / (self.levels * self.tau(x.shape[-1])) * norm.unit
        return level.mul_(x.sign()).mul_(step)

    def delta(self, d: int) -> float:
        """Return delta = 1/tau."""
        return 1 / self.tau(d)

    def bits(self, d: int, number: int) -> int:
        """Return the bits of d signed levels and the norm."""
        return d * math.ceil(math.log2(2 * self.levels + 1)) + number


__all__ = ["QSGD", "Compressor", "RandK", "Sign", "TopK"]
