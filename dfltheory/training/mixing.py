"""One round of the network: x <- W_t x for every seed, dense or sparse, whichever is cheaper."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dfltheory.training.randomness import numpy_generator

_SPARSE_BELOW = 0.1
"""Share of non-zero weights under which a sparse product is the faster one (measured, see benchmarks)."""


def to_torch(W: Any, dtype: torch.dtype, device: torch.device | str, times: int = 1) -> Tensor:
    """W as a tensor: CSR where W is sparse, else W^times, which costs one product instead of ``times``."""
    m = W.shape[0]
    given_sparse = bool(sp.issparse(W))
    csr = sp.csr_array(W) if given_sparse or np.count_nonzero(W) < _SPARSE_BELOW * m * m else None
    if csr is not None and csr.nnz < _SPARSE_BELOW * m * m:
        with warnings.catch_warnings():  # torch calls its CSR layout beta, and says so at every first use
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(
                torch.from_numpy(csr.indptr.astype(np.int64)),
                torch.from_numpy(csr.indices.astype(np.int64)),
                torch.from_numpy(np.asarray(csr.data, dtype=np.float64)).to(dtype),
                size=csr.shape,
                device=device,
                check_invariants=True,
            )
    dense = np.asarray(W, dtype=np.float64) if csr is None else csr.toarray()
    if times > 1:
        dense = np.linalg.matrix_power(dense, times)
    return torch.from_numpy(np.ascontiguousarray(dense)).to(dtype=dtype, device=device)


class Network:
    """The sequence W_t of a run, drawn per (root seed, seed index, round) and kept as tensors.

    A sequence that does not depend on chance gives one matrix a round for all seeds; a random one gives
    every seed its own. The q-th gossip step of round t uses W_{tQ+q}: the same matrix when the sequence is
    constant, the next one when it moves with time, a fresh draw when it is random.
    """

    def __init__(
        self, sequence: Any, seeds: Sequence[int], root: int, dtype: torch.dtype, device: torch.device | str
    ):
        self.sequence = sequence
        self.m = int(sequence.m)
        self.needs_losses = bool(getattr(sequence, "needs_losses", False))
        self._seeds, self._root, self._dtype, self._device = seeds, root, dtype, device
        self._kept: tuple[Any, int, Tensor] | None = None

    def at(self, t: int, losses: Tensor | None = None) -> Round:
        """The network of round t; ``losses`` (S, m) where the sequence chooses neighbours by them."""
        return Round(self, t, None if losses is None else losses.double().cpu().numpy())

    def draw(self, t: int, times: int, losses: np.ndarray | None) -> list[list[Tensor]]:
        """For every seed (one list for all where chance plays no part) the matrices to apply in order."""
        per_seed = self.sequence.random or self.needs_losses
        drawn = []
        for row, s in enumerate(self._seeds if per_seed else self._seeds[:1]):
            rng = numpy_generator(self._root, s, t, "network")
            matrices = [
                self.sequence.matrix(t * times + q, rng, losses[row])
                if self.needs_losses and losses is not None
                else self.sequence.matrix(t * times + q, rng)
                for q in range(times)
            ]
            drawn.append(self._tensors(matrices))
        return drawn

    def _tensors(self, matrices: list[Any]) -> list[Tensor]:
        first = matrices[0]
        same = all(W is first for W in matrices)
        if same and self._kept is not None and self._kept[0] is first and self._kept[1] == len(matrices):
            return self._repeat(self._kept[2], len(matrices))
        if not same:
            return [to_torch(W, self._dtype, self._device) for W in matrices]
        tensor = to_torch(first, self._dtype, self._device, len(matrices))
        self._kept = (first, len(matrices), tensor)
        return self._repeat(tensor, len(matrices))

    @staticmethod
    def _repeat(tensor: Tensor, times: int) -> list[Tensor]:
        return [tensor] * times if tensor.layout == torch.sparse_csr else [tensor]  # dense: W^Q already


class ServerNetwork:
    """A server in place of a network: everybody gets the mean over the clients that take part."""

    needs_losses = False

    def at(self, active: Tensor | None) -> Callable[..., Tensor]:
        """The mix of one round; ``active`` (S, m, 1) tells who takes part, None: all."""

        def mix(z: Tensor, times: int = 1) -> Tensor:
            if active is None:
                mean = z.mean(-2, keepdim=True)
            else:
                mean = torch.where(active, z, 0).sum(-2, keepdim=True).div_(active.sum(-2, keepdim=True))
            return mean.expand_as(z).contiguous()

        return mix


class Round:
    """The mix of one round: every call uses the same matrices."""

    def __init__(self, network: Network, t: int, losses: np.ndarray | None):
        self._network, self._t, self._losses = network, t, losses
        self._drawn: dict[int, list[list[Tensor]]] = {}

    def __call__(self, z: Tensor, times: int = 1) -> Tensor:
        """z_i <- sum_l w_il z_l, ``times`` times: (S, m, d) -> (S, m, d)."""
        if times not in self._drawn:
            self._drawn[times] = self._network.draw(self._t, times, self._losses)
        drawn = self._drawn[times]
        if len(drawn) == 1:
            for W in drawn[0]:
                z = product(W, z)
            return z
        mixed = []
        for s, matrices in enumerate(drawn):
            zs = z[s]
            for W in matrices:
                zs = W @ zs
            mixed.append(zs)
        return torch.stack(mixed)


def product(W: Tensor, z: Tensor) -> Tensor:
    """W z for every seed: (m, m) and (S, m, d) -> (S, m, d), W dense or CSR."""
    if z.shape[0] == 1:
        return (W @ z[0]).unsqueeze(0)
    if W.layout == torch.sparse_csr:
        return torch.stack([W @ zs for zs in z])
    return torch.matmul(W, z)


__all__ = ["Network", "Round", "ServerNetwork", "product", "to_torch"]
