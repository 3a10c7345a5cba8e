"""Corrected statements are no larger than the print where nothing refutes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from validation.pages.errata_statements import size_of_correction
from validation.papers import PAPERS, statement
from validation.papers.erratum import notes
from validation.papers.minimal import (
    comparable_variants,
    excess,
    region_of,
    unrefuted_regions,
)

REGIONS = [region for paper in PAPERS for region in unrefuted_regions(paper)]
ROUNDING = 1e-9


@pytest.mark.drawn(3)
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.claim)
@pytest.mark.parametrize("seed", [0, 1])
def test_smallest_corrected_variant_is_within_the_stated_factor(region, seed):
    found = excess(region, seed)
    assert found.applicable > 0.9
    assert found.of_smallest <= region.factor * (1 + ROUNDING)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.claim)
def test_stated_factor_is_needed(region):
    """A factor above 1 is nearly attained and has a reason; a factor 1 holds for all."""
    found = excess(region)
    if region.factor > 1:
        assert found.of_smallest >= 0.95 * region.factor
        assert region.reason
    else:
        assert max(found.of_variants.values()) <= 1 + ROUNDING
        assert not region.reason


def test_every_printed_main_theorem_with_constants_has_a_region():
    main = {
        note.claim
        for paper in PAPERS
        for note in notes(paper)
        if not statement(note.claim).order
    }
    assert main <= {region.claim for region in REGIONS}
    assert all(comparable_variants(region) for region in REGIONS)


def test_print_outside_of_its_region_is_exceeded():
    """With SAM the corrected bound of DFedADMM is larger, as it has to be (E5)."""
    region = region_of("dfedadmm.theorem_1")
    assert region is not None
    outside = replace(region, at={"rho": 1})
    assert excess(outside).of_variants["corrected"] > 10


@pytest.mark.drawn(2)
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.claim)
def test_a_larger_correction_is_noticed(region, monkeypatch):
    larger = [
        replace(t, parts={n: 2 * part for n, part in t.parts.items()})
        for t in comparable_variants(region)
    ]
    monkeypatch.setattr(
        "validation.papers.minimal.comparable_variants", lambda region: larger
    )
    assert excess(region).of_smallest > region.factor


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.claim)
def test_variants_that_are_not_compared_are_larger(region):
    """Otherwise nothing would need to be said of their assumptions."""
    found = excess(replace(region, weaker=()))
    larger = {n for n, ratio in found.of_variants.items() if ratio > 1 + ROUNDING}
    assert set(region.weaker) <= larger
    assert region.factor > 1 or larger == set(region.weaker)


def test_page_says_where_a_correction_is_larger():
    note = next(n for n in notes("dfedsam") if n.claim == "dfedsam.theorem_4_5")
    assert "1.27" in "".join(size_of_correction(note))
    other = next(n for n in notes("dfedsam") if n.claim == "dfedsam.corollary_4_6")
    assert list(size_of_correction(other)) == []


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.claim)
def test_stated_factor_of_the_shown_variant_is_needed_and_suffices(region):
    ratio = excess(region).of_variants["corrected"]
    assert ratio <= region.of_corrected * (1 + ROUNDING)
    assert region.of_corrected == 1 or ratio >= 0.95 * region.of_corrected
