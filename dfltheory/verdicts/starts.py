"""Values at one start, for runs whose seeds start at different points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dfltheory.bounds.clauses import Number


def points_of_starts(
    values: Mapping[str, Number],
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each distinct start as a description for messages, and the values there.

    Values are numbers, or (S,) arrays if the seeds have different starts. If they share
    one, there is one pair, whose description is empty.
    """
    starts = max((np.size(v) for v in values.values() if np.ndim(v)), default=0)
    if not starts:
        yield "", {name: of_start(value, 0) for name, value in values.items()}
    for start in range(starts):
        point = {name: of_start(value, start) for name, value in values.items()}
        yield f" for the start of seed {start}", point


def of_start(value: Number, start: int) -> float:
    """Return the entry of an (S,) array for one start; other values are unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    return float(value[start] if value.ndim else value)


__all__ = ["of_start", "points_of_starts"]
