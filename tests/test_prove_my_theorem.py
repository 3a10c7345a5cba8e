"""The guide "Prove my theorem": its script proves the theorem, and no smaller bound."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.cli import run
from dfltheory.errors import InputError
from dfltheory.proofs import Corollary, Script, check
from dfltheory.proofs.flat_text import flat_proof
from tests.bounds.finite_problems import gossip_run

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "prove-my-theorem.md"
CLAIM = "wang_joshi2021.corollary_3:printed"
TUNED = "wang_joshi2021.corollary_3_tuned:printed"
MOST_LINES = 60


def text_of_script() -> str:
    found = re.search(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.S | re.M)
    assert found is not None
    return found[1]


@cache
def script() -> Script:
    names: dict[str, object] = {}
    exec(compile(text_of_script(), "proof.py", "exec"), names)
    made = names["SCRIPT"]
    assert isinstance(made, Script)
    return made


def theorem():
    return registry.get(*CLAIM.split(":"))


def test_script_has_at_most_60_lines():
    assert len(text_of_script().splitlines()) <= MOST_LINES


def test_commands_of_the_guide_prove_both_bounds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("proof.py").write_text(text_of_script(), encoding="utf-8")
    commands = re.findall(r"^dfltheory (prove .*)$", GUIDE.read_text("utf-8"), re.M)
    claims = []
    for command in commands:
        assert run([*command.split(), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["proved"]
        statement = registry.get(*answer["claim"].split(":"))
        assert answer["assumptions"] == list(statement.assumptions)
        assert answer["unused"] == []
        claims.append(answer["claim"])
    assert claims == [CLAIM, TUNED]


@pytest.mark.parametrize(
    ("term", "share", "proved"),
    [
        pytest.param("optimization", 99, False, marks=pytest.mark.slow),
        pytest.param("noise", 99, False, marks=pytest.mark.slow),
        pytest.param("network", 67, True, marks=pytest.mark.slow),
        ("network", 66, False),
    ],
)
def test_smallest_constants_that_the_script_proves(term, share, proved):
    parts = dict(theorem().parts)
    parts[term] *= sp.Rational(share, 100)
    assert check(replace(theorem(), parts=parts), script()).proved is proved


@pytest.mark.drawn(2)
@pytest.mark.parametrize("place", range(6))
def test_without_an_assumption_nothing_is_proved(place):
    words = list(theorem().assumptions)
    del words[place]
    answer = check(replace(theorem(), assumptions=tuple(words)), script())
    assert not answer.proved
    assert all("what is not assumed" in why for why in answer.missing)


@pytest.mark.parametrize("place", range(2))
def test_each_condition_is_needed(place):
    conditions = list(theorem().conditions)
    del conditions[place]
    answer = check(replace(theorem(), conditions=tuple(conditions)), script())
    assert answer.missing
    assert all(why.startswith("not shown: enlarges") for why in answer.missing)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "scope",
    [
        {"network": "column-stochastic"},
        {"network": "none"},
        {"common_start": False},
        {"algorithms": ("DFedAvg",)},
    ],
)
def test_other_runs_are_not_covered(scope):
    other = replace(theorem(), scope=replace(theorem().scope, **scope))
    assert not check(other, script()).proved


def test_more_local_steps_are_not_covered():
    parts = {**theorem().parts, "local steps": s.K - 1}
    missing = check(replace(theorem(), parts=parts), script()).missing
    assert "not shown: a round has one local step" in missing


def test_second_checker_has_not_all_of_its_rules():
    with pytest.raises(InputError, match=r"one_step|projection|sum_rounds"):
        flat_proof(theorem(), script())


def test_every_fact_holds_in_runs_of_the_algorithm():
    """Enumerates all outcomes of all samples in fractions, with one objective for all
    clients.
    """
    last = script().prove()
    for seed in range(3):
        finite_problem = gossip_run(
            random.Random(seed), 2, 1, 2, steps=(1,), plain=True, identical=True
        )
        assert all(finite_problem.number(d.expr, 0)[1] >= 0 for d in last.demands)
        assert [v for v in map(finite_problem.violation, last.trail()) if v] == []


@pytest.mark.parametrize(
    ("factor", "proved"),
    [pytest.param(1, True, marks=pytest.mark.slow), (sp.Rational(1, 10), False)],
)
def test_bound_with_the_step_for_all_rounds_needs_its_condition(factor, proved):
    tuned = registry.get(*TUNED.split(":"))
    steps, *others = tuned.conditions
    enough = replace(steps, left=steps.left * factor)
    child = replace(tuned, conditions=(enough, *others))
    answer = check(child, Corollary(TUNED, CLAIM), {CLAIM: script()})
    assert answer.proved == proved
    lacks = [reason for reason in answer.missing if "step, a condition" in reason]
    assert len(lacks) == len(answer.missing) == (not proved)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("place", range(6))
def test_bound_with_the_step_for_all_rounds_needs_each_assumption(place):
    tuned = registry.get(*TUNED.split(":"))
    words = list(tuned.assumptions)
    del words[place]
    child = replace(tuned, assumptions=tuple(words))
    assert not check(child, Corollary(TUNED, CLAIM), {CLAIM: script()}).proved


@pytest.mark.drawn(1)
@pytest.mark.parametrize("share", [sp.Rational(99, 100), sp.Rational(66, 100)])
@pytest.mark.parametrize("term", ["synchronous", "network"])
def test_bound_with_the_step_for_all_rounds_has_no_slack(term, share):
    tuned = registry.get(*TUNED.split(":"))
    parts = dict(tuned.parts)
    parts[term] *= share
    child = replace(tuned, parts=parts)
    assert not check(child, Corollary(TUNED, CLAIM), {CLAIM: script()}).proved
