"""Extreme eigenvalues by ARPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dfltheory.graphs.matrices import Matrix

LinearOperatorProduct = Callable[[np.ndarray], np.ndarray]
"""The function x -> A x of a linear operator."""


def arpack(
    A: Matrix | LinearOperatorProduct,
    m: int,
    k: int = 1,
    which: Literal["LA", "BE"] = "LA",
    tol: float = 1e-12,
    ncv: int | None = None,
    maxiter: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return extreme eigenvalues and eigenvectors of a symmetric operator.

    The initial vector is fixed, so the result is reproducible.

    Parameters
    ----------
    A : (m, m) matrix or callable
        The matrix, or the function x -> A x.
    m : int
        Number of rows.
    k : int
        Number of eigenvalues.
    which : {"LA", "BE"}
        "LA": the largest eigenvalues; "BE": half from each end of the spectrum.
    tol : float
        Relative tolerance.
    ncv, maxiter : int, optional
        Options of ``scipy.sparse.linalg.eigsh``.

    Returns
    -------
    values : (k,) array
        Eigenvalues.
    vectors : (m, k) array
        Eigenvectors.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((m, m), matvec=A, dtype=float) if callable(A) else A
    start = np.random.default_rng(0).standard_normal(m)
    return eigsh(
        operator, k=k, which=which, v0=start, tol=tol, ncv=ncv, maxiter=maxiter
    )


__all__ = ["arpack"]
