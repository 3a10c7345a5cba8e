"""Hyperparameters that a statement does not specify."""

from __future__ import annotations

from dfltheory.bounds.algorithm_names import (
    HYPERPARAMETERS_BY_CLASS,
    NEUTRAL_HYPERPARAMETERS,
)
from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import step_names

_ORDER = "order"


def unstated(statement: Statement) -> list[str]:
    """Return warnings about hyperparameters that a statement does not specify.

    They are hyperparameters of the algorithms in its scope that neither the bound nor
    the scope contains. If they have a neutral value, only runs with that value are
    covered. If not, as for the order of mixing and gradient steps, no run is covered.
    """
    stated = _stated_names(statement)
    warnings: list[str] = []
    at_neutral: dict[str, object] = {}
    for algorithm in statement.scope.algorithms:
        name = algorithm if isinstance(algorithm, str) else algorithm.__name__
        for hyperparameter in HYPERPARAMETERS_BY_CLASS.get(name, "").split():
            if hyperparameter in stated or hyperparameter in at_neutral:
                continue
            neutral = {**statement.neutral, **NEUTRAL_HYPERPARAMETERS}
            if hyperparameter in neutral:
                at_neutral[hyperparameter] = neutral[hyperparameter]
            else:
                stated.add(hyperparameter)
                warnings.append(_explain_missing_neutral_value(hyperparameter, name))
    if at_neutral:
        values = ", ".join(map(_assignment, at_neutral.items()))
        warnings.append(
            "only runs with these values are covered, because neither the bound nor the"
            f" scope contains the hyperparameters: {values}; scope.hyperparameters"
            " states others"
        )
    return warnings


def _stated_names(statement: Statement) -> set[str]:
    """Return the names that the bound, conditions, schedule or scope specify."""
    stated = {
        *statement.needs,
        *statement.schedule,
        *symbol_names(statement.schedule.values()),
        *statement.scope.hyperparameters,
    }
    if "rho0" in stated:
        stated.add("rho")
    if statement.scope.participation == "sampled":
        stated.add("participation")
    steps = step_names(statement.glossary)
    if not stated.intersection(steps) and not statement.order:
        stated.update(steps)  # a bound without any step size holds for all
    return stated


def _assignment(item: tuple[str, object]) -> str:
    name, value = item
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{name} = {text}"


def _explain_missing_neutral_value(name: str, algorithm: str) -> str:
    if name == _ORDER:
        return (
            f"the order of mixing and gradient steps of {algorithm} is not stated, so"
            " that no run of it can be judged: give scope.hyperparameters.order, as"
            ' "adapt-then-combine", or "any"'
        )
    return (
        f"{name} of {algorithm} is not stated, so that no run of it can be judged:"
        f' give scope.hyperparameters.{name} a value, or "any"'
    )


__all__ = ["unstated"]
