"""American spelling, in what readers see and in the packages that keep to it already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BRITISH = re.compile(
    r"\b(neighbour|colour|behaviour|favour|honour|centre[ds]?\b|grey\b|towards\b|labell|modell|catalogue"
    r"|(min|max|opt|norm|summar|general|initial|regular|symmetr|organ|recogn|real)(im|al|)is(e[ds]?|ing|ation)\b)",
    re.IGNORECASE,
)
PACKAGES = ("bounds", "cli", "graphs", "models", "testing")
MADE = {"audit.md", "falsify.md"}
"""Their text comes from statements and outcome files."""


def read() -> Iterator[Path]:
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    yield from (p for p in sorted((ROOT / "docs").glob("*.md")) if p.name not in MADE)
    yield from sorted((ROOT / "docs" / "guides").glob("*.md"))
    yield from sorted((ROOT / "dfltheory").glob("*.py"))
    for package in PACKAGES:
        yield from sorted((ROOT / "dfltheory" / package).rglob("*.py"))


def test_words_are_spelled_as_in_america():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in read()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in BRITISH.finditer(re.sub(r"`[^`]*`", "", line) if path.suffix == ".md" else line)
    ]
    assert found == []


def test_the_words_are_recognized():
    for word in (
        "neighbours",
        "colours",
        "centred",
        "minimise",
        "normalisation",
        "generalised",
        "initialising",
    ):
        assert BRITISH.search(word), word
    for word in ("neighbors", "center", "minimize", "realism", "premise", "promised", "organism"):
        assert not BRITISH.search(word), word
