"""A quadratic task as the exact recursion sees it: scalar problems where Hessians commute, else one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """B independent problems of m clients in R^b, d = B b: (B, b) = (d, 1) or (1, d).

    ``A`` (B, m, b, b) Hessians, ``pull`` (B, m, b) = A_i b_i, ``noise`` (B, m, b, b) covariances of xi_i,
    ``mean_hessian`` (B, b, b), ``x_star`` (B, b), ``f_star``; ``basis`` (d, d) takes R^d to the coordinates.
    Covariances between the B problems are left out: no measure here asks for them.
    """

    A: Array
    pull: Array
    noise: Array
    mean_hessian: Array
    x_star: Array
    f_star: float
    basis: Array

    @property
    def m(self) -> int:
        return self.A.shape[1]

    @property
    def decoupled(self) -> bool:
        return self.A.shape[-1] == 1

    def coordinates(self, x: Array) -> Array:
        """Stacked models (m, d) -> (B, m, b)."""
        y = x @ self.basis
        return y.T[:, :, None] if self.decoupled else y[None]

    def models(self, y: Array) -> Array:
        """(B, m, b) -> (m, d), the inverse of :meth:`coordinates`."""
        flat = y[:, :, 0].T if self.decoupled else y[0]
        return flat @ self.basis.T


def problem_of(task: Any) -> Problem:
    """The Problem of a :class:`dfltheory.tasks.Quadratic`."""
    if not (hasattr(task, "A") and hasattr(task, "b") and hasattr(task, "x_star")):
        raise InputError(
            f"exact expectations are for Quadratic tasks with additive noise, not for {task.name}"
        )
    m, d = task.m, task.d
    A = task.A.double().cpu().numpy()
    b, x_star = task.b.double().cpu().numpy(), task.x_star.double().cpu().numpy()
    noise = task.noise.covariance(m, d).double().cpu().numpy()
    if task.is_diagonal:
        return _decoupled(np.broadcast_to(A, (m, d)), np.eye(d), b, noise, x_star, task.f_star)
    A = np.broadcast_to(A, (m, d, d))
    basis = common_basis(A)
    if basis is not None:
        values = np.einsum("ki,mkl,li->mi", basis, A, basis)
        return _decoupled(values, basis, b, noise, x_star, task.f_star)
    pull = np.einsum("mij,mj->mi", A, b)
    return Problem(A[None], pull[None], noise[None], A.mean(0)[None], x_star[None], task.f_star, np.eye(d))


def _decoupled(h: Array, basis: Array, b: Array, noise: Array, x_star: Array, f_star: float) -> Problem:
    pull = (h * (b @ basis)).T[:, :, None]
    variances = np.einsum("ki,mkl,li->im", basis, noise, basis)[:, :, None, None]
    mean = h.mean(0)[:, None, None]
    return Problem(h.T[:, :, None, None], pull, variances, mean, (x_star @ basis)[:, None], f_star, basis)


def common_basis(A: Array) -> Array | None:
    """Orthonormal eigenvectors (columns) of all Hessians (m, d, d) at once; None: they do not commute."""
    d = A.shape[-1]
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(A))  # generic: keeps joint eigenspaces apart
    vectors = np.linalg.eigh(np.einsum("m,mij->ij", weights, A))[1]
    rotated = vectors.T @ A @ vectors
    off = rotated - rotated * np.eye(d)
    return vectors if np.abs(off).max() <= 1e-13 * d * max(np.abs(A).max(), 1e-300) else None


__all__ = ["Problem", "common_basis", "problem_of"]
