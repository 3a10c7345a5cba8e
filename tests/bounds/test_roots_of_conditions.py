"""Square roots of conditions between products."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.inequalities.roots import root_conditions, with_roots
from dfltheory.bounds.symbols import GLOSSARY, K, T, lam, m

STEPS = Condition("steps", 10 * m / (1 - lam) ** 2, T)


def roots(*conditions):
    return root_conditions(conditions, Region(conditions).holds)


def test_root_of_a_condition_follows_from_it():
    (root,) = roots(STEPS)
    assert root.right == sp.sqrt(T)
    rng = random.Random(1)
    for _ in range(60):
        at = {m: rng.randint(1, 50), lam: sp.Rational(rng.randint(0, 99), 100)}
        at[T] = sp.ceiling(STEPS.left.subs(at))
        assert (root.slack.subs(at) >= 0) == True  # noqa: E712  # SymPy's truth


@pytest.mark.parametrize(
    "condition",
    [
        Condition("negative", -m, T),
        Condition("sign unknown", (m - T) ** 2, T),
        Condition("power", lam**K, T),
    ],
)
def test_other_conditions_have_no_root(condition):
    assert roots(condition) == []


def test_numbers_are_rounded_to_the_safe_side():
    (root,) = roots(Condition("number", 2 * m, 3 * T))
    left, right = root.left / sp.sqrt(m), root.right / sp.sqrt(T)
    assert Fraction(str(left)) ** 2 < 2
    assert Fraction(str(right)) ** 2 > 3


def test_region_with_roots_shows_an_inequality_of_roots():
    wanted = 1 - lam - 3 * sp.sqrt(m / T)
    assert not Region([STEPS], glossary=GLOSSARY).holds(wanted)
    assert with_roots([STEPS], GLOSSARY).holds(wanted)
    assert not with_roots([STEPS], GLOSSARY).holds(1 - lam - 4 * sp.sqrt(m / T))
