"""A claim equal to the consequence of its theorem is not reported in any algebraic
form; a smaller claim is.
"""

from __future__ import annotations

import random

import pytest
import sympy as sp

from dfltheory.bounds.monomials import without_cancellation
from dfltheory.bounds.outgrowth import outgrows
from dfltheory.bounds.reference import load_all
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.checks.corollaries import check_corollary

SUMS = (
    "1/(1 - lam^2)",
    "lam/(1 - lam)",
    "(1 + lam^2)/(1 - lam^2)",
    "K/(1 - lam)^2",
    "m/(m + K)",
)
FACTORS = {
    "(1 - lam^2)": "((1 - lam)*(1 + lam))",
    "(1 + lam)": "((1 + lam)^2/(lam + 1))",
    "(m + K)": "((m^2 - K^2 + 2*K*(m + K))/(m + K))",
    "(L + 2*sigma_l)": "((L^2 - 4*sigma_l^2 + 4*sigma_l*(L + 2*sigma_l))"
    "/(L + 2*sigma_l))",
    "(K^2 + 1)": "((K - 1)^2 + 2*K)",
}
LEFT = 'left = { measure = "grad_norm_sq", aggregate = "mean" }'
SCOPE = (
    'scope = { algorithms = ["DPSGD"], hyperparameters = { order ='
    ' "adapt-then-combine" }, network = "symmetric", common_start = true }'
)
STATEMENTS = """
format = 1
[[statement]]
key = "a.theorem"
kind = "theorem"
title = "D-PSGD"
source = "a test"
{scope}
{left}
terms = {{ optimization = "2*f0_gap/(eta*T)", noise = "eta*L*sigma_l^2/m", network = \
"eta^2*L^2*sigma_l^2*({given})" }}
conditions = {{ step = "eta*L + 5*(eta*L/(1 - lam))^2 <= 1" }}
[[statement]]
key = "a.corollary"
kind = "corollary"
of = "a.theorem"
title = "D-PSGD"
source = "a test"
{scope}
{left}
terms = {{ synchronous = "(2*L*f0_gap + sigma_l^2)/sqrt(m*T)", network = \
"m*sigma_l^2/T*({claimed})" }}
conditions = {{ enough = "10*m/(1 - lam)^2 <= T" }}
schedule = {{ eta = "sqrt(m/T)/L" }}
"""


def findings(folder, given, claimed):
    """Return the findings of the check on the corollary."""
    path = folder / "statements.toml"
    text = STATEMENTS.format(scope=SCOPE, left=LEFT, given=given, claimed=claimed)
    path.write_text(text, encoding="utf-8")
    _, corollary = load_all(str(path))
    return [f for f in check_corollary(corollary) if f.place == "rate"]


def rewritten(formula, rng):
    """Return an equal formula: a sum is added and subtracted, a factor multiplied and
    divided, or both.
    """
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.5:
            shift = rng.choice(SUMS)
            formula = f"(({formula}) + {shift}) - {shift}"
            if rng.random() < 0.5:
                formula = f"({shift}) + (({formula}) - ({shift}))"
        else:
            factor = rng.choice(list(FACTORS))
            other = FACTORS[factor]
            above, below = rng.choice([(factor, other), (other, factor)])
            formula = f"({formula})*{above}/{below}"
    return formula


@pytest.mark.drawn(1)
@pytest.mark.parametrize("seed", range(24))
def test_equal_formulas_are_not_reported(seed, tmp_path):
    rng = random.Random(seed)
    formula = rng.choice(["2*lam^2/(1 - lam^2)", "K*lam/(1 - lam)^2", "K - 1"])
    given, claimed = rewritten(formula, rng), rewritten(formula, rng)
    found = [f for f in findings(tmp_path, given, claimed) if f.severity != "note"]
    assert not found, (given, claimed, [str(f) for f in found])


@pytest.mark.drawn(1)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_difference_of_two_fractions_is_their_numerator(swapped, tmp_path):
    given, claimed = "(1 + lam^2)/(1 - lam^2) - 1", "2*lam^2/(1 - lam^2)"
    if swapped:
        given, claimed = claimed, given
    assert findings(tmp_path, given, claimed) == []


@pytest.mark.drawn(1)
@pytest.mark.parametrize("seed", range(6))
def test_a_lost_power_of_the_gap_is_reported(seed, tmp_path):
    given = rewritten("lam^2/(1 - lam)^2", random.Random(seed))
    found = [f.severity for f in findings(tmp_path, given, "lam^2/(1 - lam)")]
    assert found == ["error"], given


@pytest.mark.parametrize(
    ("claimed", "severities"),
    [
        ("lam^2/(1 - lam) + 1", []),
        pytest.param("lam^2/(1 - lam)", ["error"], marks=pytest.mark.slow),
    ],
)
def test_a_share_and_its_gap_do_not_vanish_together(claimed, severities, tmp_path):
    found = findings(tmp_path, "1/(1 - lam)", claimed)
    assert [f.severity for f in found] == severities


ZERO = 'enough = "10*m/(1 - lam)^2 <= T", same = "sigma_g == 0"'


@pytest.mark.parametrize(
    ("condition", "severities"),
    [(ZERO, []), pytest.param("", ["error"], marks=pytest.mark.slow)],
)
def test_a_quantity_that_a_condition_sets_to_zero_is_absent(
    condition, severities, tmp_path
):
    text = STATEMENTS.format(scope=SCOPE, left=LEFT, given="lam", claimed="lam")
    text = text.replace('"eta*L*sigma_l^2/m"', '"eta*L*sigma_l^2/m + sigma_g^2"')
    path = tmp_path / "zero.toml"
    own = text.replace('enough = "10*m/(1 - lam)^2 <= T"', condition)
    path.write_text(own, encoding="utf-8")
    _, corollary = load_all(str(path))
    found = [f for f in check_corollary(corollary) if f.place == "rate"]
    assert [f.severity for f in found] == severities


def test_without_cancellation_keeps_the_value():
    lam = GLOSSARY["lam"].symbol
    formula = (1 + lam**2) / (1 - lam**2) - 1
    assert sp.simplify(without_cancellation(formula) - formula) == 0
    assert without_cancellation(formula).is_Mul


def test_growth_is_proved_by_values_and_not_by_terms():
    K, m = GLOSSARY["K"].symbol, GLOSSARY["m"].symbol
    way = ({"K": 1.0}, 1.0)
    assert outgrows(way, K**2, K)
    assert not outgrows(way, (K + m) ** 2 - K**2 - m**2, K * m)
    assert not outgrows(way, K - K, K)
