"""Gradients and communication of all candidates of a batch.

Row p N + n of the state is run n of candidate p. Run 0 has no noise. With noise, rounds
must be affine, and each other run is the response to one unit of noise; the squared
responses add up to the variance. If the clients are interchangeable, the responses to
the noise of the first one represent all clients. If a matrix is drawn in each round,
the runs are all sequences of matrices, which are equally likely.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, Parameters, replace
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.counterexamples.batch import CandidateBatch

SEARCH_ENVIRONMENT = "falsify"


class Candidates(Oracle):
    """The oracle of all candidates: exact gradients, plus the ``noise`` of the runs.

    Each response to the noise represents ``weight`` clients. Second moments of the
    ``moments`` steps of a round are recorded.
    """

    environment = SEARCH_ENVIRONMENT

    def __init__(
        self,
        batch: CandidateBatch,
        horizon: int,
        runs: int = 1,
        noise: Tensor | None = None,
        weight: float = 0.0,
        moments: int = 0,
    ):
        self._clients, self._noise_ramps = batch.clients, batch.noise_ramps
        self._noise, self._weight, self._moments = noise, weight, moments
        m, d = batch.x0.shape[1:]
        coordinates = tuple(slice(k, k + 1) for k in range(d))
        shared = slice(0, 1) if batch.two_blocks else None
        super().__init__(0, horizon, Parameters(shared, coordinates, ((1,),) * d))
        self.drawn = 0
        self.moment, self._last = np.zeros(batch.size), np.zeros((batch.size, 1, m, d))
        self._variances = np.zeros((moments, batch.size))
        self._shape = (batch.size, runs, m, d)

    def sample(self) -> Tensor | None:
        """Return the noise of the next step, (P N, m, d).

        Only the first round has noise.
        """
        if self._moments:  # SAM steps along the last of its gradients
            step = (self.drawn - 1) % self._moments
            answers = (self._last[:, 1:] - self._last[:, :1]) ** 2
            self._variances[step] += self._weight * answers.sum((1, 3)).mean(-1)
            known = self._last[:, :1] if self._weight else self._last
            seen = (known**2).sum(-1).mean((1, 2))
            self.moment = np.maximum(self.moment, seen + self._variances[step])
        draw = self.drawn
        self.drawn += 1
        if self._noise is None or draw >= len(self._noise):
            return None
        return self._noise[draw]

    def __call__(self, y: Tensor, batch: Tensor | None) -> Tensor:
        """Return the gradients at ``y``, plus the noise ``batch`` if there is any."""
        points = y.numpy().reshape(self._shape)
        g = torch.from_numpy(self._clients.gradient(points).reshape(y.shape))
        if batch is not None:
            g += batch
        if self._noise_ramps is not None:
            g += torch.from_numpy(self._noise_ramps.gradient(points).reshape(y.shape))
        if self._moments:
            # a copy, since the algorithm may change g in place
            self._last = g.numpy().reshape(self._shape).copy()
        return g


class CandidatesMix(Mix):
    """The networks of all candidates.

    The matrices of a candidate are used in turn. If they are drawn at random, the
    digits of n in base B, the number of matrices, are the sequence of matrices of run
    n.
    """

    environment = SEARCH_ENVIRONMENT

    def __init__(self, batch: CandidateBatch, runs: int, oracle: Candidates):
        self._batch, self._runs, self._oracle = batch, runs, oracle
        copies = 1 if batch.drawn else runs
        self._weights = torch.from_numpy(
            np.repeat(np.moveaxis(batch.W, 1, 0), copies, axis=1)
        )

    def _gossip(self, z: Tensor, times: int, after: int) -> Tensor:
        for k in range(after, after + times):
            z = self._matrices(k) @ z
        return z

    def _matrices(self, k: int) -> Tensor:
        """Return the matrices of gossip step k of this round, (P N, m, m)."""
        batch, t = self._batch, self._oracle.t
        step = t if batch.one_per_round else t * batch.algorithm.gossip_steps + k
        B, m = batch.period, batch.x0.shape[1]
        if not batch.drawn:
            return self._weights[step % B]
        choices = np.arange(self._runs) // B**step % B
        return torch.from_numpy(batch.W[:, choices].reshape(-1, m, m))


@unknown_methods_rejected()
def draws_of(batch: CandidateBatch) -> int:
    """Return the number of minibatches that one round draws."""
    oracle = Candidates(batch, 1)
    x = torch.from_numpy(batch.x0.copy())
    state = batch.algorithm.init(x, oracle)
    before = oracle.drawn
    batch.algorithm.local_update(replace(state, z=x), oracle)
    return oracle.drawn - before


__all__ = ["Candidates", "CandidatesMix", "draws_of"]
