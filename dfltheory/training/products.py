"""The mixing matrices of a run, as products W z with stacked models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import Matrix, to_dense
from dfltheory.graphs.sequences import (
    MixingSequence,
    has_one_draw_per_round,
    period_of,
)
from dfltheory.training.laws import Laws

SPARSE_BELOW = 0.1
"""Fraction of nonzeros below which a sparse product is faster (see benchmarks/).
"""
DENSE_UP_TO = 4096
"""Largest number of clients for which the power of a sparse matrix is stored densely.
"""
SMALL = 100_000
"""Number of multiplications of a dense product in the call overhead of a sparse one.
"""
CACHE_BLOCK = 1 << 20
"""Bytes of coordinates, over all models, mixed at once: the size of a CPU cache.
"""

NO_DRAWS = np.random.default_rng(0)
"""Generator for sequences that do not draw random numbers."""

MatrixProduct = Callable[[Tensor], Tensor]
"""A function z -> W z for each seed, (S, m, d) -> (S, m, d), with a new tensor."""


def mixing_product(
    W: Matrix,
    dtype: torch.dtype,
    device: torch.device | str,
    times: int = 1,
    d: int = 0,
) -> MatrixProduct:
    """Return the cheapest function z -> W^times z: dense, or sparse products.

    The cost of a sparse product is the number of nonzeros. That of a dense product is
    m^2, but at about ten times the speed and without the call overhead that dominates
    sparse products of small models.

    Parameters
    ----------
    W : (m, m) array or sparse array
    dtype : torch.dtype
        Type of the models.
    device : device or str
        Device of the models.
    times : int
        Number of gossip steps with the same matrix.
    d : int
        Number of parameters of a model.
    """
    m = W.shape[0]
    stored = np.count_nonzero(W) if isinstance(W, np.ndarray) else W.nnz
    if _dense_is_cheaper(m, int(stored), times, d):
        power = np.linalg.matrix_power(np.asarray(to_dense(W), dtype=np.float64), times)
        return partial(_dense, torch.from_numpy(power).to(dtype=dtype, device=device))
    # sparse products do not support half precision
    width = torch.promote_types(dtype, torch.float32)
    csr: Any = sp.csr_array(W).astype(str(width).removeprefix("torch."))
    if torch.device(device).type == "cpu":
        apply = partial(_sparse, [csr] * times)
    else:
        apply = partial(_on_device, [_coo_tensor(csr).to(device)] * times)
    return apply if width == dtype else partial(_in_precision, width, apply)


def _dense_is_cheaper(m: int, stored: int, times: int, d: int) -> bool:
    """Return whether a dense product is cheaper, given the number of nonzeros."""
    dense_from = SPARSE_BELOW * m**2
    if stored >= dense_from:
        return True
    if m > DENSE_UP_TO:
        return False
    return times * stored >= dense_from or m * m * d <= SMALL


def in_turn(products: Sequence[MatrixProduct], z: Tensor) -> Tensor:
    """Apply several products in turn."""
    for apply in products:
        z = apply(z)
    return z


def _dense(W: Tensor, z: Tensor) -> Tensor:
    """Apply a dense matrix to the models of each seed."""
    seeds = z.shape[0]
    if seeds == 1:
        return torch.mm(W, z[0])[None]
    # at most half the overhead of matmul, which ends in the same call
    return torch.bmm(W.expand(seeds, -1, -1), z)


def _in_precision(width: torch.dtype, apply: MatrixProduct, z: Tensor) -> Tensor:
    """Apply a product in another precision."""
    return apply(z.to(width)).to(z.dtype)


def _sparse(factors: list[sp.csr_array], z: Tensor) -> Tensor:
    """Apply scipy's sparse product.

    On a CPU it is at least as fast as torch's (five times at d = 8e5). Long models are
    mixed in blocks, so that a block stays in the cache for all factors.
    """
    S, n, d = z.shape
    models = z.numpy()
    block = max(512, CACHE_BLOCK // (n * models.itemsize))
    if S == 1 and d <= block:
        return torch.from_numpy(_apply_factors(factors, models[0])[None])
    mixed = np.empty((S, factors[-1].shape[0], d), models.dtype)
    for before, after in zip(models, mixed):
        for start in range(0, d, block):
            part = slice(start, start + block)
            after[:, part] = _apply_factors(factors, before[:, part])
    return torch.from_numpy(mixed)


def _apply_factors(factors: list[sp.csr_array], z: np.ndarray) -> np.ndarray:
    """Apply sparse matrices to the models (m, d) of one seed, the first one first."""
    for W in factors:
        z = W @ z
    return z


def _on_device(factors: list[Tensor], z: Tensor) -> Tensor:
    """Apply torch's sparse product, on a device other than a CPU."""
    mixed = []
    for mixed_models in z:
        for W in factors:
            mixed_models = W @ mixed_models
        mixed.append(mixed_models)
    return torch.stack(mixed)


def _coo_tensor(csr: Any) -> Tensor:
    """Convert a scipy matrix to a sparse torch tensor."""
    coo = csr.tocoo()
    places = torch.from_numpy(np.stack(coo.coords))
    return torch.sparse_coo_tensor(
        places, coo.data, coo.shape, check_invariants=True
    ).coalesce()


class MatrixSource:
    """Draws and checks the matrices W_0, W_1, ... of a sequence, and builds products.

    The q-th gossip step of round t uses W_{tQ+q}, where Q = ``steps``. This is the same
    matrix if the sequence is constant, the next one if it depends on time, and a new
    draw if it is random. A sequence with one draw per round uses W_t for all gossip
    steps of round t.

    Parameters
    ----------
    sequence : MixingSequence
    laws : Laws
        Matrices that are not known before the first round are checked against these
        laws when they are drawn.
    steps : int
        Number Q of gossip steps per round.
    product : callable
        Maps a matrix, and optionally ``times``, to a function z -> W^times z.
    """

    def __init__(
        self,
        sequence: MixingSequence,
        laws: Laws,
        steps: int,
        product: Callable[..., MatrixProduct],
    ):
        self.sequence = sequence
        self.steps = steps
        self.period = period_of(sequence)
        self.needs_losses = bool(getattr(sequence, "needs_losses", False))
        self.per_seed = bool(sequence.random or self.needs_losses)
        self.constant = self.period == 1
        self.one_per_round = has_one_draw_per_round(sequence)
        self._laws, self._product = laws, product
        self._prepared: tuple[Matrix, int, MatrixProduct] | None = None

    @property
    def one_matrix(self) -> bool:
        """Whether all gossip steps of a round use the same matrix."""
        return self.constant or self.one_per_round

    def matrix(
        self,
        t: int,
        q: int,
        rng: np.random.Generator = NO_DRAWS,
        losses: tuple[np.ndarray, ...] = (),
    ) -> Matrix:
        """Return the matrix of gossip step q of round t.

        Parameters
        ----------
        t, q : int
            Round, and gossip step from 0.
        rng : Generator
            Used if the sequence is random.
        losses : tuple
            Empty, or one array (m,) of losses if the sequence depends on them.
        """
        index = t if self.one_per_round else t * self.steps + q
        W = self.sequence.matrix(index, rng, *losses)
        if self.period is None:
            self._laws.check(W, f"the matrix of round {index}: ")
        return W

    def step(self, matrices: list[Matrix]) -> MatrixProduct:
        """Return the product of several gossip steps (cached for a constant matrix)."""
        first, times = matrices[0], len(matrices)
        if any(W is not first for W in matrices):
            return partial(in_turn, [self._product(W) for W in matrices])
        if (
            self._prepared is None
            or self._prepared[0] is not first
            or self._prepared[1] != times
        ):
            self._prepared = (first, times, self._product(first, times=times))
        return self._prepared[2]

    def check_owned(self, steps: int) -> None:
        """Raise InputError if a round would use matrices of the next round."""
        if steps > self.steps and not (self.one_matrix or self.per_seed):
            raise InputError(
                f"a round mixes {steps} times over a network that changes with time,"
                f" but its class declares {self.steps}: set gossip_steps of the class"
                f" to {steps}, so that rounds do not overlap"
            )


__all__ = ["NO_DRAWS", "MatrixProduct", "MatrixSource", "in_turn", "mixing_product"]
