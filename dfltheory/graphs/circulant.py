"""Matrices that are circulant in one or two dimensions: one FFT is their spectrum."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from dfltheory.graphs.matrices import ROUNDING, Matrix, compress, is_sparse


def circulant_kernel(W: Matrix) -> np.ndarray | None:
    """Return the first column of a matrix that is circulant on Z_a x Z_b.

    Clients are numbered row by row, i = r b + c, and w_ij depends only on i - j. Each
    factorization m = a b is tried with one pass over the nonzero entries.

    Parameters
    ----------
    W : (m, m) matrix
        The matrix.

    Returns
    -------
    (a, b) array or None
        None if the matrix is not circulant.
    """
    m = W.shape[0]
    S = W if is_sparse(W) else compress(np.asarray(W))
    counts = np.diff(S.indptr)
    if S.nnz == 0 or (counts != counts[0]).any():
        return None
    rows = np.repeat(np.arange(m), counts)
    small = [a for a in range(1, math.isqrt(m) + 1) if m % a == 0]
    large = [m // a for a in reversed(small[1:])]  # a = m is equivalent to a = 1
    for a in small + large:
        kernel = _kernel(S, rows, a, m // a)
        if kernel is not None:
            return kernel
    return None


def _kernel(S: sp.csr_array, rows: np.ndarray, a: int, b: int) -> np.ndarray | None:
    """Return the (a, b) kernel, or None if S is not circulant on Z_a x Z_b."""
    m = a * b
    columns = S.indices
    width = int(S.indptr[1])
    if width > 64:  # compare two rows of a dense matrix before all of them
        first = _differences(rows[: 2 * width], columns[: 2 * width], a, b)
        if set(first[:width].tolist()) != set(first[width:].tolist()):
            return None
    code = _differences(rows, columns, a, b)
    kernel = np.zeros(m)
    kernel[code[:width]] = S.data[:width]
    filled = np.zeros(m, dtype=bool)
    filled[code[:width]] = True
    if not filled[code].all() or np.abs(S.data - kernel[code]).max() > 4 * ROUNDING:
        return None
    if (np.bincount(code, minlength=m)[filled] != m).any():
        return None
    return kernel.reshape(a, b)


def _differences(rows: np.ndarray, columns: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return the index of i - j in Z_a x Z_b for each entry (i, j)."""
    row_difference = (rows // b - columns // b) % a
    column_difference = (rows % b - columns % b) % b
    return row_difference * b + column_difference
