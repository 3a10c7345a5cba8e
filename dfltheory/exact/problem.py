"""Quadratic tasks for exact recursions, and a common eigenbasis of their Hessians."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from dfltheory.errors import InputError
from dfltheory.tasks.task import Task


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """A quadratic problem with additive noise.

    grad F_i(x; xi) = A_i x + pull_i + xi_i;
    f(x) = f_star + 1/2 (x - x_star)' mean_hessian (x - x_star).

    Attributes
    ----------
    task : Task
    A : (m, d, d) array
        Hessians of the clients.
    pull : (m, d) array
        Gradients of the clients at 0.
    noise : (m, d, d) array
        Covariances of xi_i.
    mean_hessian : (d, d) array
    x_star : (d,) array
        A minimizer of f.
    f_star : float
    basis : (d, d) array, optional
        Common orthonormal eigenvectors of all A_i; None if these do not commute.
    """

    task: Task
    A: np.ndarray
    pull: np.ndarray
    noise: np.ndarray
    mean_hessian: np.ndarray
    x_star: np.ndarray
    f_star: float
    basis: np.ndarray | None

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.A.shape[0]

    @property
    def d(self) -> int:
        """Number of parameters of a model."""
        return self.A.shape[1]

    @property
    def decoupled(self) -> bool:
        """Whether the Hessians commute."""
        return self.basis is not None


_SCALES = (1e-3, 1e-1, 1.0, 1e1, 1e3, 1e6)
"""Distances from 0 at which gradients are compared with the affine map. Clipped
gradients differ only far away.
"""


def problem_of(task: Task) -> QuadraticProblem:
    """Return a task with quadratic clients and additive noise as a QuadraticProblem.

    Hessians and gradients are evaluated at 0. Gradients at random points test whether
    the clients are quadratic.

    Raises
    ------
    InputError
        If the task has no Hessians, or its gradients are not affine in x.
    """
    refusal = (
        "exact expectations are for quadratic tasks with additive noise, not for"
        f" {task.name}"
    )
    hessian, noise = getattr(task, "hessian", None), getattr(task, "noise", None)
    if hessian is None or noise is None:
        raise InputError(refusal)
    m, d = task.m, task.d
    zero = torch.zeros(1, m, d, dtype=task.dtype, device=task.device)
    A, pull = _numbers(hessian(zero))[0], _numbers(task.gradient(zero))[0]
    if not _gradient_is_affine(task, A, pull) or getattr(task, "batch", None):
        raise InputError(refusal)
    mean_hessian = A.mean(0)
    known = getattr(task, "x_star", None)
    # x_star may be unknown, or one point for each client
    if known is None or known.shape != (d,):
        x_star = -np.linalg.lstsq(mean_hessian, pull.mean(0), rcond=None)[0]
    else:
        x_star = _numbers(known)
    f_star = task.global_loss(torch.from_numpy(x_star).to(zero)[None])[0]
    return QuadraticProblem(
        task=task,
        A=A,
        pull=pull,
        noise=_numbers(noise.covariance(m, d)),
        mean_hessian=mean_hessian,
        x_star=x_star,
        f_star=float(f_star),
        basis=common_basis(A),
    )


def _gradient_is_affine(task: Task, A: np.ndarray, pull: np.ndarray) -> bool:
    """Return whether the gradients at random points are A_i x + pull_i."""
    m, d = task.m, task.d
    dtype = torch.finfo(task.dtype)
    largest_A, largest_pull = np.abs(A).max(), np.abs(pull).max()
    largest_scale = dtype.max / (16 * d * max(largest_A, largest_pull, 1.0))
    scales = [scale for scale in _SCALES if scale <= largest_scale]
    directions = np.random.default_rng(0).normal(size=(2 * len(scales), m, d))
    sizes = np.repeat(scales, 2)[:, None, None]
    points = torch.from_numpy(sizes * directions)
    points = points.to(dtype=task.dtype, device=task.device)
    expected = np.einsum("mij,smj->smi", A, _numbers(points)) + pull
    summands = np.maximum(largest_A * np.maximum(sizes, 1.0), largest_pull)
    tolerance = 1e3 * d * dtype.eps * summands
    errors = np.abs(_numbers(task.gradient(points)) - expected)
    return bool((errors <= tolerance).all())


def _numbers(x: torch.Tensor) -> np.ndarray:
    """Return a tensor as a float64 array."""
    return x.detach().double().cpu().numpy()


def common_basis(A: np.ndarray) -> np.ndarray | None:
    """Return common orthonormal eigenvectors (columns) of the Hessians (m, d, d).

    None if the Hessians do not commute.
    """
    d = A.shape[-1]
    if np.array_equal(A, A * np.eye(d)):
        return np.eye(d)
    # generic weights separate joint eigenspaces
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(A))
    vectors = np.linalg.eigh(np.einsum("m,mij->ij", weights, A))[1]
    rotated = vectors.T @ A @ vectors
    off_diagonal = np.abs(rotated - rotated * np.eye(d)).max()
    largest = max(np.abs(A).max(), 1e-300)
    return vectors if off_diagonal <= 1e-13 * d * largest else None
