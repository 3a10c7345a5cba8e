"""The hash of a statement depends on its claim and on nothing else."""

from __future__ import annotations

import functools
import json
from dataclasses import fields, replace

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.canonical import canonical_document, statement_hash
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.normal_forms import formula_text
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.units import ONE

STATEMENTS = bounds.statements()
EXPLICIT = [t for t in STATEMENTS if t.conditions and t.schedule]
MAIN = bounds.get("dfedsam.theorem_4_5", "corrected")


# -- formulas


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (s.L * s.eta + 1, 1 + s.eta * s.L),
        (s.L / 10, sp.Float(0.1) * s.L),
        (2 * (s.L + s.K), sp.Mul(2, sp.Add(s.L, s.K), evaluate=False)),
        ((2 * s.L + 4) ** 2, 4 * (s.L + 2) ** 2),
        (sp.sqrt(8 * s.L), 2 * sp.sqrt(2) * sp.sqrt(s.L)),
        (sp.sqrt(s.L**4), s.L**2),
        ((s.L**2) ** s.T, s.L ** (2 * s.T)),
        (4**s.T, 2 ** (2 * s.T)),
        (sp.exp(s.eta) * sp.exp(s.L), sp.exp(s.eta + s.L)),
        (sp.Max(s.L, s.K, s.eta), sp.Max(s.eta, s.K, s.L)),
        (s.L * s.L * s.eta / s.L, sp.Mul(s.eta, s.L, evaluate=False)),
        (sp.Add(s.L, s.L, evaluate=False), 2 * s.L),
        (s.L - s.L + 1, sp.Integer(1)),
        (sp.Pow(sp.Mul(2, s.L, evaluate=False), -1, evaluate=False), 1 / (2 * s.L)),
    ],
)
def test_equal_formulas_that_are_written_differently_have_one_text(one, other):
    assert formula_text(one) == formula_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (s.L, 2 * s.L),
        (s.L, s.L**2),
        (s.L + s.K, s.L - s.K),
        (sp.sqrt(s.lam_min**2), s.lam_min),
        ((1 - s.lam) ** 2, (1 + s.lam) ** 2),
        (sp.Rational(1, 3) * s.L, sp.Float(0.333333333) * s.L),
        (sp.Max(s.L, s.K), sp.Min(s.L, s.K)),
        (s.lam**s.Q, s.lam ** (2 * s.Q)),
        (sp.log(s.T), sp.log(s.K)),
        (sp.exp(s.T), sp.exp(-s.T)),
        (sp.floor(s.T / s.window), s.T / s.window),
        (s.L * (1 - s.lam), s.L * (1 - s.lam) ** -1),
        (sp.Integer(0), sp.Integer(1)),
    ],
)
def test_different_formulas_have_different_texts(one, other):
    assert formula_text(one) != formula_text(other)


def test_a_number_with_a_large_prime_factor_is_hashed_at_once():
    huge = (2**607 - 1) * (2**521 - 1)
    assert formula_text(sp.sqrt(sp.Integer(huge), evaluate=False)) != formula_text(
        sp.Integer(huge)
    )


_LEAVES = st.sampled_from(
    [s.L, s.K, s.eta, s.lam, s.T, sp.Integer(2), sp.Rational(3, 4), sp.Integer(-1)]
)


def _larger_formulas(inner):
    pairs = st.tuples(inner, inner)
    powers = st.tuples(inner, st.sampled_from([2, 3, -1])).filter(
        lambda pair: not pair[0].is_zero
    )
    return st.one_of(
        pairs.map(sp.Add._from_args),
        pairs.map(sp.Mul._from_args),
        powers.map(_unevaluated),
    )


def _unevaluated(pair):
    return sp.Pow(pair[0], pair[1], evaluate=False)


@given(st.recursive(_LEAVES, _larger_formulas, max_leaves=10))
def test_a_formula_has_the_same_text_before_and_after_evaluation_by_sympy(formula):
    evaluated = formula.doit()
    if not evaluated.has(sp.zoo, sp.nan):
        assert formula_text(formula) == formula_text(evaluated)


def test_a_lower_bound_in_order_is_another_statement_than_the_upper_bound():
    upper = next(
        t for t in STATEMENTS if t.order and t.kind == "corollary" and t.status.refuted
    )
    for kind in ("lower bound", "definition"):
        other = replace(upper, kind=kind)
        assert statement_hash(other) != statement_hash(upper)
        assert not other.status.refuted


def test_the_reciprocal_of_a_reciprocal_is_the_sum_itself():
    reciprocal = sp.Pow(s.K + s.L, -1, evaluate=False)
    assert formula_text(sp.Pow(reciprocal, -1, evaluate=False)) == formula_text(
        s.K + s.L
    )


# -- statements: what does not count


@pytest.mark.drawn(8)
@pytest.mark.parametrize("theorem", STATEMENTS, ids=str)
def test_hash_survives_prose_order_names_and_the_file(theorem):
    digest = statement_hash(theorem)
    parts = [
        (f"term {k}", part) for k, part in enumerate(reversed(theorem.parts.values()))
    ]
    conditions = [
        replace(c, name=f"condition {k}")
        for k, c in enumerate(reversed(theorem.conditions))
    ]
    algorithms = tuple(reversed(theorem.scope.algorithms))
    other = replace(
        theorem,
        key="other.name",
        variant="other",
        title="another title",
        source="another source",
        remark="another remark",
        assumptions=("other words",),
        parts=dict(parts),
        conditions=tuple(conditions),
        schedule=dict(reversed(theorem.schedule.items())),
        scope=replace(theorem.scope, algorithms=algorithms, notation={"L": "M"}),
        lhs=replace(theorem.lhs, latex="y", averaging="other words"),
        of=("other.parent", "printed"),
    )
    assert statement_hash(other) == digest
    read = theorem_from_document(json.loads(json.dumps(theorem_to_document(theorem))))
    assert statement_hash(read) == digest


def test_hash_survives_renamed_and_inlined_definitions():
    theorem = next(t for t in STATEMENTS if t.definitions)
    inlined = replace(
        theorem,
        definitions=(),
        parts=theorem.terms,
        conditions=tuple(
            replace(c, left=theorem.expand(c.left), right=theorem.expand(c.right))
            for c in theorem.conditions
        ),
        schedule={name: theorem.expand(e) for name, e in theorem.schedule.items()},
    )
    assert statement_hash(inlined) == statement_hash(theorem)


def test_hash_survives_splitting_a_term_and_a_class_in_place_of_its_name():
    from dfltheory.algorithms import DFedSAM

    parts = dict(MAIN.parts)
    name, part = next(iter(parts.items()))
    parts |= {name: part / 3, "rest": 2 * part / 3}
    classes = tuple(DFedSAM if a == "DFedSAM" else a for a in MAIN.scope.algorithms)
    other = replace(MAIN, parts=parts, scope=replace(MAIN.scope, algorithms=classes))
    assert DFedSAM in classes
    assert statement_hash(other) == statement_hash(MAIN)


def test_a_field_at_its_default_is_not_part_of_the_form():
    """So adding a field to a scope or a left-hand side changes no hash."""
    document = canonical_document(MAIN)
    plain = Scope(MAIN.scope.algorithms, MAIN.scope.network)
    assert set(canonical_document(replace(MAIN, scope=plain))["scope"]) == {
        "algorithms",
        "network",
    }
    assert "participation" not in document["scope"]


# -- statements: what counts


SCOPE_CHANGES = {
    "algorithms": lambda scope: (*scope.algorithms, "DSGT"),
    "network": lambda scope: (
        "column-stochastic" if scope.network != "column-stochastic" else "symmetric"
    ),
    "sequence": lambda scope: (*scope.sequence, "windows"),
    "common_start": lambda scope: not scope.common_start,
    "participation": lambda scope: (
        "sampled" if scope.participation == "full" else "full"
    ),
    "bounded_gradients": lambda scope: not scope.bounded_gradients,
    "two_blocks": lambda scope: not scope.two_blocks,
    "samplewise": lambda scope: not scope.samplewise,
    "hyperparameters": lambda scope: {**scope.hyperparameters, "Q": 7},
}
LEFT_CHANGES = {
    "measure": lambda lhs: "grad_norm_sq_w",
    "aggregate": lambda lhs: "last" if lhs.aggregate != "last" else "min",
    "first": lambda lhs: lhs.first + 1,
    "last": lambda lhs: lhs.last - 1,
    "start": lambda lhs: lhs.start + 1,
}


@pytest.mark.parametrize(
    "field", [f.name for f in fields(Scope) if f.name in SCOPE_CHANGES]
)
def test_each_field_of_the_scope_counts(field):
    scope = replace(MAIN.scope, **{field: SCOPE_CHANGES[field](MAIN.scope)})
    assert statement_hash(replace(MAIN, scope=scope)) != statement_hash(MAIN)


@pytest.mark.parametrize("field", LEFT_CHANGES)
def test_each_field_of_the_left_hand_side_counts(field):
    lhs = replace(MAIN.lhs, **{field: LEFT_CHANGES[field](MAIN.lhs)})
    assert statement_hash(replace(MAIN, lhs=lhs)) != statement_hash(MAIN)


def test_a_function_that_evaluates_a_definition_in_place_of_its_formula_counts():
    theorem = next(t for t in STATEMENTS if t.definitions and t.status.kind == "proved")
    definition = theorem.definitions[0]

    def nothing(*values):
        return 0.0 * values[0]

    smaller = replace(definition, numeric=nothing, takes=theorem.needs[:1])
    other = replace(theorem, definitions=(smaller, *theorem.definitions[1:]))
    assert other.bound == theorem.bound
    assert statement_hash(other) != statement_hash(theorem)
    assert other.status.kind == "not examined"


def test_unit_of_a_measure_of_ones_own_counts():
    own = replace(MAIN, lhs=replace(MAIN.lhs, measure="lyapunov"))
    other = replace(own, lhs=replace(own.lhs, unit=own.lhs.unit**2))
    assert statement_hash(own) != statement_hash(other)


def test_relation_and_units_of_own_quantities_count():
    changed = [replace(MAIN, kind="lower bound"), replace(MAIN, order=True)]
    corollary = replace(MAIN, kind="corollary")
    assert corollary.schedule == {} or statement_hash(corollary) != statement_hash(MAIN)
    assert statement_hash(MAIN) not in {statement_hash(t) for t in changed}
    own = next(t for t in STATEMENTS if canonical_document(t)["quantities"])
    assert "unit" in next(iter(canonical_document(own)["quantities"].values()))


def _numbers(formula):
    """Return the distinct numbers in a formula."""
    found = {
        e
        for e in sp.preorder_traversal(formula)
        if e.is_Rational and e not in (0, 1, -1)
    }
    return sorted(found, key=sp.default_sort_key)


@given(st.data())
def test_a_single_change_of_a_formula_or_condition_changes_the_hash(data):
    theorem = data.draw(st.sampled_from(EXPLICIT))
    digest = statement_hash(theorem)
    kind = data.draw(
        st.sampled_from(
            ["constant", "power", "term", "direction", "strict", "drop", "schedule"]
        )
    )
    name = data.draw(st.sampled_from(sorted(theorem.parts)))
    part = sp.sympify(theorem.parts[name])
    number = data.draw(st.integers(0, len(theorem.conditions) - 1))
    condition = theorem.conditions[number]
    conditions, parts, schedule = (
        list(theorem.conditions),
        dict(theorem.parts),
        dict(theorem.schedule),
    )
    if kind == "constant":
        parts[name] = part * data.draw(st.fractions(2, 50))
    elif kind == "power":
        symbol = data.draw(
            st.sampled_from(sorted(theorem.expand(part).free_symbols, key=str))
        )
        parts[name] = theorem.expand(part) * symbol
    elif kind == "term":
        if theorem.expand(part) == 0 or len(parts) == 1:
            return
        del parts[name]
    elif kind == "direction":
        conditions[number] = replace(
            condition, left=condition.right, right=condition.left
        )
    elif kind == "strict":
        conditions[number] = replace(condition, strict=not condition.strict)
    elif kind == "drop":
        del conditions[number]
    else:
        step = data.draw(st.sampled_from(sorted(schedule)))
        schedule[step] = schedule[step] / 2
    changed = replace(
        theorem, parts=parts, conditions=tuple(conditions), schedule=schedule
    )
    if {str(c) for c in changed.conditions} == {
        str(c) for c in theorem.conditions
    } and kind == "direction":
        return
    assert statement_hash(changed) != digest


@pytest.mark.slow
@given(st.data())
def test_a_changed_number_within_a_formula_changes_the_hash(data):
    theorem = data.draw(st.sampled_from(EXPLICIT))
    name = data.draw(st.sampled_from(sorted(theorem.parts)))
    part = theorem.expand(sp.sympify(theorem.parts[name]))
    numbers = _numbers(part)
    if not numbers:
        return
    number = data.draw(st.sampled_from(numbers))
    changed = part.subs(number, number + sp.Rational(1, 1000))
    if changed == part:
        return
    other = replace(theorem, parts={**theorem.parts, name: changed})
    assert statement_hash(other) != statement_hash(theorem)


def test_a_condition_counts_once_however_often_it_is_written():
    step = Condition("step", s.eta * s.L, sp.Integer(1))
    once = replace(MAIN, conditions=(step,))
    assert statement_hash(replace(MAIN, conditions=(step, step))) == statement_hash(
        once
    )


def measured_quantity(network, factor):
    return factor


def test_hash_does_not_contain_the_address_of_a_callable():
    hashes = set()
    for _ in range(2):
        of = functools.partial(measured_quantity, factor=2.0)
        own = Quantity("own", "o", ONE, "a quantity of its own", of=of)
        hashes.add(statement_hash(replace(MAIN, quantities=(own,))))
    assert len(hashes) == 1
