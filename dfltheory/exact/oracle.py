"""The ``grad`` and ``mix`` of a probed round, with prescribed noise and products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle
from dfltheory.exact.problem import Problem

ENVIRONMENT = "exact_history"


class ProbeOracle(Oracle):
    """The oracle of one round with gradients A_i y + offset pull_i + noise.

    Parameters
    ----------
    problem : Problem
    t, horizon : int
        The round, and the total number of rounds.
    offset : float or (S, 1, 1) tensor
        Factor of the constant part of the gradients.
    noise : function, optional
        Maps the number of a draw to its noise (S, m, d).

    Attributes
    ----------
    draws : int
        Number of minibatches drawn so far.
    """

    environment = ENVIRONMENT

    def __init__(
        self,
        problem: Problem,
        t: int,
        horizon: int,
        offset: Tensor | float,
        noise: Callable[[int], Tensor] | None,
    ):
        super().__init__(t, horizon, problem.task)
        self.draws = 0
        self._A = torch.from_numpy(problem.A)
        self._pull = torch.from_numpy(problem.pull) * offset
        self._noise = noise

    def sample(self) -> int:
        """Return the number of this draw: 0, 1, ..."""
        self.draws += 1
        return self.draws - 1

    def __call__(self, y: Tensor, batch: int | None) -> Tensor:
        """Return the clients' gradients at y (S, m, d), with the noise of the draw."""
        g = torch.matmul(y.transpose(0, 1), self._A.mT).transpose(0, 1) + self._pull
        if batch is None or self._noise is None:
            return g
        return g + self._noise(batch)


class ProbeMix(Mix):
    """The mix of one round with prescribed products ``gossip(z, times, after)``."""

    environment = ENVIRONMENT

    def __init__(self, gossip: Callable[[Tensor, int, int], Tensor]):
        self._given = gossip

    def _gossip(self, z: Tensor, times: int, after: int) -> Tensor:
        return self._given(z, times, after)


__all__ = ["ProbeMix", "ProbeOracle"]
