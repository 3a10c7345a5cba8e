"""Partial personalization: x_i = (u_i, v_i); the body u is exchanged, the head v stays at home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, perturbed, replace, taking_part

Index = Any
"""A slice or a tensor of positions: coordinates of the last axis."""

Phase = tuple[Index, float, int, float]
"""Local steps on one block of coordinates: which, step size, how many, SAM radius."""

_SHORT = 4096
"""Coordinates that are not worth cutting."""


def blocks(shared: Index | None, d: int) -> tuple[Index, Index]:
    """The coordinates of u and of v; without a split everything is shared, and v is empty."""
    if shared is None:
        return slice(0, d), slice(d, d)
    if isinstance(shared, slice):
        start, stop, step = shared.indices(d)
        if step == 1 and start == 0:
            return slice(0, stop), slice(stop, d)
        if step == 1 and stop == d:
            return slice(start, d), slice(0, start)
    mask = torch.zeros(d, dtype=torch.bool)
    mask[shared] = True
    return mask.nonzero().squeeze(1), (~mask).nonzero().squeeze(1)


def is_empty(index: Index) -> bool:
    """No coordinates at all?"""
    return index.stop <= index.start if isinstance(index, slice) else len(index) == 0


def exchange(z: Tensor, shared: Index | None, mix: Mix, times: int = 1) -> Tensor:
    """(u, v) -> (mixed u, v)."""
    u, v = blocks(shared, z.shape[-1])
    if is_empty(v):
        return mix(z, times=times)
    if is_empty(u):
        return z
    mixed = z.clone()
    for part in parts(u):
        mixed[..., part] = mix(z[..., part].contiguous(), times=times)
    return mixed


def parts(index: Index, at_most: int = 32) -> list[Index]:
    """An index, cut into parts, so that no work on one part copies all coordinates."""
    begin, end = (index.start, index.stop) if isinstance(index, slice) else (0, len(index))
    width = max(_SHORT, -(-(end - begin) // at_most))
    cuts = [slice(a, min(a + width, end)) for a in range(begin, end, width)]
    return cuts if isinstance(index, slice) else [index[cut] for cut in cuts]


@dataclass(frozen=True, eq=False)
class SharedState(State):
    """State with the coordinates that are exchanged; ``None``: all of them."""

    shared: Index | None = None


@dataclass(frozen=True)
class Phased(Algorithm):
    """Local work in phases, each on one block with the other fixed; then the shared block is exchanged.

    Unless a class says otherwise there is one phase, on all coordinates.
    """

    implied: ClassVar = {"rho": 0.0, "fresh": True}

    def init(self, x0: Tensor, grad: Oracle) -> Any:
        return SharedState(x=x0, z=x0, shared=grad.shared if self.personal else None)

    def phases(self, u: Index, v: Index) -> Iterable[Phase]:
        """What a client does, of the shared coordinates u and its own v."""
        return [(..., self.letter("eta"), self.letter("K"), self.letter("rho"))]

    def local_update(self, state: Any, grad: Oracle) -> Any:
        batch = None if self.letter("fresh") else (grad.sample(),)
        y, alpha = grad.begin(state.x), self.letter("alpha")
        for block, eta, K, rho in self.phases(*blocks(grad.shared, y.shape[-1])):
            y = descend(self, grad, y, block, eta=eta, K=K, rho=rho, alpha=alpha, batch=batch)
        return replace(state, z=taking_part(grad, y, state.x))

    def communicate(self, state: Any, mix: Mix) -> Any:
        return replace(state, x=exchange(state.z, state.shared, mix))


def descend(
    algorithm: Algorithm,
    grad: Oracle,
    y: Tensor,
    block: Index,
    *,
    eta: float,
    K: int,
    rho: float = 0.0,
    alpha: float = 0.0,
    batch: Any = None,
) -> Tensor:
    """K (SAM, momentum) steps on one block (``...``: all) of y, the rest fixed; y is overwritten.

    Every step draws a fresh minibatch, or uses ``batch`` = (minibatch,) throughout.
    """
    if block is ...:
        block = slice(0, y.shape[-1])
    if is_empty(block):
        return y
    velocity: Tensor | None = None
    for k in range(K):
        xi = grad.sample() if batch is None else batch[0]
        g = grad(y, xi)
        if rho:
            g = grad(perturbed(y, g, rho, block, out=g), xi)
        g = g[..., block]
        if algorithm.weight_decay:
            g = g.add(y[..., block], alpha=algorithm.weight_decay)
        if alpha:
            velocity = g if velocity is None else velocity.mul_(alpha).add_(g)
            g = velocity
        step = algorithm.step(eta, grad.t, k)
        if isinstance(block, slice):
            y[..., block].sub_(g, alpha=step)
        else:
            y.index_add_(-1, block, g, alpha=-step)
    return y


def pulled(
    algorithm: Algorithm,
    grad: Oracle,
    y: Tensor,
    x: Tensor,
    *,
    eta: float,
    K: int,
    lam: float,
    rho: float = 0.0,
    dual: Tensor | None = None,
) -> Tensor:
    """K (SAM) steps on F_i(y) + lam/2 ||y - x||^2 - <dual, y>: y <- y - eta (g - dual + lam (y - x)).

    y is overwritten.
    """
    eta = algorithm.decayed(eta, grad.t)
    for _ in range(K):
        g = algorithm.slope(grad, y, rho)
        if dual is not None:
            g.sub_(dual)
        y.sub_(g.add_(y, alpha=lam).sub_(x, alpha=lam), alpha=eta)
    return y


__all__ = ["Index", "Phased", "SharedState", "blocks", "descend", "exchange", "is_empty", "parts", "pulled"]
