"""The statements of the saved proofs agree numerically with the registered ones at
random rational points.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
import sympy as sp

from dfltheory.bounds import registry
from validation.papers import scripts
from validation.proof_checker.export import CLAIMS, file_of
from validation.proof_checker.loading import check_proof

DIGITS = 60
SHARES = ("lam", "alpha", "q", "delta")
COUNTS = ("m", "K", "T", "Q", "K_u", "K_v")


@dataclass
class Statement:
    """The lines of one statement in the text of a proof, by kind."""

    claim: str
    definitions: dict[str, list[str]] = field(default_factory=dict)
    coordinates: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, list[str]] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)

    def add(self, word, rest):
        """Read one line."""
        name, _, formula = rest.partition(" = ")
        label, _, own = rest.partition(" | ")
        if word == "define":
            self.definitions[name] = formula.split(" | ")
        elif word == "coordinate":
            self.coordinates[name] = formula.split(" | ")[0]
        elif word == "condition":
            self.conditions[label] = own.split(" <= ")
        elif word == "term":
            self.terms[name] = formula
        elif word == "schedule":
            self.schedule[name] = formula
        elif word == "assume":
            self.assumptions.append(own)


def statements(text):
    """Return the statements in the text of a proof."""
    found = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("claim", "corollary"):
            found.append(Statement(rest))
        else:
            found[-1].add(word, rest)
    return found


def random_point(seed):
    """Return a rational number for each quantity of the format."""
    rng = random.Random(seed)
    values = {}
    for name in check_proof.SYMBOLS:
        numerator = rng.randint(1, 996)
        value = sp.Rational(numerator, 997 if name in SHARES else 101)
        values[name] = sp.Integer(rng.randint(2, 7)) if name in COUNTS else value
    return values


def number(text, values):
    """Return the value of a formula in the proof format."""
    return sp.parse_expr(text, local_dict=values).evalf(DIGITS)


def with_definitions(statement, values):
    """Return the point with the abbreviations; both forms of each must agree."""
    values = dict(values)
    for name, formula in statement.coordinates.items():
        values[name] = sp.parse_expr(formula, local_dict=values)
    for name, formulas in statement.definitions.items():
        values[name] = sp.parse_expr(formulas[0], local_dict=values)
        for formula in formulas[1:]:
            assert_same(number(formula, values), values[name].evalf(DIGITS))
    return values


def registered(expr, theorem, values):
    """Return the value of a formula of the registry."""
    given = {x: sp.sympify(values[str(x)]) for x in theorem_symbols(theorem, values)}
    for definition in theorem.definitions:
        given[definition.symbol] = definition.expr.subs(given)
    return sp.sympify(expr).subs(given).evalf(DIGITS)


def theorem_symbols(theorem, values):
    """Return the symbols of a theorem that are quantities of the format."""
    expressions = [*theorem.parts.values(), *theorem.schedule.values()]
    for condition in theorem.conditions:
        expressions += [condition.left, condition.right]
    expressions += [definition.expr for definition in theorem.definitions]
    symbols = set().union(*(sp.sympify(x).free_symbols for x in expressions))
    return {x for x in symbols if str(x) in values}


def assert_same(one, other):
    """Check that two numbers agree to 40 digits."""
    assert one.is_number
    assert other.is_number
    assert abs(one - other) <= sp.Float(10, DIGITS) ** -40 * (1 + abs(other))


def compare(statement, theorem, seed):
    """Compare all terms, conditions and step sizes at a random point."""
    point = random_point(seed)
    values = with_definitions(statement, point)
    # a proof may have other abbreviations; they are compared as parts of the terms
    assert {*statement.definitions} >= {str(d.symbol) for d in theorem.definitions}
    parts = list(theorem.parts.values())
    assert {*statement.terms} == {f"t{i}" for i in range(1, len(parts) + 1)}
    for place, part in enumerate(parts, start=1):
        own = number(statement.terms[f"t{place}"], values)
        assert_same(own, registered(part, theorem, point))
    conditions = theorem.conditions
    assert {*statement.conditions} == {f"C{i}" for i in range(1, len(conditions) + 1)}
    for place, condition in enumerate(conditions, start=1):
        left, right = statement.conditions[f"C{place}"]
        assert_same(number(left, values), registered(condition.left, theorem, point))
        assert_same(number(right, values), registered(condition.right, theorem, point))
    for name, formula in statement.schedule.items():
        formula_of_paper = theorem.schedule[name]
        own = number(formula, values)
        assert_same(own, registered(formula_of_paper, theorem, point))


def saved(claim):
    return statements(file_of(claim).read_text(encoding="utf-8"))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("claim", CLAIMS)
def test_saved_statement_is_the_registered_one_at_random_points(claim, seed):
    for statement in saved(claim):
        compare(statement, registry.get(*statement.claim.split(":")), seed)


@pytest.mark.parametrize("claim", CLAIMS)
def test_saved_proof_claims_the_theorem_and_its_parent(claim):
    source = getattr(scripts()[claim], "of", None)
    claims = [claim] if source is None else [source, claim]
    assert [statement.claim for statement in saved(claim)] == claims


@pytest.mark.parametrize("claim", CLAIMS)
def test_corollary_has_the_step_sizes_of_its_schedule(claim):
    statement = saved(claim)[-1]
    theorem = registry.get(*claim.split(":"))
    expected = set(theorem.schedule) if theorem.kind == "corollary" else set()
    assert set(statement.schedule) == expected


@pytest.mark.parametrize("claim", CLAIMS)
def test_assumed_words_are_assumptions_of_the_theorem(claim):
    first = saved(claim)[0]
    theorem = registry.get(*first.claim.split(":"))
    words = [text.replace(" | ", " ; ") for text in theorem.assumptions]
    assert first.assumptions
    assert set(first.assumptions) <= set(words)


CHANGES = [
    ("terms", "t2", "2*L*eta", "3*L*eta"),
    ("terms", "t3", "at_before**2", "at_before**3"),
    ("terms", "t4", "1 - q**2", "1 + q**2"),
    ("terms", "t6", "rho**2", "rho"),
]


@pytest.mark.parametrize(("part", "name", "old", "new"), CHANGES)
def test_comparison_fails_for_a_changed_term(part, name, old, new):
    (statement,) = saved("dfedsgpsm.theorem_1:corrected")
    lines = getattr(statement, part)
    assert old in lines[name]
    lines[name] = lines[name].replace(old, new)
    with pytest.raises(AssertionError):
        compare(statement, registry.get("dfedsgpsm.theorem_1", "corrected"), 0)


def test_comparison_fails_for_a_changed_condition_or_definition():
    theorem = registry.get("dfedsgpsm.theorem_1", "corrected")
    (first,) = saved("dfedsgpsm.theorem_1:corrected")
    first.conditions["C1"] = ["L*at*eta", "1"]
    with pytest.raises(AssertionError):
        compare(first, theorem, 0)
    (second,) = saved("dfedsgpsm.theorem_1:corrected")
    second.definitions["G"] = ["L*rho + (B**2 + 2*sigma_l**2)**(1/2)"]
    with pytest.raises(AssertionError):
        compare(second, theorem, 0)
    (third,) = saved("dfedsgpsm.theorem_1:corrected")
    del third.terms["t6"]
    with pytest.raises(AssertionError):
        compare(third, theorem, 0)


def test_comparison_fails_for_a_changed_schedule():
    claim = "dfedsgpsm.corollary_1:corrected"
    statement = saved(claim)[-1]
    statement.schedule["eta"] = "1/(2*K*L*T**(1/2))"
    with pytest.raises(AssertionError):
        compare(statement, registry.get(*claim.split(":")), 0)
