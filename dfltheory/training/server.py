"""Communication through a server that averages the participating clients' models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Edges
from dfltheory.errors import InputError, checked_name
from dfltheory.training.mixing import GossipSteps, RoundMix, RunNetwork
from dfltheory.training.products import MatrixProduct


class ServerNetwork(RunNetwork):
    """A server instead of a network."""

    def with_clients(self, t: int, active: Tensor) -> RoundMix:
        """Return the mix of round t with participating clients ``active`` (S, m, 1)."""
        return ServerMix(self, t, active)

    def _round(self, t: int, losses: np.ndarray | None = None) -> RoundMix:
        return ServerMix(self, t)


class ServerMix(RoundMix):
    """The mix of one round with a server.

    Participating clients send to the server and receive the mean. In the state, all
    clients get the mean immediately; its transmission is counted only for participants.

    Parameters
    ----------
    network : RunNetwork
        Counts the bits sent.
    t : int
        The round.
    active : (S, m, 1) tensor of bool, optional
        The participating clients; None for all.
    """

    def __init__(self, network: RunNetwork, t: int, active: Tensor | None = None):
        super().__init__(network, t)
        self._active = active

    def _gossip_steps(self, name: str, begin: int, times: int) -> GossipSteps:
        """Return the mean of the participants, with two messages for each."""
        checked_name("matrix of the network", name, {MIX})
        participating = self.participating[..., 0]
        means: list[MatrixProduct] = [_mean_of_all]
        if self._active is not None:
            means = _means_of_some(participating)
        messages = 2.0 * participating.double().cpu().numpy()
        return GossipSteps(means, messages, messages.sum(-1))

    @property
    def edges(self) -> Edges:
        """Raise InputError, because a server has no arcs."""
        raise InputError("edges are the arcs of a network, but this run has a server")

    @property
    def participating(self) -> Tensor:
        """The participating clients (S, m, 1)."""
        if self._active is not None:
            return self._active
        size = len(self._network.seeds), self._network.m, 1
        return torch.ones(size, dtype=torch.bool, device=self._network.like.device)


def _mean_of_all(z: Tensor) -> Tensor:
    """Return the mean of z (S, m, k) over all clients, at every client."""
    return z.mean(1, keepdim=True).expand(z.shape).contiguous()


def _means_of_some(participating: Tensor) -> list[MatrixProduct]:
    """Return functions that average over participating clients (S, m).

    There is one function for all seeds if they have equally many participants, else one
    function for each seed.
    """
    counts = participating.sum(1)
    groups: Sequence[Tensor] = [participating]
    if bool((counts != counts[0]).any()):
        groups = participating.split(1)
    means: list[MatrixProduct] = []
    for group in groups:
        seeds, clients = group.nonzero(as_tuple=True)
        size = len(group), -1
        means.append(partial(_mean_of_some, seeds.view(size), clients.view(size)))
    return means


def _mean_of_some(seeds: Tensor, clients: Tensor, z: Tensor) -> Tensor:
    """Return the means of z (S, m, k) over the clients (S, n) of each seed."""
    return z[seeds, clients].mean(1, keepdim=True).expand(z.shape).contiguous()


__all__ = ["ServerMix", "ServerNetwork"]
