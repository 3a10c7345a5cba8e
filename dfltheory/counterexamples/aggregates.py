"""The left-hand side at any horizon, from the measure in the first rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def at_T(
    theorem: Theorem,
    data: np.ndarray,
    T: int,
    still: np.ndarray | int,
    until: np.ndarray | float = np.inf,
) -> np.ndarray:
    """Return a lower bound (P,) of the left-hand side at horizon T.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    data : (R, P) array
        The measure in the first rounds.
    T : int
        The horizon.
    still : int or (P,) array
        Number of final rounds of ``data`` that repeat. For 0, later rounds are unknown,
        and the result is nan if they are needed.
    until : float or (P,) array
        Round until which they repeat; later rounds count as 0.

    Raises
    ------
    InputError
        The search does not support the aggregate.
    """
    span = theorem.lhs.rounds(T)
    if not span:  # no round is covered, such as the round T/2 at an odd T
        return np.full(data.shape[1:], np.nan)
    still = np.asarray(still, dtype=int)
    aggregate = theorem.lhs.aggregate
    if aggregate == "min":
        value = _minimum(data, span, still, until)
    elif aggregate == "max":
        value = _maximum(data, span, still, until)
    elif aggregate == "sum":
        value = _sum(data, span, still, until)
    elif aggregate in ("mean", "last"):
        value = _sum(data, span, still, until) / len(span)
    else:
        raise InputError(
            f"{theorem}: the search does not support the aggregate {aggregate!r};"
            " supported are min, max, mean, sum and last"
        )
    return value if span.stop <= len(data) else np.where(still > 0, value, np.nan)


def _minimum(
    data: np.ndarray, span: range, still: np.ndarray, until: np.ndarray | float
) -> np.ndarray:
    """Return a lower bound (P,) of the minimum over the rounds of ``span``."""
    measured = data[span.start : span.stop]
    value = measured.min(0) if len(measured) else _cycle_minimum(data, still)
    return np.where(span.stop > np.maximum(until, len(data)), 0.0, value)


def _maximum(
    data: np.ndarray, span: range, still: np.ndarray, until: np.ndarray | float
) -> np.ndarray:
    """Return a lower bound (P,) of the maximum over the rounds of ``span``."""
    measured = data[span.start : span.stop]
    if len(measured):
        return measured.max(0)
    # beyond the data, the span may contain any single round of the cycle
    value = _cycle_minimum(data, still)
    return np.where(span.start >= np.maximum(until, len(data)), 0.0, value)


def _cycle_minimum(data: np.ndarray, still: np.ndarray) -> np.ndarray:
    """Return the minimum (P,) over the longest cycle of repeated rounds."""
    return data[-max(1, int(still.max())) :].min(0)


def _sum(
    data: np.ndarray, span: range, still: np.ndarray, until: np.ndarray | float
) -> np.ndarray:
    """Return a lower bound (P,) of the sum over the rounds of ``span``."""
    measured = data[span.start : span.stop]
    total = measured.sum(0)
    first_repeated = max(span.start, len(data))
    repeated = np.clip(until - first_repeated, 0, len(span) - len(measured))
    for cycle in np.unique(still[still > 0]):
        whole_cycles, remainder = np.divmod(repeated, int(cycle))
        cycle_data = data[-int(cycle) :]
        # each round of an incomplete cycle counts as the smallest one of the cycle
        extended = (
            total + whole_cycles * cycle_data.sum(0) + remainder * cycle_data.min(0)
        )
        total = np.where(still == cycle, extended, total)
    return total


def summands(theorem: Theorem, T: int) -> int:
    """Return the number of terms if the left-hand side is a sum over rounds, else 1."""
    return len(theorem.lhs.rounds(T)) if theorem.lhs.aggregate == "sum" else 1


__all__ = ["at_T", "summands"]
