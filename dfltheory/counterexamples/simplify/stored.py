"""The stored simplified counterexamples to registered statements, as lines of text.

``simple.json`` maps hashes of statements to lines. ``python -m
validation.counterexamples.simple docs/counterexamples`` writes it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.bounds.canonical import statement_hash

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

FILE = Path(__file__).parent / "simple.json"


def lines_of(theorem: Theorem) -> tuple[str, ...]:
    """Return the stored lines of a statement with the same content, if any."""
    return tuple(_stored().get(statement_hash(theorem), {}).get("lines", ()))


@cache
def _stored() -> dict[str, dict[str, list[str]]]:
    """Hash -> name and lines."""
    document: dict[str, dict[str, list[str]]] = json.loads(
        FILE.read_text(encoding="utf-8")
    )
    return document


__all__ = ["FILE", "lines_of"]
