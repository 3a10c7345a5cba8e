"""Small parts of the statements' and proofs' code behave as their docstrings say."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp

from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.inequalities.by_form import positive
from dfltheory.bounds.monomials import own_order
from dfltheory.bounds.real_numbers import RuleError
from dfltheory.bounds.symbols import GLOSSARY, GRADIENT, LENGTH
from dfltheory.bounds.units import unit
from dfltheory.errors import InputError
from dfltheory.proofs.moments import Lag, X


def symbol(name):
    return GLOSSARY[name].symbol


def test_smoothness_is_a_gradient_per_length():
    v_gradient, v_length = unit(f=1, v=-1), unit(v=1)
    assert GLOSSARY["L"].unit == GLOSSARY["L_u"].unit == GRADIENT / LENGTH
    assert GLOSSARY["L_uv"].unit == GRADIENT / v_length
    assert GLOSSARY["L_vu"].unit == v_gradient / LENGTH
    assert str(GLOSSARY["L_uv"].unit) == "c s^-1 r^-1"


@pytest.mark.parametrize("power", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_a_function_of_one_large_quantity_has_its_order(power):
    K = symbol("K")
    assert own_order((2 * K - 1) ** sp.Rational(power)) == {"K": power}
    assert own_order(1 / (2 * K - 1) ** sp.Rational(power)) == {"K": -power}


def test_positive_by_its_form():
    L, lam = symbol("L"), symbol("lam")
    assert positive(L)
    assert positive(1 - lam**2)
    assert not positive(-L)
    assert not positive(lam)


def test_a_sum_of_weights_has_symbols_of_its_own():
    twice = sp.Symbol("twice", nonnegative=True)
    for names in ({"at": symbol("L")}, {"at": twice, "before": twice}):
        with pytest.raises(RuleError):
            Lag(**names)


def test_vectors_add_up_and_only_those_of_a_step_count_steps():
    assert [c for _, c in (X + X).terms] == [2]
    with pytest.raises(InputError, match="does not depend on the step"):
        _ = X.count


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        ("==", "c: sigma_g == 0"),
        (">", "c: sigma_g > 0"),
        ("<", "c: sigma_g < 0"),
    ],
)
def test_comparison_with_zero_is_printed_as_one(relation, text):
    (condition,) = comparison_conditions("c", symbol("sigma_g"), relation, sp.S.Zero)
    assert str(condition) == text


def test_symbol_names_are_those_of_formulas_and_never_of_text():
    formulas = [symbol("eta") * 2, 3, 0.5, Fraction(1, 3), sp.sqrt(symbol("K"))]
    assert symbol_names(formulas) == {"eta", "K"}
    for text in ("eta", "print(1)", None):
        with pytest.raises(InputError, match="formula"):
            symbol_names([text])
