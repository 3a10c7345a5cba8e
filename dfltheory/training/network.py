"""The network of a run: its matrices by name, and how many bits have been sent over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.training.arcs import Arcs
from dfltheory.training.laws import Laws
from dfltheory.training.mixing import MatrixSource, RoundMix
from dfltheory.training.products import product
from dfltheory.training.server import ServerMix


class RunNetwork:
    """The network of a run, whose matrices are drawn for each (root seed, seed index, round); or a server.

    A sequence that is not random has one matrix per round for all seeds; a random one has one for every
    seed. All matrices of a round are drawn by generators of one key: two sequences over the same random links
    use the same links. Without ``sequences`` there is a server.

    Parameters
    ----------
    sequences : mapping from name to sequence of mixing matrices
    algorithm : Algorithm
        Its laws are checked, and it says whether messages draw random numbers.
    seeds, root : indices of the seeds, and the root seed
    like : (..., m, d) tensor
        Models of the run's precision and device.
    strict : bool
        If False, the matrices need only have finite weights.

    Attributes
    ----------
    sent : (S,) array
        Bits that the clients of each seed have sent so far; a new array after every message.
    """

    def __init__(
        self,
        sequences: Mapping[str, Any],
        algorithm: Algorithm,
        seeds: Sequence[int],
        root: int,
        like: Tensor,
        strict: bool = True,
    ):
        self.seeds, self.root, self.draws = seeds, root, algorithm.draws
        self.like = like.new_empty((0, *like.shape[-2:]))  # keeps no reference to the models
        self.m, d = like.shape[-2:]
        make_product = partial(product, dtype=like.dtype, device=like.device, d=d)
        self.sources: dict[str, MatrixSource] = {}
        for name, sequence in sequences.items():
            laws = Laws(algorithm, self.m, strict, name)
            self.sources[name] = MatrixSource(sequence, laws, algorithm.gossip_steps, make_product)
        self.sent = np.zeros(len(seeds))
        self.needs_losses = any(source.needs_losses for source in self.sources.values())
        self.constant = all(source.constant for source in self.sources.values())
        self._arcs: Arcs | None = None
        self._kind = RoundMix if sequences else ServerMix
        self._constant_round = self._kind(self, 0) if self.constant else None

    def at(self, t: int, losses: Tensor | None = None, active: Tensor | None = None) -> RoundMix:
        """Return the mix of round t.

        Parameters
        ----------
        t : int
        losses : (S, m) tensor, optional
            Where the sequence chooses neighbors by them.
        active : (S, m, 1) tensor, optional
            The clients whose models a server averages.
        """
        if self._constant_round is not None and active is None:
            return self._constant_round.moved(t)
        return self._kind(self, t, None if losses is None else losses.double().cpu().numpy(), active)

    @property
    def arcs(self) -> Arcs:
        """All arcs that the network has in some round, collected when first asked for."""
        if self._arcs is None:
            source = self.sources[MIX]
            rng = np.random.default_rng(0)
            period = [source.sequence.matrix(t, rng) for t in range(source.period or 0)]
            self._arcs = Arcs.of_matrices(period, self.m, self.like)
        return self._arcs


__all__ = ["RunNetwork"]
