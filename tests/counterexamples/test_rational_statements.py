"""`--replay --exact` does not round: decimal numbers in a statement are rational
numbers.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp

from dfltheory import bounds, cli
from dfltheory.bounds import symbols as s
from dfltheory.bounds.rational_values import RationalValues
from dfltheory.bounds.tree import at_numbers, from_tree
from dfltheory.documents import WrittenNumber
from dfltheory.errors import InputError

FILE = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedadmm.theorem_1-printed.json"
)
THEOREM = bounds.get("dfedadmm.theorem_1", "printed")
CUBES = [
    "Add",
    ["Pow", ["Add", "T", 1], 3],
    ["Mul", -1, "T", ["Add", ["Pow", "T", 2], ["Mul", 3, "T"], 3]],
]
"""It is 1 for every T."""


def exactly(tmp_path, capsys, parts, **changes):
    """Return the exit status and output of the exact replay; ``parts`` is JSON text."""
    counterexample = {
        k: v
        for k, v in json.loads(FILE.read_text()).items()
        if k not in ("families", "command")
    }
    theorem = (
        bounds.theorem_to_document(THEOREM)
        | {"key": "own.statement", "conditions": []}
        | changes
    )
    counterexample |= {"kind": "dfltheory.counterexample", "key": "own.statement"}
    text = json.dumps(counterexample | {"theorem": theorem | {"parts": "PARTS"}})
    file = tmp_path / "sent.json"
    file.write_text(text.replace('"PARTS"', parts))
    status = cli.run(["falsify", "--replay", str(file), "--exact", "--json"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out) if printed.out else printed.err


def test_a_sum_that_cancels_is_not_rounded_to_zero(tmp_path, capsys):
    small = ["Mul", 1e-30, ["Add", "eta", "K", "L", "B"]]
    status, sides = exactly(
        tmp_path, capsys, json.dumps({"all": ["Add", *CUBES[1:], small]})
    )
    assert (status, sides["refuted"]) == (0, False)
    assert 1 < Fraction(sides["right"]) < 1 + Fraction(1, 10**28)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("0.5", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
        ("1e-30", Fraction(1, 10**30)),
        ("1.00000000000000000000000000001", 1 + Fraction(1, 10**29)),
        ("2.50", Fraction(5, 2)),
    ],
)
def test_a_decimal_number_is_what_its_digits_say(tmp_path, capsys, number, value):
    status, sides = exactly(tmp_path, capsys, f'{{"all": ["Mul", {number}, "K"]}}')
    assert Fraction(sides["right"]) == value
    assert status == (Fraction(sides["left"]) > value)


@pytest.mark.parametrize("number", ["1e-999999999", "0." + "1" * 500, "1e-500"])
def test_numbers_that_are_too_long_are_refused(tmp_path, capsys, number):
    assert exactly(tmp_path, capsys, f'{{"all": {number}}}')[0] == 2


@pytest.mark.parametrize(
    ("right", "strict", "status"), [(0.3, False, 1), (0.3, True, 2), (0.25, False, 2)]
)
def test_a_condition_with_decimal_numbers_is_exact(
    tmp_path, capsys, right, strict, status
):
    """0.1 + 0.2 is exactly 0.3, but exceeds 0.3 in floating point."""
    condition = {
        "name": "c",
        "left": ["Add", 0.1, 0.2],
        "right": right,
        "strict": strict,
    }
    assert (
        exactly(tmp_path, capsys, '{"all": 1e-20}', conditions=[condition])[0] == status
    )


@pytest.mark.parametrize(
    "change", [{"algorithms": ["DFedAvg"]}, {"letters": {"eta": 0.5}}]
)
def test_exact_replay_rejects_an_instance_outside_of_the_scope(
    tmp_path, capsys, change
):
    scope = bounds.theorem_to_document(THEOREM)["scope"]
    status, error = exactly(tmp_path, capsys, '{"all": 1e-20}', scope=scope | change)
    assert status == 2
    assert "covers" in error


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (
            {"first": 1, "second": ["Pow", ["Add", "T", 1], ["Rational", 1, 2]]},
            "second",
        ),
        ({"second": ["floor", ["Pow", ["Add", "T", 1], ["Rational", 1, 2]]]}, "floor"),
        ({"second": ["Max", 1, ["Pow", ["Add", "T", 1], ["Rational", 1, 2]]]}, "Max"),
        ({"second": ["exp", "K"]}, "second"),
    ],
)
def test_an_irrational_bound_is_refused_and_named(tmp_path, capsys, parts, named):
    status, error = exactly(tmp_path, capsys, json.dumps(parts))
    assert status == 2
    assert named in error


def test_floats_of_a_theorem_in_python_are_the_decimal_numbers_they_show():
    assert at_numbers(sp.Float(0.1) * s.T, {s.T: sp.Integer(10)}) == 1
    assert at_numbers(s.T ** sp.Float(0.5), {s.T: sp.Integer(9)}) == 3
    assert at_numbers(sp.Float("0.1", 40), {}) == sp.Rational(sp.Float("0.1", 40))


def test_exact_evaluation_rejects_numbers_that_grow():
    product = s.T
    for _ in range(12):
        product = sp.Mul(product, product + 1, evaluate=False)
    huge = {s.T: sp.Integer(2) ** 4000}
    with pytest.raises(InputError):
        at_numbers(product, huge)


def test_definitions_are_evaluated_in_rational_numbers():
    known = {name: Fraction(1, 3) for name in THEOREM.needs}
    known |= {"T": Fraction(10), "K": Fraction(2), "m": Fraction(2)}
    bound = RationalValues(THEOREM, known).bound()
    values = {name: float(value) for name, value in known.items()}
    assert float(bound) == pytest.approx(
        THEOREM.evaluate(where="ignore", **values), rel=1e-12
    )


def test_a_written_number_is_a_float_with_its_digits():
    number = WrittenNumber("0.1")
    assert number == 0.1
    assert number.fraction == Fraction(1, 10)
    assert from_tree(["Mul", number, "T"]) == s.T / 10
