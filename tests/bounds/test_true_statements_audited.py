"""Audits of true statements of unusual form contain no error."""

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds.comparisons import conditions_of
from dfltheory.checks.monotone import check_monotone
from dfltheory.checks.satisfiable import check_satisfiable
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, TO_LAST, statement

T, K, L, ETA, GAP, LAM, SIGMA_G = (
    SYMBOL[name] for name in ("T", "K", "L", "eta", "f0_gap", "lam", "sigma_g")
)
GROWTH = (1 + ETA * L) ** K
ONE_STEP = conditions_of("one step", K, "==", sp.Integer(1))
COMPLETE = conditions_of("complete averaging", LAM, "==", sp.Integer(0))
NO_NOISE = conditions_of("no noise", SYMBOL["sigma_l"], "==", sp.Integer(0))
DESCENT = (SMALL_STEPS, *NO_NOISE, *COMPLETE, *ONE_STEP)


def few_rounds():
    """Gradient descent, for at most three rounds: a thin region of T."""
    few = conditions_of("few rounds", T, "<=", sp.Integer(3))
    return statement(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T),
        conditions=(*DESCENT, *few),
        common_start=True,
    )


def long_steps():
    """The same at step sizes between 1/(L sqrt(T)) and 1/L."""
    least = conditions_of("least step", ETA * L * sp.sqrt(T), ">=", sp.Integer(1))
    return statement(
        "grad_norm_sq",
        "mean",
        2 * GAP * L / sp.sqrt(T),
        conditions=(*DESCENT, *least),
        common_start=True,
    )


def expanded_square():
    """Consensus after one round: the square of lam sigma_g (GROWTH - 1)/L."""
    one_round = conditions_of("one round", T, "==", sp.Integer(1))
    return statement(
        "consensus",
        "last",
        (LAM * SIGMA_G / L) ** 2 * (GROWTH**2 - 2 * GROWTH + 1),
        conditions=(*NO_NOISE, *one_round),
        rounds=TO_LAST,
        common_start=True,
    )


@pytest.mark.parametrize("true", [few_rounds, long_steps, expanded_square])
def test_a_true_statement_has_no_error(true):
    assert not [f for f in dfl.audit(true()) if f.severity == "error"]


@pytest.mark.parametrize("true", [few_rounds, long_steps])
def test_conditions_that_no_point_meets_are_a_warning(true):
    (finding,) = check_satisfiable(true())
    assert finding.evidence["certificate"] in ("searched", "witness")
    assert finding.severity in ("warning", "note")


def test_conditions_that_contradict_each_other_are_an_error():
    large = conditions_of("large", ETA * L, ">=", sp.Integer(2))
    theorem = statement(
        "grad_norm_sq", "mean", 2 * GAP / (ETA * T), conditions=(SMALL_STEPS, *large)
    )
    (finding,) = check_satisfiable(theorem)
    assert (finding.severity, finding.evidence["certificate"]) == ("error", "proved")


def test_lost_digits_are_no_negative_bound_and_no_gain():
    assert {f.severity for f in check_monotone(expanded_square())} == {"note"}


def test_a_negative_bound_is_an_error():
    theorem = statement(
        "grad_norm_sq",
        "mean",
        GAP / (ETA * T) - 2 * L * GAP,
        conditions=(SMALL_STEPS,),
    )
    (finding,) = [f for f in check_monotone(theorem) if f.severity == "error"]
    assert "negative" in finding.message
