"""Matrices whose entries depend only on client differences; one FFT diagonalizes them.

Clients are the elements of a group: numbers modulo m, pairs of numbers, or the corners
of a hypercube.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from dfltheory.graphs.matrices import ROUNDING_UNIT, Matrix, compress, is_sparse


def group_kernel(W: Matrix) -> np.ndarray | None:
    """Return the first column of a matrix that depends only on client differences.

    Differences are taken on a hypercube or on Z_a x Z_b. The eigenvalues are the
    discrete Fourier transform of the returned array. Return None if the entries depend
    on more than the difference.
    """
    kernel = hypercube_kernel(W)
    return circulant_kernel(W) if kernel is None else kernel


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
    nonzero = _nonzeros_of_equal_rows(W)
    if nonzero is None:
        return None
    small = [a for a in range(1, math.isqrt(m) + 1) if m % a == 0]
    large = [m // a for a in reversed(small[1:])]  # a = m is equivalent to a = 1
    for a in small + large:
        kernel = _kernel(*nonzero, partial(_differences, a=a, b=m // a))
        if kernel is not None:
            return kernel.reshape(a, m // a)
    return None


def hypercube_kernel(W: Matrix) -> np.ndarray | None:
    """Return the first column of a matrix that depends only on differing bits.

    Entry w_ij depends only on i XOR j, the bits in which the client numbers differ.

    Parameters
    ----------
    W : (m, m) matrix
        The matrix.

    Returns
    -------
    (2, ..., 2) array or None
        None if m is not a power of two or the entries depend on more than i XOR j.
    """
    m = W.shape[0]
    is_power_of_two = m > 1 and m & (m - 1) == 0
    nonzero = _nonzeros_of_equal_rows(W) if is_power_of_two else None
    if nonzero is None:
        return None
    kernel = _kernel(*nonzero, np.bitwise_xor)
    return None if kernel is None else kernel.reshape((2,) * (m.bit_length() - 1))


def _nonzeros_of_equal_rows(W: Matrix) -> tuple[sp.csr_array, np.ndarray] | None:
    """Return W as CSR and the row of each nonzero, (nnz,).

    None if W is 0 or its rows do not have equally many nonzeros.
    """
    S = W if is_sparse(W) else compress(np.asarray(W))
    counts = np.diff(S.indptr)
    if S.nnz == 0 or (counts != counts[0]).any():
        return None
    return S, np.repeat(np.arange(W.shape[0]), counts)


def _kernel(
    S: sp.csr_array,
    rows: np.ndarray,
    difference: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Return the (m,) kernel, or None if entries do not depend on the difference.

    Parameters
    ----------
    S : (m, m) sparse array
        The matrix; all rows have equally many nonzeros.
    rows : (nnz,) array of int
        Row of each nonzero.
    difference : callable
        Maps rows and columns to the index 0..m-1 of their difference.
    """
    m = S.shape[0]
    columns = S.indices
    width = int(S.indptr[1])
    if width > 64:  # compare two rows first, which is fast and rejects most matrices
        first = difference(rows[: 2 * width], columns[: 2 * width])
        if set(first[:width].tolist()) != set(first[width:].tolist()):
            return None
    code = difference(rows, columns)
    kernel = np.zeros(m)
    kernel[code[:width]] = S.data[:width]
    filled = np.zeros(m, dtype=bool)
    filled[code[:width]] = True
    if (
        not filled[code].all()
        or np.abs(S.data - kernel[code]).max() > 4 * ROUNDING_UNIT
    ):
        return None
    if (np.bincount(code, minlength=m)[filled] != m).any():
        return None
    return kernel


def _differences(rows: np.ndarray, columns: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return the index of i - j in Z_a x Z_b for each entry (i, j)."""
    row_difference = (rows // b - columns // b) % a
    column_difference = (rows % b - columns % b) % b
    return row_difference * b + column_difference
