"""The arcs of a network, for algorithms with a state (S, E, ...) on arcs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Edges:
    """The arcs j -> i of a network (w_ij != 0, i != j) into some clients.

    They are sorted by receiver i, then by sender j; an undirected link is two arcs. The
    values of an arc belong to its receiver, whose local work may read and replace them.

    Attributes
    ----------
    senders : (E,) tensor of int
        Sender j of each arc, numbered among all clients of the network.
    receivers : (E,) tensor of int
        Receiver i of each arc, numbered among the m clients of this object.
    weights : (E,) tensor
        w_ij in the current round; 0 for an arc that is absent in this round.
    reverse : (E,) tensor of int
        Index of the arc i -> j among all arcs of the network, or -1 if there is none.
    first : tuple of m + 1 ints
        Index of the first arc into each client, and the number of arcs.
    """

    senders: Tensor
    receivers: Tensor
    weights: Tensor
    reverse: Tensor
    first: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.senders)

    @classmethod
    def of_places(cls, places: np.ndarray, m: int, like: Tensor) -> Edges:
        """Return all arcs of a network of m clients, with weights 0.

        Parameters
        ----------
        places : (E, 2) array of int
            Row and column of each weight: receiver and sender.
        m : int
            Number of clients.
        like : tensor
            Determines the device, and the dtype of the weights.
        """
        i, j = places[np.lexsort((places[:, 1], places[:, 0]))].T
        index_of = {(a, b): e for e, (a, b) in enumerate(zip(i.tolist(), j.tolist()))}
        reverse = [index_of.get((b, a), -1) for a, b in index_of]
        degrees = np.bincount(i, minlength=m)
        first: tuple[int, ...] = (0, *np.cumsum(degrees).tolist())
        senders, receivers, reverse_of_arcs = (
            torch.as_tensor(np.array(indices, dtype=np.int64)).to(like.device)
            for indices in (j, i, reverse)
        )
        weights = like.new_zeros(len(i))
        return cls(senders, receivers, weights, reverse_of_arcs, first)

    def part(self, rows: slice | Tensor) -> slice | Tensor:
        """Return the positions of the arcs into the given clients.

        ``rows`` is a slice with two ends, or a tensor of the numbers of the clients.
        """
        if isinstance(rows, slice):
            start = int(rows.start)
            stop = int(rows.stop)
            return slice(self.first[start], self.first[stop])
        first = torch.tensor(self.first, device=rows.device)
        positions = torch.arange(len(self), device=rows.device)
        ends = zip(first[rows], first[rows + 1])
        return torch.cat([positions[begin:end] for begin, end in ends])

    def of(self, rows: slice | Tensor) -> Edges:
        """Return only the arcs into the given clients, as for :meth:`part`.

        Receivers are numbered anew, senders and reverse arcs are not.
        """
        at = self.part(rows)
        degrees = torch.tensor(self.first, device=self.receivers.device).diff()[rows]
        first = (0, *(int(end) for end in degrees.cumsum(0)))
        clients = torch.arange(len(degrees), device=degrees.device)
        return replace(
            self,
            senders=self.senders[at],
            receivers=clients.repeat_interleave(degrees),
            weights=self.weights[at],
            reverse=self.reverse[at],
            first=first,
        )

    def own(self, x: Tensor) -> Tensor:
        """Return the receiver's value for each arc: (S, m, ...) -> (S, E, ...)."""
        return x.index_select(1, self.receivers)

    def sum(self, e: Tensor) -> Tensor:
        """Return sums over the arcs into each client: (S, E, ...) -> (S, m, ...)."""
        x = e.new_zeros(e.shape[0], len(self.first) - 1, *e.shape[2:])
        return x.index_add_(1, self.receivers, e)


__all__ = ["Edges"]
