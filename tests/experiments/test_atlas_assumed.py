"""The atlas reports all assumed constants, and requires those with no typical value."""

import dataclasses
import json
from pathlib import Path

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bound_atlas import atlas
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.checks.units import check_units
from dfltheory.cli import run
from dfltheory.errors import InputError
from validation.pages import atlas as atlas_page

KEY = "dfedsam.theorem_4_5"
PAGE = Path(__file__).parents[2] / "docs" / "atlas.md"
OWN = """
import dataclasses
import dfltheory as dfl
from dfltheory.bounds.symbols import Quantity
from dfltheory.bounds.units import ONE

inertia = Quantity("own_inertia", "I", ONE, "a constant of one's own")
base = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
parts = {**base.parts, "own": inertia.symbol * base.parts["noise"]}
theorem = dataclasses.replace(base, key="mine.own", parts=parts, quantities=(inertia,))
"""


def test_atlas_reports_assumed_constants_and_not_given_ones():
    found = atlas(theorems=[KEY], T=10000, m=16, lam=0.5, L=2.0)
    document = found.to_dict()
    assert {"K", "sigma_l", "sigma_g", "f0_gap"} <= set(found.assumed)
    assert not {"T", "m", "lam", "L", "eta"} & set(found.assumed)
    assert found.assumed["K"] == 5
    assert document["assumed"] == found.assumed
    assert all(name in str(found) for name in found.assumed)
    for entry in found.entries:
        needed = set(entry.theorem.needs) - {"T", "m", "lam", "L", "eta"}
        assert set(entry.assumed) <= needed
    assert json.loads(json.dumps(document))["assumed"]["K"] == 5


def test_atlas_at_given_constants_assumes_nothing():
    theorem = dfl.bounds.get(KEY, "corrected")
    given = {"T": 1e4, "m": 16, "lam": 0.5, "L": 1.0, "K": 2, "Q": 1, "rho": 0.0}
    given |= {"sigma_l": 1.0, "sigma_g": 1.0, "f0_gap": 1.0}
    found = atlas(theorems=[theorem], **given)
    assert found.assumed == {}
    assert "assumed" not in str(found)


def test_atlas_takes_constants_of_the_network_as_given():
    found = atlas(
        theorems=[dfl.bounds.get(KEY, "corrected")], topology=dfl.graphs.ring(6), T=1e4
    )
    assert not {"lam", "m"} & set(found.assumed)


SECTIONS = {
    section.split("\n")[0]: section
    for section in PAGE.read_text(encoding="utf-8")
    .split("## Printed, and corrected")[0]
    .split("\n### ")[1:]
    if "| theorem |" in section
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("measure", SECTIONS)
def test_the_page_of_the_atlas_lists_the_constants_that_each_table_assumed(measure):
    entries = atlas(None, measure=measure, **dict(atlas_page.PLACE)).entries
    line = atlas_page.assumed(entries)
    assert line in SECTIONS[measure]
    for entry in entries:
        for name, value in entry.assumed.items():
            assert f"{name} = {value:g}" in line


def test_the_page_of_the_atlas_has_tables():
    assert len(SECTIONS) > 3


def test_assumed_constants_are_listed_once_and_given_ones_are_not():
    entries = atlas(theorems=[KEY], T=10000, m=16, lam=0.5, L=2.0).entries
    line = atlas_page.assumed(entries)
    assert line.count("K = 5") == 1
    assert "L = " not in line
    assert "K" not in atlas_page.assumed([])


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_theorem.py").write_text(OWN)
    return "own_theorem.py:theorem"


def test_atlas_asks_for_a_symbol_of_ones_own_and_accepts_it(own, capsys):
    line = ["atlas", "--key", own, "--json", "--set", "T=10000", "m=16"]
    assert run(line) == 2
    assert "own_inertia" in capsys.readouterr().err
    assert run([*line, "own_inertia=3"]) == 0
    small = json.loads(capsys.readouterr().out)
    assert "own_inertia" not in small["assumed"]
    assert run([*line, "own_inertia=30"]) == 0
    large = json.loads(capsys.readouterr().out)
    assert large["theorems"][0]["bound"] > small["theorems"][0]["bound"]


def test_atlas_rejects_symbols_that_no_statement_defines(capsys):
    assert run(["atlas", "--key", KEY, "--set", "T=10000", "no_such_name=3"]) == 2
    assert "no_such_name" in capsys.readouterr().err


def test_zero_has_every_unit_in_a_condition():
    theorem, sigma_g = dfl.bounds.get(KEY, "corrected"), GLOSSARY["sigma_g"].symbol
    assert list(check_units(theorem)) == []
    homogeneous = Condition("sigma_g = 0", sigma_g, sp.Integer(0))
    mirrored = Condition("0 <= sigma_g", sp.Integer(0), sigma_g)
    for condition in (homogeneous, mirrored):
        extended = dataclasses.replace(
            theorem, conditions=(*theorem.conditions, condition)
        )
        assert list(check_units(extended)) == []
    wrong = dataclasses.replace(
        theorem, conditions=(Condition("sigma_g <= 1", sigma_g, sp.Integer(1)),)
    )
    assert len(list(check_units(wrong))) == 1


def test_network_constants_that_contradict_the_given_ones_are_rejected():
    with pytest.raises(InputError, match="lam"):
        atlas(theorems=[KEY], topology=dfl.graphs.ring(6), T=1e4, lam=0.1)
