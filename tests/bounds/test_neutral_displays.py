"""Lemmas and displays of an appendix in the absence of a mechanism."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfltheory.bounds.registry import REGISTRY
from dfltheory.checks.neutral import check_neutral, has_neutral
from validation.papers import appendix


def findings(key, **changes):
    paper = key.split(".")[0]
    registry = REGISTRY.including(appendix(paper))
    theorem = next(t for t in appendix(paper) if t.key == key)
    changed = replace(theorem, **changes)
    assert has_neutral(changed, registry)
    return [(f.place, f.evidence["term"]) for f in check_neutral(changed, registry)]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "key", ["dfedmdc.lemma_4", "dfedmdc.lemma_6", "dfedmdc.eq_23", "dfedsam.lemma_D6"]
)
def test_lemma_is_that_of_the_simpler_method(key):
    assert findings(key) == []


def test_display_that_should_repeat_another_is_reported():
    """(33) should repeat (27), which is (13) at rho = 0 up to powers of K_u and L_u."""
    assert findings("dfedmdc.eq_33_u") == [("at rho = 0", "dfedmdc.eq_13 (printed)")]


def test_lost_term_of_a_lemma_is_reported():
    (theorem,) = (t for t in appendix("dfedmdc") if t.key == "dfedmdc.lemma_4")
    K_u = theorem.glossary["K_u"].symbol
    parts = {name: term / K_u for name, term in theorem.parts.items()}
    assert findings("dfedmdc.lemma_4", parts=parts) == [
        ("at rho = 0", "dfedmdc.lemma_3 (printed)")
    ]


def test_another_step_of_the_proof_is_not_compared():
    registry = REGISTRY.including(appendix("dfedsam"))
    (theorem,) = (t for t in appendix("dfedsam") if t.key == "dfedsam.eq_25")
    assert not has_neutral(theorem, registry)
