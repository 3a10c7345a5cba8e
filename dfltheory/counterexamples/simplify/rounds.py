"""Fewer rounds."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification


class FewerRounds(Simplification):
    """A smaller horizon: a power of 10 times 1, 2 or 5, the smallest first."""

    name = "rounds"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance with 1, 2, 5, 10, ... rounds, if they are fewer."""
        rounds = int(instance["run"]["rounds"])
        for exponent in range(len(str(rounds))):
            for digit in (1, 2, 5):
                fewer = digit * 10**exponent
                if fewer < rounds:
                    shorter = deepcopy(instance)
                    shorter["run"]["rounds"] = fewer
                    yield shorter


__all__ = ["FewerRounds"]
