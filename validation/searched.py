"""The committed outcomes of searches for counterexamples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfltheory.bounds.growth import growth_words

FOLDER = Path(__file__).parent.parent / "docs" / "counterexamples"


def outcomes(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Every committed search, as its file states it."""
    return [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    ]


def growing(outcome: Mapping[str, Any]) -> str:
    """Return how measured over expression grows along a saved family.

    The text is empty for a plain counterexample.
    """
    family = outcome.get("divergence")
    return f"ratio grows {growth_words(family)}" if family else ""
