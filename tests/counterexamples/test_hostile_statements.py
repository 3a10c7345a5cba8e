"""Statements in files: rounds outside the run, infinite conditions, and towers of
powers.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds, cli
from dfltheory.bounds import symbols as s
from dfltheory.bounds.tree import at_numbers
from dfltheory.errors import InputError
from tests.hostile import put, refused

FILE = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedadmm.theorem_1-printed.json"
)
THEOREM = bounds.get("dfedadmm.theorem_1", "printed")
TOWER = ["exp", ["exp", ["exp", "T"]]]
NEXT = ["Add", "T", 1]
LARGE, SMALL = (["Pow", ["Pow", NEXT, written], 3] for written in (100, -100))
"""(T + 1)^300 and (T + 1)^-300: a written exponent is at most 100."""


def sent(tmp_path, path, formula):
    """Return a counterexample with its statement, one formula of which is changed."""
    counterexample = {
        k: v
        for k, v in json.loads(FILE.read_text()).items()
        if k not in ("families", "command")
    }
    statement = bounds.theorem_to_document(THEOREM) | {"key": "own.statement"}
    counterexample |= {
        "kind": "dfltheory.counterexample",
        "key": "own.statement",
        "theorem": put(statement, path, formula),
    }
    (tmp_path / "sent.json").write_text(json.dumps(counterexample))
    return str(tmp_path / "sent.json")


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize(
    "formula", ["K", ["exp", "T"], ["Pow", "T", "T"], ["Pow", 2, "T"], ["log", "T"]]
)
def test_document_rejects_rounds_that_are_no_polynomial_of_T(end, formula):
    document = put(bounds.theorem_to_document(THEOREM), ("lhs", end), formula)
    assert f"theorem.lhs.{end} = " in refused(bounds.theorem_from_document, document)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("exact", [[], ["--exact"]])
@pytest.mark.parametrize(
    "end", [["Mul", -1, "T"], ["Mul", "T", 1e308], -1e300, ["Add", "T", 5]]
)
def test_rounds_outside_of_the_run_are_one_line(tmp_path, capsys, end, exact):
    assert (
        cli.run(["falsify", "--replay", sent(tmp_path, ("lhs", "first"), end), *exact])
        == 2
    )
    assert "rounds" in capsys.readouterr().err


def test_rounds_of_the_registry_are_within_the_run():
    assert all(t.lhs.rounds(T) for t in bounds.statements() for T in (1, 2, 10**18))


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    "formula", [TOWER, ["Pow", "T", "T"], ["Pow", ["Pow", 2, "T"], "T"]]
)
@pytest.mark.parametrize(
    "path", [("conditions", 0, "left"), ("parts", next(iter(THEOREM.parts)))]
)
def test_towers_are_refused_by_rational_numbers(tmp_path, capsys, path, formula):
    assert (
        cli.run(["falsify", "--replay", sent(tmp_path, path, formula), "--exact"]) == 2
    )
    assert "a power is too large" in capsys.readouterr().err


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("formula", "small"), [(LARGE, False), (SMALL, True), (0, True)]
)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_exact_replay_prints_bounds_of_any_size(
    tmp_path, capsys, formula, small, as_json
):
    statement = bounds.theorem_to_document(THEOREM) | {
        "key": "own.statement",
        "conditions": [],
    }
    statement["parts"] = {"all": formula}
    document = json.loads(Path(sent(tmp_path, ("remark",), "")).read_text()) | {
        "theorem": statement
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(document))
    assert cli.run(["falsify", "--replay", str(file), "--exact", *as_json]) == small
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "left",
    [
        LARGE,
        ["Pow", ["Add", "K", -100], ["Rational", 1, 2]],
        ["Pow", ["Add", "T", 1], ["Pow", 2, ["Rational", 1, 2]]],
    ],
)
def test_conditions_that_fail_or_are_irrational_are_named(tmp_path, capsys, left):
    file = sent(tmp_path, ("conditions", 0, "left"), left)
    assert cli.run(["falsify", "--replay", file, "--exact"]) == 2
    assert THEOREM.conditions[0].name in capsys.readouterr().err


@pytest.mark.parametrize(
    "formula", [["floor", ["exp", 2e10]], ["Pow", ["Pow", 1e300, 100], 100]]
)
def test_numbers_of_a_formula_have_a_limit(formula):
    document = put(
        bounds.theorem_to_document(THEOREM),
        ("parts", next(iter(THEOREM.parts))),
        formula,
    )
    assert "a number of a formula is larger than" in refused(
        bounds.theorem_from_document, document
    )


def test_a_left_side_that_begins_after_the_run_has_no_rounds():
    late = replace(THEOREM, lhs=replace(THEOREM.lhs, first=sp.Integer(7), last=s.T))
    assert not late.lhs.rounds(4)
    assert late.lhs.rounds(9) == range(7, 10)
    assert not replace(late.lhs, first=sp.S.Zero, last=s.T - 1).rounds(0)
    assert not replace(late.lhs, aggregate="last", last=s.T - 1).rounds(0)


def test_both_sides_of_a_condition_infinite_is_no_warning():
    """Warnings are errors in this test suite."""
    statement = bounds.theorem_to_document(THEOREM)
    for side in ("left", "right"):
        statement = put(
            statement, ("conditions", 0, side), ["Pow", ["Pow", "T", 100], 4]
        )
    theorem = bounds.theorem_from_document(statement)
    values = dict.fromkeys(theorem.needs, 1.0) | {
        "T": 1000,
        "m": 2,
        "K": 1,
        "Q": 1,
        "lam": 0.5,
        "q": 0.5,
    }
    values = {name: v for name, v in values.items() if name in theorem.needs}
    _, slack, holds = theorem.check_conditions(**values)[0]
    assert np.isnan(slack)
    assert not holds


def test_powers_of_ordinary_size_are_what_sympy_makes_of_them():
    numbers = {s.T: sp.Integer(9), s.K: sp.Rational(2, 3)}
    formula = (
        sp.sqrt(s.T) * s.K**s.T + sp.floor(s.T * s.K) / sp.Max(s.K, s.T) + sp.exp(s.K)
    )
    formula += sp.exp(-sp.sqrt(s.T + 1)) + s.T ** sp.log(s.T)
    assert at_numbers(formula, numbers) == formula.xreplace(numbers)
    with pytest.raises(InputError, match="too large"):
        at_numbers(s.K ** (s.T**8), numbers)


def test_a_condition_with_an_infinite_left_side_fails():
    """A tolerance relative to infinity would admit it, and an instance outside the
    statement would refute it.
    """
    statement = bounds.theorem_to_document(THEOREM)
    theorem = bounds.theorem_from_document(
        put(statement, ("conditions", 0, "left"), TOWER)
    )
    values = dict.fromkeys(theorem.needs, 1.0) | {
        "T": 1000,
        "m": 2,
        "K": 1,
        "Q": 1,
        "lam": 0.5,
        "q": 0.5,
    }
    values = {name: v for name, v in values.items() if name in theorem.needs}
    _, slack, holds = theorem.check_conditions(**values)[0]
    assert slack == -np.inf
    assert not holds


def test_counterexample_with_its_statement_replays(tmp_path):
    assert (
        cli.run(
            ["falsify", "--replay", sent(tmp_path, ("remark",), "as it was"), "--exact"]
        )
        == 1
    )


@pytest.mark.parametrize("name", ["\x9b31m", "a\u202eb", "\x1b[31m", "a\nb"])
def test_names_are_printable(tmp_path, capsys, name):
    assert (
        cli.run(
            ["falsify", "--replay", sent(tmp_path, ("conditions", 0, "name"), name)]
        )
        == 2
    )
    line = capsys.readouterr().err
    assert "theorem.conditions[0].name = " in line
    assert line.strip().isprintable()


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("first", "each"),
    [
        ("T", lambda before: ["Mul", before, ["Add", before, 1]]),
        ("T", lambda before: ["Add", 1, ["Pow", before, ["Rational", 1, 2]]]),
    ],
)
@pytest.mark.parametrize("exact", [[], ["--exact"]])
def test_definitions_that_grow_into_each_other_are_refused_at_once(
    tmp_path, capsys, first, each, exact
):
    names = [f"d{k}" for k in range(199)]
    definitions = [
        {
            "symbol": name,
            "latex": name,
            "meaning": "",
            "sign": "positive",
            "expr": each(before),
        }
        for name, before in zip(names, [first, *names], strict=False)
    ]
    statement = bounds.theorem_to_document(THEOREM) | {
        "key": "own.statement",
        "definitions": definitions,
    }
    statement |= {"parts": {"all": names[-1]}, "conditions": []}
    document = json.loads(Path(sent(tmp_path, ("remark",), "")).read_text()) | {
        "theorem": statement
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(document))
    started = time.monotonic()
    assert cli.run(["falsify", "--replay", str(file), *exact]) == 2
    assert "theorem.definitions" in capsys.readouterr().err
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_definitions_of_the_registry_are_far_from_the_limit(every):
    for theorem in [*bounds.statements()][::every]:
        bounds.theorem_from_document(bounds.theorem_to_document(theorem))
