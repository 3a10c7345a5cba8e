"""Saved outcomes of searches for counterexamples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfltheory.bounds.growth import growth_words
from dfltheory.files import read_json
from validation.counterexamples.growth_laws import growth_laws

Outcome = dict[str, Any]
"""The content of an outcome file."""
Document = Mapping[str, Any]
"""A verdict, a claim or the outcome of a search, as read from JSON."""
FOLDER = Path(__file__).parent.parent / "docs" / "counterexamples"


def outcomes(folder: Path = FOLDER) -> list[Outcome]:
    """Return the outcomes of all saved searches."""
    return [read_json(path) for path in sorted(folder.glob("*.json"))]


def has_closed_form(key: str, variant: str) -> bool:
    """Return whether a family in closed form refutes a statement in O(.)."""
    return variant == "printed" and key in growth_laws()


def is_refuted(outcome: Document) -> bool:
    """Return whether a counterexample, or a family in closed form, refutes a statement.

    A ratio that grows over the range searched does not.
    """
    if outcome["violated"] is True:
        return True
    is_growing = outcome.get("growing") is True
    return is_growing and has_closed_form(outcome["key"], outcome["variant"])


def growing(outcome: Document) -> str:
    """Describe how measured / expression grows along a saved family.

    Returns an empty text for a single counterexample.
    """
    family = outcome.get("divergence")
    return f"ratio grows {growth_words(family)}" if family else ""


def ratio_of(document: Document) -> float:
    """Return measured / bound of an outcome or a verdict."""
    return float(document["ratio"])


def below_one(ratio: float) -> str:
    """Format a ratio with three digits, without rounding up to 1."""
    return f"1 - {1 - ratio:.1g}" if 0.9995 <= ratio < 1 else f"{ratio:.3g}"
