"""Complexity of an instance: clients, pieces, rounds, digits and distinct numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from decimal import Decimal

from dfltheory.counterexamples.document import Document

FieldPath = tuple[str | int, ...]
"""Path of fields and indices to a number in a document."""

NOT_CHOSEN = {
    "algorithm": frozenset(("name", "decay", "weight_decay", "participation")),
    "run": frozenset(("seed", "seeds", "evaluate_every")),
    "task": frozenset(("name",)),
    "topology": frozenset(("name", "of")),
}
"""Fields that are names or settings of the run, not numbers of the problem."""


@dataclass(frozen=True)
class Complexity:
    """Measures of the complexity of an instance; smaller is simpler.

    Attributes
    ----------
    clients : int
        Number of clients.
    pieces : int
        Number of ramps with a nonzero slope, over all clients.
    rounds : int
        The horizon T.
    digits : int
        Total number of significant digits.
    numbers : int
        Number of distinct magnitudes.
    """

    clients: int
    pieces: int
    rounds: int
    digits: int
    numbers: int

    @classmethod
    def of(cls, instance: Document) -> Complexity:
        """Measure an instance."""
        numbers = [number for _, number in numbers_of(instance)]
        return cls(
            clients=len(instance["run"]["x0"]),
            pieces=pieces(instance["task"]),
            rounds=int(instance["run"]["rounds"]),
            digits=sum(significant_digits(number) for number in numbers),
            numbers=len({f"{abs(number):.9g}" for number in numbers}),
        )

    def below(self, other: Complexity) -> bool:
        """Return whether no measure exceeds that of ``other`` and one is smaller."""
        pairs = list(zip(astuple(self), astuple(other), strict=True))
        return self != other and all(mine <= theirs for mine, theirs in pairs)


def significant_digits(number: float) -> int:
    """Return the number of digits without zeros at either end; 0 for 0."""
    digits = "".join(map(str, Decimal(repr(number)).as_tuple().digits))
    return len(digits.strip("0"))


def pieces(task: Document) -> int:
    """Count the ramps that contribute to a gradient."""
    count = 0
    for widths, slopes in zip(task["widths"], task["slopes"], strict=True):
        for width, slope in zip(widths, slopes, strict=True):
            count += bool(width and slope)
    return count


def numbers_of(instance: Document) -> Iterator[tuple[FieldPath, float]]:
    """Yield each number of the problem with its place in the document."""
    for section, left_out in NOT_CHOSEN.items():
        for name, value in instance.get(section, {}).items():
            if name not in left_out:
                yield from _nested_numbers((section, name), value)


def _nested_numbers(
    place: FieldPath, value: object
) -> Iterator[tuple[FieldPath, float]]:
    """Yield the numbers in nested lists; flags such as ``fresh`` are not numbers."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nested_numbers((*place, index), inner)
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float) and math.isfinite(value):
        yield place, value


__all__ = [
    "Complexity",
    "FieldPath",
    "numbers_of",
    "pieces",
    "significant_digits",
]
