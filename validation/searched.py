"""The committed outcomes of searches for counterexamples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfltheory.analysis.falsify.divergence import paces

FOLDER = Path(__file__).parent.parent / "docs" / "counterexamples"


def outcomes(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Every committed search, as its file tells it."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def growing(outcome: Mapping[str, Any]) -> list[str]:
    """The quantities in which measured over expression grows without end; none of a plain counterexample."""
    grown = outcome.get("divergence")
    return paces(str(grown["parameter"])) if grown else []
