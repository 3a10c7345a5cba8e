"""Values of one start, of values that differ between the starts of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dfltheory.bounds.clauses import Number


def points_of_starts(
    values: Mapping[str, Number],
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the values of each start, with the seed in words.

    A statement is about one start. If all seeds share theirs, there is one point, and
    no words.
    """
    starts = max((np.size(v) for v in values.values() if np.ndim(v)), default=0)
    if not starts:
        yield "", {name: of_start(value, 0) for name, value in values.items()}
    for start in range(starts):
        point = {name: of_start(value, start) for name, value in values.items()}
        yield f" for the start of seed {start}", point


def of_start(value: Number, start: int) -> float:
    """Return the value of one start, of values that may differ between starts."""
    if not isinstance(value, np.ndarray):
        return value
    return float(value[start] if value.ndim else value)


__all__ = ["of_start", "points_of_starts"]
