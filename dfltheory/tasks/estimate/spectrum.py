"""Extreme eigenvalues of a symmetric operator by the Lanczos method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.tasks.estimate.hessian import HessianProduct, hessian_product
from dfltheory.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    """Result of k Lanczos steps.

    Attributes
    ----------
    values : (k,) array
        Ritz values, ascending.
    weights : (k,) array
        Squared components of the start vector along the Ritz vectors; they sum to 1.
    exact : bool
        Whether the Krylov space was exhausted, so that the values are eigenvalues.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    exact: bool


def lanczos(product: HessianProduct, start: Tensor, steps: int) -> Tridiagonal:
    """Perform Lanczos steps from a start vector, with full reorthogonalization.

    Orthogonalization is done twice, which suffices.

    Parameters
    ----------
    product : callable
        Maps v (d,) to H v (d,) for a symmetric H.
    start : (d,) tensor
        Nonzero start vector.
    steps : int
        Number of steps >= 1, and of vectors (d,) that are stored. There are fewer steps
        if the Krylov space is exhausted.
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

    Attributes
    ----------
    low, high : float
        Ritz values, so ``low`` >= lambda_min and ``high`` <= lambda_max.
    slack : float
        Bound of their errors: lambda_max <= high + slack and lambda_min >= low - slack.
    confidence : float
        Probability of both, over the random start.
    steps : int
        Number of Lanczos steps.
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
    product: HessianProduct,
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

    Parameters
    ----------
    product : callable
        Maps v (d,) to H v (d,) for a symmetric H.
    d : int
        Dimension.
    like : tensor
        Determines the dtype and device of v.
    steps : int
        Number of Lanczos steps.
    confidence : float
        Probability that the slack covers the errors of both ends.
    seed : int
        Seed of the start.
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
        error_probability = (1 - confidence) / 2
        root_eps = math.log(1.648 * math.sqrt(d) / error_probability) / (2 * k - 1)
        eps = root_eps**2
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

    Parameters
    ----------
    task, x, client, batch
        The Hessian, as for :func:`hessian_product`.
    steps, confidence, seed
        As for :func:`extremes`.
    """
    like = torch.empty(0, dtype=task.dtype, device=task.device)
    product = hessian_product(task, x, client, batch)
    return extremes(product, task.d, like, steps, confidence, seed)


def largest_hessian_eigenvalue(
    task: Task, x: Tensor, steps: int = 30, seed: int = 0
) -> float:
    """Return lambda_max of the Hessian of f at x (d,), a measure of sharpness.

    The value is a Ritz value, which never exceeds lambda_max; :func:`hessian_extremes`
    bounds its error.
    """
    return hessian_extremes(task, x, steps=steps, seed=seed).high
