"""docs/standard.md: the stored page, its measurements and its searches."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dfltheory import bounds
from validation.pages import standard, standard_searches
from validation.pages.standard_table import ratio_of, ratios, tightest, vacuous

ENTRIES = json.loads(standard.MEASURED.read_text(encoding="utf-8"))
SEARCHES = json.loads(standard.SEARCHED.read_text(encoding="utf-8"))
PAPERS = ("wang_joshi2021", "yuan2023", "vogels2023", "lu_desa2023")


def test_stored_page_is_what_its_files_give():
    page = standard.DOCS / "standard.md"
    assert page.read_text(encoding="utf-8") == standard.markdown()


def test_every_new_statement_of_the_papers_has_a_row():
    named = {*standard.BOUNDS, *standard.OTHERS}
    registered = {
        (t.key, t.variant)
        for t in bounds.registry.statements()
        if t.key.partition(".")[0] in PAPERS and t.scope.algorithms != ("LocalSGD",)
    }
    assert registered == named


def test_every_statement_was_measured_in_every_setting_and_none_is_violated():
    measured = {(e["key"], e["variant"], e["setting"]) for e in ENTRIES}
    assert measured == {
        (*name, setting.title)
        for name in standard.BOUNDS
        for setting in standard.SETTINGS
    }
    assert {e["kind"] for e in ENTRIES} <= {
        "holds",
        "undecided",
        "not applicable",
        "conditions not met",
    }
    assert all(e["measured"] <= e["bound"] for e in ENTRIES if "bound" in e)


def test_every_statement_with_constants_was_searched_and_no_ratio_is_above_one():
    names = {f"{key}:{variant}" for key, variant in standard.BOUNDS}
    assert names == set(SEARCHES)
    assert all(0 < search["ratio"] <= 1 for search in SEARCHES.values())
    assert not any(search.get("refuted") for search in SEARCHES.values())


def test_table_has_one_row_for_each_statement():
    rows = standard.everything().splitlines()[2:]
    assert len(rows) == len(standard.BOUNDS) + len(standard.OTHERS)
    row = next(row for row in rows if "`wang_joshi2021.theorem_2` " in row)
    own = [
        entry
        for entry in ENTRIES
        if (entry["key"], entry["variant"]) == ("wang_joshi2021.theorem_2", "printed")
    ]
    assert row.endswith(f"| {vacuous(own)} | {ratios(own)} |")


def test_vacuous_region_is_always_without_an_informative_horizon():
    entries = [
        {"informative_from": None, "start": 1.0},
        {"informative_from": 40, "start": 1.0},
        {"informative_from": None, "start": 0.0},
    ]
    assert vacuous(entries) == "always / 40 / –"


def test_least_bound_for_users_is_of_an_algorithm_that_they_run():
    entries = [
        {"key": "wang_joshi2021.theorem_1", "bound": 3.0, "measured": 1.0},
        {"key": "wang_joshi2021.theorem_2", "bound": 2.0, "measured": 1.0},
        {"key": "wang_joshi2021.theorem_1_network", "bound": 1.0, "measured": 0.5},
        {"key": "wang_joshi2021.corollary_3"},
    ]
    sentence = tightest([entry | {"variant": "printed"} for entry in entries])
    assert "theorem_2`" in sentence
    assert "theorem_1" not in sentence
    assert ratio_of(entries[2]) == 2.0
    assert ratio_of(entries[3]) == float("inf")


@pytest.mark.slow
def test_search_finds_the_start_of_corollary_3_and_sees_its_terms():
    theorem = bounds.get("wang_joshi2021.corollary_3", "printed")
    row = standard_searches.searched(theorem, seconds=2.0)
    assert not row["refuted"]
    assert 0.99 < row["ratio"] <= 1
    assert "optimization" in row["needed"]


def test_two_searches_combine_to_the_sharper_instance_and_the_longer_time():
    short = {
        "ratio": 0.5,
        "instance": "stationary noise",
        "candidates": 100,
        "families": 3,
        "refuted": False,
        "seconds": 10,
        "processor": 11,
        "needed": ["noise"],
    }
    long = short | {
        "ratio": 0.4,
        "instance": "piecewise linear",
        "candidates": 3000,
        "families": 8,
        "seconds": 300,
        "processor": 302,
        "needed": ["optimization"],
    }
    for row in (
        standard_searches.combined(short, long),
        standard_searches.combined(long, short),
    ):
        assert row["ratio"] == 0.5
        assert row["instance"] == "stationary noise"
        assert (row["seconds"], row["processor"]) == (300, 302)
        assert (row["candidates"], row["families"]) == (3000, 8)
        assert sorted(row["needed"]) == ["noise", "optimization"]
    assert standard_searches.combined(short, long | {"refuted": True})["refuted"]


def test_stored_bound_is_computed_again():
    key, variant = "wang_joshi2021.theorem_2", "printed"
    setting = standard.SETTINGS[0]
    stored = next(
        e for e in ENTRIES if (e["key"], e["setting"]) == (key, setting.title)
    )
    values = standard.values_of(setting, bounds.get(key, variant))
    bound, eta = standard.bound_of(setting, key, variant, values)
    assert bound == pytest.approx(stored["bound"], rel=1e-9)
    assert eta == pytest.approx(stored["eta"], rel=1e-9)
    longer = replace(setting, rounds=4 * setting.rounds)
    assert standard.bound_of(longer, key, variant, values)[0] < bound
