"""Base class of simplifications."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.complexity import Complexity


class Simplification(ABC):
    """One way to simplify an instance.

    A subclass proposes instances. It need not know whether they still refute the
    statement, which the search checks.
    """

    name: ClassVar[str]
    """What it makes simpler, in one or two words."""

    @abstractmethod
    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield simpler instances, the most desirable first."""

    def is_simpler(self, candidate: Document, instance: Document) -> bool:
        """Return whether no measure of complexity grows, and one decreases."""
        return Complexity.of(candidate).below(Complexity.of(instance))


__all__ = ["Simplification"]
