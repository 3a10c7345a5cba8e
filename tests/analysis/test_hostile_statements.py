"""Statements that files carry: rounds outside of the run, infinite conditions, towers of powers."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds, cli
from dfltheory.bounds import symbols as s
from dfltheory.bounds.tree import at_numbers
from dfltheory.errors import InputError
from tests.hostile import put, refused

FILE = Path(__file__).parents[2] / "docs" / "counterexamples" / "dfedadmm.theorem_1-printed.json"
THEOREM = bounds.get("dfedadmm.theorem_1", "printed")
TOWER = ["exp", ["exp", ["exp", "T"]]]


def sent(tmp_path, path, formula):
    """A counterexample that carries its statement, one formula of it changed."""
    told = {k: v for k, v in json.loads(FILE.read_text()).items() if k not in ("families", "command")}
    statement = bounds.theorem_to_document(THEOREM) | {"key": "own.statement"}
    told |= {
        "kind": "dfltheory.counterexample",
        "key": "own.statement",
        "theorem": put(statement, path, formula),
    }
    (tmp_path / "sent.json").write_text(json.dumps(told))
    return str(tmp_path / "sent.json")


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("formula", ["K", ["exp", "T"], ["Pow", "T", "T"], ["Pow", 2, "T"], ["log", "T"]])
def test_rounds_are_told_by_T_alone(end, formula):
    document = put(bounds.theorem_to_document(THEOREM), ("lhs", end), formula)
    assert f"theorem.lhs.{end} = " in refused(bounds.theorem_from_document, document)


@pytest.mark.parametrize("exact", [[], ["--exact"]])
@pytest.mark.parametrize("end", [["Mul", -1, "T"], ["Mul", "T", 1e308], -1e300, ["Add", "T", 5]])
def test_rounds_outside_of_the_run_are_one_line(tmp_path, capsys, end, exact):
    assert cli.run(["falsify", "--replay", sent(tmp_path, ("lhs", "first"), end), *exact]) == 2
    assert "rounds" in capsys.readouterr().err


def test_rounds_of_the_registry_are_within_the_run():
    assert all(t.lhs.rounds(T) for t in bounds.statements() for T in (1, 2, 10**18))


@pytest.mark.parametrize("formula", [TOWER, ["Pow", "T", "T"], ["Pow", ["Pow", 2, "T"], "T"]])
@pytest.mark.parametrize("path", [("conditions", 0, "left"), ("parts", next(iter(THEOREM.parts)))])
def test_towers_are_refused_by_rational_numbers(tmp_path, capsys, path, formula):
    assert cli.run(["falsify", "--replay", sent(tmp_path, path, formula), "--exact"]) == 2
    assert "a power is too large" in capsys.readouterr().err


def test_powers_of_ordinary_size_are_what_sympy_makes_of_them():
    numbers = {s.T: sp.Integer(9), s.K: sp.Rational(2, 3)}
    formula = sp.sqrt(s.T) * s.K**s.T + sp.floor(s.T * s.K) / sp.Max(s.K, s.T) + sp.exp(s.K)
    assert at_numbers(formula, numbers) == formula.xreplace(numbers)
    with pytest.raises(InputError, match="too large"):
        at_numbers(s.K ** (s.T**8), numbers)


def test_a_condition_with_an_infinite_left_side_fails():
    """It would allow itself a share of infinity, and an instance outside of a statement would refute it."""
    told = bounds.theorem_to_document(THEOREM)
    theorem = bounds.theorem_from_document(put(told, ("conditions", 0, "left"), TOWER))
    values = dict.fromkeys(theorem.needs, 1.0) | {"T": 1000, "m": 2, "K": 1, "Q": 1, "lam": 0.5, "q": 0.5}
    values = {name: v for name, v in values.items() if name in theorem.needs}
    _, slack, holds = theorem.check_conditions(**values)[0]
    assert slack == -np.inf
    assert not holds


def test_the_file_itself_replays(tmp_path):
    assert cli.run(["falsify", "--replay", sent(tmp_path, ("remark",), "as it was"), "--exact"]) == 1
