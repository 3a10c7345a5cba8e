"""Quantities of a user with any range: no crash, and no accusation of a true theorem."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import dfltheory
from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.by_form import monotone, nonnegative, positive
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import draw_values
from dfltheory.bounds.registry import Registry
from dfltheory.bounds.symbols import with_quantities
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.theorem_file import read_theorems, with_parents
from dfltheory.bounds.units import ONE
from dfltheory.checks.agreement import compare_values, twice_defined
from dfltheory.checks.everyday import everyday
from dfltheory.checks.logarithms import contradiction
from dfltheory.checks.vacuous import _jitter
from dfltheory.verdicts.rounding import bound_error

QUANTITY = """
[quantities.own]
unit = "{unit}"
range = "{range}"
integer = {integer}
meaning = "a number of the user"
"""
STATEMENT = """
[[statement]]
key = "mine.{name}"
variant = "{variant}"
kind = "{kind}"
title = "Own"
source = "A user"
{of}
scope.algorithms = ["DPSGD"]
scope.hyperparameters = {{ order = "any" }}
scope.network = "symmetric"
scope.common_start = true
left.measure = "grad_norm_sq"
left.aggregate = "{aggregate}"
terms.all = "{bound}"
{conditions}
"""


def statement(bound: str, **changes: str) -> str:
    values = {
        "name": "theorem",
        "variant": "printed",
        "kind": "theorem",
        "of": "",
        "aggregate": "mean",
        "conditions": "",
    }
    return STATEMENT.format(bound=bound, **{**values, **changes})


def theorems(
    *statements: str, range: str = "[0, inf)", integer: bool = False, unit: str = "1"
) -> tuple[Theorem, ...]:
    quantity = QUANTITY.format(range=range, integer=str(integer).lower(), unit=unit)
    text = "\n".join(["format = 1", quantity, *statements])
    return with_parents(read_theorems(text, "own.toml").theorems)


def errors(theorem: Theorem, *checks: str) -> list[str]:
    findings = dfltheory.audit(theorem, checks=checks)
    return [str(finding) for finding in findings if finding.severity == "error"]


ENDS = st.integers(-20, 20)


@st.composite
def quantities(draw_value) -> Quantity:
    low, high = sorted((draw_value(ENDS), draw_value(ENDS)))
    integer = draw_value(st.booleans())
    unbounded_low, unbounded_high = draw_value(st.tuples(st.booleans(), st.booleans()))
    return Quantity(
        "own",
        "x",
        ONE,
        "a number",
        low=-np.inf if unbounded_low else low,
        high=np.inf if unbounded_high else high + 2,
        open_low=draw_value(st.booleans()) and not unbounded_low,
        open_high=draw_value(st.booleans()) and not unbounded_high,
        integer=integer,
    )


@given(quantities(), st.integers(0, 1000))
def test_drawn_values_are_in_the_range_of_their_quantity(quantity, seed):
    glossary = with_quantities((quantity,))
    points = draw_values(["own"], 200, np.random.default_rng(seed), glossary)
    quantity.check(points["own"])
    quantity.check(everyday(["own"], glossary)["own"])


@pytest.mark.parametrize(
    ("low", "high"), [(-5.0, 1.0), (-np.inf, np.inf), (-2.0, np.inf), (0.0, 1.0)]
)
def test_drawn_values_are_in_every_part_of_a_range(low, high):
    own = Quantity("own", "x", ONE, "a number", low=low, high=high)
    rng = np.random.default_rng(0)
    values = draw_values(["own"], 400, rng, with_quantities((own,)))["own"]
    for middle in np.linspace(max(low, -5), min(high, 5), 5)[1:-1]:
        assert np.mean(values < middle) > 0.05
        assert np.mean(values > middle) > 0.05


@pytest.mark.parametrize("low", [-5.0, -1.0, 0.0])
def test_only_numbers_that_are_not_negative_are_shares(low):
    own = Quantity("own", "x", ONE, "x", low=low, high=1)
    theorem = replace(bounds.get("dfedsam.theorem_4_5", "corrected"), quantities=(own,))
    assert ("own" in theorem.shares) is (low == 0)
    assert "lam" in theorem.shares
    assert "lam_min" not in theorem.shares


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("range", "integer"),
    [("[0, 0.5]", False), ("[2, 3]", False), ("[2, inf)", True), ("(1, 6]", True)],
)
def test_audit_of_a_quantity_with_another_range_reports_no_error(range, integer):
    bound = "(4*f0_gap/(eta*T) + L*eta*sigma_l^2)*(1 + own)"
    condition = 'conditions.small = "eta*L <= 1"'
    (theorem,) = theorems(
        statement(bound, conditions=condition), range=range, integer=integer
    )
    assert errors(theorem) == []


@pytest.mark.parametrize(("low", "proved"), [(-5.0, False), (0.0, True)])
def test_a_number_below_minus_one_is_not_taken_for_a_share(low, proved):
    own = Quantity("own", "x", ONE, "x", low=low, high=1, open_high=True)
    glossary, x = with_quantities((own,)), own.symbol
    assert nonnegative(1 - x**2, glossary) is proved
    assert positive(1 - x**2, glossary) is proved
    assert Region(glossary=glossary).holds(1 - x**2, strict=True) is proved


def test_powers_of_a_number_that_may_be_negative_have_no_direction():
    assert not monotone(s.lam_min**s.K, "K", up=False)
    assert monotone(s.lam**s.K, "K", up=False)


@pytest.mark.parametrize(
    ("range", "accused"), [("[1, inf)", False), ("(0, inf)", True)]
)
def test_a_corollary_may_drop_a_factor_that_its_range_bounds(range, accused):
    _, corollary = theorems(
        statement("4*f0_gap/(own*eta*T)"),
        statement(
            "4*f0_gap/(eta*T)",
            name="corollary",
            kind="corollary",
            of='of = "mine.theorem:printed"',
        ),
        range=range,
    )
    assert bool(errors(corollary, "corollary")) is accused


@pytest.mark.parametrize(
    ("range", "accused"), [("[0, inf)", False), ("[1, inf)", True)]
)
def test_a_count_that_may_be_0_contradicts_nothing(range, accused):
    conditions = 'conditions.few = "2*own <= 1"\nconditions.large = "eta*L >= 1"'
    (theorem,) = theorems(
        statement("4*f0_gap*(1 + own)/(eta*T)", conditions=conditions),
        range=range,
        integer=True,
    )
    assert bool(contradiction(theorem.conditions, theorem.glossary)) is accused
    assert bool(errors(theorem, "conditions")) is accused


@pytest.mark.parametrize(
    ("range", "accused"), [("[1, inf)", False), ("[0, inf)", True)]
)
def test_a_change_of_units_must_keep_ranges(range, accused):
    (theorem,) = theorems(
        statement("2*L*f0_gap*own", aggregate="min"), range=range, unit="c*s^-2"
    )
    assert bool(errors(theorem, "units")) is accused


POWER = "4*f0_gap/(eta*T)*((1 + 1e-9*eta*L)^3 - 1)/(3e-9*eta*L)"
EXPANDED = "4*f0_gap/(eta*T)*(1 + 1e-9*eta*L + (1e-9*eta*L)^2/{divisor})"


@pytest.mark.parametrize(
    ("divisor", "severities"), [("3", []), ("3*(1 + 1e-9*eta*L)", ["note"])]
)
def test_rounding_errors_are_no_difference_of_variants(divisor, severities):
    printed, derived = theorems(
        statement(POWER),
        statement(EXPANDED.format(divisor=divisor), variant="appendix"),
    )
    found = [finding.severity for finding in compare_values(printed, derived)]
    assert [severity for severity in found if severity == "error"] == []
    if not severities:
        assert found == []


def test_a_variant_that_promises_less_is_an_error():
    printed, derived = theorems(
        statement("0.999*" + POWER),
        statement(EXPANDED.format(divisor="3"), variant="appendix"),
    )
    assert [f.severity for f in compare_values(printed, derived)] == ["error"]


@pytest.mark.parametrize(("bound", "accused"), [("K*eta", False), ("2*K*eta", True)])
def test_definitions_differ_only_where_their_values_do(bound, accused):
    used = 'definitions.step = "max(eta, K*eta)"'
    theorem, defined = theorems(
        statement("4*f0_gap/(step*T)", conditions=used),
        statement(bound, name="step", kind="definition"),
    )
    (definition,) = theorem.definitions
    left = replace(defined.lhs, latex=definition.latex)

    class Peers(Registry):
        def peers(self, theorem: Theorem) -> tuple[Theorem, ...]:
            return (replace(defined, lhs=left),)

    assert bool(list(twice_defined(theorem, Peers()))) is accused


@pytest.mark.parametrize("value", [-3.0, 0.9])
def test_a_negative_constant_has_a_rounding_error_too(value):
    own = Quantity("own", "x", ONE, "x", low=-5, high=5)
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    parts = {"product": s.L * s.f0_gap * own.symbol}
    theorem = replace(theorem, quantities=(own,), parts=parts)
    values = everyday(theorem.needs, theorem.glossary) | {"own": np.float64(value)}
    needed = {name: values[name] for name in theorem.needs}
    size = abs(theorem.evaluate(where="ignore", **needed))
    # 8 units for each of three factors
    expected = 24 * np.finfo(float).eps * size
    assert bound_error(theorem, values) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("low", "high"), [(-5.0, 1.0), (-2.0, np.inf), (0.0, 1.0)])
def test_values_near_a_value_include_it_and_others_on_both_sides(low, high):
    own = Quantity("own", "x", ONE, "x", low=low, high=high)
    value = 0.5 if low == 0 else -1.0
    near = _jitter(own, value, 1.0, np.random.default_rng(0))
    own.check(near)
    assert 0.2 < np.mean(near == value) < 0.6
    assert near.min() < value < near.max()


@pytest.mark.parametrize(("low", "impossible"), [(-5.0, False), (0.0, True)])
def test_numbers_that_may_be_negative_have_no_logarithm(low, impossible):
    own, other = (
        Quantity(name, name, ONE, name, low=low, high=1) for name in ("own", "other")
    )
    glossary = with_quantities((own, other))
    product = Condition("2 <= own other", sp.Integer(2), own.symbol * other.symbol)
    assert bool(contradiction([product], glossary)) is impossible
