"""The tables of docs/verdicts.md agree with the stored data, and these with the
simulation.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dfltheory.errors import InputError
from dfltheory.verdicts.evidence import in_bounds, log_evidence
from dfltheory.verdicts.statistics import mean_interval
from validation import coverage
from validation.coverage import BOUNDED, LAWS, MEANS, MINIMA, RATIOS, SEEDS, TAIL

DOCS = Path(__file__).parents[2] / "docs"
KNOWN = json.loads((DOCS / "coverage.json").read_text(encoding="utf-8"))
TRIALS = KNOWN["trials"]


def trials_of(law):
    return TRIALS["minima" if law in MINIMA else "means"]


def at_most(share, trials):
    """Return the largest admissible count for this true share: four standard deviations
    above it.
    """
    return share + 4 * np.sqrt(share * (1 - share) / trials)


def test_the_page_has_the_tables_of_the_data():
    page = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    assert page == coverage.with_tables(page, KNOWN), "stale: run make generated"
    with pytest.raises(InputError, match="0 lines"):
        coverage.with_tables("no mark", KNOWN)


@pytest.mark.parametrize("draws", [6000, pytest.param(60_000, marks=pytest.mark.slow)])
def test_every_law_has_a_mean_or_a_least_mean_of_one(draws):
    for law, draw in LAWS.items():
        data = draw(np.random.default_rng(0), draws)
        assert data.mean(axis=0).min() == pytest.approx(1, abs=(54 / draws) ** 0.5), law


def test_no_true_bound_is_called_violated_more_often_than_stated():
    for law in LAWS:
        for n in SEEDS:
            assert KNOWN["student"][law][str(n)]["violated"] <= at_most(
                TAIL, trials_of(law)
            ), (law, n)


def test_holds_is_as_rarely_false_as_stated_where_the_seeds_are_what_it_assumes():
    for law in (
        "chi^2_1",
        "chi^2_10",
        "left-skewed cos^2",
        "rare drop (0 in 5 %)",
        "mean of AR(1) rounds",
        *MINIMA,
    ):
        for n in SEEDS:
            assert KNOWN["student"][law][str(n)]["holds"] <= at_most(
                TAIL, trials_of(law)
            ), (law, n)


def test_where_holds_cannot_promise_anything_the_page_says_so():
    jumps, wild = (
        KNOWN["student"][law]
        for law in ("rare jump (20 times in 5 %)", "lognormal(1.5)")
    )
    assert max(jumps[str(n)]["holds"] for n in SEEDS) > 0.3
    assert (
        wild["32"]["holds"] > 0.1 > KNOWN["bootstrap"]["lognormal(1.5)"]["32"]["holds"]
    )


CELLS = [
    ("chi^2_1", 8),
    ("left-skewed cos^2", 4),
    ("rare jump (20 times in 5 %)", 16),
    ("mean of AR(1) rounds", 2),
]
CELLS += [("minimum of equal rounds", 4), ("minimum of separated rounds", 16)]


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("law", "seeds"), CELLS)
def test_a_cell_is_what_simulation_gives(law, seeds):
    trials = 200
    found, known = coverage.cell(law, seeds, trials), KNOWN["student"][law][str(seeds)]
    for name in ("violated", "holds"):
        share = known[name]
        error = np.sqrt(
            (share * (1 - share) + 0.25 / trials) * (1 / trials + 1 / trials_of(law))
        )
        assert abs(found[name] - share) <= 4 * error
    if np.isfinite(width := float(known["width"])):
        assert found["width"] == pytest.approx(width, rel=0.35)


@pytest.mark.parametrize("trials", [25, pytest.param(60, marks=pytest.mark.slow)])
def test_a_cell_asks_the_intervals_themselves(trials):
    law, n = "lognormal(1.5)", 8
    for method in ("student", "bootstrap"):
        rng = np.random.default_rng([list(LAWS).index(law), n])
        found = [
            mean_interval(MEANS[law](rng, n), 1 - 2 * TAIL, method)
            for _ in range(trials)
        ]
        cell = coverage.cell(law, n, trials, method)
        assert cell["violated"] == np.mean([f.low > 1 for f in found])
        assert cell["holds"] == np.mean([f.high < 1 for f in found])


@pytest.mark.parametrize(
    ("law", "ratio"),
    [("left-skewed cos^2", 2.0), ("chi^2_10", 10.0), ("rare drop (0 in 5 %)", 1.5)],
)
def test_stated_number_of_seeds_suffices_and_half_does_not(law, ratio):
    seeds = KNOWN["needed"][law][str(ratio)]
    assert coverage.found_at(law, seeds, ratio, 400) >= coverage.POWER - 0.1
    assert seeds < 3 or coverage.found_at(law, seeds // 2, ratio, 400) < coverage.POWER
    assert ratio in RATIOS


def test_power_is_that_of_the_evidence_in_every_round():
    law, n, ratio, trials = "minimum of equal rounds", 4, 2.0, 50
    rng = np.random.default_rng([list(LAWS).index(law), n])
    found = [
        log_evidence(in_bounds(LAWS[law](rng, n), 1 / ratio)).min() >= -np.log(TAIL)
        for _ in range(trials)
    ]
    assert coverage.found_at(law, n, ratio, trials) == np.mean(found)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("law", BOUNDED)
def test_bounded_alone_is_as_rarely_false_as_it_says_whatever_the_law(law):
    most, draw = BOUNDED[law]
    data = draw(np.random.default_rng(0), 60_000)
    assert data.mean() == pytest.approx(1, abs=0.03)
    assert data.max() <= most
    for n in SEEDS:
        cell = KNOWN["bounded"][law][str(n)]
        assert cell["bounded"] <= at_most(TAIL, TRIALS["minima"])
        assert (
            max(cell["bounded"], cell["student"])
            <= cell["either"]
            <= cell["bounded"] + cell["student"]
        )
    assert coverage.bounded_cell(law, SEEDS[1], 50)["bounded"] <= at_most(TAIL, 50)
