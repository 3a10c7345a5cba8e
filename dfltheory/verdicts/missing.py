"""What a theorem needs and a run that was measured elsewhere does not state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from dfltheory.bounds.clauses import Number, symbol_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.constants import NetworkConstants
from dfltheory.training.history import History

_OF_NETWORK = {f.name for f in fields(NetworkConstants)} - {"standing", "errors"}
_NETWORK = "the network (network=W, or --topology: what the run mixed by)"
_START = "the start (start=..., or --start: common or different)"


def missing_statements(
    run: History,
    theorem: Theorem,
    values: Mapping[str, Number],
    common_start: bool | None,
) -> list[str]:
    """Return what a theorem needs and a run does not state.

    Quantities that follow from a missing fact, such as lam from the network, are not
    listed.

    Parameters
    ----------
    run : History
        A run that was measured elsewhere.
    theorem : Theorem
    values : mapping
        The known values by glossary name.
    common_start : bool or None
        Whether all clients start at the same model; None if unknown.

    Returns
    -------
    list of str
        Names of quantities, followed by descriptions of facts.
    """
    names = set(theorem.needs) | _schedule_needs(theorem, values)
    if theorem.scope.bounded_gradients:
        names.add("B")
    unknown = {name for name in names if not _is_finite(values, name)}
    facts: list[str] = []
    if run.network_facts is None and theorem.scope.network != "none":
        facts.append(_NETWORK)
        unknown -= _OF_NETWORK
    if theorem.scope.common_start and common_start is None:
        facts.append(_START)
        unknown.discard("x0_spread")
    return [_with_round(name, theorem) for name in sorted(unknown)] + facts


def _schedule_needs(theorem: Theorem, values: Mapping[str, Number]) -> set[str]:
    """Return the names of quantities in the schedule, if the run has to follow it."""
    if not any(name != "Q" and name in values for name in theorem.scheduled):
        return set()
    return symbol_names(theorem.schedule.values())


def _is_finite(values: Mapping[str, Number], name: str) -> bool:
    value = values.get(name, math.nan)
    return bool(np.all(np.isfinite(value)))


def _with_round(name: str, theorem: Theorem) -> str:
    """Return a name; that of f0_gap includes its round if this is not the start."""
    if name != "f0_gap" or theorem.lhs.start == 0:
        return name
    return (
        f"f0_gap (f - f* at round {theorem.lhs.start}: measure f_gap, or loss with"
        " f_star)"
    )


__all__ = ["missing_statements"]
