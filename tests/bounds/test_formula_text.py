"""Formulas of theorem files: precedence, exact numbers, limits, and positions of
errors.
"""

from __future__ import annotations

import math
import random

import pytest
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.formula_tokens import FormulaError
from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.formulas import read_comparison, read_formula
from dfltheory.bounds.symbols import GLOSSARY
from tests.bounds.pratt import value_of

SYMBOLS = {name: entry.symbol for name, entry in GLOSSARY.items()}
VALUES = {"L": 1.5, "K": 3.0, "T": 2.0, "eta": 0.7, "lam": 0.4, "m": 4.0}
AGREEMENT = 1e-9


def random_formula(rng, depth):
    """Return a random formula with few parentheses, so that precedence matters."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice([*VALUES, "2", "3", "0.5", "1.25"])
    if kind < 0.3:
        return f"-{random_formula(rng, depth - 1)}"
    if kind < 0.4:
        return f"({random_formula(rng, depth - 1)})"
    if kind < 0.5:
        name = rng.choice(["exp(-eta)*sqrt", "sqrt", "log", "abs"])
        return f"{name}(1 + ({random_formula(rng, depth - 1)})^2)"
    if kind < 0.55:
        return (
            f"max({random_formula(rng, depth - 1)},"
            f" {random_formula(rng, depth - 1)}, L)"
        )
    if kind < 0.7:
        exponent = rng.choice(["2", "3", "-1", "-2", "2^2", "K", "T"])
        return f"{rng.choice([*VALUES, '2', '(L + eta)'])}^{exponent}"
    sign = rng.choice(["+", "-", "*", "/", " + ", " - ", " * ", " / "])
    return f"{random_formula(rng, depth - 1)}{sign}{random_formula(rng, depth - 1)}"


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_formulas_have_the_value_that_a_second_parser_gives(count):
    rng = random.Random(20261125)
    compared = 0
    while compared < count:
        text = random_formula(rng, 4)
        try:
            expected = value_of(text, VALUES)
        except (ArithmeticError, ValueError):
            continue
        if isinstance(expected, complex) or not 1e-9 < abs(expected) < 1e9:
            continue
        formula = read_formula(text, SYMBOLS)
        found = float(
            formula.subs({SYMBOLS[name]: value for name, value in VALUES.items()})
        )
        assert math.isclose(found, expected, rel_tol=AGREEMENT, abs_tol=AGREEMENT), text
        compared += 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-L^2", -(s.L**2)),
        ("2^3^2", sp.Integer(512)),
        ("2^-1", sp.Rational(1, 2)),
        ("2*lam^2/(1 - lam^2)", 2 * s.lam**2 / (1 - s.lam**2)),
        ("L/K*T", s.L / s.K * s.T),
        ("L - K - T", s.L - s.K - s.T),
        ("1 + 2^2", sp.Integer(5)),
        ("0.1", sp.Rational(1, 10)),
        ("1e-3*L", s.L / 1000),
        ("(1 - eta*L)^T", (1 - s.eta * s.L) ** s.T),
        ("sum(L^k, k, 0, 3)", 1 + s.L + s.L**2 + s.L**3),
        ("sum(1/k, k, 1, 4)", sp.Rational(25, 12)),
        ("min(L, K, 2)", sp.Min(s.L, s.K, 2)),
        ("Q*beta + S2", s.Q * s.beta + s.S2),
        ("L\n  + K", s.L + s.K),
    ],
)
def test_formulas_are_read_exactly(text, expected):
    assert read_formula(text, SYMBOLS) == expected


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0),
        ("L +", 3),
        ("L ** 2", 2),
        ("2 L", 2),
        ("2(L)", 1),
        ("L <= K", 2),
        ("L + lambda", 4),
        ("L + \u03b7", 4),
        ("L \u00d7 K", 2),
        ("\uff2c", 0),
        ("L + undefined", 4),
        ("undefined(L)", 0),
        ("max(L)", 0),
        ("1/0", 0),
        ("L.__class__", 1),
        ("__import__('os')", 11),
        ("(L, K)", 0),
        ("sqrt", 0),
        ("sqrt(-1)", 0),
        ("L^101", 0),
        ("9^9^9^9", 2),
        ("sum(L, k, 1, 10^9)", 0),
        ("sum(L, k, 1, K)", 0),
        ("sum(sum(sum(i*j*k, i, 1, 100), j, 1, 100), k, 1, 100)", None),
        ("1e999", 0),
        ("9" * 5000, 0),
        ("(" * 400 + "L" + ")" * 400, None),
        ("-" * 3000 + "L", None),
        ("L*" * 3000 + "L", None),
        ("0x10", 1),
        ("1j", 1),
        ("L if K else T", 2),
        ("[L]", 0),
        ("L; K", 1),
        ("'L'", 0),
        ("exp(x=1)", 5),
        ("True", 0),
        ("max(" + ", ".join(f"L + {n}" for n in range(20)) + ")", 0),
    ],
)
def test_what_is_no_formula_is_refused_with_its_place(text, at):
    with pytest.raises(FormulaError) as caught:
        read_formula(text, SYMBOLS)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert at is None or caught.value.offset == at


def test_keyword_names_the_name_of_the_glossary():
    with pytest.raises(FormulaError, match="use lam"):
        read_formula("2*lambda", SYMBOLS)


def test_a_condition_is_one_comparison():
    assert read_comparison("eta*L <= 1", SYMBOLS) == (s.eta * s.L, "<=", sp.S.One)
    for text in ("eta*L", "0 < eta <= 1", "eta = 1", "<= 1", "eta <"):
        with pytest.raises(FormulaError):
            read_comparison(text, SYMBOLS)


@pytest.mark.parametrize(
    "formula",
    [
        s.L / 3,
        sp.sqrt(s.L),
        s.L ** sp.Rational(-3, 2),
        sp.Max(s.L, 2),
        sp.exp(1),
        sp.exp(-s.T),
        sp.log(s.K),
        sp.Float(0.1) * s.L,
    ],
)
def test_a_written_formula_is_read_back(formula):
    expected = (
        formula.replace(sp.Float, lambda *_: sp.Rational(1, 10))
        if formula.has(sp.Float)
        else formula
    )
    assert read_formula(write_formula(formula), SYMBOLS) == expected
