"""What the tests type from each paper's text, by paper: the modules of
tests/bounds/text named as papers are.

Each has ``TERMS``, ``CONDITIONS`` and ``SCHEDULES``, the formulas of every statement by
key and variant, ``ROUNDS`` of those whose left-hand side is no mean over 0..T-1
(aggregate, rounds and start at T = 10), and ``LABELS``: every numbered or displayed
statement of the paper by its number there, and where it is held; ``REDERIVED``, where a
paper has corrected statements, does so for them by their names where they are proved.

A place is ``key:variant`` of the registry; ``key:variant#symbol`` a definition inside a
statement; ``key:variant@words`` one of its assumptions, by its first words;
``glossary:name`` a quantity; ``line:paper place`` a displayed line that was examined
(validation/papers/examination.json); ``graphs:name`` and ``algorithms:name`` a public
name; ``test:name`` a test in tests/algorithms/test_identities.py, for what is an
identity of the algorithm and bounds nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from dfltheory.bounds import registry
from validation.papers import PAPERS, appendix

_WHERE = "tests.bounds.text"

TEXTS: dict[str, ModuleType] = {
    name: importlib.import_module(f"{_WHERE}.{name}")
    for name in registry.papers()
    if importlib.util.find_spec(f"{_WHERE}.{name}") is not None
}
"""Paper -> its text. A test in test_formulas.py lists statements without a text."""


STATEMENTS = (
    *registry.statements(),
    *(lemma for paper in PAPERS for lemma in appendix(paper)),
)
"""Every statement of the registry and of the papers' appendices."""


def of_all(table: str) -> dict:
    """Merge one table (``TERMS``, ...) of all papers."""
    return {
        name: entry
        for text in TEXTS.values()
        for name, entry in getattr(text, table, {}).items()
    }
