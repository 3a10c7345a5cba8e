"""Computation of lambda by FFT, LAPACK, ARPACK or sparse factorization."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.arpack import arpack
from dfltheory.graphs.circulant import circulant_kernel, group_kernel
from dfltheory.graphs.connectivity import components
from dfltheory.graphs.matrices import (
    ROUNDING_UNIT,
    Matrix,
    asymmetry,
    compress,
    entries,
    entry_tolerance,
    is_sparse,
    to_dense,
    worst_sum,
)

DENSE_SPECTRUM = 400
"""Largest number of clients for LAPACK (a few milliseconds); above it, Lanczos."""

LARGEST_WITHOUT_FORM = 100_000
"""Largest number of clients without a closed form (about half a minute)."""
LARGEST_LINKS = 2_000_000
"""Largest number of links without a closed form."""

EPS = ROUNDING_UNIT


@dataclass(frozen=True)
class SpectralReport:
    """lambda and the spectral gap of a mixing matrix.

    Attributes
    ----------
    m : int
        Number of clients.
    lam : float
        ||W - 11'/m||.
    gap : float
        1 - lam. Closed forms and the method "inverse" compute it to full precision:
        a ring of 10^6 clients has the gap 1.3e-11.
    method : str
        How the values were computed.
    error : float
        Bound of the error of lam.
    lambda_2, lambda_m : float or None
        Second and last eigenvalue of a symmetric W, if the method computes them.
    """

    m: int
    lam: float
    gap: float
    method: str
    error: float
    lambda_2: float | None = None
    lambda_m: float | None = None

    def __str__(self) -> str:
        about = f"m = {self.m}, {self.method}, +-{self.error:.1g}"
        return f"lambda = {self.lam:.10g}, gap = {self.gap:.6g} ({about})"


def _sparse_if_faster(A: Matrix) -> Matrix:
    """Return a large dense matrix with few nonzeros as CSR, others unchanged."""
    m = A.shape[0]
    if is_sparse(A) or m <= DENSE_SPECTRUM:
        return A
    compressed = compress(np.asarray(A))
    return compressed if compressed.nnz <= 0.1 * m * m else A


def report_of(A: Matrix, eps: float, method: str = "auto") -> SpectralReport:
    """Return the spectral report of a doubly stochastic matrix.

    Parameters
    ----------
    A : (m, m) matrix
        The matrix.
    eps : float
        Rounding unit of its original type.
    method : {"auto", "fft", "dense", "lanczos", "inverse"}
        How to compute the spectrum.

    Returns
    -------
    SpectralReport
        The report.

    Raises
    ------
    GraphError
        If A is not doubly stochastic, or too large for "auto".
    InputError
        If the method is unknown or does not apply to A.
    """
    m = A.shape[0]
    matrix = _sparse_if_faster(A)
    require_doubly_stochastic(matrix, eps)
    if m == 1:
        return SpectralReport(1, 0.0, 1.0, "dense", 0.0)
    symmetric = asymmetry(matrix) <= entry_tolerance(eps)
    if method != "auto":
        return _report_by(method, matrix, symmetric)
    report = _by_fft(matrix, symmetric)
    if report is None and m <= DENSE_SPECTRUM:
        report = _by_dense(matrix, symmetric)
    if report is None and m > LARGEST_WITHOUT_FORM:
        raise GraphError(
            f"m = {m}: without a closed form, lambda takes minutes to hours above"
            f" {LARGEST_WITHOUT_FORM} clients: use fewer clients, or request it with"
            " method='lanczos' or 'inverse'"
        )
    for compute in (_by_lanczos, _by_inverse):
        if report is None:
            report = compute(matrix, symmetric)
    return report or _by_dense(matrix, symmetric)


def _report_by(method: str, A: Matrix, symmetric: bool) -> SpectralReport:
    """Return the report computed by the method that the caller selected."""
    if method not in _METHODS:
        known = ", ".join(_METHODS)
        raise InputError(
            f"method = {method!r} must be auto, {known}, or closed form for the name of"
            " a topology"
        )
    report = _METHODS[method](A, symmetric)
    if report is None:
        raise InputError(
            f"method = {method!r} does not apply to this matrix, or does not converge:"
            " use method = 'auto'"
        )
    return report


def require_doubly_stochastic(A: Matrix, eps: float) -> None:
    """Raise an error unless A is finite and its rows and columns sum to 1.

    Parameters
    ----------
    A : (m, m) matrix
        The matrix.
    eps : float
        Rounding unit of its original type.

    Raises
    ------
    GraphError
        The message names the row or column.
    """
    if not np.isfinite(entries(A)).all():
        raise GraphError(
            "an entry of W is not finite: check_mixing_matrix reports which one"
        )
    for axis, line in ((1, "row"), (0, "column")):
        worst = worst_sum(A, axis, eps)
        if worst is not None:
            index, value = worst
            raise GraphError(
                f"{line} {index} sums to {value:.6g}, not 1: lambda = ||W - 11'/m||"
                " needs a doubly stochastic W; for a column-stochastic one see"
                " push_sum_constants"
            )


def symmetric_report(
    m: int, below_one: float, above_minus_one: float, method: str, error: float
) -> SpectralReport:
    """Return the report of a symmetric matrix.

    Parameters
    ----------
    m : int
        Number of clients.
    below_one : float
        1 - lambda_2, computed to full precision.
    above_minus_one : float
        1 + lambda_m, computed to full precision.
    method : str
        How the values were computed.
    error : float
        Bound of their error.

    Returns
    -------
    SpectralReport
        The report.
    """
    below_one = float(below_one)
    above_minus_one = float(above_minus_one)
    gap = min(below_one, above_minus_one)
    return SpectralReport(
        m, 1.0 - gap, gap, method, error, 1.0 - below_one, above_minus_one - 1.0
    )


def _by_dense(A: Matrix, symmetric: bool) -> SpectralReport:
    """Use LAPACK."""
    dense = to_dense(A)
    m = len(dense)
    if symmetric:
        values = np.linalg.eigvalsh((dense + dense.T) / 2 - 1.0 / m)
        # subtracting 11'/m sets the eigenvalue of the vector 1 to 0
        values = np.delete(values, np.argmin(np.abs(values)))
        return symmetric_report(m, 1.0 - values[-1], 1.0 + values[0], "dense", m * EPS)
    norm = float(np.linalg.norm(dense - 1.0 / m, 2))
    return SpectralReport(m, norm, 1.0 - norm, "dense", m * EPS)


def _by_fft(A: Matrix, symmetric: bool) -> SpectralReport | None:
    """Use an FFT; return None if A is neither circulant nor a large hypercube."""
    m = A.shape[0]
    kernel = group_kernel(A) if m > DENSE_SPECTRUM else circulant_kernel(A)
    if kernel is None:
        return None
    values = np.fft.fftn(kernel).ravel()[1:]
    error = fft_error(m)
    if symmetric:
        below_one = 1.0 - values.real.max()
        above_minus_one = 1.0 + values.real.min()
        return symmetric_report(m, below_one, above_minus_one, "fft", error)
    norm = float(np.abs(values).max())  # circulant matrices are normal
    return SpectralReport(m, norm, 1.0 - norm, "fft", error)


def fft_error(m: int) -> float:
    """Return a bound of the rounding error of eigenvalues from an FFT."""
    return float(EPS * (2 + np.log2(m)))


def _by_lanczos(A: Matrix, symmetric: bool) -> SpectralReport | None:
    """Use ARPACK; return None if it does not converge within 150 iterations.

    The operator is W - 11'/m, or (W - 11'/m)'(W - 11'/m) if W is not symmetric.
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    m = A.shape[0]
    if m < 3:  # ARPACK needs fewer eigenvalues than rows
        return _by_dense(A, symmetric)
    compute = _symmetric_by_lanczos if symmetric else _nonsymmetric_by_lanczos
    try:
        return compute(A)
    except ArpackNoConvergence:
        return None


def _symmetric_by_lanczos(A: Matrix) -> SpectralReport:
    """Use ARPACK on both ends of the spectrum of W - 11'/m."""
    m = A.shape[0]
    # The eigenvalue of the vector 1 is replaced by the mean of the others, so it is not
    # extreme.
    mean_of_others = (float(A.trace()) - 1) / (m - 1)

    def deflate(x: np.ndarray) -> np.ndarray:
        return A @ x - (1 - mean_of_others) * x.mean()

    values, vectors = arpack(deflate, m, 2, "BE", tol=1e-9, ncv=min(m, 40), maxiter=150)
    residuals = [
        np.linalg.norm(deflate(vector) - value * vector)
        for value, vector in zip(values, vectors.T)
    ]
    error = float(max(residuals)) + EPS
    return symmetric_report(m, 1.0 - values.max(), 1.0 + values.min(), "lanczos", error)


def _nonsymmetric_by_lanczos(A: Matrix) -> SpectralReport:
    """Use ARPACK on (W - 11'/m)'(W - 11'/m), whose largest eigenvalue is lambda^2."""
    m = A.shape[0]

    def gram_product(x: np.ndarray) -> np.ndarray:
        deflated = A @ x - x.mean()
        return A.T @ deflated - deflated.mean()

    values, vectors = arpack(gram_product, m, tol=1e-9, ncv=min(m, 40), maxiter=150)
    square = float(values[0])
    vector = vectors[:, 0]
    norm = np.sqrt(max(square, 0.0))
    residual = np.linalg.norm(gram_product(vector) - square * vector)
    error = float(residual / max(norm, EPS)) + EPS
    return SpectralReport(m, float(norm), float(1.0 - norm), "lanczos", error)


def _by_inverse(A: Matrix, symmetric: bool) -> SpectralReport | None:
    """Use ARPACK on (I - W)^+ and (I + W)^-1, applied through sparse LU factors.

    This suits large sparse graphs with a small gap. Return None if W is not sparse,
    symmetric and nonnegative.
    """
    from scipy.sparse.linalg import splu

    m = A.shape[0]
    if not symmetric or not is_sparse(A) or m < 3 or (A.data < 0).any():
        return None
    if components(A)[0] > 1:
        return symmetric_report(m, 0.0, 2.0, "components", 0.0)
    identity = sp.eye_array(m, format="csc")
    # Fixing client 0 at 0 removes the null vector of I - W.
    grounded = splu(sp.csc_array(identity - A)[1:, 1:])

    def pseudo_inverse(b: np.ndarray) -> np.ndarray:
        x = np.r_[0.0, grounded.solve((b - b.mean())[1:])]
        return x - x.mean()

    below_one = 1.0 / float(arpack(pseudo_inverse, m)[0][0])
    if 2 * A.diagonal().min() >= below_one:  # Gershgorin: 1 + lambda_m >= 2 min w_ii
        return SpectralReport(
            m, 1.0 - below_one, below_one, "inverse", EPS, 1.0 - below_one
        )
    shifted = splu(sp.csc_array(identity + A))
    above_minus_one = 1.0 / float(arpack(shifted.solve, m)[0][0])
    return symmetric_report(m, below_one, above_minus_one, "inverse", EPS)


_METHODS: dict[str, Callable[[Matrix, bool], SpectralReport | None]] = {
    "fft": _by_fft,
    "dense": _by_dense,
    "lanczos": _by_lanczos,
    "inverse": _by_inverse,
}


def extreme_eigenvalues(W: Matrix) -> tuple[float, float, float]:
    """Return the extreme eigenvalues of the symmetric part of a matrix.

    Parameters
    ----------
    W : (m, m) matrix
        Any finite matrix.

    Returns
    -------
    least, largest, error : float
        The eigenvalues and a bound of their error.
    """
    m = W.shape[0]
    S = sp.csr_array((W + W.T) / 2) if isinstance(W, sp.csr_array) else (W + W.T) / 2
    if m <= DENSE_SPECTRUM:
        values = np.linalg.eigvalsh(to_dense(S))
        unit = m * EPS
    else:
        values, _ = arpack(S, m, 2, "BE", tol=1e-9, ncv=60, maxiter=10_000)
        unit = 1e-9
    return float(values.min()), float(values.max()), unit * float(np.abs(values).max())


def laplacian_extremes(A: sp.csr_array) -> tuple[float, float]:
    """Return the second smallest and the largest eigenvalue of a graph Laplacian.

    Parameters
    ----------
    A : (m, m) sparse array
        Symmetric 0/1 adjacency matrix of a connected graph.

    Returns
    -------
    lambda_2, lambda_m : float
        The eigenvalues; 0 for one client.
    """
    m = A.shape[0]
    if m == 1:
        return 0.0, 0.0
    degree = np.diff(A.indptr).astype(float)
    bound = 2.0 * degree.max()  # L <= bound, so I - L/bound has eigenvalues in [0, 1]
    L = sp.csr_array(sp.diags_array(degree) - A)
    W = sp.csr_array(sp.eye_array(m, format="csr") - L / bound)
    report = _by_dense(W, True) if m <= DENSE_SPECTRUM else _by_lanczos(W, True)
    if report is None:
        report = _by_inverse(W, True)
    # W is sparse, symmetric and nonnegative, so the last method applies.
    assert report is not None
    assert report.lambda_2 is not None
    if report.lambda_m is None:
        largest = float(arpack(L, m, tol=0)[0][0])
        return bound * report.gap, largest
    return bound * (1.0 - report.lambda_2), bound * (1.0 - report.lambda_m)


__all__ = []
