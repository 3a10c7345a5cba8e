"""Stored lines of text that describe simplified counterexamples.

``simple.json`` maps hashes of registered statements to lines. It is written by ``python
-m validation.counterexamples.simple docs/counterexamples``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.bounds.canonical import statement_hash

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

STORED_FILE = Path(__file__).parent / "simple.json"


def lines_of(theorem: Theorem) -> tuple[str, ...]:
    """Return the stored lines of a statement; empty if there are none."""
    return tuple(_stored().get(statement_hash(theorem), {}).get("lines", ()))


@cache
def _stored() -> dict[str, dict[str, list[str]]]:
    """Return the entries of the file, by hash of the statement."""
    document: dict[str, dict[str, list[str]]] = json.loads(
        STORED_FILE.read_text(encoding="utf-8")
    )
    return document


__all__ = ["STORED_FILE", "lines_of"]
