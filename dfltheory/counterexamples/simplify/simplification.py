"""The contract of a simplification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.complexity import Complexity


class Simplification(ABC):
    """One way to make an instance simpler.

    A subclass proposes instances; it need not know whether they still refute the
    statement, which the search checks for each of them.
    """

    name: ClassVar[str]
    """What it makes simpler, in one or two words."""

    @abstractmethod
    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield instances that may replace this one, the most wanted first."""

    def is_simpler(self, candidate: Document, instance: Document) -> bool:
        """Whether the candidate is simpler: no measure grows, and one shrinks."""
        return Complexity.of(candidate).below(Complexity.of(instance))


__all__ = ["Simplification"]
