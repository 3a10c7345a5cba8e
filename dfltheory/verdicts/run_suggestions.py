"""What would make a theorem apply to a run."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from dfltheory.bounds import registry
from dfltheory.bounds.clauses import Number
from dfltheory.bounds.scope import LAWS
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold
from dfltheory.errors import InputError
from dfltheory.verdicts.run_values import RunValues
from dfltheory.verdicts.suggestion_search import Derive, suggest
from dfltheory.verdicts.suggestions import Change, Suggestion, Suggestions, Values


def suggestions_for(
    values: RunValues, hyperparameters: Collection[str], kind: str
) -> Suggestions:
    """Return what would make a theorem apply to a run that it does not apply to.

    Parameters
    ----------
    values : RunValues
        The values of the run.
    hyperparameters : collection of str
        The algorithm's own, by glossary name.
    kind : str
        The kind of the obstacle
        (:class:`~dfltheory.verdicts.applicability.Obstacle`).
    """
    theorem = values.theorem
    if kind == "scope":
        return Suggestions(note=scope_note(theorem))
    if kind == "form":
        return Suggestions(note=_statements_with_constants(theorem))
    if kind not in ("schedule", "condition"):
        return Suggestions()
    known: dict[str, float] = {}
    for name, value in values.known.items():
        if name in theorem.glossary and np.all(np.isfinite(value)):
            known[name] = _mean(value)
    if not set(theorem.needs) <= set(known):
        return Suggestions()
    derive = _derivation(values, known)
    if kind == "schedule":
        on_schedule = _on_schedule(theorem, known)
        if on_schedule is not None:
            return on_schedule
    names = {"T", *hyperparameters}
    if "rho" in names:
        names.add("rho0")
    return suggest(theorem, known, names=names, derive=derive)


def _statements_with_constants(theorem: Theorem) -> str:
    """Which variants of a registered key a run can be compared with."""
    if not theorem.order or not registry.known(theorem.key, theorem.variant):
        return ""
    others = [
        variant
        for variant in registry.variants(theorem.key)
        if not registry.get(theorem.key, variant).order
    ]
    if not others:
        return ""
    return f"with constants: variant {', '.join(others)} of {theorem.key}"


def _mean(value: Any) -> float:
    """Return the mean over seeds of a number or an array."""
    return float(np.mean(value))  # pyright: ignore[reportUnknownArgumentType]


def _derivation(values: RunValues, known: Mapping[str, float]) -> Derive:
    """How quantities that the run does not know by itself follow from the others."""
    theorem, source = values.theorem, values.source
    independent = {n: v for n, v in known.items() if n not in ("rho0", "S2")}
    followed: list[str] = []
    for name, value in source.derived(theorem, independent).items():
        if math.isclose(_mean(value), known.get(name, math.nan)):
            followed.append(name)

    def derive(changed: Values) -> dict[str, Number]:
        kept = {n: v for n, v in changed.items() if n not in followed}
        found = source.derived(theorem, kept)
        return {name: found[name] for name in followed if name in found}

    return derive


def _on_schedule(theorem: Theorem, known: Mapping[str, float]) -> Suggestions | None:
    """Return the step sizes of a corollary's schedule, if its conditions hold there."""
    with suppress(InputError):
        if not all_hold(theorem, {name: known[name] for name in theorem.needs}).all():
            return None
        changes: list[Change] = []
        for name, value in theorem.step_sizes(**known).items():
            if name in known and name not in theorem.needs:
                rounded = float(f"{value:.8g}")
                changes.append(Change(name, rounded, rounded, rounded))
        changes = [c for c in changes if not math.isclose(c.value, known[c.name])]
        return Suggestions((Suggestion(tuple(changes)),)) if changes else None
    return None


def scope_note(theorem: Theorem) -> str:
    """Which runs the scope of a theorem covers, in one line."""
    scope = theorem.scope
    law = "a law of its own" if callable(scope.network) else LAWS[scope.network]
    parts = [f"algorithm {', '.join(scope.names)}"]
    if scope.network == "none":
        parts.append("no network")
    else:
        kinds = "one fixed matrix"
        if scope.sequence != ("fixed",):
            kinds = f"matrices that are {', '.join(scope.sequence)}"
        parts.append(f"network: {kinds}, {law}")
    for name, value in scope.hyperparameters.items():
        parts.append(f"{name} = {value}")
    if scope.common_start:
        parts.append("all clients start at one model")
    if scope.participation == "full":
        parts.append("all clients take part in every round")
    return f"covers {'; '.join(parts)}"


__all__ = ["scope_note", "suggestions_for"]
