"""Partial personalization: x_i = (u_i, v_i); clients exchange u and keep v."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import (
    Algorithm,
    Mix,
    Oracle,
    State,
    perturbed,
    replace,
    taking_part,
)

Index = Any
"""Coordinates of the last axis: a slice or a tensor of indices."""

Phase = tuple[Index, float, int, float]
"""Local steps on one block: coordinates, step size, number of steps, SAM radius."""

_SHORT = 4096
"""Smallest number of coordinates of a part."""


def blocks(shared: Index | None, d: int) -> tuple[Index, Index]:
    """Return the coordinates of u and of v.

    Parameters
    ----------
    shared : Index or None
        Coordinates of u; None means all, so that v is empty.
    d : int
        Number of coordinates.

    Returns
    -------
    pair of Index
        Slices where possible.
    """
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


def empty_tensor() -> Tensor:
    """Return a tensor without entries, the default of fields that ``init`` sets."""
    return torch.empty(0)


def is_empty(index: Index) -> bool:
    """Return whether an index contains no coordinates."""
    return index.stop <= index.start if isinstance(index, slice) else len(index) == 0


def exchange(z: Tensor, shared: Index | None, mix: Mix, times: int = 1) -> Tensor:
    """Return models whose shared block is mixed.

    Parameters
    ----------
    z : (S, m, d) tensor
        Models (u, v).
    shared : Index or None
        Coordinates of u; None means all.
    mix : Mix
        The network.
    times : int
        Number of gossip steps.

    Returns
    -------
    (S, m, d) tensor
        (mixed u, v).
    """
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
    """Divide an index into parts, which limits the memory of temporary copies.

    Parameters
    ----------
    index : Index
        The coordinates.
    at_most : int
        Largest number of parts.

    Returns
    -------
    list of Index
        The parts in order.
    """
    is_slice = isinstance(index, slice)
    begin, end = (index.start, index.stop) if is_slice else (0, len(index))
    width = max(_SHORT, -(-(end - begin) // at_most))
    slices = [slice(a, min(a + width, end)) for a in range(begin, end, width)]
    if isinstance(index, slice):
        return slices
    return [index[part] for part in slices]


@dataclass(frozen=True, eq=False)
class SharedState(State):
    """State with the coordinates that clients exchange; None means all."""

    shared: Index | None = None


@dataclass(frozen=True)
class Phased(Algorithm):
    """Local work in phases, then an exchange of the shared block.

    Each phase changes one block. By default there is one phase on all coordinates.
    """

    implied: ClassVar = {"rho": 0.0, "fresh": True}

    def init(self, x0: Tensor, grad: Oracle) -> Any:
        return SharedState(x=x0, z=x0, shared=grad.shared if self.personal else None)

    def phases(self, u: Index, v: Index) -> Iterable[Phase]:
        """Return the phases of a round for shared coordinates u and personal v."""
        return [(..., self.letter("eta"), self.letter("K"), self.letter("rho"))]

    def local_update(self, state: Any, grad: Oracle) -> Any:
        batch = None if self.letter("fresh") else (grad.sample(),)
        y = grad.begin(state.x)
        alpha = self.letter("alpha")
        for block, eta, K, rho in self.phases(*blocks(grad.shared, y.shape[-1])):
            y = descend(
                self, grad, y, block, eta=eta, K=K, rho=rho, alpha=alpha, batch=batch
            )
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
    """Take K local steps on one block of y, which is overwritten.

    Parameters
    ----------
    algorithm : Algorithm
        Its weight decay and step-size schedule are used.
    grad : Oracle
        The gradients.
    y : (S, m, d) tensor
        Models.
    block : Index or ...
        Coordinates that change; ``...`` means all.
    eta : float
        Step size.
    K : int
        Number of steps.
    rho : float
        SAM radius.
    alpha : float
        Momentum, which starts at 0.
    batch : tuple of one minibatch, optional
        The minibatch of all steps; by default each step draws one.

    Returns
    -------
    (S, m, d) tensor
        y.
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
    """Take K steps on F_i(y) + lam/2 ||y - x||^2 - <dual, y>.

    Each step is y <- y - eta (g - dual + lam (y - x)).

    Parameters
    ----------
    algorithm : Algorithm
        Its weight decay and step-size schedule are used.
    grad : Oracle
        The gradients.
    y : (S, m, d) tensor
        Models, which are overwritten.
    x : (S, m, d) tensor
        Centers of the quadratic term.
    eta : float
        Step size.
    K : int
        Number of steps.
    lam : float
        Weight of the quadratic term.
    rho : float
        SAM radius.
    dual : (S, m, d) tensor, optional
        Dual variables; by default 0.

    Returns
    -------
    (S, m, d) tensor
        y.
    """
    eta = algorithm.decayed(eta, grad.t)
    for _ in range(K):
        g = algorithm.slope(grad, y, rho)
        if dual is not None:
            g.sub_(dual)
        y.sub_(g.add_(y, alpha=lam).sub_(x, alpha=lam), alpha=eta)
    return y


__all__ = [
    "Index",
    "Phased",
    "SharedState",
    "blocks",
    "descend",
    "empty_tensor",
    "exchange",
    "is_empty",
    "parts",
    "pulled",
]
