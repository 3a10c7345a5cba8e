"""Simplification of numbers to fewer digits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import Any

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.complexity import (
    FieldPath,
    numbers_of,
    significant_digits,
)
from dfltheory.counterexamples.simplify.reductions import matrices_of
from dfltheory.counterexamples.simplify.simplification import Simplification

LENGTHS = frozenset(("knots", "widths", "x0", "rho"))
"""Fields whose numbers are positions or lengths. Equal ones remain equal."""
UNROUNDED_FIELDS = frozenset(("rounds", "K", "Q", "K_u", "K_v", "participation"))
"""Fields that are not rounded."""
CLOSE = 1e-6
"""Relative difference below which two magnitudes are the same."""


class FewerDigits(Simplification):
    """Round all numbers at once, then one magnitude at a time in all its places."""

    name = "digits"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance with all magnitudes rounded, then with single ones."""
        groups = magnitudes(instance)
        for digits in (1, 2, 3, 6):
            changes: dict[FieldPath, float] = {}
            for places, size in groups:
                changes.update(dict.fromkeys(places, round_to_digits(size, digits)))
            yield changed(instance, changes)
        longest_first = sorted(groups, key=_digits, reverse=True)
        for places, size in longest_first:
            for simpler in simpler_numbers(size):
                yield changed(instance, dict.fromkeys(places, simpler))


def _digits(group: tuple[list[FieldPath], float]) -> int:
    return significant_digits(group[1])


def magnitudes(instance: Document) -> list[tuple[list[FieldPath], float]]:
    """Return each magnitude with the places of the same kind at which it occurs.

    Diagonals of mixing matrices are omitted, as the other weights determine them.
    """
    groups: list[tuple[list[FieldPath], float, str | int]] = []
    for place, number in numbers_of(instance):
        size, kind = abs(number), "length" if place[1] in LENGTHS else place[1]
        if not size or place[1] in UNROUNDED_FIELDS or _on_diagonal(place):
            continue
        for places, known, of_kind in groups:
            if of_kind == kind and abs(size - known) <= CLOSE * known:
                places.append(place)
                break
        else:
            groups.append(([place], size, kind))
    return [(places, size) for places, size, _ in groups]


def _on_diagonal(place: FieldPath) -> bool:
    return place[0] == "topology" and place[-1] == place[-2]


def changed(instance: Document, sizes: dict[FieldPath, float]) -> Document:
    """Return the instance with these magnitudes at these places; signs are kept."""
    other = deepcopy(instance)
    for place, size in sizes.items():
        node: Any = other
        for part in place[:-1]:
            node = node[part]
        node[place[-1]] = -size if size and node[place[-1]] < 0 else size
    for old, new in zip(matrices_of(instance), matrices_of(other), strict=True):
        _complete_diagonal(old, new)
    return other


def _complete_diagonal(old: list[list[float]], new: list[list[float]]) -> None:
    """Set the diagonal so that rows have the sum 1.

    If only columns had that sum before, they keep it instead.
    """
    by_rows = all(abs(sum(row) - 1) < CLOSE for row in old)
    for k in range(len(new)):
        line = list(new[k])
        if not by_rows:
            line = [row[k] for row in new]
        del line[k]
        others = (Decimal(repr(weight)) for weight in line)
        new[k][k] = float(1 - sum(others, Decimal(0)))


def round_to_digits(size: float, digits: int) -> float:
    """Return a number rounded to so many significant digits."""
    return float(f"{size:.{digits - 1}e}")


def simpler_numbers(size: float) -> Iterator[float]:
    """Yield numbers near ``size`` > 0 with fewer digits, the simplest first."""
    before = significant_digits(size)
    seen: set[float] = set()
    for number in _simple_numbers_near(size):
        value = float(number)
        if value not in seen and significant_digits(value) < before:
            seen.add(value)
            yield value


def _simple_numbers_near(size: float) -> Iterable[float]:
    """Yield simple numbers near ``size``, possibly with repetitions."""
    exponent = floor(log10(size))
    yield 0.0
    if 0.1 < size < 10:
        yield 1.0
    yield from (float(f"1e{exponent}"), float(f"1e{exponent + 1}"))
    for digits in (1, 2):
        yield from _neighbors(size, digits)
        if 0.5 < size < 1:
            yield from (
                float(1 - Fraction(repr(rest)))
                for rest in _neighbors(1 - size, digits)
                if rest < 1
            )
    yield from (round_to_digits(size, 3), round_to_digits(size, 6))


def _neighbors(size: float, digits: int) -> list[float]:
    """Return the nearest number with so many digits, and its two neighbors."""
    nearest = round_to_digits(size, digits)
    unit = Decimal(1).scaleb(floor(log10(size)) - digits + 1)
    middle = Decimal(repr(nearest))
    return [nearest, float(middle - unit), float(middle + unit)]


__all__ = ["FewerDigits", "magnitudes", "simpler_numbers"]
