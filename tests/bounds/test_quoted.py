"""Quoted rates are compared with the registered rates of the same algorithm."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.registry import REGISTRY
from dfltheory.checks.quoted import check_quoted, has_source, lost_powers

QUOTED = bounds.get("dfedmdc.rate_quoted_dfedsam")
SOURCE = bounds.get("dfedsam.corollary_4_6")


def test_quoted_rates_are_recognized():
    found = {t.key for t in REGISTRY.statements() if has_source(t)}
    assert found == {"dfedmdc.rate_quoted_dfedavg", "dfedmdc.rate_quoted_dfedsam"}


@pytest.mark.slow
def test_right_quotation_has_no_finding():
    assert list(check_quoted(QUOTED)) == []


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("part", "factor"),
    [
        ("drift", 1 / s.K),
        ("consensus", (1 - s.lam)),
        ("optimization", 1 / sp.sqrt(s.T)),
    ],
)
def test_lost_powers_are_reported(part, factor):
    parts = {**QUOTED.parts, part: QUOTED.parts[part] * factor}
    wrong = replace(QUOTED, parts=parts)
    assert lost_powers(QUOTED, SOURCE) == []
    assert len(lost_powers(wrong, SOURCE)) == 1
