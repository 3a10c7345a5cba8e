"""Products W z of a mixing matrix with stacked models, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dfltheory.graphs.matrices import is_sparse, to_dense

SPARSE_BELOW = 0.1
"""Share of nonzero weights below which a sparse product is faster (measured in
benchmarks/).
"""
DENSE_UP_TO = 4096
"""Largest number of clients for which a power of a sparse matrix is stored as a dense
one.
"""
SMALL = 100_000
"""Number of multiplications that a dense product finishes before a sparse one has
started.
"""
CACHE_BLOCK = 1 << 20
"""Bytes of all models' coordinates that are mixed at once: the size of a processor's
cache.
"""

MatrixProduct = Callable[[Tensor], Tensor]
"""One product W z for every seed: (S, m, d) -> (S, m, d), a new tensor."""


def product(
    W: Any,
    dtype: torch.dtype,
    device: torch.device | str,
    times: int = 1,
    d: int = 0,
) -> MatrixProduct:
    """Return the cheapest function z -> W^times z: dense, or sparse products.

    A sparse product costs the number of nonzero weights, a dense one m^2 at about ten
    times the speed and without the overhead of the sparse one, which dominates if
    models are small.

    Parameters
    ----------
    W : (m, m) array or sparse array
    dtype, device : type and device of the models
    times : int
        Number of gossip steps with the same matrix.
    d : int
        Number of parameters of a model.
    """
    m = W.shape[0]
    stored = W.nnz if is_sparse(W) else np.count_nonzero(W)
    if _dense_is_cheaper(m, int(stored), times, d):
        power = np.linalg.matrix_power(np.asarray(to_dense(W), dtype=np.float64), times)
        return partial(_dense, torch.from_numpy(power).to(dtype=dtype, device=device))
    # no library multiplies in half precision
    width = torch.promote_types(dtype, torch.float32)
    csr: Any = sp.csr_array(W).astype(str(width).removeprefix("torch."))
    if torch.device(device).type == "cpu":
        return partial(_sparse, [csr] * times, width)
    return partial(_on_device, [_coo_tensor(csr).to(device)] * times, width)


def _dense_is_cheaper(m: int, stored: int, times: int, d: int) -> bool:
    dense_from = SPARSE_BELOW * m**2
    if stored >= dense_from:
        return True
    if m > DENSE_UP_TO:
        return False
    return times * stored >= dense_from or m * m * d <= SMALL


def in_turn(products: Sequence[MatrixProduct], z: Tensor) -> Tensor:
    """Apply several products one after the other."""
    for apply in products:
        z = apply(z)
    return z


def _dense(W: Tensor, z: Tensor) -> Tensor:
    return torch.mm(W, z[0])[None] if len(z) == 1 else torch.matmul(W, z)


def _sparse(factors: list[Any], width: torch.dtype, z: Tensor) -> Tensor:
    """Apply scipy's product.

    On a CPU it is at least as fast as torch's (five times at d = 8e5).

    Long models are mixed block by block, so that a block stays in the cache through all
    factors.
    """
    S, n, d = z.shape
    models = z.to(width).numpy()
    block = max(512, CACHE_BLOCK // (n * models.itemsize))
    if S == 1 and d <= block:
        return torch.from_numpy(reduce(_times, factors, models[0])[None]).to(z.dtype)
    mixed = np.empty((S, factors[-1].shape[0], d), models.dtype)
    for before, after in zip(models, mixed):
        for start in range(0, d, block):
            after[:, start : start + block] = reduce(
                _times, factors, before[:, start : start + block]
            )
    return torch.from_numpy(mixed).to(z.dtype)


def _on_device(factors: list[Tensor], width: torch.dtype, z: Tensor) -> Tensor:
    return torch.stack([reduce(_times, factors, own.to(width)) for own in z]).to(
        z.dtype
    )


def _times(z: Any, W: Any) -> Any:
    return W @ z


def _coo_tensor(csr: Any) -> Tensor:
    coo = csr.tocoo()
    places = torch.from_numpy(np.stack(coo.coords))
    return torch.sparse_coo_tensor(
        places, coo.data, coo.shape, check_invariants=True
    ).coalesce()


__all__ = ["MatrixProduct", "in_turn", "product"]
