"""Quadratic tasks for exact recursions, and a common eigenbasis of their Hessians."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from dfltheory.errors import InputError
from dfltheory.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Problem:
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


def problem_of(task: Task) -> Problem:
    """Return the Problem of a task with quadratic clients and additive noise.

    It is derived from gradients of the task.

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
    largest = torch.finfo(task.dtype).max / (
        16 * d * max(np.abs(A).max(), np.abs(pull).max(), 1.0)
    )
    within = [scale for scale in _SCALES if scale <= largest]
    directions = np.random.default_rng(0).normal(size=(2 * len(within), m, d))
    scales = np.repeat(within, 2)[:, None, None]
    at = torch.from_numpy(scales * directions).to(zero)
    expected = np.einsum("mij,smj->smi", A, _numbers(at)) + pull
    unit = 1e3 * d * torch.finfo(task.dtype).eps
    tolerance = unit * np.maximum(
        np.abs(A).max() * np.maximum(scales, 1.0), np.abs(pull).max()
    )
    affine = np.abs(_numbers(task.gradient(at)) - expected) <= tolerance
    if not affine.all() or getattr(task, "batch", None):
        raise InputError(refusal)
    mean = A.mean(0)
    known = getattr(task, "x_star", None)
    x_star = mean if known is None else _numbers(known)
    # x_star may be unknown, or one point for each client
    if x_star.shape != (d,):
        x_star = -np.linalg.lstsq(mean, pull.mean(0), rcond=None)[0]
    f_star = float(task.global_loss(torch.from_numpy(x_star).to(zero)[None])[0])
    covariance = _numbers(noise.covariance(m, d))
    return Problem(task, A, pull, covariance, mean, x_star, f_star, common_basis(A))


def _numbers(x: torch.Tensor) -> np.ndarray:
    return x.detach().double().cpu().numpy()


def common_basis(A: np.ndarray) -> np.ndarray | None:
    """Return common orthonormal eigenvectors (columns) of the Hessians (m, d, d).

    None if the Hessians do not commute.
    """
    d = A.shape[-1]
    top, diagonal = max(np.abs(A).max(), 1e-300), A * np.eye(d)
    if np.array_equal(A, diagonal):
        return np.eye(d)
    # generic weights separate joint eigenspaces
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(A))
    vectors = np.linalg.eigh(np.einsum("m,mij->ij", weights, A))[1]
    rotated = vectors.T @ A @ vectors
    off = rotated - rotated * np.eye(d)
    return vectors if np.abs(off).max() <= 1e-13 * d * top else None
