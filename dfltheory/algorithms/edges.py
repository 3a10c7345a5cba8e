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
    senders : j (E,), numbered among all clients
    reverse : index of i -> j among all arcs of the network (E,), or -1 if absent
    first : index of each client's first arc, and the end, (m + 1,)
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
        """Return all arcs of a network of m clients.

        ``places`` (E, 2) contains the row and column of each weight.
        """
        i, j = places[np.lexsort((places[:, 1], places[:, 0]))].T
        known = {(a, b): e for e, (a, b) in enumerate(zip(i.tolist(), j.tolist()))}
        reverse = [known.get((b, a), -1) for a, b in known]
        degrees = np.bincount(i, minlength=m)
        first: tuple[int, ...] = (0, *np.cumsum(degrees).tolist())
        tensors = [
            torch.as_tensor(np.array(v, dtype=np.int64)).to(like.device)
            for v in (j, i, reverse)
        ]
        return cls(tensors[0], tensors[1], like.new_zeros(len(i)), tensors[2], first)

    def part(self, rows: slice | Tensor) -> slice | Tensor:
        """Return the positions of the arcs into the given clients."""
        if isinstance(rows, slice):
            start, stop = int(rows.start), int(rows.stop)
            return slice(self.first[start], self.first[stop])
        first = torch.tensor(self.first, device=rows.device)
        begins, ends = first[rows], first[rows + 1]
        within = torch.arange(len(self), device=rows.device)
        return torch.cat([within[a:b] for a, b in zip(begins, ends)])

    def of(self, rows: slice | Tensor) -> Edges:
        """Return only the arcs into the given clients."""
        at = self.part(rows)
        degrees = torch.tensor(self.first, device=self.receivers.device).diff()[rows]
        first = (0, *(int(end) for end in degrees.cumsum(0)))
        clients = torch.arange(len(degrees), device=degrees.device)
        receivers = clients.repeat_interleave(degrees)
        kept = {
            name: getattr(self, name)[at] for name in ("senders", "weights", "reverse")
        }
        return replace(self, receivers=receivers, first=first, **kept)

    def own(self, x: Tensor) -> Tensor:
        """Return the value of each arc's receiver: (S, m, ...) -> (S, E, ...)."""
        return x.index_select(1, self.receivers)

    def sum(self, e: Tensor) -> Tensor:
        """Return sums over the arcs into each client: (S, E, ...) -> (S, m, ...)."""
        x = e.new_zeros(e.shape[0], len(self.first) - 1, *e.shape[2:])
        return x.index_add_(1, self.receivers, e)


__all__ = ["Edges"]
