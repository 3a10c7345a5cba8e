"""The network of a run, and its communication rounds x <- W_t x for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm, Edges, Mix
from dfltheory.errors import InputError, checked_name, whole_number
from dfltheory.graphs.matrices import Matrix
from dfltheory.graphs.sequences import MixingSequence
from dfltheory.randomness import (
    Generators,
    RunGenerators,
    may_draw,
    numpy_generator,
    uniform_numbers,
)
from dfltheory.training.arcs import (
    Arcs,
    check_reverse,
    sent_over_arcs,
    swapped_over_links,
)
from dfltheory.training.laws import Laws
from dfltheory.training.messages import bits_sent, degrees, messages_sent
from dfltheory.training.products import (
    NO_DRAWS,
    MatrixProduct,
    MatrixSource,
    mixing_product,
)


@dataclass(frozen=True, eq=False)
class GossipSteps:
    """Consecutive gossip steps of a round.

    Attributes
    ----------
    products : list of functions
        The product of all steps for each seed, or a single one for all seeds.
    messages : (S or 1, m) array
        Number of messages that each client sends.
    total : float or (S,) array
        Their sum, one number if it is the same for all seeds.
    """

    products: list[MatrixProduct]
    messages: np.ndarray
    total: float | np.ndarray

    def apply(self, z: Tensor) -> Tensor:
        """Mix z (S, m, k)."""
        if len(self.products) == 1:
            return self.products[0](z)
        return torch.cat([apply(z[s : s + 1]) for s, apply in enumerate(self.products)])


class RunNetwork:
    """The network of a run, with matrices drawn per (root seed, seed index, round).

    A deterministic sequence has the same matrix for all seeds; a random sequence has
    one for each seed. All matrices of a round are drawn by generators with the same
    key, so that two sequences over the same random links use the same links.

    Parameters
    ----------
    sequences : mapping of str to MixingSequence
        Mixing matrices by name.
    algorithm : Algorithm
        Defines the laws to check, and whether messages draw random numbers.
    seeds : sequence of int
        Indices of the seeds.
    root : int
        Root seed.
    like : (..., m, d) tensor
        Models with the run's precision and device.
    strict : bool
        If False, the matrices need only have finite weights.

    Attributes
    ----------
    sent : (S,) array
        Bits sent so far by the clients of each seed; replaced by a new array after each
        message.
    """

    def __init__(
        self,
        sequences: Mapping[str, MixingSequence],
        algorithm: Algorithm,
        seeds: Sequence[int],
        root: int,
        like: Tensor,
        strict: bool = True,
    ):
        self.seeds, self.root, self.draws = seeds, root, algorithm.draws
        self.randomness = RunGenerators(root, seeds, like.device)
        # does not keep a reference to the models
        self.like = like.new_empty((0, *like.shape[-2:]))
        self.m, d = like.shape[-2:]
        make_product = partial(
            mixing_product, dtype=like.dtype, device=like.device, d=d
        )
        self.sources: dict[str, MatrixSource] = {}
        for name, sequence in sequences.items():
            laws = Laws(algorithm, self.m, strict, name)
            self.sources[name] = MatrixSource(
                sequence, laws, algorithm.gossip_steps, make_product
            )
        self.sent = np.zeros(len(seeds))
        self.needs_losses = any(source.needs_losses for source in self.sources.values())
        self.constant = all(source.constant for source in self.sources.values())
        self._arcs: Arcs | None = None
        self._constant_round = self._round(0) if self.constant else None

    def at(self, t: int, losses: Tensor | None = None) -> RoundMix:
        """Return the mix of round t.

        ``losses`` (S, m) are needed if the sequence chooses neighbors by them.
        """
        if self._constant_round is not None:
            return self._constant_round.moved(t)
        return self._round(t, None if losses is None else losses.double().cpu().numpy())

    def _round(self, t: int, losses: np.ndarray | None = None) -> RoundMix:
        """Return a new mix of round t; subclasses return their own type."""
        return RoundMix(self, t, losses)

    @property
    def arcs(self) -> Arcs:
        """All arcs that occur in any round, collected on first access."""
        if self._arcs is None:
            sequence = self.sources[MIX].sequence
            self._arcs = Arcs.of_sequence(sequence, self.m, self.like)
        return self._arcs


class RoundMix(Mix):
    """The mix of one round of training, with steps W_{t,0}, W_{t,1}, ...

    It implements :class:`~dfltheory.algorithms.Mix`.

    Parameters
    ----------
    network : RunNetwork
        The network of the run, which also counts the bits sent.
    t : int
        The round.
    losses : (S, m) array, optional
        Losses of the clients, if the network chooses neighbors by them.
    """

    environment = "training"

    def __init__(self, network: RunNetwork, t: int, losses: np.ndarray | None = None):
        self._network, self._t, self._losses = network, t, losses
        self._matrices: dict[str, list[tuple[list[Matrix], np.random.Generator]]] = {}
        self._steps: dict[tuple[str, int, int], GossipSteps] = {}
        self._edges: Edges | None = None
        self._generators: Generators | None = None

    def moved(self, t: int) -> Self:
        """Reuse this as round t of a constant network, with new random numbers."""
        self._t, self._generators = t, None
        return self

    def __call__(
        self,
        z: Tensor,
        times: int = 1,
        W: str = MIX,
        bits: float | Tensor | None = None,
        after: int = 0,
    ) -> Tensor:
        """Return z_i <- sum_l w_il z_l, ``times`` times, as a new tensor (S, m, k)."""
        self._check_shape(z, "mix", "(S, m, k)")
        if z.ndim != 3:
            shape = tuple(z.shape)
            raise InputError(
                f"mix takes tensors (S, m, k), not {shape}: pass numbers s (S, m) as"
                " s[..., None]"
            )
        dtype = self._network.like.dtype
        if z.dtype != dtype:
            raise InputError(
                f"mix takes the task's {dtype}, not {z.dtype}: convert it with .to(x)"
            )
        times = whole_number("mix: times", times, at_least=1)
        if after:
            after = whole_number("mix: after", after, at_least=0)
        steps = self._gossip_steps(W, after, times)
        mixed = steps.apply(z)
        self._count(z, bits, steps)
        return mixed

    def send(
        self, message: Tensor, bits: float | Tensor | None = None, W: str = MIX
    ) -> Tensor:
        """Send a message to the neighbors, which can store it.

        ``mix(stored, bits=0)`` then averages the stored messages.
        """
        self._check_shape(message, "send", "(S, m, ...)")
        self._count(message, bits, self._gossip_steps(W, 0, 1))
        return message

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) of shape (S, m, ...), given (m, ...)."""
        network = self._network
        may_draw(shape, network.m, network.draws)
        if self._generators is None:
            self._generators = network.randomness.at(self._t, "message")
        return uniform_numbers(self._generators, (network.m, *shape[1:]), network.like)

    @property
    def edges(self) -> Edges:
        """The arcs of the network, with their weights in W_{t,0}."""
        if self._edges is None:
            arcs = self._network.arcs
            self._edges = arcs.weighted(self._drawn(MIX, 1)[0][0])
        return self._edges

    def gather(self, x: Tensor, bits: float | Tensor | None = None) -> Tensor:
        """Send each client's value over its arcs: (S, m, ...) -> (S, E, ...).

        The result is 0 for arcs that are absent in this round.
        """
        edges = self.edges
        self._check_shape(x, "gather", "(S, m, ...)")
        self.send(x, bits)
        return sent_over_arcs(edges, x)

    def swap(self, e: Tensor, bits: float | None = None) -> Tensor:
        """Exchange values (S, E, ...) over links.

        The result is 0 for links that are absent in this round.
        """
        edges = self.edges
        check_reverse(edges)
        self._check_shape(e, "swap", "(S, E, ...)", len(edges))
        self._count(e, bits, self._gossip_steps(MIX, 0, 1))
        return swapped_over_links(edges, e)

    @property
    def participating(self) -> Tensor:
        """Mask (S, m, 1) of the clients that send or receive in W_{t,0}."""
        linked = [
            degrees(seed_matrices[0], 0) + degrees(seed_matrices[0], 1) > 0
            for seed_matrices in self._drawn(MIX, 1)
        ]
        mask = torch.from_numpy(np.stack(linked)).to(self._network.like.device)
        return mask.expand(len(self._network.seeds), -1)[..., None]

    def _check_shape(
        self, z: Tensor, call: str, wanted: str, n: int | None = None
    ) -> None:
        """Raise InputError unless z has all seeds and clients (or n arcs)."""
        size = (len(self._network.seeds), self._network.m if n is None else n)
        if isinstance(z, Tensor) and z.shape[:2] == size:
            return
        actual = tuple(z.shape) if isinstance(z, Tensor) else f"a {type(z).__name__}"
        raise InputError(
            f"{call} takes tensors {wanted}, not {actual}: the first two axes must be"
            f" {size}"
        )

    def _count(
        self, z: Tensor, bits: float | Tensor | None, steps: GossipSteps
    ) -> None:
        """Add the bits of the messages of some steps to the total of the run."""
        if isinstance(bits, Tensor):
            self._check_shape(bits, "bits", "(S, m)")
        sent = bits_sent(z, bits, steps.messages, steps.total)
        self._network.sent = self._network.sent + sent

    def _gossip_steps(self, name: str, begin: int, times: int) -> GossipSteps:
        """Return the gossip steps W_{t,begin}, ..., W_{t,begin+times-1}."""
        key = (name, begin, times)
        known = self._steps.get(key)
        if known is None:
            matrices = [
                seed_matrices[begin : begin + times]
                for seed_matrices in self._drawn(name, begin + times)
            ]
            source = self._network.sources[name]
            source.check_owned(begin + times)
            messages = np.stack(
                [messages_sent(seed_matrices) for seed_matrices in matrices]
            )
            known = GossipSteps(
                [source.step(seed_matrices) for seed_matrices in matrices],
                messages,
                messages.sum(-1) if len(messages) > 1 else float(messages.sum()),
            )
            self._steps[key] = known
        return known

    def _drawn(self, name: str, n: int) -> list[list[Matrix]]:
        """Return the first n matrices of each seed, or a single list for all seeds."""
        network = self._network
        source = network.sources[
            checked_name("matrix of the network", name, network.sources)
        ]
        if name not in self._matrices:
            seeds = network.seeds if source.per_seed else ()
            generators = [
                numpy_generator(network.root, s, self._t, "network") for s in seeds
            ]
            self._matrices[name] = [([], rng) for rng in generators or [NO_DRAWS]]
        for row, (matrices, rng) in enumerate(self._matrices[name]):
            losses = (
                (self._losses[row],)
                if source.needs_losses and self._losses is not None
                else ()
            )
            while len(matrices) < n:
                if source.one_matrix and matrices:
                    matrices.append(matrices[0])
                else:
                    matrices.append(source.matrix(self._t, len(matrices), rng, losses))
        return [matrices for matrices, _ in self._matrices[name]]


__all__ = ["GossipSteps", "RoundMix", "RunNetwork"]
