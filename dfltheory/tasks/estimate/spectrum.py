"""Extreme eigenvalues of a symmetric operator, by Lanczos' method."""

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
    """Perform Lanczos' method from a start vector, with full reorthogonalization.

    It is repeated once, which is enough.

    Keeps ``steps`` vectors of the operator's size.
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
    """The ends of a spectrum.

    Ritz values never leave it: ``low`` >= lambda_min and ``high`` <= lambda_max.

    ``slack``: with the stated confidence over the random start, lambda_max <= high +
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
        """||H|| lies between these, with the stated confidence."""
        return self.norm, self.norm + self.slack


def extremes(
    product: Product,
    d: int,
    like: Tensor,
    steps: int = 30,
    confidence: float = 0.95,
    seed: int = 0,
) -> Extremes:
    """Return lambda_min and lambda_max of a symmetric operator, by k Lanczos steps.

    The start is random.

    The slack follows Kuczynski and Wozniakowski (1992, Theorem 4.2): for a start that
    is uniform on the sphere, P(lambda_max - theta > eps (lambda_max - lambda_min)) <=
    1.648 sqrt(d) exp(-sqrt(eps) (2k - 1)). Both ends are bounded at once, each with
    half of the permitted probability.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie between 0 and 1")
    g = torch.Generator().manual_seed(seed)
    start = torch.randn(d, generator=g, dtype=torch.float64).to(like)
    found = lanczos(product, start, steps)
    low, high, k = float(found.values[0]), float(found.values[-1]), len(found.values)
    # where all are found: the start vector has a part along every eigenvector, almost
    # surely
    slack = 0.0
    if not found.exact:
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
    """Return the ends of the spectrum of a Hessian at a point x (d,).

    It is that of f_i for client i, that of F_i(.; xi) if a minibatch ``batch`` is
    given, else that of f.
    """
    like = torch.empty(0, dtype=task.dtype, device=task.device)
    return extremes(
        hessian_product(task, x, client, batch), task.d, like, steps, confidence, seed
    )


def largest_hessian_eigenvalue(
    task: Task, x: Tensor, steps: int = 30, seed: int = 0
) -> float:
    """Return lambda_max of the Hessian of f at x (d,), a measure of sharpness.

    A Ritz value: never above the true one; :func:`hessian_extremes` bounds the error.
    """
    return hessian_extremes(task, x, steps=steps, seed=seed).high
