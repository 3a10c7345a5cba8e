"""A proof is refused where a premise is not a real number, or an equation has other
solutions.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Condition
from dfltheory.proofs.declared_steps import judge_steps
from dfltheory.proofs.implication import not_implied
from dfltheory.proofs.script_region import ScriptRegion
from tests.proofs.own_theorems import theorem_with_steps
from validation.papers import scripts

STEP = s.eta * s.K * s.L
SMALL = Condition("eta <= 1/(16 K L)", 16 * STEP, sp.S.One)


# -- corollaries


def with_factor(theorem, factor):
    """Return a theorem with a factor of one term of its bound."""
    parts = {**theorem.parts, "noise": theorem.parts["noise"] * factor}
    return replace(theorem, parts=parts)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "factor",
    [
        1 / (1 + sp.sqrt(1 - 16 * STEP)),  # real only for eta <= 1/(16 K L)
        (1 - (16 * STEP) ** 2) / (1 - 16 * STEP) / 2,  # 0/0 at eta = 1/(16 K L)
    ],
)
def test_nothing_follows_where_the_bound_of_the_source_is_not_a_number(factor):
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")
    source = with_factor(theorem, factor)
    assert not_implied(theorem, source, {})
    stricter = Condition("eta < 1/(16 K L)", 16 * STEP, sp.S.One, strict=True)
    small = replace(theorem, conditions=(*theorem.conditions, stricter))
    assert not not_implied(small, source, {})


def test_nothing_follows_where_a_condition_of_the_source_is_not_a_number():
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")
    root = Condition("root", sp.S.Zero, sp.sqrt(1 - 16 * STEP))
    source = replace(theorem, conditions=(*theorem.conditions, root))
    assert not_implied(theorem, source, {})
    small = replace(theorem, conditions=(*theorem.conditions, SMALL))
    assert not not_implied(small, source, {})


@pytest.mark.parametrize(("low", "is_in_range"), [(-math.inf, True), (1.0, False)])
def test_schedule_of_a_quantity_without_least_value_is_in_its_range(low, is_in_range):
    shift = Quantity("shift", "a", s.ONE, "a number", low=low)
    theorem = replace(
        registry.get("dfedsam.theorem_4_5", "corrected"), quantities=(shift,)
    )
    missing = not_implied(theorem, theorem, {"shift": -1 / s.K})
    assert any("range" in reason for reason in missing) is not is_in_range


# -- values of a script


def complaints(theorem, factor):
    """Return complaints about a script if both sides of an equality have a factor."""
    script = scripts()["dfedmdc.theorem_1:corrected"]
    conditions = []
    for c in theorem.conditions:
        sides = {str(c.left), str(c.right)}
        is_equality = sides == {"a", "b"}
        scale = factor if is_equality else sp.S.One
        conditions.append(Condition(c.name, scale * c.left, scale * c.right, c.strict))
    assert sum(c.left.has(factor) for c in conditions) == 2
    return ScriptRegion(
        replace(theorem, conditions=tuple(conditions)), script
    ).complaints


@pytest.mark.parametrize(
    ("factor", "vanishes"),
    [(s.sigma_u, True), pytest.param(s.L_u, False, marks=pytest.mark.slow)],
)
def test_equality_times_what_may_vanish_determines_no_step_size(factor, vanishes):
    """sigma_u a = sigma_u b gives a = b only for sigma_u > 0."""
    theorem = registry.get("dfedmdc.theorem_1", "corrected")
    found = complaints(theorem, factor)
    assert any("identity" in x for x in found) if vanishes else not found


# -- declared steps


def outcomes(*claims):
    """Return the outcomes of a chain of steps, the first of which is assumed."""
    steps = [ProofStep(claims[0], (), ("assumption",), "s0")]
    for i, claim in enumerate(claims[1:]):
        steps.append(ProofStep(claim, (f"s{i}",), ("algebra",), f"s{i + 1}"))
    theorem = theorem_with_steps(*steps, moments=dict.fromkeys("ab", "nonnegative"))
    return [judged.outcome for judged in judge_steps(theorem)]


def test_no_step_leads_through_roots_of_negative_numbers():
    """For L < 1/4 the last claim is the opposite of the first."""
    through_root = "sqrt(4*L - 1)*a <= sqrt(4*L - 1)*b"
    *_, last = outcomes("a <= b", through_root, "(4*L - 1)*a <= (4*L - 1)*b")
    assert last != "follows"
    through_root = "sqrt(4*L + 1)*a <= sqrt(4*L + 1)*b"
    *_, last = outcomes("a <= b", through_root, "(4*L + 1)*a <= (4*L + 1)*b")
    assert last == "follows"
