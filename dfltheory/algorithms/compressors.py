"""What is sent in place of a vector: functions C(x, chance) with E||C(x) - x||^2 <= (1 - delta) ||x||^2.

x (S, m, d) are the clients' vectors, each compressed by itself; ``chance(shape)`` draws numbers in [0, 1), as
``mix.uniform`` does, and those that need none do not ask. ``delta(d)`` in (0, 1] is the contract's
constant for vectors of d numbers (Koloskova et al. 2019, assumption 1, omega there), and ``bits(d, number)``
what one such vector takes when a number of full precision takes ``number`` bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

Chance = Callable[[tuple[int, ...]], Tensor]
"""(m, d) -> numbers in [0, 1) for every seed: (S, m, d)."""


class Compressor(Protocol):
    """What a compressor is."""

    def __call__(self, x: Tensor, chance: Chance) -> Tensor:
        """C(x) (S, m, d), a new tensor."""
        ...

    def delta(self, d: int) -> float:
        """The constant of the contract."""
        ...

    def bits(self, d: int, number: int) -> int:
        """What C(x) takes for one x of d numbers."""
        ...


def _kept(share: float, d: int) -> int:
    return max(1, round(share * d))


def _only(x: Tensor, positions: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter_(-1, positions, x.gather(-1, positions))


@dataclass(frozen=True)
class TopK:
    """The k = max(1, round(share d)) largest entries, else 0; delta = k/d, as where all are equal."""

    share: float

    def __call__(self, x: Tensor, chance: Chance) -> Tensor:
        return _only(x, x.abs().topk(_kept(self.share, x.shape[-1]), dim=-1).indices)

    def delta(self, d: int) -> float:
        return _kept(self.share, d) / d

    def bits(self, d: int, number: int) -> int:
        return _kept(self.share, d) * (number + math.ceil(math.log2(d)))


@dataclass(frozen=True)
class RandK:
    """k = max(1, round(share d)) entries at random, not scaled up; E||C(x) - x||^2 = (1 - k/d) ||x||^2.

    Where they lie follows from the sender's seed, which its neighbors know, and is not sent.
    """

    share: float

    def __call__(self, x: Tensor, chance: Chance) -> Tensor:
        u = chance(tuple(x.shape[1:]))
        return _only(x, u.topk(_kept(self.share, x.shape[-1]), dim=-1).indices)

    def delta(self, d: int) -> float:
        return _kept(self.share, d) / d

    def bits(self, d: int, number: int) -> int:
        return _kept(self.share, d) * number


@dataclass(frozen=True)
class Sign:
    """(||x||_1 / d) sign(x), sign(0) = 1: ||C(x) - x||^2 = ||x||^2 - ||x||_1^2/d, so delta = 1/d."""

    def __call__(self, x: Tensor, chance: Chance) -> Tensor:
        return torch.copysign(x.abs().mean(-1, keepdim=True), x)

    def delta(self, d: int) -> float:
        return 1 / d

    def bits(self, d: int, number: int) -> int:
        return d + number


@dataclass(frozen=True)
class QSGD:
    """sign(x) ||x||/(s tau) floor(s |x|/||x|| + u), tau = 1 + min(d/s^2, sqrt(d)/s), s levels; delta = 1/tau.

    Times tau it has the mean x and E||.||^2 <= tau ||x||^2 (Alistarh et al. 2017).
    """

    levels: int

    def tau(self, d: int) -> float:
        """How much larger than ||x||^2 the mean square may be before it is scaled down."""
        return 1 + min(d / self.levels**2, math.sqrt(d) / self.levels)

    def __call__(self, x: Tensor, chance: Chance) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        level = (
            torch.where(norm > 0, self.levels * x.abs() / norm, 0).add_(chance(tuple(x.shape[1:]))).floor_()
        )
        return level.mul_(x.sign()).mul_(norm / (self.levels * self.tau(x.shape[-1])))

    def delta(self, d: int) -> float:
        return 1 / self.tau(d)

    def bits(self, d: int, number: int) -> int:
        return d * math.ceil(math.log2(2 * self.levels + 1)) + number


__all__ = ["QSGD", "Compressor", "RandK", "Sign", "TopK"]
