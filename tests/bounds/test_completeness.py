"""Every statement of the papers is in the registry, and the registry contains only
their statements.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dfltheory import bounds, graphs
from tests.bounds.texts import STATEMENTS, TEXTS, of_all
from validation import printed_constants
from validation.papers import examination, statement

IDENTITIES = Path(__file__).parents[1] / "algorithms" / "test_identities.py"
PRINTED = {paper: getattr(text, "LABELS", {}) for paper, text in TEXTS.items()}
CORRECTED = of_all("REDERIVED")
LABELS = [(paper, label) for paper, labels in PRINTED.items() for label in labels]
HELD = {
    "printed": {
        place
        for labels in PRINTED.values()
        for places in labels.values()
        for place in places
    },
    "corrected": {place for places in CORRECTED.values() for place in places},
}


def is_held(place: str) -> bool:
    """Return whether the place exists."""
    kind, _, name = place.partition(":")
    if kind == "glossary":
        return name in bounds.GLOSSARY
    if kind == "graphs":
        return hasattr(graphs, name)
    if kind == "algorithms":
        return f"class {name}" in "".join(p.read_text() for p in algorithm_files())
    if kind == "validation":
        return hasattr(printed_constants, name)
    if kind == "test":
        return f"def test_{name}" in IDENTITIES.read_text()
    if kind == "line":
        paper, _, line = name.partition(" ")
        return line in {displayed["place"] for displayed in examination(paper)["lines"]}
    variant, sign, words = name.partition("#" if "#" in name else "@")
    theorem = statement(f"{kind}:{variant}")
    if sign == "#":
        return any(d.symbol.name == words for d in theorem.definitions)
    return not sign or any(a.startswith(words) for a in theorem.assumptions)


def algorithm_files():
    return (Path(bounds.__file__).parents[1] / "algorithms").rglob("*.py")


@pytest.mark.drawn(24)
@pytest.mark.parametrize(("paper", "label"), LABELS)
def test_what_a_paper_states_is_held(paper, label):
    assert PRINTED[paper][label]
    assert [place for place in PRINTED[paper][label] if not is_held(place)] == []


@pytest.mark.parametrize("label", CORRECTED)
def test_what_was_re_derived_is_held(label):
    assert [place for place in CORRECTED[label] if not is_held(place)] == []


@pytest.mark.parametrize("kind", HELD)
def test_what_is_held_is_stated_somewhere(kind):
    registered = {
        f"{t.key}:{t.variant}"
        for t in STATEMENTS
        if t.variant.startswith("corrected") == (kind == "corrected")
    }
    assert registered - HELD[kind] == set()


def test_a_label_of_a_missing_statement_is_noticed():
    assert is_held("dfedsam.lemma_D3:printed")
    assert not is_held("dfedsam.theorem_4_5:printed#nothing")
    assert not is_held("dfedsam.theorem_4_5:printed@nothing")
    for place in (
        "glossary:nothing",
        "graphs:nothing",
        "validation:nothing",
        "algorithms:Nothing",
        "test:nothing",
        "line:dfedsam nothing",
    ):
        assert not is_held(place)


NOTHING_BOUNDED = {"dfedsam": {*range(9, 20), 26, 27, 28}}
"""Numbers of displays such as X^{t+1} = W Z^t, or the definition of zeta^t."""
NOT_CITED = {
    "dfedmdc": {16, 17, 18, 26, 30, 31, 32, 36},
    "dfedsam": {6},
    "dfedsgpsm": {6},
}
"""Displays that no erratum cites; appendices contain only those that errata cite."""


def test_numbers_of_equations_leave_no_gap():
    for paper, numbers in (
        ("dfedmdc", range(1, 37)),
        ("dfedsam", range(1, 35)),
        ("dfedsgpsm", range(1, 7)),
    ):
        text = " ".join(PRINTED[paper])
        found = {int(n) for n in re.findall(r"\((\d+)\)", text)}
        for low, high in re.findall(r"\((\d+)\)-\((\d+)\)", text):
            found |= set(range(int(low), int(high) + 1))
        unstated = NOTHING_BOUNDED.get(paper, set()) | NOT_CITED[paper]
        assert set(numbers) - found == unstated, paper
