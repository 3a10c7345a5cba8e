"""Declared proof steps about multiples of one vector, and what is printed of a step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.checks.run import audit_statement
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
