"""Smaller numbers of local and gossip steps."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification

COUNTS = ("Q", "K", "K_u", "K_v")
TRIED = (1, 2, 3, 4, 5, 10, 20, 50)


class SmallerCounts(Simplification):
    """Smaller K and Q, the smallest first."""

    name = "local and gossip steps"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance with one smaller number of steps."""
        for name in COUNTS:
            count = instance["algorithm"].get(name, 0)
            for fewer in TRIED:
                if fewer < count:
                    smaller = deepcopy(instance)
                    smaller["algorithm"][name] = fewer
                    yield smaller

    def is_simpler(self, candidate: Document, instance: Document) -> bool:
        """Whether a count is smaller and none is larger."""
        new = [candidate["algorithm"].get(name, 0) for name in COUNTS]
        old = [instance["algorithm"].get(name, 0) for name in COUNTS]
        no_larger = all(a <= b for a, b in zip(new, old, strict=True))
        return no_larger and new != old


__all__ = ["SmallerCounts"]
