"""Extreme eigenvalues of a symmetric operator by the Lanczos method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.tasks.estimate.hessian import Product, hessian_product
from dfltheory.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    """Ritz values of k Lanczos steps, and the weights of the start vector on them."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    exact: bool  # the Krylov space was exhausted: the values are eigenvalues


def lanczos(product: Product, start: Tensor, steps: int) -> Tridiagonal:
    """Perform Lanczos steps from a start vector, with full reorthogonalization.

    Orthogonalization is done twice, which suffices. ``steps`` vectors of the operator's
    size are stored.
    """
    if steps < 1:
        raise InputError(f"Lanczos needs at least one step, not {steps}")
    d = len(start)
    v = start / start.norm()
    basis, diagonal, off = [v], [], []
    for _ in range(min(steps, d)):
        w = product(basis[-1])
        diagonal.append(float(w @ basis[-1]))
        B = torch.stack(basis)
        for _ in range(2):
            w = w - B.T @ (B @ w)
        norm = float(w.norm())
        off.append(norm)
        scale = max(abs(a) for a in diagonal) + max(off)
        if (
            len(basis) == d
            or norm <= 10 * math.sqrt(d) * torch.finfo(w.dtype).eps * scale
        ):
            off[-1] = 0.0
            break
        basis.append(w / norm)
    T = np.diag(diagonal) + np.diag(off[:-1], 1) + np.diag(off[:-1], -1)
    values, vectors = np.linalg.eigh(T)
    return Tridiagonal(values, vectors[0] ** 2, exact=off[-1] == 0.0)


@dataclass(frozen=True)
class Extremes:
    """Estimates of the ends of a spectrum.

    ``low`` and ``high`` are Ritz values, so ``low`` >= lambda_min and ``high`` <=
    lambda_max. With the given confidence over the random start, lambda_max <= high +
    slack and lambda_min >= low - slack.
    """

    low: float
    high: float
    slack: float
    confidence: float
    steps: int

    @property
    def norm(self) -> float:
        """A lower bound of ||H||, in practice close to it."""
        return max(abs(self.low), abs(self.high))

    @property
    def norm_bracket(self) -> tuple[float, float]:
        """Lower and upper bound of ||H||, with the given confidence."""
        return self.norm, self.norm + self.slack


def extremes(
    product: Product,
    d: int,
    like: Tensor,
    steps: int = 30,
    confidence: float = 0.95,
    seed: int = 0,
) -> Extremes:
    """Estimate lambda_min and lambda_max by Lanczos steps from a random start.

    The slack follows Kuczynski and Wozniakowski (1992, Theorem 4.2): for a start that
    is uniform on the sphere and k steps, P(lambda_max - theta > eps (lambda_max -
    lambda_min)) <= 1.648 sqrt(d) exp(-sqrt(eps) (2k - 1)). Both ends are bounded
    simultaneously, each with half of the error probability.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie between 0 and 1")
    g = torch.Generator().manual_seed(seed)
    start = torch.randn(d, generator=g, dtype=torch.float64).to(like)
    ritz = lanczos(product, start, steps)
    low, high, k = float(ritz.values[0]), float(ritz.values[-1]), len(ritz.values)
    # exact: almost surely, the start vector has a component along every eigenvector
    slack = 0.0
    if not ritz.exact:
        eps = (
            math.log(1.648 * math.sqrt(d) / ((1 - confidence) / 2)) / (2 * k - 1)
        ) ** 2
        slack = math.inf if eps >= 0.5 else eps * (high - low) / (1 - 2 * eps)
    return Extremes(low, high, slack, confidence, k)


def hessian_extremes(
    task: Task,
    x: Tensor,
    client: int | None = None,
    *,
    steps: int = 30,
    confidence: float = 0.95,
    seed: int = 0,
    batch: object = None,
) -> Extremes:
    """Estimate the ends of the spectrum of a Hessian at a point x (d,).

    It is the Hessian of f_i for client i, of F_i(.; xi) if a ``batch`` is given, and
    otherwise of f.
    """
    like = torch.empty(0, dtype=task.dtype, device=task.device)
    return extremes(
        hessian_product(task, x, client, batch), task.d, like, steps, confidence, seed
    )


def largest_hessian_eigenvalue(
    task: Task, x: Tensor, steps: int = 30, seed: int = 0
) -> float:
    """Return lambda_max of the Hessian of f at x (d,), a measure of sharpness.

    The value is a Ritz value, which never exceeds lambda_max; :func:`hessian_extremes`
    bounds its error.
    """
    return hessian_extremes(task, x, steps=steps, seed=seed).high
