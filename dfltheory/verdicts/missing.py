"""What a theorem needs of a run and the run does not state, as an exact list."""

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
    """Return what is missing of a run that was measured elsewhere.

    Quantities come first, then facts. Quantities that follow from a missing fact are
    not listed.

    Parameters
    ----------
    common_start : bool or None
        Whether the clients start at one model; None: unknown.
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
    """Return what the step sizes that a schedule fixes for this run depend on."""
    if not any(name != "Q" and name in values for name in theorem.scheduled):
        return set()
    return symbol_names(theorem.schedule.values())


def _is_finite(values: Mapping[str, Number], name: str) -> bool:
    value = values.get(name, math.nan)
    return bool(np.all(np.isfinite(value)))


def _with_round(name: str, theorem: Theorem) -> str:
    """Return the name of the gap at the round at which a theorem begins."""
    if name != "f0_gap" or theorem.lhs.start == 0:
        return name
    return (
        f"f0_gap (f - f* at round {theorem.lhs.start}: measure f_gap, or loss with"
        " f_star)"
    )


__all__ = ["missing_statements"]
