"""Sparse personalized models: DisPFL, where every client trains and sends its own half of the weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, ranges, replace
from dfltheory.algorithms.blocks import parts

_ROUNDING = 1e-12
"""What a count may be off by rounding before its floor or ceiling is taken, relative."""


@dataclass(frozen=True, eq=False)
class MaskedState(State):
    """State with every client's mask (S, m, d), bytes: 1 where a weight lives, 0 elsewhere; x = x * mask.

    ``sent``: the masks that go with z, of before the search; ``None`` between rounds.
    """

    mask: Tensor
    sent: Tensor | None = None


@dataclass(frozen=True)
class DisPFL(Algorithm):
    """DisPFL as its authors run it: personal masks, searched anew after each round's local steps.

        K times:  g = grad F_i(y; xi);  y <- y - eta mask_i * (g min(1, clip/||g||))
        z_i = y and sent_i = mask_i are sent; meanwhile, in every layer with n living weights, the
        ceil(r_t n) smallest |y| die, and as many of all the dead, those of just now too, with the largest
        |grad F_i(y; xi)| are born:  r_t = prune/2 (1 + cos(pi t / T)), which gives the new mask_i
        x_i <- mask_i * (sum_l w_il z_l) / (sum_l w_il sent_l)

    So the newborn begin with what neighbors sent of them, and dilute nobody's average. A layer of shape s
    has the share min(1, c sum(s)/prod(s)) of living weights, c such that 1 - sparsity live in all (ERK:
    Erdos-Renyi with kernels; tensors of one axis are filled first), rounded down, but at least one.

    Parameters: ``eta`` step size, ``K`` local steps, ``sparsity`` share of dead weights, ``prune`` share of
    living weights exchanged in round 0, ``clip`` largest norm of a stochastic gradient (0: any), ``density``
    of the layers (erk; uniform: all the same), ``first`` mask (common to all clients, or each draws its own),
    ``growth`` by the gradient or at random, ``order`` send-then-search or search-then-send: what is sent goes
    under the new mask, newborn weights at 0.
    Source: Dai et al. 2022, their code (github.com/rong-dai/DisPFL, commit e2f47d4); ERK: Evci et al. 2020.
    """

    eta: float
    K: int
    sparsity: float = 0.5
    prune: float = field(default=0.5, kw_only=True)
    clip: float = field(default=10.0, kw_only=True)
    density: Literal["erk", "uniform"] = field(default="erk", kw_only=True)
    first: Literal["common", "own"] = field(default="common", kw_only=True)
    growth: Literal["gradient", "random"] = field(default="gradient", kw_only=True)
    order: Literal["send-then-search", "search-then-send"] = field(default="send-then-search", kw_only=True)

    mixing: ClassVar = "row-stochastic"
    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Dai et al. 2022"
    ranges: ClassVar = ranges("eta K sparsity prune clip")

    @property
    def draws(self) -> bool:
        return True  # its masks

    def living(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """How many weights of each layer live, at every client and in every round."""
        return _living(tuple(tuple(shape) for shape in shapes), 1 - self.sparsity, self.density == "erk")

    def init(self, x0: Tensor, grad: Oracle) -> MaskedState:
        luck = grad.uniform(tuple(x0.shape[1:]))
        drawn = together(luck) if self.first == "common" else luck
        mask = torch.zeros_like(drawn, dtype=torch.uint8)
        few = max(1, 10**6 // x0.shape[-1])  # clients at a time: positions and masks as numbers take room
        for living, some in zip(mask.split(few, dim=1), drawn.split(few, dim=1)):
            for block, count in zip(grad.blocks, self.living(grad.shapes)):
                living[..., block].scatter_(-1, some[..., block].topk(count, dim=-1).indices, 1)
        mask = mask.expand(x0.shape).contiguous()
        for living, some, start in zip(*(whole.split(few, dim=1) for whole in (mask, luck, x0))):
            torch.mul(start, living, out=some)  # what was drawn makes room for the models
        return MaskedState(x=luck, z=luck, mask=mask)

    def local_update(self, state: MaskedState, grad: Oracle) -> MaskedState:
        eta, y = self.decayed(self.eta, grad.t), grad.begin(state.x)
        for _ in range(self.K):
            g = grad(y, grad.sample())
            if self.clip:
                norm = torch.linalg.vector_norm(g, dim=-1, keepdim=True)
                g.mul_((self.clip / norm).clamp_(max=1))
            if self.weight_decay:
                g.add_(y, alpha=self.weight_decay)
            y.sub_(g.mul_(state.mask), alpha=eta)
        mask = self.searched(state.mask, y, grad)
        if self.order == "send-then-search":
            return replace(state, z=y, mask=mask, sent=state.mask)
        return replace(state, z=y.mul_(mask), mask=mask, sent=mask)

    def searched(self, mask: Tensor, y: Tensor, grad: Oracle) -> Tensor:
        """The masks after this round's search at the trained models y: (S, m, d) -> (S, m, d)."""
        rate = self.prune / 2 * (1 + math.cos(math.pi * grad.t / max(1, grad.horizon)))
        if rate <= 0 or self.sparsity == 0:
            return mask
        at_random = self.growth == "random"
        promise = grad.uniform(tuple(y.shape[1:])) if at_random else grad(y, grad.sample()).abs_()
        found = mask.clone()
        for block, living in zip(grad.blocks, self.living(grad.shapes)):
            if living < block.stop - block.start:  # else all that die are born again
                count = math.ceil(rate * living * (1 - _ROUNDING))
                found[..., block] = reborn(y[..., block], promise[..., block], mask[..., block], count)
        return found

    def communicate(self, state: MaskedState, mix: Mix) -> MaskedState:
        assert state.sent is not None  # local work precedes
        x, width = torch.empty_like(state.z), torch.finfo(state.z.dtype).bits
        for part in parts(slice(0, x.shape[-1])):
            living = state.sent[..., part]
            heard = mix(living.to(x.dtype), bits=0)  # a mask shows in what is sent under it
            heard.masked_fill_(heard <= 0, 1.0)
            sent = mix(state.z[..., part].contiguous(), bits=living.sum(-1) * width)
            torch.div(sent, heard, out=x[..., part])
            x[..., part].mul_(state.mask[..., part])
        return replace(state, x=x, sent=None)


def reborn(y: Tensor, promise: Tensor, mask: Tensor, count: int) -> Tensor:
    """The mask of one layer after the ``count`` smallest weights died, and the most promising dead were born,
    some of which may have died just now."""
    infinity = torch.full_like(y, math.inf)
    dying = torch.where(mask > 0, y.abs(), infinity).topk(count, dim=-1, largest=False).indices
    left = mask.scatter(-1, dying, 0)
    born = torch.where(left > 0, -infinity, promise).topk(count, dim=-1).indices
    return left.scatter_(-1, born, 1)


def together(luck: Tensor) -> Tensor:
    """One draw of each seed from those of all its clients, whatever their order: (S, m, d) -> (S, 1, d)."""
    total = torch.zeros_like(luck[:, :1], dtype=torch.float64)  # where sums of float32 are exact
    for own in luck.split(1, dim=1):
        total.add_(own)
    return total


def erk(shapes: Sequence[Sequence[int]], density: float) -> list[float]:
    """The share of living weights of every layer: min(1, c sum(s)/prod(s)), ``density`` over all of them.

    Layers whose share would exceed 1 are full, and c is found anew for the others.  [Evci et al. 2020, ERK]
    """
    shapes = [tuple(shape) or (1,) for shape in shapes]
    sizes = [math.prod(shape) for shape in shapes]
    weights = [sum(shape) / size for shape, size in zip(shapes, sizes)]
    open_, c = list(range(len(shapes))), 0.0
    while open_:
        full = sum(sizes) - sum(sizes[i] for i in open_)
        c = (density * sum(sizes) - full) / sum(weights[i] * sizes[i] for i in open_)
        largest = max(weights[i] for i in open_)
        if c * largest <= 1:
            break
        open_ = [i for i in open_ if weights[i] < largest]
    return [c * weight if i in open_ else 1.0 for i, weight in enumerate(weights)]


@lru_cache(maxsize=64)
def _living(shapes: tuple[Any, ...], density: float, by_shape: bool) -> tuple[int, ...]:
    shares = erk(shapes, density) if by_shape else [density] * len(shapes)
    sizes = [math.prod(shape) for shape in shapes]
    return tuple(max(1, math.floor(share * n * (1 + _ROUNDING))) for share, n in zip(shares, sizes))


__all__ = ["DisPFL", "MaskedState"]
