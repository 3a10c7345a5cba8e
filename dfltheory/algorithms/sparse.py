"""Sparse personalized models: DisPFL, where every client trains and sends its own half of the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.blocks import parts


@dataclass(frozen=True, eq=False)
class MaskedState(State):
    """State with every client's mask (S, m, d), bytes: 1 where a weight lives, 0 elsewhere; x = x * mask."""

    mask: Tensor


@dataclass(frozen=True)
class DisPFL(Algorithm):
    """DisPFL: personal masks that are pruned and regrown after each round's local steps.

        K times:  y <- y - eta mask_i * grad F_i(y; xi)
        in every layer, of the n living weights: the round(r_t n) smallest |y| die, and as many of the dead
        with the largest |grad F_i(y; xi)| are born, at 0;  r_t = prune/2 (1 + cos(pi t / T))
        x_i <- mask_i * (sum_l w_il z_l) / (sum_l w_il mask_l)

    Every layer starts with the same share 1 - sparsity of living weights, drawn for each client.

    Parameters: ``eta`` step size, ``K`` local steps, ``sparsity`` share of dead weights, ``prune`` share of
    living weights exchanged in round 0.
    Source: Dai et al. 2022, Algorithm 1 (uniform density of layers).
    """

    eta: float
    K: int
    sparsity: float = 0.5
    prune: float = field(default=0.5, kw_only=True)

    mixing: ClassVar = "row-stochastic"
    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Dai et al. 2022"

    def living(self, n: int) -> int:
        """How many weights of a layer of n live, at every client and in every round."""
        return max(1, round((1 - self.sparsity) * n))

    def init(self, x0: Tensor, grad: Oracle) -> MaskedState:
        mask, luck = torch.zeros_like(x0, dtype=torch.uint8), grad.uniform(tuple(x0.shape[1:]))
        few = max(1, 10**6 // x0.shape[-1])  # clients at a time: the positions of their weights take room
        for living, drawn, start in zip(*(all_of.split(few, dim=1) for all_of in (mask, luck, x0))):
            for block in grad.blocks:
                n = block.stop - block.start
                born = drawn[..., block].topk(self.living(n), dim=-1).indices
                living[..., block].scatter_(-1, born, 1)
            torch.mul(start, living, out=drawn)  # what was drawn makes room for the models
        return MaskedState(x=luck, z=luck, mask=mask)

    def local_update(self, state: MaskedState, grad: Oracle) -> MaskedState:
        eta, y = self.decayed(self.eta, grad.t), grad.begin(state.x, over=True)
        for _ in range(self.K):
            y.sub_(self.slope(grad, y).mul_(state.mask), alpha=eta)
        rate = self.prune / 2 * (1 + math.cos(math.pi * grad.t / max(1, grad.horizon)))
        mask = state.mask.clone()
        if rate > 0 and self.sparsity > 0:
            slope = grad(y, grad.sample()).abs_()
            for block in grad.blocks:
                n = block.stop - block.start
                count = min(round(rate * self.living(n)), n - self.living(n))
                mask[..., block] = reborn(y[..., block], slope[..., block], mask[..., block], count)
        return replace(state, z=y.mul_(mask), mask=mask)

    def communicate(self, state: MaskedState, mix: Mix) -> MaskedState:
        x = torch.empty_like(state.z)
        for part in parts(slice(0, x.shape[-1])):
            mask = state.mask[..., part].to(x.dtype)
            heard = mix(mask)
            heard.masked_fill_(heard <= 0, 1.0)
            torch.div(mix(state.z[..., part].contiguous()), heard, out=x[..., part])
            x[..., part].mul_(mask)
        return replace(state, x=x)


def reborn(y: Tensor, slope: Tensor, mask: Tensor, count: int) -> Tensor:
    """The mask of one layer after the ``count`` smallest weights died, and the steepest dead were born."""
    infinity = torch.full_like(y, math.inf)
    dying = torch.where(mask > 0, y.abs(), infinity).topk(count, dim=-1, largest=False).indices
    born = torch.where(mask > 0, -infinity, slope).topk(count, dim=-1).indices
    return mask.scatter(-1, dying, 0).scatter_(-1, born, 1)


__all__ = ["DisPFL", "MaskedState"]
