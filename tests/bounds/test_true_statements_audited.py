"""Audits of true statements of unusual form contain no error."""

from dataclasses import replace

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import Condition
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.checks.monotone import check_monotone
from dfltheory.checks.satisfiable import check_satisfiable
from dfltheory.errors import InputError
from dfltheory.proofs.declared_steps import judge_steps
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, TO_LAST, statement

T, K, L, ETA, GAP, LAM, SIGMA_G = (
    SYMBOL[name] for name in ("T", "K", "L", "eta", "f0_gap", "lam", "sigma_g")
)
GROWTH = (1 + ETA * L) ** K
ONE_STEP = comparison_conditions("one step", K, "==", sp.Integer(1))
COMPLETE = comparison_conditions("complete averaging", LAM, "==", sp.Integer(0))
NO_NOISE = comparison_conditions("no noise", SYMBOL["sigma_l"], "==", sp.Integer(0))
EQUAL_CLIENTS = comparison_conditions("equal clients", SIGMA_G, "==", sp.Integer(0))
DESCENT = (SMALL_STEPS, *NO_NOISE, *COMPLETE, *ONE_STEP)


def few_rounds():
    """Gradient descent, for at most three rounds: a thin region of T."""
    few = comparison_conditions("few rounds", T, "<=", sp.Integer(3))
    return statement(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T),
        conditions=(*DESCENT, *few),
        common_start=True,
    )


def long_steps():
    """The same at step sizes between 1/(L sqrt(T)) and 1/L."""
    least = comparison_conditions(
        "least step", ETA * L * sp.sqrt(T), ">=", sp.Integer(1)
    )
    return statement(
        "grad_norm_sq",
        "mean",
        2 * GAP * L / sp.sqrt(T),
        conditions=(*DESCENT, *least),
        common_start=True,
    )


def expanded_square():
    """Consensus after one round: the square of lam sigma_g (GROWTH - 1)/L."""
    one_round = comparison_conditions("one round", T, "==", sp.Integer(1))
    return statement(
        "consensus",
        "last",
        (LAM * SIGMA_G / L) ** 2 * (GROWTH**2 - 2 * GROWTH + 1),
        conditions=(*NO_NOISE, *one_round),
        rounds=TO_LAST,
        common_start=True,
    )


def contraction():
    """Local gradient descent of equal clients, f strongly convex: no f has mu > L."""
    return statement(
        "dist_sq",
        "last",
        (1 - ETA * SYMBOL["mu"]) ** T * SYMBOL["x_star_sq"],
        conditions=(
            SMALL_STEPS,
            *NO_NOISE,
            *ONE_STEP,
            *EQUAL_CLIENTS,
            Condition("mu > 0", sp.Integer(0), SYMBOL["mu"], True),
        ),
        rounds=TO_LAST,
        common_start=True,
    )


def rounds_that_remain():
    """Gradient descent, each round: no round t is later than T."""
    return statement(
        "grad_norm_sq",
        "each",
        4 * L * GAP - 2 * L * GAP * SYMBOL["t"] / T,
        conditions=(SMALL_STEPS, *NO_NOISE, *ONE_STEP, *EQUAL_CLIENTS),
        rounds=TO_LAST,
        common_start=True,
    )


def constant_step(bound, measure="grad_norm_sq", aggregate="mean", **fields):
    """Return a corollary on SGD of one client with the step size 1/L."""
    theorem = statement(
        measure,
        aggregate,
        bound,
        conditions=comparison_conditions(
            "one client", SYMBOL["m"], "==", sp.Integer(1)
        ),
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine"},
        schedule={"eta": 1 / L},
        **fields,
    )
    return replace(theorem, kind="corollary")


def neighborhood():
    """SGD with a constant step size: the noise stays for T -> infinity."""
    return constant_step(2 * L * GAP / T + SYMBOL["sigma_l"] ** 2)


def linear_neighborhood():
    """The same on a strongly convex f."""
    contracted = (1 - SYMBOL["mu"] / L) ** T * SYMBOL["x_star_sq"]
    noise = SYMBOL["sigma_l"] ** 2 / (L * SYMBOL["mu"])
    return constant_step(contracted + noise, "dist_sq", "last", rounds=TO_LAST)


def sum_without_horizon():
    """Gradient descent: a sum over all rounds whose bound does not contain T."""
    return statement(
        "grad_norm_sq",
        "sum",
        2 * GAP / ETA,
        conditions=(SMALL_STEPS, *NO_NOISE, *ONE_STEP, *EQUAL_CLIENTS),
        common_start=True,
    )


def cancelling_denominator():
    """Gradient descent, with a denominator of which doubles lose all digits."""
    x = ETA * L
    return statement(
        "grad_norm_sq",
        "mean",
        2 * GAP * L * x / (T * (1 + x - sp.sqrt(1 + 2 * x))),
        conditions=(SMALL_STEPS, *NO_NOISE, *ONE_STEP, *EQUAL_CLIENTS),
        common_start=True,
    )


TRUE = [
    few_rounds,
    long_steps,
    expanded_square,
    contraction,
    rounds_that_remain,
    neighborhood,
    linear_neighborhood,
    cancelling_denominator,
    sum_without_horizon,
]


def outcome_of(claim):
    """Return the outcome of one declared step, which needs small steps alone."""
    step = ProofStep(claim, (), ("algebra",), "s1")
    theorem = replace(contraction(), conditions=(SMALL_STEPS,))
    (judged,) = judge_steps(
        replace(theorem, moments={"A": "nonnegative"}, steps=(step,))
    )
    return judged.outcome


@pytest.mark.drawn(1)
@pytest.mark.parametrize("true", TRUE)
def test_a_true_statement_has_no_error(true):
    assert not [f for f in dfl.audit(true()) if f.severity == "error"]


@pytest.mark.parametrize("true", [few_rounds, long_steps])
def test_conditions_that_no_point_meets_are_a_warning(true):
    (finding,) = check_satisfiable(true())
    assert finding.evidence["certificate"] in ("searched", "witness")
    assert finding.severity in ("warning", "note")


def test_only_factors_that_stay_for_large_horizons_are_reported():
    found = [f for f in dfl.audit(linear_neighborhood()) if f.place == "schedule"]
    assert [f.severity for f in found] == ["warning"]
    assert "x_star_sq" not in found[0].message


def test_a_worse_constant_of_a_contraction_does_not_improve_it():
    assert {f.severity for f in check_monotone(contraction())} == {"note"}


def test_declared_step_may_use_that_mu_is_at_most_L():
    assert outcome_of("(1 - eta*mu)*A >= 0") != "does not follow"


def test_false_declared_step_without_premises_does_not_follow():
    assert outcome_of("(1 - 2*eta*L)*A >= 0") == "does not follow"


def test_conditions_that_contradict_each_other_are_an_error():
    large = comparison_conditions("large", ETA * L, ">=", sp.Integer(2))
    theorem = statement(
        "grad_norm_sq", "mean", 2 * GAP / (ETA * T), conditions=(SMALL_STEPS, *large)
    )
    (finding,) = check_satisfiable(theorem)
    assert (finding.severity, finding.evidence["certificate"]) == ("error", "proved")


@pytest.mark.parametrize("number", [sp.Integer(10) ** 400, -(sp.Integer(10) ** 400)])
def test_number_that_no_float_holds_is_rejected(number):
    with pytest.raises(InputError, match="bound"):
        statement("grad_norm_sq", "mean", number * GAP)


def test_lost_digits_are_no_negative_bound_and_no_gain(monkeypatch):
    # the samples decide, not the search for a proof
    monkeypatch.setattr("dfltheory.checks.monotone._MOST_INEQUALITIES", 20)
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
