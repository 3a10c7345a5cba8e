"""Hyperparameters by glossary name, and runs with changed ones."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any

from dfltheory.algorithms.base import Algorithm
from dfltheory.training.history import History

WHOLE_NUMBERS = frozenset({"Q", "K", "K_u", "K_v"})
"""Hyperparameters that are whole numbers."""


def hyperparameter_fields(
    kind: type[Algorithm[Any]], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Values by glossary name as fields of an algorithm class, without other names."""
    field_values: dict[str, Any] = {}
    for entry in fields(kind):
        name = kind.glossary.get(entry.name, entry.name)
        if name in values:
            value = values[name]
            field_values[entry.name] = (
                int(value) if entry.name in WHOLE_NUMBERS else value
            )
    return field_values


def settable_names(algorithm: Algorithm[Any]) -> set[str]:
    """Return the glossary names of an algorithm's own fields."""
    kind = type(algorithm)
    return {kind.glossary.get(entry.name, entry.name) for entry in fields(kind)}


def changed_run(run: History, changes: Mapping[str, Any]) -> History:
    """Return the record of a run as if it had other hyperparameters or another T.

    Its measurements are those of the run itself: only what the run *is* has changed.

    Raises
    ------
    InputError
        If the algorithm does not admit a value.
    """
    # dataclasses.replace would drop a file's data on the network
    changed = copy(run)
    kind = type(run.algorithm)
    changed.algorithm = replace(run.algorithm, **hyperparameter_fields(kind, changes))
    if "T" in changes:
        changed.rounds = int(changes["T"])
    return changed


__all__ = ["changed_run", "hyperparameter_fields", "settable_names"]
