"""Local steps y <- y - eta v, shared by all algorithms that take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Oracle
from dfltheory.algorithms.protocol import Index

Correction = Callable[[Tensor, Tensor], Tensor]
"""Maps (g, y) to corrected gradients (S, m, d); g may be overwritten, but not y."""


def is_empty(index: Index) -> bool:
    """Return whether an index contains no coordinates."""
    return index.stop <= index.start if isinstance(index, slice) else len(index) == 0


def local_steps(
    algorithm: Algorithm[Any],
    grad: Oracle,
    y: Tensor,
    *,
    eta: float,
    K: int,
    rho: float = 0.0,
    alpha: float = 0.0,
    velocity: Tensor | None = None,
    correct: Correction | None = None,
    weights: Tensor | None = None,
    block: Index | None = None,
    batch: tuple[object] | None = None,
) -> Tensor:
    """Take K local steps on y, which is overwritten.

        g = SAM gradient at y (at y / weights), corrected by ``correct``
        v <- alpha v + g,  y <- y - eta_k v

    Parameters
    ----------
    algorithm : Algorithm
        Provides gradients (``slope``) and the step-size schedule (``step``).
    grad : Oracle
        The stochastic gradient oracle.
    y : (S, m, d) tensor
        Models.
    eta : float
        Step size.
    K : int
        Number of steps.
    rho : float
        SAM radius.
    alpha : float
        Momentum.
    velocity : (S, m, d) tensor, optional
        Initial v, which is overwritten by the final one; by default 0.
    correct : function, optional
        Correction applied to each gradient.
    weights : (S, m, 1) tensor, optional
        Push-sum weights.
    block : Index, optional
        Coordinates that change; by default all.
    batch : tuple of one minibatch, optional
        The minibatch of all steps; by default each step draws one.

    Returns
    -------
    (S, m, d) tensor
        y.
    """
    if block is not None and is_empty(block):
        return y
    one_batch = {} if batch is None else {"batch": batch}
    for k in range(K):
        point = y if weights is None else y / weights
        g = algorithm.slope(grad, point, rho, block, **one_batch)
        if block is not None:
            g = g[..., block]
        if correct is not None:
            g = correct(g, y)
        if alpha:
            velocity = g if velocity is None else velocity.mul_(alpha).add_(g)
            g = velocity
        step = algorithm.step(eta, grad.t, k)
        if block is None:
            y.sub_(g, alpha=step)
        elif isinstance(block, slice):
            y[..., block].sub_(g, alpha=step)
        else:
            y.index_add_(-1, block, g, alpha=-step)
    return y


def corrected_steps(
    algorithm: Algorithm[Any], grad: Oracle, x: Tensor, correct: Correction
) -> Tensor:
    """Take the algorithm's K steps of size eta, with corrected gradients.

    The steps start at x (S, m, d), which is not changed; the result is a new tensor.
    """
    eta = algorithm.hyperparameter("eta")
    K = algorithm.hyperparameter("K")
    return local_steps(algorithm, grad, grad.begin(x), eta=eta, K=K, correct=correct)


def shifted(by: Tensor) -> Correction:
    """Return the correction g + by, for a shift ``by`` (S, m, d)."""

    def correct(g: Tensor, y: Tensor) -> Tensor:
        return g.add_(by)

    return correct


def pulled(x: Tensor, lam: float, dual: Tensor | None = None) -> Correction:
    """Return the correction g - dual + lam (y - x), for x and dual (S, m, d).

    These are the gradients of F_i(y) + lam/2 ||y - x||^2 - <dual, y>.
    """

    def correct(g: Tensor, y: Tensor) -> Tensor:
        if dual is not None:
            g.sub_(dual)
        return g.add_(y, alpha=lam).sub_(x, alpha=lam)

    return correct


__all__ = [
    "Correction",
    "Index",
    "corrected_steps",
    "is_empty",
    "local_steps",
    "pulled",
    "shifted",
]
