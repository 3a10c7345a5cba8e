"""Declared proof steps about multiples of one vector, and what is printed of a step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.checks.run import audit_statement
from dfltheory.errors import InputError
from dfltheory.proofs.declared_steps import judge_steps
from tests.bounds.test_declared_steps import draft, last_judged


def of_vectors(claim, rule, **moments):
    """Return the verdict on one claim about vectors of the draft's round."""
    step = ProofStep(claim, (), (rule,), "last")
    return last_judged(replace(draft(), moments=moments, steps=(step,)))


DESCENT = {
    "F": "value(xbar)",
    "F_next": "value(xbar - eta*mean(g + n))",
    "P": "inner(full(xbar), mean(g + n))",
    "U": "sq(mean(g + n))",
}


@pytest.mark.parametrize(
    ("factor", "outcome"), [("1/2", "follows"), ("1/4", "does not follow")]
)
def test_descent_for_a_step_along_a_sum_of_vectors(factor, outcome):
    judged = of_vectors(
        f"F_next - F <= -eta*P + {factor}*eta^2*L*U",
        "descent(xbar, -eta*mean(g) - eta*mean(n))",
        **DESCENT,
    )
    assert judged.outcome == outcome


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("a <= 2*b", "follows"),
        ("2*a >= 4*b", "follows"),
        ("a <= 3/2*b", "does not follow"),
        ("c <= 4*d", "follows"),
        ("c <= 2*d", "does not follow"),
        ("e <= 4*d", "does not follow"),
    ],
)
def test_norms_of_multiples_of_a_vector(claim, outcome):
    judged = of_vectors(
        claim,
        "algebra",
        a="root(2*x - 2*g)",
        b="root(g - x)",
        c="sq(2*x - 2*g)",
        d="sq(g - x)",
        e="sq(2*x - g)",
    )
    assert judged.outcome == outcome


def test_witness_without_quantities_is_at_no_point():
    theorem = replace(
        draft(),
        moments={"a": "nonnegative", "b": "nonnegative"},
        steps=(ProofStep("a <= b", (), ("algebra",), "last"),),
    )
    found = audit_statement(theorem, ("steps",))
    (wrong,) = [f for f in found if f.severity == "error"]
    assert "no values" not in wrong.message
    assert wrong.evidence["point"] == {}


def test_reason_that_quotes_a_premise_reads_as_an_inequality():
    first = ProofStep("a <= sigma_l", (), ("variance",), "first")
    second = ProofStep("b <= 1", ("first",), ("martingale(first, K)",), "last")
    judged = last_judged(
        replace(draft(), moments={"a": "root(n)", "b": "sq(n)"}, steps=(first, second))
    )
    assert judged.outcome == "not decided"
    assert "LinearFact" not in judged.reason


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("square(sum)", "not decided"),
        ("square(sum, {a: 1/4, b: 3/4})", "follows"),
        ("square(sum, {a: 3/4, b: 3/4})", "does not follow"),
    ],
)
def test_square_of_a_sum_without_weights_is_not_decided(rule, outcome):
    """c <= a + b gives c^2 <= 4 a^2 + 4/3 b^2: only wrong weights are a mistake."""
    vectors = {"c": "g + n", "a": "g", "b": "n"}
    moments = {name: f"root({vector})" for name, vector in vectors.items()}
    moments |= {f"{name}2": f"sq({vector})" for name, vector in vectors.items()}
    first = ProofStep("c <= a + b", (), ("minkowski(g, n)",), "sum")
    second = ProofStep("c2 <= 4*a2 + 4/3*b2", ("sum",), (rule,), "last")
    judged = last_judged(replace(draft(), moments=moments, steps=(first, second)))
    assert judged.outcome == outcome


def test_step_that_is_named_as_a_rule_is_an_error_of_the_file():
    first = ProofStep("a <= sigma_l", (), ("variance",), "first")
    second = ProofStep("a <= 2*sigma_l", ("first",), ("first",), "last")
    theorem = replace(draft(), moments={"a": "root(n)"}, steps=(first, second))
    with pytest.raises(InputError) as refused:
        judge_steps(theorem)
    assert "step last: by" in str(refused.value)
    assert " from " in str(refused.value)  # the field where the step belongs
