"""A sequence in which clients choose neighbors by their losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.adjacency_weights import column_stochastic_of
from dfltheory.graphs.matrices import Matrix, as_sparse_or_dense
from dfltheory.graphs.round_matrices import arcs_to, check_links
from dfltheory.number_ranges import PositiveInt


@dataclass(frozen=True, eq=False)
class LossDriven:
    """DFedSGPSM-S: client i sends to k others, drawn with p_ij ~ exp(|f_i - f_j|).

    The matrices are column-stochastic with p_ji = 1/(k+1). The paper does not state
    whether draws are with replacement (here they are not, since the number of neighbors
    is fixed) or whether i may draw itself (here it may not, since it always keeps a
    share). The draws are the Gumbel top-k of |f_i - f_j|. This equals sequential
    sampling without replacement but computes no exponential, so large losses do not
    overflow.

    Parameters
    ----------
    m : int
        Number of clients.
    k : int
        Number of clients to which each client sends; at most m - 1 are drawn.
    name : str
        Name of the sequence.

    References
    ----------
    DFedSGPSM, Eq. 2.
    """

    m: int
    k: PositiveInt = 10
    name: str = "loss_driven"
    random: bool = field(default=True, init=False)
    needs_losses: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        check_links(self.name, self.m, self.k)

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Draw P_t, given the losses (m,) of the clients."""
        f = self._check_losses(losses)
        k = min(self.k, self.m - 1)
        if k == 0:
            return np.ones((1, 1))
        targets = np.empty((self.m, k), dtype=np.intp)
        for rows in _row_blocks(self.m):
            noisy = self._logits(f, rows)
            noisy += rng.gumbel(size=noisy.shape)
            targets[rows] = np.argpartition(-noisy, k - 1, axis=1)[:, :k]
        return as_sparse_or_dense(column_stochastic_of(arcs_to(targets)), None)

    def probabilities(self, losses: np.ndarray) -> np.ndarray:
        """Return the probabilities of the first draw of each client (rows).

        Parameters
        ----------
        losses : (m,) array
            Losses of the clients.

        Returns
        -------
        (m, m) array
            Row i sums to 1, with 0 on the diagonal. The result is [[0]] for m = 1,
            because there is no other client to draw.
        """
        f = self._check_losses(losses)
        weight = np.exp(self._logits(f, slice(0, self.m)))
        total = weight.sum(axis=1, keepdims=True)
        return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)

    def _check_losses(self, losses: np.ndarray | None) -> np.ndarray:
        """Return the losses as floats; raise InputError unless they are finite."""
        if losses is None:
            raise InputError(
                f"losses are missing: {self.name} needs the current losses ({self.m},)"
                " of the clients"
            )
        f = np.asarray(losses, dtype=float)
        if f.shape != (self.m,):
            raise InputError(
                f"losses have shape {f.shape}, not ({self.m},): give one loss for each"
                " client"
            )
        if not np.isfinite(f).all():
            i = int(np.argmin(np.isfinite(f)))
            raise InputError(
                f"losses: client {i} has loss {f[i]}, but losses must be finite"
            )
        return f

    def _logits(self, f: np.ndarray, rows: slice) -> np.ndarray:
        """Return |f_i - f_j| minus the maximum of its row; -inf at j = i.

        The losses are halved first to avoid overflow.
        """
        halves = np.abs(f[rows, None] / 2 - f[None, :] / 2)
        clients = np.arange(self.m)[rows]
        halves[clients - rows.start, clients] = -np.inf
        if self.m == 1:
            return halves
        with np.errstate(over="ignore"):
            return 2 * (halves - halves.max(axis=1, keepdims=True))


def _row_blocks(m: int, entries: int = 2**20) -> Iterator[slice]:
    """Yield slices of the rows of an m x m array with at most ``entries`` numbers."""
    step = max(1, entries // m)
    for first in range(0, m, step):
        yield slice(first, min(first + step, m))
