"""The arcs of a run's network, with the weights of one round."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Edges
from dfltheory.errors import InputError
from dfltheory.graphs.matrices import Matrix
from dfltheory.graphs.sequences import MixingSequence, period_of
from dfltheory.training.products import NO_DRAWS


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
    def of_sequence(cls, sequence: MixingSequence, m: int, like: Tensor) -> Arcs:
        """Collect the arcs of all matrices of a period.

        Parameters
        ----------
        sequence : MixingSequence
        m : int
            Number of clients.
        like : tensor
            Determines the dtype and device of the weights.

        Raises
        ------
        InputError
            If the sequence is neither fixed nor periodic.
        """
        period = period_of(sequence)
        if period is None:
            raise InputError(
                "mix.edges needs a fixed or periodic network: the arcs of this one"
                " change from round to round or from seed to seed, so values cannot be"
                " stored for them"
            )
        matrices = [sequence.matrix(t, NO_DRAWS) for t in range(period)]
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


def sent_over_arcs(edges: Edges, x: Tensor) -> Tensor:
    """Return each client's value (S, m, ...) at its arcs (S, E, ...).

    The result is 0 for arcs that are absent in this round.
    """
    return _only_present(edges, x.index_select(1, edges.senders))


def check_reverse(edges: Edges) -> None:
    """Raise InputError unless every arc has its reverse."""
    if bool((edges.reverse < 0).any()):
        raise InputError(
            "swap needs links in both directions, but this network has an arc without"
            ' its reverse: declare links = "undirected" in the class, and use an'
            " undirected graph"
        )


def swapped_over_links(edges: Edges, e: Tensor) -> Tensor:
    """Return the values (S, E, ...) of the reverse arcs.

    The result is 0 for links that are absent in this round.
    """
    return _only_present(edges, e.index_select(1, edges.reverse))


def _only_present(edges: Edges, e: Tensor) -> Tensor:
    """Return e with zeros for arcs that are absent in this round; may overwrite e."""
    present = edges.weights != 0
    if bool(present.all()):
        return e
    return e.masked_fill_(~present.view(-1, *[1] * (e.ndim - 2)), 0)


__all__ = ["Arcs", "check_reverse", "sent_over_arcs", "swapped_over_links"]
