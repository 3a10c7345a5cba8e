"""Changes of a run that make a theorem apply to it, as values for printing and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dfltheory.bounds.clauses import Number
from dfltheory.errors import InputError

NumberValues = Mapping[str, Number]


@dataclass(frozen=True)
class Change:
    """A suggested range of one quantity, low <= value <= high.

    Attributes
    ----------
    name : str
        Glossary name.
    value : float
        The admissible value that is nearest to the present one.
    low, high : float
        Range of admissible values around it; -inf or inf if the search found no end.
    """

    name: str
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON, which has no infinity."""
        return {
            "name": self.name,
            "value": self.value,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
        }

    def __str__(self) -> str:
        if math.isfinite(self.low) and math.isfinite(self.high):
            if self.low == self.high:
                return f"{self.name} = {number_text(self.value)}"
            return f"{number_text(self.low)} <= {self.name} <= {number_text(self.high)}"
        if math.isfinite(self.high):
            return f"{self.name} <= {number_text(self.high)}"
        if math.isfinite(self.low):
            return f"{self.name} >= {number_text(self.low)}"
        return f"{self.name} = {number_text(self.value)}"


@dataclass(frozen=True)
class Suggestion:
    """Changes that together make every condition hold.

    Attributes
    ----------
    changes : tuple of Change
        The changed quantities.
    scheduled : dict
        Step sizes that the schedule gives after the change, by name.
    tied : dict
        Step sizes that a condition ties to a changed one, by name.
    settings : dict
        Hyperparameters of which the theorem covers only one value, by name; numbers,
        text or booleans.
    """

    changes: tuple[Change, ...]
    scheduled: Mapping[str, float] = field(default_factory=dict[str, float])
    tied: Mapping[str, float] = field(default_factory=dict[str, float])
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def values(self) -> dict[str, float]:
        """New values by glossary name, without those of `settings`."""
        return {
            **{c.name: c.value for c in self.changes},
            **self.scheduled,
            **self.tied,
        }

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON."""
        return {
            "changes": [change.to_dict() for change in self.changes],
            "scheduled": dict(self.scheduled),
            "tied": dict(self.tied),
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        settings = [f"{name} = {value}" for name, value in self.settings.items()]
        text = " with ".join([*settings, *map(str, self.changes)])
        if self.scheduled:
            text += f" ({_equations(self.scheduled)} by the schedule)"
        if self.tied:
            text += f" (and {_equations(self.tied)})"
        return text


def _equations(values: Mapping[str, float]) -> str:
    """Return values as text, such as "eta = 0.1 and rho = 0"."""
    return " and ".join(f"{n} = {number_text(v)}" for n, v in values.items())


@dataclass(frozen=True)
class Suggestions:
    """What would make a theorem apply to a run.

    Attributes
    ----------
    alternatives : tuple of Suggestion
        Each of them suffices.
    largest_step : dict
        The largest admissible step sizes, everything else being fixed; empty if there
        is none.
    note : str
        Other remedies, such as another variant of the theorem or a metric to record;
        or that no change of this run helps.
    """

    alternatives: tuple[Suggestion, ...] = ()
    largest_step: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.alternatives or self.note)

    @property
    def values_text(self) -> str:
        """The values at which the theorem applies; empty if there are none."""
        if not self.alternatives:
            return ""
        return f"applies for {', or '.join(map(str, self.alternatives))}"

    def __str__(self) -> str:
        return "; ".join(filter(None, [self.values_text, self.note]))

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON."""
        return {
            "text": str(self),
            "alternatives": [choice.to_dict() for choice in self.alternatives],
            "largest_step": dict(self.largest_step),
            "note": self.note,
        }


def suggestions_from_dict(document: Any) -> Suggestions:
    """Return what :meth:`Suggestions.to_dict` wrote.

    Raises
    ------
    InputError
        If a field is missing or has another type.
    """
    try:
        alternatives = tuple(map(_suggestion_from_dict, document["alternatives"]))
        largest = _numbers_by_name(document["largest_step"])
        return Suggestions(alternatives, largest, str(document["note"]))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise InputError(
            f"suggestions of a verdict cannot be read ({type(wrong).__name__}:"
            f" {wrong}): they must be as Suggestions.to_dict writes them"
        ) from wrong


def _suggestion_from_dict(entry: Mapping[str, Any]) -> Suggestion:
    changes: list[Change] = []
    for change in entry["changes"]:
        low, high = change["low"], change["high"]
        low = -math.inf if low is None else float(low)
        high = math.inf if high is None else float(high)
        changes.append(Change(str(change["name"]), float(change["value"]), low, high))
    scheduled, tied = (_numbers_by_name(entry[key]) for key in ("scheduled", "tied"))
    settings = {str(name): value for name, value in dict(entry["settings"]).items()}
    return Suggestion(tuple(changes), scheduled, tied, settings)


def _numbers_by_name(table: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in table.items()}


def number_text(value: float) -> str:
    """Return a number as short text with all of its digits: 9, 0.00134, 1.1e5."""
    if math.isfinite(value) and value == int(value) and abs(value) < 10_000:
        return str(int(value))
    if 1e-4 <= abs(value) < 10_000:
        return repr(float(value))
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    for digits in range(17):
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return f"{mantissa}e{int(exponent)}"


__all__ = ["Change", "Suggestion", "Suggestions", "suggestions_from_dict"]
