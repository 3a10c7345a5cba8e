"""Hostile proof steps end in one error message within two seconds."""

from __future__ import annotations

import json
import time

import pytest

from dfltheory.bounds.theorem_file import read_theorems
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.proofs.declared_steps import judge_steps

SECONDS = 2.0
HEAD = """format = 1
[quantities.own_size]
[[statement]]
key = "hostile.theorem"
kind = "theorem"
title = "t"
source = "s"
scope = { algorithms = ["DPSGD"], hyperparameters = { order = "adapt-then-combine" }, network = "symmetric", common_start = true }
left = { measure = "grad_norm_sq", aggregate = "mean" }
terms = { x = "eta*L*own_size" }
"""
MOMENTS = {"D": "root(dev(x))", "V": "sq(n)", "A": "nonnegative", "F": "real"}


def proof(*steps, moments=None):
    """Return a file with these steps, each given as a table of its keys."""
    lines = ["[statement.moments]"]
    for name, text in (MOMENTS | (moments or {})).items():
        lines.append(f"{name} = {json.dumps(text)}")
    for step in steps:
        lines.append("[[statement.steps]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in step.items()]
    return HEAD + "\n".join(lines) + "\n"


def claim(text, **other):
    return proof({"claim": text, **other})


def rule(text, text_of_claim="V <= 1"):
    return proof({"claim": text_of_claim, "by": text})


def moment(text):
    return proof({"claim": "M <= A", "by": "assumption"}, moments={"M": text})


GOOD = {"claim": "V <= A", "by": "assumption"}
HOSTILE = {
    # references
    "unknown_premise": proof({**GOOD, "from": ["nothing"]}),
    "forward_reference": proof(
        {**GOOD, "name": "a", "from": ["b"]}, {**GOOD, "name": "b"}
    ),
    "cycle_of_two": proof(
        {**GOOD, "name": "a", "from": ["b"]}, {**GOOD, "name": "b", "from": ["a"]}
    ),
    "cycle_of_one": proof({**GOOD, "name": "a", "from": ["a"]}),
    "two_steps_of_one_name": proof({**GOOD, "name": "a"}, {**GOOD, "name": "a"}),
    "default_name_taken": proof({**GOOD, "name": "s2"}, GOOD),
    "step_named_as_a_moment": proof({**GOOD, "name": "D"}),
    "step_named_algebra": proof({**GOOD, "name": "algebra"}),
    "step_with_a_strange_name": proof({**GOOD, "name": "a b"}),
    "moment_named_as_a_quantity": proof(GOOD, moments={"L": "sq(x)"}),
    "moment_named_bound": proof(GOOD, moments={"bound": "sq(x)"}),
    "too_many_steps": proof(*[GOOD] * 101),
    "too_many_premises": proof({**GOOD, "from": ["s1"] * 51}),
    "rule_argument_that_is_no_premise": proof(
        {**GOOD, "name": "a"}, {"claim": "V <= A", "by": "square(a)"}
    ),
    # claims
    "no_comparison": claim("V"),
    "two_comparisons": claim("V <= A <= 1"),
    "strict_comparison": claim("V < A"),
    "unknown_name": claim("V <= unknown"),
    "product_of_moments": claim("V*A <= 1"),
    "square_of_a_moment": claim("V^2 <= A"),
    "division_by_a_moment": claim("1/V <= A"),
    "root_of_a_moment": claim("sqrt(V) <= A"),
    "moment_in_an_exponent": claim("2^V <= A"),
    "maximum_of_moments": claim("max(V, A) <= 1"),
    "huge_power": claim("V <= 9^9^9^9^9"),
    "huge_exponent": claim("V <= L^(10^12)"),
    "power_of_a_long_sum": claim("V <= (L + eta + lam + m + T + sigma_l)^100"),
    "product_of_long_sums": claim(
        "V <= " + "*".join(["(L + eta + lam + m + T + sigma_l)"] * 60)
    ),
    "power_of_powers": claim("V <= (((L + eta)^90)^90)^90"),
    "division_by_zero": claim("V <= L/(eta - eta)"),
    "deep_parentheses": claim("V <= " + "(" * 3000 + "L" + ")" * 3000),
    "long_claim": claim("V <= " + " + ".join(["L*eta"] * 3000)),
    "empty_claim": claim(""),
    "code_in_a_claim": claim("V <= __import__('os').system('true')"),
    # rules
    "unknown_rule": rule("magic()"),
    "near_miss_of_a_rule": rule("yuong([1/2, 1/2], x, n)"),
    "rule_of_the_kernel_that_is_algebra": rule("weaken(V)"),
    "missing_argument": rule("square()"),
    "too_many_arguments": rule("variance(n, n, n)"),
    "argument_of_a_wrong_kind": rule("lipschitz(1, 2)"),
    "weights_that_are_vectors": rule("young([x, n], x, n)"),
    "rule_with_an_unknown_vector": rule("mean_of(velocity)"),
    "deep_rule": rule("mean_of(" + "mean(" * 200 + "x" + ")" * 201),
    "deep_lists": rule("young(" + "[" * 80 + "]" * 80 + ")"),
    "many_parts": rule("minkowski(" + ", ".join(["x"] * 320) + ")"),
    "power_in_a_rule": rule("mean_of(9^9^9^9*x)"),
    "attribute_in_a_rule": rule("x.__class__"),
    "lambda_in_a_rule": rule("(lambda: 1)()"),
    "comprehension_in_a_rule": rule("young([w for w in x], x)"),
    "keyword_in_a_rule": rule("variance(alg=1)"),
    "text_in_a_rule": rule("variance('n')"),
    "huge_number_in_a_rule": rule("mean_of(" + "9" * 900 + "*" + "9" * 90 + "^99*x)"),
    "empty_rule": rule(""),
    "empty_list_of_rules": rule([]),
    "rule_that_is_a_number": rule("1 + 1"),
    # moments
    "moment_that_is_a_vector": moment("x"),
    "moment_of_nothing": moment("sq()"),
    "moment_of_a_number": moment("root(L)"),
    "sum_of_moments": moment("sq(x) + sq(n)"),
    "product_of_vectors": moment("sq(x*n)"),
    "unknown_function": moment("variance_of(x)"),
    "deep_moment": moment("sq(" + "dev(" * 400 + "x" + ")" * 401),
    "own_vector_of_a_number": moment("sq(own(1))"),
    "moment_too_long": moment("sq(" + " + ".join(["x"] * 900) + ")"),
}


def read_and_judge(text):
    (theorem,) = read_theorems(text, "hostile.toml").theorems
    return judge_steps(theorem)


def test_there_are_enough_cases():
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_steps_end_in_one_message(name):
    started = time.perf_counter()
    with pytest.raises(DFLTheoryError) as caught:
        read_and_judge(HOSTILE[name])
    assert time.perf_counter() - started < SECONDS
    assert isinstance(caught.value, InputError)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    assert "hostile" in message


def test_a_message_has_the_line_of_its_step():
    text = proof(GOOD, {"claim": "V <= unknown"})
    line = text.split("\n").index('claim = "V <= unknown"') + 1
    with pytest.raises(InputError, match=f"line {line}, column 15"):
        read_theorems(text, "hostile.toml")
