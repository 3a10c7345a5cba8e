"""Sparse personalized models: DisPFL, in which each client trains its own mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.blocks import parts
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.scaled_norms import scaled_norm

_ROUNDING = 1e-12
"""Relative rounding error that is allowed for before taking floor and ceiling."""


@dataclass(frozen=True, eq=False)
class MaskedState(State):
    """State with the clients' masks (S, m, d): 1 for active weights, 0 for others.

    The models satisfy x = x * mask. ``sent`` contains the masks of the messages z, or
    None between rounds.
    """

    mask: Tensor
    sent: Tensor | None = None


@dataclass(frozen=True)
class DisPFL(Algorithm[MaskedState]):
    """DisPFL: personal sparse masks with a search in each round.

        K times:  g = grad F_i(y; xi);  y <- y - eta mask_i * (g min(1, clip/||g||))
        z_i = y and sent_i = mask_i are sent
        search in each layer with n active weights, r_t = prune/2 (1 + cos(pi t / T)):
          the ceil(r_t n) active weights with the smallest |y| become inactive
          as many inactive ones with the largest |grad F_i(y; xi)| become active
        x_i <- mask_i * (sum_l w_il z_l) / (sum_l w_il sent_l)

    New weights start from the neighbors' values and do not change the neighbors'
    averages. In a layer of shape s, the fraction min(1, c sum(s)/prod(s)) of weights is
    active, rounded down to at least one weight, with c such that the total fraction is
    1 - sparsity (ERK: Erdos-Renyi with kernels; tensors with one axis are filled
    first).

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    sparsity : float
        Fraction of inactive weights.
    prune : float
        Fraction of the active weights that are exchanged in round 0.
    clip : float
        Largest norm of a stochastic gradient; 0 for no clipping.
    density : {"erk", "uniform"}
        Distribution of the active weights over the layers.
    first : {"common", "own"}
        Initial masks: one for all clients, or one for each.
    growth : {"gradient", "random"}
        Selection of new weights.
    order : {"send-then-search", "search-then-send"}
        Whether messages have the old or the new mask; new weights are 0 in
        messages.

    References
    ----------
    Dai et al. 2022, their code (github.com/rong-dai/DisPFL, commit e2f47d4); ERK:
    Evci et al. 2020.
    """

    eta: float
    K: int
    sparsity: float = 0.5
    prune: float = field(default=0.5, kw_only=True)
    clip: float = field(default=10.0, kw_only=True)
    density: Literal["erk", "uniform"] = field(default="erk", kw_only=True)
    first: Literal["common", "own"] = field(default="common", kw_only=True)
    growth: Literal["gradient", "random"] = field(default="gradient", kw_only=True)
    order: Literal["send-then-search", "search-then-send"] = field(
        default="send-then-search", kw_only=True
    )

    mixing: ClassVar = "row-stochastic"
    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Dai et al. 2022"
    ranges: ClassVar = ranges("eta K sparsity prune clip")

    @property
    def draws(self) -> bool:
        """True, because masks are random."""
        return True

    def active_weights(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Return the number of active weights of each layer, equal for all clients."""
        density = 1 - self.sparsity
        return _active_counts(tuple(map(tuple, shapes)), density, self.density == "erk")

    def init(self, x0: Tensor, grad: Oracle) -> MaskedState:
        """Return the initial state: random masks and x0 restricted to them."""
        uniform = grad.uniform(tuple(x0.shape[1:]))
        scores = sum_over_clients(uniform) if self.first == "common" else uniform
        mask = torch.zeros_like(scores, dtype=torch.uint8)
        clients = max(1, 10**6 // x0.shape[-1])  # at a time, to limit memory
        counts = self.active_weights(grad.shapes)
        for first in range(0, scores.shape[1], clients):
            part = mask[:, first : first + clients]
            part_scores = scores[:, first : first + clients]
            for block, count in zip(grad.blocks, counts):
                chosen = part_scores[..., block].topk(count, dim=-1).indices
                part[..., block].scatter_(-1, chosen, 1)
        mask = mask.expand(x0.shape).contiguous()
        x = uniform  # the models overwrite the random numbers, which saves memory
        for first in range(0, x0.shape[1], clients):
            some = slice(first, first + clients)
            torch.mul(x0[:, some], mask[:, some], out=x[:, some])
        return MaskedState(x=x, z=x, mask=mask)

    def local_update(self, state: MaskedState, grad: Oracle) -> MaskedState:
        """Return the state after K masked steps and the search for new masks."""
        eta = self.decayed(self.eta, grad.t)
        y = grad.begin(state.x)
        for _ in range(self.K):
            g = grad(y, grad.sample())
            if self.clip:
                norm = scaled_norm(g)
                g.mul_((self.clip / norm.unit / norm.value).clamp_(max=1))
            if self.weight_decay:
                g.add_(y, alpha=self.weight_decay)
            y.sub_(g.mul_(state.mask), alpha=eta)
        mask = self.searched(state.mask, y, grad)
        if self.order == "send-then-search":
            return replace(state, z=y, mask=mask, sent=state.mask)
        return replace(state, z=y.mul_(mask), mask=mask, sent=mask)

    def searched(self, mask: Tensor, y: Tensor, grad: Oracle) -> Tensor:
        """Return the masks (S, m, d) after the search of this round.

        Parameters
        ----------
        mask : (S, m, d) tensor
            Masks before the search.
        y : (S, m, d) tensor
            Models after the local steps.
        grad : Oracle
            Gradients of the round.

        Returns
        -------
        (S, m, d) tensor
            The new masks.
        """
        rate = self.prune / 2 * (1 + math.cos(math.pi * grad.t / max(1, grad.horizon)))
        if rate <= 0 or self.sparsity == 0:
            return mask
        if self.growth == "random":
            scores = grad.uniform(tuple(y.shape[1:]))
        else:
            scores = grad(y, grad.sample()).abs_()
        new_mask = mask.clone()
        for block, active in zip(grad.blocks, self.active_weights(grad.shapes)):
            if active < block.stop - block.start:  # full layers do not change
                count = math.ceil(rate * active * (1 - _ROUNDING))
                new_mask[..., block] = exchanged_mask(
                    y[..., block], scores[..., block], mask[..., block], count
                )
        return new_mask

    def communicate(self, state: MaskedState, mix: Mix) -> MaskedState:
        """Return the state with each entry averaged over the clients that sent it."""
        assert state.sent is not None  # local work sets it
        x = torch.empty_like(state.z)
        bits_per_number = torch.finfo(state.z.dtype).bits
        for part in parts(slice(0, x.shape[-1])):
            active = state.sent[..., part]
            weights = mix(active.to(x.dtype), bits=0)  # messages contain the masks
            weights.masked_fill_(weights <= 0, 1.0)
            bits = active.sum(-1) * bits_per_number
            mixed = mix(state.z[..., part].contiguous(), bits=bits)
            torch.div(mixed, weights, out=x[..., part])
            x[..., part].mul_(state.mask[..., part])
        return replace(state, x=x, sent=None)


def exchanged_mask(y: Tensor, promise: Tensor, mask: Tensor, count: int) -> Tensor:
    """Exchange active weights of one layer.

    Parameters
    ----------
    y : (S, m, n) tensor
        Weights; the smallest active ones become inactive.
    promise : (S, m, n) tensor
        Scores; the inactive weights with the largest scores become active. They may
        have become inactive in this exchange.
    mask : (S, m, n) tensor
        Mask before the exchange.
    count : int
        Number of exchanged weights.

    Returns
    -------
    (S, m, n) tensor
        The new mask.
    """
    infinity = torch.full_like(y, math.inf)
    sizes = torch.where(mask > 0, y.abs(), infinity)
    smallest = sizes.topk(count, dim=-1, largest=False).indices
    remaining = mask.scatter(-1, smallest, 0)
    scores = torch.where(remaining > 0, -infinity, promise)
    return remaining.scatter_(-1, scores.topk(count, dim=-1).indices, 1)


def sum_over_clients(uniform: Tensor) -> Tensor:
    """Return the sum over clients, which does not depend on their order.

    Parameters
    ----------
    uniform : (S, m, d) tensor
        Random numbers of the clients.

    Returns
    -------
    (S, 1, d) float64 tensor
        The sum; sums of float32 numbers are exact in float64.
    """
    total = torch.zeros_like(uniform[:, :1], dtype=torch.float64)
    for client in range(uniform.shape[1]):
        total.add_(uniform[:, client : client + 1])
    return total


def erk(shapes: Sequence[Sequence[int]], density: float) -> list[float]:
    """Return the fraction of active weights of each layer, min(1, c sum(s)/prod(s)).

    Layers whose fraction would exceed 1 are full; c is then computed for the others.

    Parameters
    ----------
    shapes : sequence of sequence of int
        Shapes s of the layers.
    density : float
        Fraction of active weights over all layers.

    Returns
    -------
    list of float
        The fractions.

    References
    ----------
    Evci et al. (2020), ERK.
    """
    sides = [tuple(shape) or (1,) for shape in shapes]
    sizes = [math.prod(shape) for shape in sides]
    weights = [sum(shape) / size for shape, size in zip(sides, sizes)]
    partial: list[int] = list(range(len(sizes)))  # layers that are not full
    c = 0.0
    while partial:
        full = sum(sizes) - sum(sizes[i] for i in partial)
        weighted = sum(weights[i] * sizes[i] for i in partial)
        c = (density * sum(sizes) - full) / weighted
        largest = max(weights[i] for i in partial)
        if c * largest <= 1:
            break
        partial = [i for i in partial if weights[i] < largest]
    shares = [1.0] * len(weights)
    for i in partial:
        shares[i] = c * weights[i]
    return shares


@lru_cache(maxsize=64)
def _active_counts(
    shapes: tuple[tuple[int, ...], ...], density: float, by_shape: bool
) -> tuple[int, ...]:
    """Return the number of active weights of each layer."""
    shares = erk(shapes, density) if by_shape else [density] * len(shapes)
    sizes = [math.prod(shape) for shape in shapes]
    counts: list[int] = []
    for share, size in zip(shares, sizes):
        counts.append(max(1, math.floor(share * size * (1 + _ROUNDING))))
    return tuple(counts)


__all__ = ["DisPFL", "MaskedState"]
