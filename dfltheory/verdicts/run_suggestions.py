"""What would make a theorem apply to a run.

Changes of hyperparameters and T are searched. Before a change is suggested, it is put
into a copy of the run, to which the theorem must apply. Other obstacles have a remedy
in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dfltheory.bounds.clauses import Number
from dfltheory.bounds.scope import LAWS
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.training.history import History
from dfltheory.verdicts.applicability import Obstacle, find_obstacle
from dfltheory.verdicts.given_values import NETWORK_NAMES
from dfltheory.verdicts.hyperparameters import (
    changed_run,
    hyperparameter_values,
    settable_names,
)
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.network_scope import covered_sequences
from dfltheory.verdicts.obstacle_notes import note_on
from dfltheory.verdicts.run_values import RunValues, run_values
from dfltheory.verdicts.suggestion_search import NOTHING_HELPS, Derive, suggest
from dfltheory.verdicts.suggestions import Change, NumberValues, Suggestion, Suggestions


def suggestions_for(
    left: LeftHandSide, values: RunValues, obstacle: Obstacle
) -> Suggestions:
    """Return what would make an inapplicable theorem apply to a run.

    Parameters
    ----------
    left : LeftHandSide
        The run and the theorem.
    values : RunValues
        The values of the run.
    obstacle : Obstacle
        Why the theorem does not apply.

    Returns
    -------
    Suggestions
        Never empty: if nothing helps, the note says so.
    """
    theorem = values.theorem
    # rho0 follows from rho and T, which may change
    given_values = {name: v for name, v in values.given.items() if name != "rho0"}
    settings, remaining = required_settings(left.run, theorem, given_values, obstacle)
    if remaining is None:
        return Suggestions((Suggestion((), settings=settings),))
    suggestions = Suggestions()
    unknown = set(theorem.needs) - set(_numbers(values))
    if remaining.kind == "schedule" and unknown:
        remaining = Obstacle("unknown", remaining.reason, tuple(sorted(unknown)))
    elif _is_searched(remaining):
        suggestions = _search(left.run, values, given_values, settings, remaining)
    if suggestions.alternatives:
        return suggestions
    notes = [note_on(left, remaining, given_values), suggestions.note]
    if settings and notes[0]:
        equations = ", ".join(f"{name} = {value}" for name, value in settings.items())
        notes.insert(0, f"set {equations}")
    if remaining.kind == "algorithm":
        notes.append(scope_note(theorem))
    note = "; ".join(filter(None, notes))
    return replace(suggestions, note=note or NOTHING_HELPS)


def _is_searched(obstacle: Obstacle) -> bool:
    """Return whether other hyperparameters may remove an obstacle."""
    if obstacle.kind == "range":
        return not set(obstacle.names) & NETWORK_NAMES
    return obstacle.kind in ("hyperparameter", "schedule", "condition")


def _numbers(values: RunValues) -> dict[str, float]:
    """Return the finite values of a run, means over seeds, by glossary name."""
    numbers: dict[str, float] = {}
    for name, value in values.known.items():
        if name in values.theorem.glossary and np.all(np.isfinite(value)):
            numbers[name] = float(np.asarray(value).mean())
    return numbers


def required_settings(
    run: History, theorem: Theorem, given: Mapping[str, float], obstacle: Obstacle
) -> tuple[dict[str, Any], Obstacle | None]:
    """Return the hyperparameters that the scope fixes, and the obstacle after them.

    Parameters
    ----------
    run : History
    theorem : Theorem
    given : mapping
        The constants that the caller gave.
    obstacle : Obstacle
        Why the theorem does not apply to the run.

    Returns
    -------
    settings : dict
        Values by glossary name; empty if the algorithm rejects one of them.
    obstacle : Obstacle or None
        The first obstacle of the run with these settings.
    """
    settings: dict[str, Any] = {}
    remaining: Obstacle | None = obstacle
    while (
        remaining is not None
        and remaining.kind == "hyperparameter"
        and remaining.required
    ):
        name = remaining.names[0]
        if name in settings or name not in settable_names(run.algorithm):
            return settings, remaining
        settings[name] = remaining.required[0]
        try:
            changed = changed_run(run, settings)
            values = run_values(changed, theorem, given)
            remaining = find_obstacle(changed, theorem, values)
        except DFLTheoryError:
            return {}, obstacle
    return settings, remaining


def _search(
    run: History,
    values: RunValues,
    given_values: Mapping[str, float],
    settings: Mapping[str, Any],
    obstacle: Obstacle,
) -> Suggestions:
    """Search for changes of hyperparameters that suffice together with ``settings``."""
    theorem = values.theorem
    if settings:
        run = changed_run(run, settings)
        values = run_values(run, theorem, given_values)
    numbers = _numbers(values)
    if not set(theorem.needs) <= set(numbers):
        return Suggestions()
    suggestions = None
    if obstacle.kind == "schedule":
        suggestions = _on_schedule(theorem, numbers)
    if suggestions is None:
        run_hyperparameters = hyperparameter_values(run.algorithm)
        names = {"T", *(set(run_hyperparameters) & settable_names(run.algorithm))}
        derive = _derivation(values, numbers)
        suggestions = suggest(theorem, numbers, names=names, derive=derive)
    applicable = tuple(
        replace(alternative, settings=settings)
        for alternative in suggestions.alternatives
        if applies_after(run, theorem, given_values, alternative.values)
    )
    largest, note = suggestions.largest_step, suggestions.note
    if largest and not applies_after(run, theorem, given_values, largest):
        largest = dict[str, float]()
    if suggestions.alternatives and not applicable:
        note = f"{NOTHING_HELPS} among changes of one or two hyperparameters"
    return Suggestions(applicable, largest, note)


def applies_after(
    run: History,
    theorem: Theorem,
    given: Mapping[str, float],
    changes: Mapping[str, Any],
) -> bool:
    """Return whether a theorem applies to a run with other hyperparameters or T.

    ``changes`` are the new values by glossary name. The result is False if the
    algorithm has no such hyperparameter, or rejects a value.
    """
    unknown = set(changes) - settable_names(run.algorithm) - {"T"}
    if unknown:
        return False
    try:
        changed = changed_run(run, changes)
        values = run_values(changed, theorem, given)
    except DFLTheoryError:  # the algorithm does not admit a value
        return False
    return find_obstacle(changed, theorem, values) is None


def _derivation(values: RunValues, known: Mapping[str, float]) -> Derive:
    """Return a function that derives quantities such as rho0 from the other values.

    It derives only those whose present value is the derived one, not a given value.
    """
    theorem, source = values.theorem, values.source
    independent = {n: v for n, v in known.items() if n not in ("rho0", "S2")}
    followed: list[str] = []
    for name, value in source.derived(theorem, independent).items():
        mean = float(np.asarray(value).mean())
        if math.isclose(mean, known.get(name, math.nan)):
            followed.append(name)

    def derive(changed: NumberValues) -> dict[str, Number]:
        independent_changes = {n: v for n, v in changed.items() if n not in followed}
        derived_values = source.derived(theorem, independent_changes)
        return {
            name: derived_values[name] for name in followed if name in derived_values
        }

    return derive


def _on_schedule(theorem: Theorem, known: Mapping[str, float]) -> Suggestions | None:
    """Return the step sizes of a corollary's schedule as a suggestion.

    None if its conditions do not hold, or the run has these step sizes.
    """
    with suppress(InputError):
        if not all_hold(theorem, {name: known[name] for name in theorem.needs}).all():
            return None
        changes: list[Change] = []
        for name, value in theorem.step_sizes(**known).items():
            if name in known and name in theorem.scheduled:
                rounded = float(f"{value:.8g}")
                changes.append(Change(name, rounded, rounded, rounded))
        changes = [c for c in changes if not math.isclose(c.value, known[c.name])]
        return Suggestions((Suggestion(tuple(changes)),)) if changes else None
    return None


def scope_note(theorem: Theorem) -> str:
    """Return which runs of its algorithms a theorem covers, in one line."""
    scope = theorem.scope
    law = "a law of its own" if callable(scope.network) else LAWS[scope.network]
    parts: list[str] = []
    if scope.network == "none":
        parts.append("runs without a network")
    else:
        parts.append(f"networks ({law}): {covered_sequences(scope)}")
    for name, value in scope.hyperparameters.items():
        parts.append(f"{name} = {value}")
    if scope.common_start:
        parts.append("all clients start at one model")
    if scope.participation == "full":
        parts.append("all clients take part in every round")
    return f"{theorem.key} covers {', '.join(parts)}"


__all__ = ["applies_after", "required_settings", "scope_note", "suggestions_for"]
