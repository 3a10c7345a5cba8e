"""lambda of a matrix and how it is found: by Fourier transform, LAPACK, ARPACK, or sparse factors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.connectivity import components
from dfltheory.graphs.matrices import (
    Matrix,
    asymmetry,
    compress,
    entries,
    is_sparse,
    to_dense,
    tolerance,
    worst_sum,
)

DENSE_SPECTRUM = 400
"""LAPACK is used up to this many clients (a few milliseconds), Lanczos above it."""

LARGEST_WITHOUT_FORM, LARGEST_LINKS = 100_000, 2_000_000
"""Up to this many clients and links a spectrum without closed form is computed: about half a minute."""

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SpectralReport:
    """lambda and the gap of a mixing matrix, and how they were found.

    ``gap`` = 1 - lam, kept to full precision by the closed forms and by ``inverse`` (a ring of 10^6 has the
    gap 1.3e-11); ``lambda_2`` and ``lambda_m`` the second and the last eigenvalue of a symmetric W where the
    method found them; ``error`` how far lam may be off.
    """

    m: int
    lam: float
    gap: float
    method: str
    error: float
    lambda_2: float | None = None
    lambda_m: float | None = None

    def __str__(self) -> str:
        found = f"m = {self.m}, {self.method}, +-{self.error:.1g}"
        return f"lambda = {self.lam:.10g}, gap = {self.gap:.6g} ({found})"


def report_of(A: Matrix, eps: float, method: str = "auto") -> SpectralReport:
    """:func:`spectral_report` of a matrix whose sums are right to the rounding unit ``eps``."""
    m = A.shape[0]
    if not is_sparse(A) and m > DENSE_SPECTRUM:
        S = compress(np.asarray(A))
        A = S if S.nnz <= 0.1 * m * m else A  # everything below is quicker on the links alone
    require_doubly_stochastic(A, eps)
    if m == 1:
        return SpectralReport(1, 0.0, 1.0, "dense", 0.0)
    symmetric = asymmetry(A) <= float(tolerance(eps, 1))
    ways = {"fft": _by_fft, "dense": _by_dense, "lanczos": _by_lanczos, "inverse": _by_inverse}
    if method != "auto":
        if method not in ways:
            raise InputError(f"method = {method!r} must be auto, closed form, {', '.join(ways)}")
        report = ways[method](A, symmetric)
        if report is None:
            raise InputError(f"method = {method!r} does not suit this matrix")
        return report
    report = _by_fft(A, symmetric)
    if report is None and m <= DENSE_SPECTRUM:
        report = _by_dense(A, symmetric)
    if report is None and m > LARGEST_WITHOUT_FORM:
        raise GraphError(
            f"m = {m}: lambda of a network without closed form takes minutes to hours above "
            f"{LARGEST_WITHOUT_FORM} clients: take fewer, or ask for it with method='lanczos' or 'inverse'"
        )
    return report or _by_lanczos(A, symmetric) or _by_inverse(A, symmetric) or _by_dense(A, symmetric)


def require_doubly_stochastic(A: Matrix, eps: float) -> None:
    """Raise :class:`GraphError`, naming the place, unless A is finite and its rows and columns sum to 1."""
    if not np.isfinite(entries(A)).all():
        raise GraphError(
            "the mixing matrix holds a value that is not finite: check_mixing_matrix names the place"
        )
    for axis, line in ((1, "row"), (0, "column")):
        if worst := worst_sum(A, axis, eps):
            raise GraphError(
                f"{line} {worst[0]} sums to {worst[1]:.6g}, not 1: lambda = ||W - 11'/m|| needs a doubly "
                "stochastic W; for a column-stochastic one see push_sum_constants"
            )


def symmetric_report(
    m: int, below_one: float, above_minus_one: float, method: str, error: float
) -> SpectralReport:
    """From 1 - lambda_2 and 1 + lambda_m, which carry the precision."""
    below_one, above_minus_one = float(below_one), float(above_minus_one)
    gap = min(below_one, above_minus_one)
    return SpectralReport(m, 1.0 - gap, gap, method, error, 1.0 - below_one, above_minus_one - 1.0)


def _by_dense(A: Matrix, symmetric: bool) -> SpectralReport:
    dense = to_dense(A)
    m = len(dense)
    if symmetric:
        values = np.linalg.eigvalsh((dense + dense.T) / 2 - 1.0 / m)
        values = np.delete(values, np.argmin(np.abs(values)))  # the zero that 11'/m has put at the vector 1
        return symmetric_report(m, 1.0 - values[-1], 1.0 + values[0], "dense", m * EPS)
    norm = float(np.linalg.norm(dense - 1.0 / m, 2))
    return SpectralReport(m, norm, 1.0 - norm, "dense", m * EPS)


def _by_fft(A: Matrix, symmetric: bool) -> SpectralReport | None:
    kernel = circulant_kernel(A)
    if kernel is None:
        return None
    values = np.fft.fftn(kernel).ravel()[1:]
    m, error = kernel.size, EPS * (2 + np.log2(kernel.size))
    if symmetric:
        return symmetric_report(m, 1.0 - values.real.max(), 1.0 + values.real.min(), "fft", error)
    norm = float(np.abs(values).max())  # circulant matrices are normal
    return SpectralReport(m, norm, 1.0 - norm, "fft", error)


def arpack(
    A: Any, m: int, k: int = 1, which: Literal["LA", "BE"] = "LA", tol: float = 1e-12, **options: Any
) -> Any:
    """(values, vectors) at the ends of the spectrum of a symmetric matrix, or of x -> A(x), by ARPACK from a
    start that is always the same."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator: Any = A if hasattr(A, "shape") else LinearOperator((m, m), matvec=A, dtype=float)
    start = np.random.default_rng(0).standard_normal(m)
    return eigsh(operator, k=k, which=which, v0=start, tol=tol, **options)


def _by_lanczos(A: Matrix, symmetric: bool) -> SpectralReport | None:
    """ARPACK on W - 11'/m, or on (W - 11'/m)'(W - 11'/m); None where it does not converge soon."""
    from scipy.sparse.linalg import ArpackNoConvergence

    m = A.shape[0]
    if m < 3:
        return _by_dense(A, symmetric)
    deflate = lambda x: A @ x - x.mean()  # noqa: E731
    back = lambda x: A.T @ x - x.mean()  # noqa: E731
    # the vector 1 is given the mean of the other eigenvalues, so that neither end of the spectrum is it
    inside = (float(A.trace()) - 1) / (m - 1)
    center = lambda x: A @ x - (1 - inside) * x.mean()  # noqa: E731
    soon: dict[str, Any] = {"tol": 1e-9, "ncv": min(m, 40), "maxiter": 150}
    try:
        if symmetric:
            values, vectors = arpack(center, m, 2, "BE", **soon)
            error = max(np.linalg.norm(center(v) - t * v) for t, v in zip(values, vectors.T))
            return symmetric_report(m, 1.0 - values.max(), 1.0 + values.min(), "lanczos", float(error) + EPS)
        values, vectors = arpack(lambda x: back(deflate(x)), m, **soon)
    except ArpackNoConvergence:
        return None
    square, v = float(values[0]), vectors[:, 0]
    norm = np.sqrt(max(square, 0.0))
    error = np.linalg.norm(back(deflate(v)) - square * v) / max(norm, EPS)
    return SpectralReport(m, float(norm), float(1.0 - norm), "lanczos", float(error) + EPS)


def _by_inverse(A: Matrix, symmetric: bool) -> SpectralReport | None:
    """ARPACK on (I - W)^+ and (I + W)^-1 by sparse factors: large sparse graphs with a tiny gap."""
    from scipy.sparse.linalg import splu

    m = A.shape[0]
    if not symmetric or not is_sparse(A) or m < 3 or (A.data < 0).any():
        return None
    if components(A)[0] > 1:
        return symmetric_report(m, 0.0, 2.0, "components", 0.0)
    eye = sp.eye_array(m, format="csc")
    grounded = splu(sp.csc_array(eye - A)[1:, 1:])  # client 0 held at 0: I - W without its null vector

    def pseudo_inverse(b: np.ndarray) -> np.ndarray:
        x = np.r_[0.0, grounded.solve((b - b.mean())[1:])]
        return x - x.mean()

    below_one = 1.0 / float(arpack(pseudo_inverse, m)[0][0])
    if 2 * A.diagonal().min() >= below_one:  # Gershgorin: 1 + lambda_m >= 2 min w_ii
        return SpectralReport(m, 1.0 - below_one, below_one, "inverse", EPS, 1.0 - below_one)
    above = 1.0 / float(arpack(splu(sp.csc_array(eye + A)).solve, m)[0][0])
    return symmetric_report(m, below_one, above, "inverse", EPS)


def extreme_eigenvalues(W: Matrix) -> tuple[float, float, float]:
    """(least, largest, error) eigenvalue of the symmetric part of any finite square W."""
    m = W.shape[0]
    S: Any = (W + W.T) / 2
    if m <= DENSE_SPECTRUM:
        values, unit = np.linalg.eigvalsh(to_dense(S)), m * EPS
    else:
        values, unit = arpack(S, m, 2, "BE", tol=1e-9, ncv=60, maxiter=10_000)[0], 1e-9
    return float(values.min()), float(values.max()), unit * float(np.abs(values).max())


def laplacian_extremes(A: sp.csr_array) -> tuple[float, float]:
    """(lambda_2, lambda_m) of the Laplacian of a connected undirected 0/1 adjacency matrix."""
    m = A.shape[0]
    if m == 1:
        return 0.0, 0.0
    degree = np.diff(A.indptr).astype(float)
    bound = 2.0 * degree.max()  # L <= bound, so that W = I - L/bound has all eigenvalues in [0, 1]
    W = sp.csr_array(sp.eye_array(m, format="csr") - (sp.diags_array(degree) - A) / bound)
    report = _by_dense(W, True) if m <= DENSE_SPECTRUM else _by_lanczos(W, True)
    if report is None:
        report = _by_inverse(W, True)
    if report is None or report.lambda_m is None:
        high = float(arpack(sp.diags_array(degree) - A, m, tol=0)[0][0])
        return bound * (report.gap if report else 0.0), high
    return bound * (1.0 - (report.lambda_2 or 0.0)), bound * (1.0 - report.lambda_m)


# -- matrices that are circulant in one or two dimensions: their spectrum is one FFT ------------------


def circulant_kernel(W: Matrix) -> np.ndarray | None:
    """The first column of W as an (a, b) array if w_ij depends on i - j in Z_a x Z_b alone, else None.

    Clients are numbered row by row, i = r b + c. Every factorization m = a b is tried, at the cost of one
    pass over the non-zeros each.
    """
    m = W.shape[0]
    S = W if is_sparse(W) else compress(np.asarray(W))
    counts = np.diff(S.indptr)
    if S.nnz == 0 or (counts != counts[0]).any():
        return None
    rows = np.repeat(np.arange(m), counts)
    small = [a for a in range(1, math.isqrt(m) + 1) if m % a == 0]
    for a in small + [m // a for a in reversed(small[1:])]:  # a = m would be a = 1 again
        kernel = _kernel(S, rows, a, m // a)
        if kernel is not None:
            return kernel
    return None


def _kernel(S: sp.csr_array, rows: np.ndarray, a: int, b: int) -> np.ndarray | None:
    m, columns = a * b, S.indices
    width = int(S.indptr[1])
    if width > 64:  # a thick matrix: look at two rows before all of them
        first = _differences(rows[: 2 * width], columns[: 2 * width], a, b)
        if set(first[:width].tolist()) != set(first[width:].tolist()):
            return None
    code = _differences(rows, columns, a, b)
    kernel = np.zeros(m)
    kernel[code[:width]] = S.data[:width]
    filled = np.zeros(m, dtype=bool)
    filled[code[:width]] = True
    if not filled[code].all() or np.abs(S.data - kernel[code]).max() > 4 * EPS:
        return None
    if (np.bincount(code, minlength=m)[filled] != m).any():
        return None
    return kernel.reshape(a, b)


def _differences(rows: np.ndarray, columns: np.ndarray, a: int, b: int) -> np.ndarray:
    return ((rows // b - columns // b) % a) * b + (rows % b - columns % b) % b
