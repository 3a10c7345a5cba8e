"""The ``grad`` and ``mix`` of a probed round, with prescribed noise and products.

:class:`ProbeRows` are the states and the noise with which a map is probed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle
from dfltheory.exact.problem import QuadraticProblem

EXACT_ENVIRONMENT = "exact_history"


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

    environment = EXACT_ENVIRONMENT

    def __init__(
        self,
        problem: QuadraticProblem,
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

    environment = EXACT_ENVIRONMENT

    def __init__(self, gossip: Callable[[Tensor, int, int], Tensor]):
        self._prescribed = gossip

    def _gossip(self, z: Tensor, times: int, after: int) -> Tensor:
        return self._prescribed(z, times, after)


_SCALES = (1.0, 1e3)
"""Standard deviations of the entries of the two random points."""


class ProbeRows:
    """The inputs with which an affine map of state and noise is probed.

    Row 0 has no state and no noise, but the constant part of the gradients; row 1 has
    not even that. Then come the unit vectors of the state and of the noise, and two
    random points, which have the constant part.

    Parameters
    ----------
    m, d : int
        Number of clients and of parameters.
    width : int
        Number of entries of a client's state.
    draws : int
        Number of minibatches that the map draws.

    Attributes
    ----------
    units : range
        The rows of unit vectors: first ``width`` of the state, then ``d`` of each draw.
    random_points : list of pairs of arrays
        The states (m, width) and the noise (draws, m, d) of the random points.
    """

    def __init__(self, m: int, d: int, width: int, draws: int):
        self.m, self.d, self.width, self.draws = m, d, width, draws
        self.units = range(2, 2 + width + draws * d)
        rng = np.random.default_rng(1)
        self.random_points = []
        for scale in _SCALES:
            state = scale * rng.normal(size=(m, width))
            noise = scale * rng.normal(size=(draws, m, d))
            self.random_points.append((state, noise))

    def batches(self, values: int) -> Iterator[range]:
        """Yield the numbers of all rows in batches of at most ``values`` values."""
        count = self.units.stop + len(self.random_points)
        size = max(1, values // (self.m * len(self.units)))
        for first in range(0, count, size):
            yield range(first, min(first + size, count))

    def inputs(self, rows: range) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states (S, m, width), the noise and the factors of the constant.

        The noise has the shape (draws, S, m, d), the factors (S, 1, 1).
        """
        states = np.zeros((len(rows), self.m, self.width))
        noise = np.zeros((self.draws, len(rows), self.m, self.d))
        factors = np.zeros((len(rows), 1, 1))
        for place, row in enumerate(rows):
            if row == 0:
                factors[place] = 1
            elif row >= self.units.stop:
                point = self.random_points[row - self.units.stop]
                states[place], noise[:, place] = point
                factors[place] = 1
            elif row in self.units:
                entry = row - self.units.start
                if entry < self.width:
                    states[place, :, entry] = 1
                else:
                    draw, coordinate = divmod(entry - self.width, self.d)
                    noise[draw, place, :, coordinate] = 1
        return (
            torch.from_numpy(states),
            torch.from_numpy(noise),
            torch.from_numpy(factors),
        )


__all__ = ["ProbeMix", "ProbeOracle", "ProbeRows"]
