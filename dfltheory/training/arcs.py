"""The arcs of a run's network, with the weights of one round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Edges
from dfltheory.graphs.matrices import Matrix


@dataclass(frozen=True, eq=False)
class Arcs:
    """All arcs that occur in any round of a network.

    Attributes
    ----------
    places : (E, 2) array
        Rows and columns of their weights.
    edges : Edges
        The same arcs as Edges, with weights 0.
    """

    places: np.ndarray
    edges: Edges

    @classmethod
    def of_matrices(cls, matrices: Iterable[Matrix], m: int, like: Tensor) -> Arcs:
        """Collect the arcs of all matrices of a period.

        Parameters
        ----------
        matrices : iterable of (m, m) arrays or sparse arrays
        m : int
            Number of clients.
        like : tensor
            Determines the dtype and device of the weights.
        """
        nonzero = [np.stack(W.nonzero(), axis=1) for W in matrices]
        places = np.unique(np.concatenate(nonzero), axis=0)
        places = places[places[:, 0] != places[:, 1]]
        return cls(places, Edges.of_places(places, m, like))

    def weighted(self, W: Matrix) -> Edges:
        """Return the edges with the weights of one matrix."""
        weights = np.asarray(W[self.places[:, 0], self.places[:, 1]], dtype=np.float64)
        return replace(
            self.edges, weights=torch.from_numpy(weights).to(self.edges.weights)
        )


def only_present(edges: Edges, e: Tensor) -> Tensor:
    """Return e with zeros for arcs that are absent in this round; may overwrite e."""
    present = edges.weights != 0
    if bool(present.all()):
        return e
    return e.masked_fill_(~present.view(-1, *[1] * (e.ndim - 2)), 0)


__all__ = ["Arcs", "only_present"]
