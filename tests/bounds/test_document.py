"""Theorems as plain data: every statement survives a round trip; hostile files execute
nothing.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from dfltheory import bounds, cli
from dfltheory.bounds import LeftSide, Quantity, Scope, Theorem
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.reference import load
from dfltheory.bounds.symbols import CURVATURE, GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from tests.bounds.texts import STATEMENTS
from tests.hostile import places, put, refused


def through_a_file(theorem):
    return theorem_from_document(
        json.loads(json.dumps(theorem_to_document(theorem), allow_nan=False))
    )


@pytest.mark.drawn(10)
@pytest.mark.parametrize("theorem", STATEMENTS, ids=str)
def test_every_statement_of_the_registry_comes_back(theorem):
    back = through_a_file(theorem)
    assert theorem_to_document(back) == theorem_to_document(theorem)
    assert back.parts == dict(theorem.parts)
    assert back.conditions == theorem.conditions
    assert back.schedule == dict(theorem.schedule)
    assert back.lhs == theorem.lhs
    assert (back.scope.names, back.scope.network) == (
        theorem.scope.names,
        theorem.scope.network,
    )
    assert replace(back.scope, algorithms=theorem.scope.algorithms) == theorem.scope
    assert [d.expr for d in back.definitions] == [d.expr for d in theorem.definitions]
    assert back.bound == theorem.bound


def test_the_numbers_are_the_same():
    names = (
        "L",
        "K",
        "T",
        "Q",
        "m",
        "eta",
        "rho",
        "lam",
        "sigma_l",
        "sigma_g",
        "f0_gap",
    )
    point = dict(
        zip(names, (1, 5, 1000, 1, 16, 0.005, 0.01, 0.8, 1, 1, 1), strict=True)
    )
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    assert through_a_file(theorem).evaluate(**point) == theorem.evaluate(**point)


class MyAlgorithm:
    """A stand-in for a user's algorithm."""


def own(**changes):
    quantity = Quantity("mu_file", r"\mu", CURVATURE, "strong convexity", open_low=True)
    fields = {
        "key": "mine.linear",
        "variant": "printed",
        "kind": "theorem",
        "title": "own",
        "source": "a draft",
        "lhs": LeftSide("grad_norm_sq", "G", "min"),
        "quantities": (quantity,),
        "parts": {
            "all": quantity.symbol * GLOSSARY["f0_gap"].symbol / GLOSSARY["T"].symbol
        },
        "scope": Scope(
            (MyAlgorithm,), lambda W: None, hyperparameters={"order": "mine"}
        ),
    }
    return Theorem(**fields | changes)


def test_a_users_quantities_algorithm_and_law_travel_by_name():
    document = json.loads(json.dumps(theorem_to_document(own())))
    assert [q["name"] for q in document["quantities"]] == ["mu_file"]
    back = theorem_from_document(document)
    assert back.quantities == own().quantities
    assert set(back.needs) == {"f0_gap", "T", "mu_file"}
    assert back.evaluate(mu_file=3, f0_gap=2, T=6) == 1
    assert back.scope.algorithms == (f"{__name__}:MyAlgorithm",)
    assert "its law" in back.scope.network(np.eye(2))


def test_a_quantity_of_a_file_is_not_another_one_of_the_glossary():
    document = json.loads(json.dumps(theorem_to_document(own())))
    (quantity,) = document["quantities"]
    with pytest.raises(InputError, match=r"\bL\b"):
        theorem_from_document(
            document | {"quantities": [quantity, quantity | {"name": "L"}]}
        )
    definition = {
        "symbol": "mu_file",
        "latex": "m",
        "meaning": "",
        "sign": "positive",
        "expr": 1,
    }
    with pytest.raises(InputError, match="mu_file"):
        theorem_from_document(document | {"definitions": [definition]})


HOSTILE = (
    "__import__('os').system('touch /nowhere/hacked')",
    ["__import__", "os"],
    ["Pow", 10, ["Pow", 10, 10]],
    {"__class__": "x"},
    float("nan"),
    10**400,
    None,
    True,
    [[[[[]]]]],
    "x\ny",
    "a" * 10**5,
)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("most", [2, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda h: repr(h)[:20])
def test_every_field_is_attacked_and_nothing_runs(hostile, most, monkeypatch):
    """Attacks the first two items of every list as well; the slow suite attacks all
    items.
    """
    monkeypatch.setattr("builtins.eval", lambda *a: pytest.fail("eval was called"))
    monkeypatch.setattr(
        "sympy.core.sympify.parse_expr", lambda *a: pytest.fail("parsed"), raising=False
    )
    document = theorem_to_document(bounds.get("dfedsam.theorem_4_5", "printed"))
    changed = (
        put(document, path, copy.deepcopy(hostile))
        for path in places(document, most=most)
    )
    messages = [
        refused(theorem_from_document, bad)
        for bad in (copy.deepcopy(hostile), *changed)
    ]
    assert messages[0]
    assert sum(line is not None for line in messages) > (70 if most else 100)


def test_fields_that_are_missing_or_unknown_are_refused():
    document = theorem_to_document(bounds.get("dfedadmm.theorem_1", "corrected"))
    for name in document:
        with pytest.raises(InputError, match=f"lacks the field {name}"):
            theorem_from_document({n: v for n, v in document.items() if n != name})
    with pytest.raises(InputError, match="'code'"):
        theorem_from_document(document | {"code": "print()"})


# -- by reference

SOURCE = """
from dataclasses import replace
from dfltheory import bounds
mine = replace(bounds.get("dfedsam.theorem_4_5", "corrected"), key="mine.a")
number = 7
"""


def test_a_theorem_is_loaded_by_object_key_file_or_module(tmp_path):
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    assert load(theorem) is theorem
    assert load("dfedsam.theorem_4_5", "corrected") is theorem
    assert load("dfedsam.theorem_4_5").variant == "printed"
    file = tmp_path / "my_theorems.py"
    file.write_text(SOURCE)
    assert load(f"{file}:mine").key == "mine.a"
    for reference, words in (
        (f"{file}:number", ":number is of type int"),
        (f"{file}:absent", "absent"),
        (f"{tmp_path}/none.py:mine", "is not a file"),
        ("no_such_module:mine", "cannot be imported"),
    ):
        with pytest.raises(InputError, match=words):
            load(reference)
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        load(f"{broken}:mine")
    with pytest.raises(InputError, match="'printed'"):
        load(theorem, "printed")
    with pytest.raises(UnknownNameError, match="theorem_4_6"):
        load("dfedsam.theorem_4_6")


@pytest.mark.parametrize(
    "command", ["bound", pytest.param("audit", marks=pytest.mark.slow)]
)
def test_the_command_line_takes_a_file_and_a_name(
    tmp_path, monkeypatch, capsys, command
):
    (tmp_path / "my_theorems.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    assert cli.run([command, "my_theorems.py:mine", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["key"] == "mine.a"
        if command == "bound"
        else document["counts"]["error"] == 0
    )
