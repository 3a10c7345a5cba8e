"""Certificates of the corrected statements: all check, none of a false statement does, and none that was
tampered with."""

import ast
import copy
import itertools
import json
import math
import random
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds, certify
from dfltheory.bounds import regions, registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.certificates import check, export, files
from dfltheory.bounds.certificates.form import Form, Lemma
from dfltheory.bounds.certificates.make import make
from dfltheory.bounds.certificates.search import NotFoundError
from dfltheory.bounds.certificates.statement import Statement, agrees, statements
from dfltheory.bounds.checks.derivations import check_step
from dfltheory.bounds.checks.monotone import _certified, check_monotone
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.steps import Put, Step
from dfltheory.bounds.symbols import GLOSSARY, step_names
from dfltheory.errors import InputError
from validation.pages import proofs as proofs_page

STEPS = {step.claim: step for step in files.corrected_steps()}
SHARP = "dfedsam.theorem_4_5:corrected_sharper"
MINIMAL = "dfedsgpsm.theorem_1:corrected_minimal"
LARGE = (
    "corollary_1:corrected_sharper",
    "dfedsgpsm.theorem_1:corrected_minimal",
    "dfedsgpsm.theorem_1:corrected_b_sharper",
)
"""Claims whose certificates have the most terms; others of their papers are checked quickly."""
SCHEDULES = [c for c, s in STEPS.items() if [type(o) for o in s.operations] == [Put] and not s.otherwise]


def load(claim):
    return json.loads(files.path(STEPS[claim]).read_text(encoding="utf-8"))


def refused(certificate):
    try:
        check.check(certificate)
    except files.REFUSED:
        return True
    return False


@pytest.mark.parametrize(
    "claim",
    [pytest.param(c, marks=[pytest.mark.slow] * c.endswith(LARGE)) for c in STEPS],
)
def test_every_step_of_every_corrected_statement_has_a_certificate(claim):
    files.checked(STEPS[claim])


def test_there_is_no_certificate_of_anything_else():
    assert {p.name for p in files.FOLDER.glob("*.json")} == {files.path(step).name for step in STEPS.values()}


def test_the_checker_imports_nothing_of_the_package_and_knows_no_floats():
    tree = ast.parse(Path(check.__file__).read_text(encoding="utf-8"))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert names <= {"fractions", "json", "sys", "pathlib", "hashlib"}
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]


LATE = tuple(f"corrected_{v}" for v in ("minimal", "sharper", "init_sharper", "weighted_sharper", "b_sharper",
        "b2_sharper", "weighted", "tight", "init", "b", "b0", "b2"))  # fmt: skip
"""Steps whose mutations cost ten times as much as those of all others together."""


@pytest.mark.parametrize(
    "claim", [pytest.param(c, marks=pytest.mark.slow) if c.endswith(LATE) else c for c in STEPS]
)
def test_a_constant_lowered_by_a_hundredth_is_refused(claim):
    """Whatever slack there is: a certificate proves its own constants, and those are the registered ones."""
    certificate = load(claim)
    for i, term in enumerate(certificate["claimed"]):
        changed = {**certificate, "claimed": [*certificate["claimed"]]}
        changed["claimed"][i] = ["Mul", 99, ["Pow", 100, -1], term]
        assert refused(changed)
        with pytest.raises(ValueError, match="states another claimed side"):
            agrees(changed, statements(STEPS[claim]))


@pytest.mark.parametrize("claim", ["dfedadmm.theorem_1:corrected_b1_prime", "dfedsgpsm.theorem_1:corrected"])
def test_constants_without_slack_have_no_certificate_if_they_are_lowered_by_a_hundredth(claim):
    (says,) = statements(STEPS[claim])
    form = registry.forms(claim.partition(".")[0]).get(claim, Form())
    for term in sp.Add.make_args(says.claimed):
        with pytest.raises((NotFoundError, ValueError)):
            make([replace(says, claimed=says.claimed - term / 100)], form)


def tight(says):
    """Points at which a term may have no slack: steps as large as the conditions allow, quantities alone."""
    names = {x.name for e in says.expressions for x in e.free_symbols}
    drawn = regions.admissible(names, says.conditions, 400, np.random.default_rng(0))
    far = regions.pushed(drawn, says.conditions)
    sets = (drawn, far, regions.alone(far, says.conditions), regions.alone(drawn, says.conditions))
    points = {n: np.concatenate([part[n] for part in sets]) for n in drawn}
    return {n: v * (1 - 1e-7) if n in step_names() else v for n, v in points.items()}  # rounding kept inside


def violated(says, points, lowered):
    """Is there a point, in numbers of 60 digits from exact ones, that meets the conditions and not what the
    lowered term leaves of the claim?"""
    tied, others = regions.equalities(says.conditions)
    derived, claimed, term = regions.values_of([says.derived, says.claimed, lowered], points)
    with np.errstate(all="ignore"):
        gap = np.nan_to_num((derived - claimed + term / 100) / claimed, nan=-1, posinf=-1)
    for i in np.argsort(-gap)[:3]:
        values = {GLOSSARY[n].symbol: sp.Rational(x) for n, x in regions.at(points, int(i)).items()}
        for name, solution in tied.items():
            values[GLOSSARY[name].symbol] = solution.xreplace(values)
        over, *slacks = (
            sp.N(sp.sympify(e).xreplace(values), 60)
            for e in (says.derived - says.claimed + lowered / 100, *(c.slack for c in others))
        )
        if gap[i] > 1e-6 and over > 0 and min(slacks, default=0) >= 0:
            return True
    return False


def witnessed(step):
    """Which of the terms cannot be a hundredth smaller."""
    cases = statements(step)
    clouds = [tight(says) for says in cases]
    terms = sp.Add.make_args(cases[0].claimed)
    return [any(violated(*pair, term) for pair in zip(cases, clouds, strict=True)) for term in terms]


def test_no_certificate_can_exist_of_a_step_of_theorem_1_whose_constants_are_lowered():
    """An exact point for each of its terms; none where nothing is lowered."""
    step = STEPS["dfedsgpsm.theorem_1:corrected"]
    assert witnessed(step) == [True] * len(step.theorem.parts)
    says = statements(step)[0]
    assert not any(violated(says, tight(says), 0 * term) for term in sp.Add.make_args(says.claimed))


@pytest.mark.slow
def test_no_certificate_can_exist_of_a_step_one_of_whose_constants_without_slack_is_lowered():
    """An exact point where the lowered statement is false: 170 of 201 terms, of every kind of step; of the
    others, where rounding or weights leave slack or no point was found, nothing is said here."""
    found = {claim: witnessed(step) for claim, step in STEPS.items()}
    assert sum(map(len, found.values())) == 201
    assert sum(map(sum, found.values())) == 170
    rounded = {"dfedadmm.theorem_1:corrected_b0", "dfedadmm.theorem_1:corrected_b2",
               "dfedadmm.theorem_1:corrected_b2_sharper", "dfedsgpsm.theorem_1:corrected_b",
               "dfedsgpsm.theorem_1:corrected_minimal"}  # fmt: skip
    partly = {claim for claim, hits in found.items() if not all(hits)}
    assert partly == rounded | {c for c in STEPS if c.startswith("dfedsam.theorem_4_5")}


@pytest.mark.parametrize("claim", SCHEDULES)
def test_the_conditions_of_a_schedule_are_just_those_of_what_it_is_put_into(claim):
    certificate, (says,) = load(claim), statements(STEPS[claim])
    for i in range(-len(says.conditions), 0):
        changed = copy.deepcopy(certificate)
        changed["conditions"][i][0] = ["Mul", 99, ["Pow", 100, -1], changed["conditions"][i][0]]
        assert refused(changed)


def changes():
    """(name, claim, a change of the certificate)"""

    def at(*path, to):
        def change(c):
            *inside, last = path
            for key in inside:
                c = c[key]
            c[last] = to(c[last]) if callable(to) else to

        return change

    def half(tree):
        return ["Mul", tree, ["Pow", 2, -1]]

    yield "another proof", SHARP, at("cases", 0, "proof", to=0)
    yield "a demand's proof", SHARP, at("cases", 0, "demands", 1, 2, to="step<")
    yield "a constant of the claim", SHARP, at("claimed", 0, to=half)
    yield "a weaker condition", SHARP, at("conditions", -1, 0, to=half)
    yield "a new range", SHARP, at("facts", "leak<", 1, 1, to=half)
    yield "a new meaning", SHARP, at("facts", "leak", 1, to=["Mul", "eta", "L"])
    yield "a fact is missing", SHARP, at("facts", to={})
    yield "an unknown function", SHARP, at("claimed", 0, to=["exp", "eta"])
    yield "an unknown kind of fact", SHARP, at("facts", "leak", 0, to="trust")
    yield "an induction's start", MINIMAL, at("facts", "lemma 2", 3, to=[])
    yield "an induction's step", MINIMAL, at("facts", "lemma 2", 4, to=0)
    yield "from one number on, by nothing", MINIMAL, at("facts", "lemma 2", 4, to=False)
    yield "another power", MINIMAL, at("facts", "power_0", 1, 2, to=["Add", "K", 1])
    yield "a power of what may be above 1", MINIMAL, at("facts", "power_0 share", 1, to="L")
    yield "not whole", MINIMAL, at("whole", to={})
    yield "a power that is not whole", SHARP, at("claimed", 0, to=["Pow", "eta", 0.5])
    yield "a floating-point number", SHARP, at("claimed", 0, to=0.5)
    yield "a division by what may be 0", SHARP, at("claimed", 0, to=["Pow", "rho", -1])
    yield "a division by a sum", SHARP, at("claimed", 0, to=["Pow", ["Add", "L", "rho"], -1])
    yield "no symbol", SHARP, at("symbols", to=lambda known: {n: known[n] for n in known if n != "rho"})
    yield "a range's end", SHARP, at("conditions", 0, 0, to=half)
    yield "a name twice", SHARP, at("facts", to=lambda facts: facts | {"L": ["is", "K", "K"]})
    yield "a demand that may be 0", SHARP, at("cases", 0, "demands", to=[["rho", True, "rho"]])
    corollary = "dfedadmm.corollary_1:corrected_sharper"
    yield "from too early on", corollary, at("facts", "lemma 0", 3, to=lambda first: first[:2])
    yield "false at a small K", corollary, at("facts", "lemma 0", 1, 1, to=-11)


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        pytest.param(
            c, f, id=n, marks=[pytest.mark.slow] * (n in ("false at a small K", "from too early on"))
        )
        for n, c, f in changes()
    ],
)
def test_what_was_tampered_with_is_refused(claim, change):
    certificate = load(claim)  # which passes as it is, as all do: see above
    change(certificate)
    assert refused(certificate)


@pytest.mark.parametrize(
    "wrong", ["none", "one", "twice", pytest.param("swapped", marks=pytest.mark.slow), "three"]
)
def test_a_step_of_two_cases_has_both_and_they_leave_nothing_out(wrong):
    certificate = load(MINIMAL)
    one, other = certificate["cases"]
    cases = {
        "none": [],
        "one": [one],
        "twice": [one, one],
        "swapped": [other, one],
        "three": [one, other, one],
    }
    changed = certificate | {"cases": cases[wrong]}
    assert refused(changed) == (wrong != "one")  # the first case alone is a true statement, and another one
    with pytest.raises(ValueError, match="it "):
        agrees(changed, statements(STEPS[MINIMAL]))


def test_the_second_case_has_the_opposite_of_the_last_condition_and_is_not_strict():
    certificate = load(MINIMAL)
    *given, (left, right, strict) = certificate["conditions"]
    assert refused(certificate | {"conditions": [*given, [right, left, strict]]})
    assert refused(certificate | {"conditions": [*given, [left, right, strict], given[-1]]})


@pytest.mark.parametrize("part", ["derived", "claimed", "conditions", "demands", "symbols", "whole", "ends"])
def test_a_certificate_of_another_statement_is_told(part, tmp_path):
    certificate, step = load(SHARP), STEPS[SHARP]
    (case,) = certificate["cases"]
    if part == "symbols":
        certificate[part]["rho"] = True
    elif part == "whole":
        certificate[part]["eta"] = 1
    elif part == "ends":
        certificate["conditions"][0][2] = not certificate["conditions"][0][2]
    elif part == "demands":
        case[part][1][1] = False
    elif part == "conditions":
        certificate[part][-1][2] = True
    else:
        place = certificate if part == "claimed" else case
        place[part][0] = ["Mul", 2, place[part][0]]
    with pytest.raises(ValueError, match="it "):
        agrees(certificate, statements(step))
    files.path(step, tmp_path).write_text(json.dumps(certificate), encoding="utf-8")
    with pytest.raises(InputError, match="refused"):
        files.checked(step, tmp_path)


def test_a_name_means_a_root_or_a_maximum_and_nothing_else():
    claim = "dfedsam.corollary_4_6:corrected"
    for name, meaning in (("root_T", ["Mul", -1, ["Pow", "T", ["Rational", 1, 2]]]), ("L", "T")):
        certificate = load(claim)
        certificate["roots"][name] = meaning
        with pytest.raises(ValueError, match="no root and no maximum"):
            agrees(certificate, statements(STEPS[claim]))


EMPTY = {
    "roots": {}, "symbols": {"K": True, "lam": False}, "whole": {"K": 1}, "claimed": [0],
    "conditions": [["lam", 1, True]], "facts": {}, "cases": [{"derived": [0], "proof": 0, "demands": []}],
}  # fmt: skip
BELOW = {"lam<": ["given", 0]}
POWER = ["is", ["Pow", "lam", "K"], ["Pow", "lam", "K"]]


def shown(claimed, proof, derived=0):
    return {"claimed": [claimed], "cases": [{"derived": [derived], "proof": proof, "demands": []}]}


def test_a_fact_does_not_take_the_name_of_a_known_quantity_or_of_a_root():
    """L <= 1, where L is called lam^K; sigma_l <= 0, where sigma_l is called 0."""
    for name, fact, says in (
        ("L", POWER, (s.L, sp.Integer(1))),
        ("sigma_l", ["is", 0, 0], (s.sigma_l, sp.S.Zero)),
    ):
        with pytest.raises(ValueError, match=f"{name}, which has a meaning already"):
            agrees(EMPTY | {"facts": {name: fact}}, [Statement(*says, (), ())])
    twice = {"roots": {"root_T": ["Pow", "T", ["Rational", 1, 2]]}, "facts": {"root_T": POWER}}
    with pytest.raises(ValueError, match="root_T, which has a meaning already"):
        agrees(EMPTY | twice, [Statement(s.L, s.L, (), ())])


def test_an_induction_does_not_use_a_condition_on_its_powers():
    """lam^(K+1) <= lam^(2K) where lam^K (1 + lam) <= lam, false at K = 2, lam = 1/2."""
    p, root = "power_0", ["Pow", "power_0", 2]
    grown = ["Add", root, ["Mul", -1, "lam", p]]
    after = ["Mul", ["Pow", "lam", "K"], ["Pow", "lam", "K"], ["Add", ["Pow", "lam", 2], -1]]
    step = ["Add", after, ["Mul", "lam", p, ["Add", 1, ["Mul", -1, "lam"]]]]
    by = ["Mul", p, "lam<", "given"]
    facts = BELOW | {p: POWER, "given": ["given", 1], "grown": ["each", grown, "K", [0], True, by]}
    rest = shown(root, "grown", ["Mul", "lam", p])
    certificate = EMPTY | rest | {"facts": facts}
    end, (left, right, _) = EMPTY["conditions"], [["Mul", p, ["Add", 1, "lam"]], "lam", False]
    book = check.Known(EMPTY["symbols"], EMPTY["whole"], [*end, [left, right, False]])
    for name in ("lam<", p, "given"):
        book.learn(name, *facts[name])
    assert not book.prove(step, by)  # >= 0: only the condition on lam^K is in the way
    with pytest.raises(ValueError, match="grown rests on a condition on K"):
        check.check(certificate | {"conditions": [*end, [left, right, False]]})
    hidden = BELOW | {p: POWER, "q": ["is", left, left], "given": facts["given"], "grown": facts["grown"]}
    with pytest.raises(ValueError, match="grown rests on a condition on K"):
        check.check(certificate | {"facts": hidden, "conditions": [*end, ["q", "lam", False]]})


SHARE = ["share", "lam", "K", "lam<", "K"]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"p": ["is", ["Pow", "lam", "lam"], 1]}, "lam"),  # not a whole number
        ({"p": ["is", ["Pow", "lam", ["Mul", -1, "K"]], 1]}, "is no power"),
        ({"p": ["is", ["Pow", "lam", ["Add", "K", -2]], 1]}, "is no power"),  # lam^-1 at K = 1
        ({"p": ["is", ["Pow", ["Add", "lam", -1], "K"], 1]}, "is no power"),  # of what may be negative
        ({"p": ["is", ["Pow", "lam", ["Mul", "K", ["Pow", 2, -1]]], 1]}, "is no power"),
        ({"p": ["share", "K", "K", ["Add", 1, ["Mul", -1, "K"]], "K"]}, "may be negative"),
        ({"p": ["share", ["Mul", -1, 3], 2, 4, 2]}, "unhashable"),  # 1 - (-3)^2
        ({"p": ["share", "lam", -1, "lam<", -1]}, "may be negative"),  # 1 - 1/lam
        ({"p": ["e", "lam", "K", True]}, "is not 0"),  # another base
        ({"lam^K": ["is", "lam", "lam"]}, "has a meaning"),  # the name of a power
        ({"r": ["is", ["Add", "K", 1], ["Add", "K", 1]],
          "f": ["each", ["Pow", "r", "K"], "K", [2], True, 0]}, "is no power"),  # of what moves with K
        ({"f": ["each", ["Add", "K", -3], "K", [], True, 1]}, "f rests on"),  # no start
        ({"f": ["is", ["Add", "K", -3], "f"]}, "f"),  # by itself
        ({"c": ["given", 1], "f": ["is", "lam", "lam"]}, "f"),  # a condition on what comes after it
        ({"f": ["each", ["Add", "K", -3], "K", [], False, "f>"]}, "is not f>"),  # K - 3 is not K
        ({"f": ["is", ["Add", 1, ["Mul", -2, "lam"]], ["Add", 1, ["Mul", -2, "lam"]]]}, "may be negative"),
        ({"f": ["is", ["Pow", 0, -1], 0]}, "no product of what is > 0"),
        ({"f": ["is", ["Pow", ["Mul", -1, "K"], -1], 0]}, "no product of what is > 0"),
    ],
)  # fmt: skip
def test_a_forged_fact_is_refused(facts, why):
    with pytest.raises(files.REFUSED, match=re.escape(why)):
        check.check(EMPTY | {"facts": BELOW | facts, "conditions": [*EMPTY["conditions"], [1, "f", False]]})


def test_a_square_is_not_negative_and_a_cube_may_be():
    gap = ["Add", "lam", ["Mul", -1, "K"]]
    for power in (2, 3):
        cube = ["Pow", gap, power]
        assert refused(EMPTY | shown(cube, cube)) == (power == 3)


def test_a_statement_is_certified_where_both_of_its_cases_are_and_not_where_one_alone_is(monkeypatch):
    monkeypatch.setattr(check, "check", lambda certificate: None)  # it holds: see above
    assert proofs_page.algebra(STEPS[MINIMAL].theorem) == "certified algebra"
    assert not files.covers(replace(STEPS[MINIMAL], otherwise=None))


def test_the_second_case_of_a_step_is_sampled_too():
    step = STEPS[MINIMAL]
    assert not [f for f in check_step(step) if f.severity == "error"]
    wrong = replace(step, otherwise=replace(step.otherwise, start=step.otherwise.start * 100))
    assert [f for f in check_step(wrong) if f.severity == "error"]
    with pytest.raises(ValueError, match="it states another"):
        agrees(load(MINIMAL), statements(wrong))


def test_what_has_no_certificate_is_sampled(tmp_path, capsys):
    step = STEPS[SHARP]
    with pytest.raises(InputError, match="has no certificate"):
        files.checked(step, tmp_path)
    assert files.certified(step)
    assert not files.certified(replace(step, start=step.start * 2))
    assert proofs_page.algebra(STEPS[SHARP].theorem) == "certified algebra"
    assert proofs_page.algebra(replace(STEPS[SHARP].theorem, parts={"bound": s.L})) == "paper"
    assert proofs_page.algebra(bounds.get("wang2021.lemma_1")) == "paper"
    assert not files.certified(Step("dfedsam.theorem_4_5:printed", "unproved", s.L))
    assert certify.main([str(tmp_path), "--check", "--key", "dfedsam.corollary_4_6"]) == 1
    assert "corrected: sampled" in capsys.readouterr().out


def test_a_certificate_is_made_again(tmp_path, capsys):
    assert certify.main([str(tmp_path), "--key", "dfedsam.corollary_4_6"]) == 0
    assert certify.main([str(tmp_path), "--check", "--key", "dfedsam.corollary_4_6"]) == 0
    assert capsys.readouterr().out.count("certified algebra") == 2


x, one = s.lam, sp.Integer(1)
BERNOULLI = x**s.K - 1 + s.K * (1 - x)


def stated(smaller, larger, *conditions, demands=()):
    return Statement(sp.sympify(smaller), sp.sympify(larger), conditions, demands)


LATE = Condition("T >= 256 K", 256 * s.K, s.T)


def late(times):
    """(1 - 1/K)^K <= 1, where sqrt(T) >= times sqrt(K) is asked for."""
    return stated((1 - 1 / s.K) ** s.K, one, LATE, demands=(("late", sp.sqrt(s.T / s.K) - times),))


@pytest.mark.parametrize(
    ("says", "form", "true"),
    [
        (stated(6 * x, 9 * x**2 + 1), Form(), False),  # true, but no coefficient shows it
        (stated(x * (1 - x), one / 2), Form(), True),
        (stated(x * (1 - x), sp.Rational(6, 25)), Form(), False),
        (stated(x**s.Q, one), Form(), True),
        (stated(x**s.Q, x / 2), Form(), False),
        (stated(0, BERNOULLI), Form(lemmas=(Lemma(BERNOULLI, grows="K"),)), True),
        (stated(0, x**s.K - x), Form(lemmas=(Lemma(x**s.K - x, grows="K"),)), False),
        (stated(0, s.K - 3), Form(lemmas=(Lemma(s.K - 3, grows="K"),)), False),
        (stated(0, s.K - 3, Condition("K >= 3", sp.Integer(3), s.K)), Form(), True),
        (stated(s.eta, 1 / s.L, Condition("step", s.eta * s.L, one)), Form(), True),
        (stated(s.eta, 1 / (2 * s.L), Condition("step", s.eta * s.L, one)), Form(), False),
        (stated(1 / (1 - 2 * x), sp.Integer(100)), Form(), False),
        (stated(16 * sp.sqrt(s.K / s.T), one, LATE), Form(), True),  # the condition is a root's square
        (stated(17 * sp.sqrt(s.K / s.T), one, LATE), Form(), False),
        (late(16), Form(), True),  # K is an exponent too, and its root stands in what is asked for
        (late(17), Form(), False),
    ],
)  # fmt: skip
def test_true_statements_are_proved_and_false_ones_are_not(says, form, true):
    if true:
        certificate = json.loads(json.dumps(make([says], form)))
        check.check(certificate)
        agrees(certificate, [says])
    else:
        with pytest.raises((NotFoundError, ValueError)):
            make([says], form)


def test_the_audit_certifies_that_a_worse_constant_gives_no_better_bound_and_not_the_opposite():
    theorem = registry.get("dfedadmm.theorem_1", "corrected_b1_prime")
    (note,) = [f for f in check_monotone(theorem) if f.severity == "note"]
    assert "rho, L, S2, lam (certified); none (sampled)" in str(note)
    terms = [term for term in theorem.terms.values() if term.has(s.rho)]
    assert [_certified(theorem, term, "rho", up) for term in terms for up in (True, False)] == [True, False]
    assert _certified(theorem, one / s.T, "T", False)
    assert not _certified(theorem, one / s.T, "T", True)
    for side, up in ((1 + s.L, True), (one / 2, False)):  # 1 + L is the larger one for every lam
        largest = sp.Max(side, 1 - s.lam)
        assert [_certified(theorem, largest, "lam", x) for x in (True, False)] == [up, True]
        assert _certified(theorem, sp.Max(side, 1 + s.lam), "lam", True) is True
    assert _certified(theorem, sp.sqrt(s.L + s.S2), "S2", True)
    assert not _certified(theorem, sp.sqrt(s.L + s.S2), "S2", False)
    for power in (2, -2):  # of what grows with L and is not negative
        square = (s.L * (1 - s.lam + s.S2) + s.rho) ** power
        assert [_certified(theorem, square, "L", up) for up in (True, False)] == [power > 0, power < 0]
    assert not _certified(theorem, (s.L - s.S2) ** 2, "L", True)


def compiled(text, folder):
    """Does Coq accept it?"""
    if shutil.which("coqc") is None:
        pytest.skip("no second opinion: coqc is not installed (apt-get install coq)")
    file = folder / "polynomials.v"
    file.write_text(text, encoding="utf-8")
    return subprocess.run(["coqc", "-q", str(file)], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "claim",
    [
        "dfedadmm.theorem_1:corrected_b1",  # divides by what has a divisor itself
        "dfedadmm.theorem_1:corrected_b1_prime",
        "dfedmdc.theorem_2:corrected_same_round",
    ],
)
def test_coq_accepts_the_polynomials_of_a_certificate(claim, tmp_path):
    assert certify.main(["--check", "--key", claim, "--coq", str(tmp_path)]) == 0
    file = tmp_path / f"{claim.replace('.', '_').replace(':', '_')}.v"
    assert compiled(file.read_text(encoding="utf-8"), tmp_path)


def test_coq_rejects_what_is_another_formula_or_may_be_negative(tmp_path):
    names = {"x": (False, None), "x<": (True, ["Add", 1, ["Mul", -1, "x"]])}
    third = ["Pow", 3, -1]
    true = export.lemma(["Add", third, ["Mul", -1, "x", third]], ["Mul", "x<", third], names, {}, "l")
    assert compiled(f"{export.COQ.head}{true}", tmp_path)
    for false in (true.replace("(3)", "(2)", 1), true.replace("0 < x1 -> ", "")):
        assert not compiled(f"{export.COQ.head}{false}", tmp_path)


def test_what_is_exported_to_lean_is_balanced_says_the_same_as_coq_and_calls_itself_unchecked():
    lean, rocq = (export.export(load(SHARP), prover) for prover in (export.LEAN, export.COQ))
    assert lean.startswith("-- unchecked")
    for left, right in ("()", "[]"):
        depth = list(itertools.accumulate((c == left) - (c == right) for c in lean))
        assert min(depth) == depth[-1] == 0
    assert lean.count("\ntheorem ") == rocq.count("\nLemma ") == len(export.proofs(load(SHARP)))
    goals = re.findall(r"^    0 ≤ (.*) := by$", lean, re.MULTILINE)
    assert goals == re.findall(r"^  0 <= (.*)\.$", rocq, re.MULTILINE)


@pytest.mark.parametrize("name", ["dfedadmm.theorem_1:corrected", "dfedsgpsm.theorem_1:corrected"])
def test_what_is_exported_says_the_same_with_and_without_minus_signs(name):
    """In fractions, at any values of names without a meaning; powers base^n with a symbol n are names."""
    rng = random.Random(0)

    def value(tree, at):
        if not isinstance(tree, list):
            return at[tree] if isinstance(tree, str) else Fraction(tree)
        kind, *parts = tree
        if kind == "Pow":
            return value(parts[0], at) ** parts[1]
        parts = [value(part, at) for part in parts]
        return sum(parts) if kind == "Add" else math.prod(parts)

    proofs = export.proofs(load(name))
    assert len(proofs) > 10
    for plain, by, names, _ in proofs:
        at = {}
        for each, (_, meaning) in names.items():
            free = Fraction(rng.randint(1, 99), rng.randint(1, 99))
            at[each] = free if meaning is None else value(meaning, at)
        assert value(plain, at) == value(by, at)


@pytest.mark.parametrize("name", ["dfedadmm.theorem_1:corrected", "dfedsgpsm.theorem_1:corrected"])
def test_a_formula_with_symbols_as_exponents_is_exported_as_the_same_polynomial(name):
    seen = []

    class Watched(export._Told):
        def flat(self, tree):
            flat = super().flat(tree)
            if isinstance(tree, list):
                assert self.told.read(flat) == self.read(tree)
                seen.append(tree)
            return flat

    check.check(load(name), Watched)
    assert any(tree[0] == "Pow" and isinstance(tree[2], list | str) for tree in seen)
