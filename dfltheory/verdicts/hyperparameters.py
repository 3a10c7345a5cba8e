"""Hyperparameters by glossary name, of algorithms, theorems and changed runs."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.algorithm_names import NEUTRAL_HYPERPARAMETERS
from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.training.history import History

WHOLE_NUMBERS = frozenset({"Q", "K", "K_u", "K_v"})
"""Fields of algorithms whose values are integers."""


def hyperparameter_fields(
    kind: type[Algorithm[Any]], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return values by glossary name as values by field of an algorithm class.

    Names that are no field of the class are left out.
    """
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
    """Return the glossary names of the fields of an algorithm, which can be set."""
    kind = type(algorithm)
    return {kind.glossary.get(entry.name, entry.name) for entry in fields(kind)}


def changed_run(run: History, changes: Mapping[str, Any]) -> History:
    """Return a copy of a run with other hyperparameters or another T.

    The measurements are not changed. The copy serves to test whether a theorem would
    apply to such a run.

    Parameters
    ----------
    run : History
    changes : mapping
        New values by glossary name.

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


def absent_values(theorem: Theorem) -> Mapping[str, object]:
    """Return the values at which mechanisms are absent, such as rho = 0 for SAM.

    A theorem covers a hyperparameter that it does not contain only at this value. A
    hyperparameter without such a value, such as the order of the update, must occur in
    the statement or in its scope. Step sizes are an exception: see
    :func:`unrestricted_steps`.
    """
    return {**theorem.neutral, **NEUTRAL_HYPERPARAMETERS}


def quantities_of(theorem: Theorem) -> set[str]:
    """Return the names of quantities in a theorem's bound, conditions and schedule."""
    names = {*theorem.needs, *theorem.schedule}
    names |= symbol_names(theorem.schedule.values())
    if "rho0" in theorem.needs:
        names.add("rho")
    return names


def unrestricted_steps(theorem: Theorem, kind: type[Algorithm[Any]]) -> set[str]:
    """Return the glossary names of step sizes that a statement covers at every value.

    A statement with constants that contains no step size holds for every step size. In
    all other cases the set is empty: a statement that contains some step sizes does not
    cover others, and a statement in O(.) or with a schedule chooses its step sizes.
    """
    if theorem.order or theorem.schedule or theorem.kind == "lower bound":
        return set()
    field_names = {kind.glossary.get(entry.name, entry.name) for entry in fields(kind)}
    glossary = theorem.glossary
    steps = {name for name in field_names if name in glossary and glossary[name].step}
    contained = quantities_of(theorem) | set(theorem.scope.hyperparameters)
    if contained & (steps | set(kind.summed_up)):
        return set()
    return steps


def hyperparameter_values(algorithm: Algorithm[Any]) -> dict[str, object]:
    """Return the value of each hyperparameter by glossary name.

    A field without a glossary name has its own name. Values that follow from the fields
    (``theory_values``) are included.
    """
    values: dict[str, object] = {}
    for entry in fields(algorithm):
        values[algorithm.glossary.get(entry.name, entry.name)] = getattr(
            algorithm, entry.name
        )
    values.update(algorithm.theory_values())
    return values


__all__ = [
    "absent_values",
    "changed_run",
    "hyperparameter_fields",
    "hyperparameter_values",
    "quantities_of",
    "settable_names",
    "unrestricted_steps",
]
