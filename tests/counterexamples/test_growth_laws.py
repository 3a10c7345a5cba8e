"""The growth laws of families agree with the measurements of the stored families."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dfltheory import cli
from dfltheory.bounds import registry
from dfltheory.counterexamples.divergence import Divergence
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.growth import MEMBERS, kinds
from dfltheory.counterexamples.simplify import growing
from dfltheory.counterexamples.simplify.growing import simplify_family
from dfltheory.counterexamples.simplify.stored import lines_of
from dfltheory.errors import InputError
from validation.counterexamples.growth_laws import growth_laws
from validation.counterexamples.simple import NAMES
from validation.pages.simplified import most_digits

FOLDER = Path(__file__).parents[2] / "docs" / "counterexamples"
LAWS = growth_laws()


@pytest.mark.parametrize("name", MEMBERS)
def test_ranges_of_first_members_are_in_order(name):
    for numbers in MEMBERS[name].base.values():
        assert list(numbers) == sorted(numbers)


def stored(key):
    file = FOLDER / "simple" / f"{key}-printed.json"
    return json.loads(file.read_text(encoding="utf-8"))["divergence"]


def parameter_values(law, family):
    """Return T, or 1/(1 - alpha), of each member of the stored family."""
    first = family["values"][0]
    factors = [value / first for value in family["values"]]
    power = family["parameter"].split("*").count("T") if law.parameter == "T" else 1
    start = family["base"]["T" if law.parameter == "T" else "alpha"]
    return [round(start * factor**power) for factor in factors]


@pytest.mark.parametrize("key", LAWS)
def test_law_agrees_with_every_stored_ratio(key):
    law, family = LAWS[key], stored(key)
    pairs = zip(parameter_values(law, family), family["ratios"], strict=True)
    for value, ratio in pairs:
        assert ratio >= law.ratio_at(value) * (1 - 1e-6)
        if law.relation == "=":
            assert ratio == pytest.approx(law.ratio_at(value), rel=1e-6)


@pytest.mark.parametrize("key", LAWS)
def test_law_grows_without_bound_and_is_shown_in_five_lines(key):
    law = LAWS[key]
    assert law.ratio_at(2 * 10**12) > 1000
    assert len(law.lines) == 5
    assert lines_of(registry.get(key, "printed")) == law.lines


@pytest.mark.parametrize("key", LAWS)
def test_law_names_the_growth_of_its_ratio(key):
    law = LAWS[key]
    for value in (4 * 10**12, 4 * 10**14):
        assert law.growth_at(value) == pytest.approx(law.ratio_at(value), rel=1e-4)


@pytest.mark.parametrize("key", LAWS)
def test_stored_family_is_the_plain_one(key):
    family = stored(key)
    assert family["base"] == dict(MEMBERS[family["member"]].plain)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_first_member_is_drawn_between_the_ends_of_its_ranges(name):
    member, rng = MEMBERS[name], np.random.default_rng(0)
    assert member.varied
    for at in (member.draw(rng) for _ in range(8)):
        for number, ends in member.base.items():
            assert 0 < ends[0] <= at[number] <= ends[-1]


def test_kinds_with_distant_starts_are_not_drawn():
    theorem = registry.get("dfedmdc.theorem_1", "printed")
    names = [member.name for member in kinds(theorem)]
    assert names == ["noisy heads", "parting clients"]


def growing_finding(name):
    """The stored finding of a family, without measuring it again."""
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    family = Divergence(**document["divergence"])
    theorem = registry.get(family.key, family.variant)
    return Finding(
        family.key,
        family.variant,
        violated=False,
        ratio=1.0,
        evaluations=1,
        seconds=0.0,
        seed=0,
        divergence=family,
        theorem=theorem,
    )


def test_simplify_family_tries_common_starts_before_distant_ones(monkeypatch):
    tried = []

    def never(theorem, member, base, parameter):
        tried.append((member.name, base == member.plain))

    monkeypatch.setattr(growing, "family_along", never)
    given = growing_finding("dfedmdc.theorem_1-printed.json")
    assert simplify_family(given).divergence == given.divergence
    assert tried == [
        ("noisy heads", True),
        ("separate wells of the shared part", True),
        *3 * [("parting clients", False)],
    ]


@pytest.mark.slow
def test_falsify_simplify_writes_the_plain_family(tmp_path):
    source = FOLDER / "dfedmdc.theorem_2-printed.json"
    target = tmp_path / "simple.json"
    status = cli.run(["falsify", "--simplify", str(source), "--out", str(target)])
    assert status == 0
    written = json.loads(target.read_text(encoding="utf-8"))["divergence"]
    assert written["base"] == stored("dfedmdc.theorem_2")["base"]


def test_simplify_family_rejects_what_is_no_growing_family():
    given = growing_finding("dfedmdc.theorem_1-printed.json")
    with pytest.raises(InputError, match="family"):
        simplify_family(replace(given, divergence=None))


def test_most_digits_of_the_nine_refutations_have_a_median_of_at_most_two():
    files = [FOLDER / "simple" / f"{name}.json" for name in NAMES]
    saved = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert len(saved) == 9
    assert statistics.median(map(most_digits, saved)) <= 2
