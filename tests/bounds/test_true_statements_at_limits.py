"""Audits of true statements whose formulas, horizons or constants are unusual.

Each one is derived in its docstring or is a textbook bound. The audit reports no error,
and no warning that says something false.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import Condition
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.units import unit
from dfltheory.checks.conditions import check_conditions
from dfltheory.checks.corollaries import schedule_against_conditions
from dfltheory.checks.extremes import check_extremes
from dfltheory.checks.monotone import check_monotone
from dfltheory.checks.neutral import check_neutral
from dfltheory.checks.satisfiable import check_satisfiable
from dfltheory.errors import InputError
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, TO_LAST, statement

T, K, Q, L, ETA, GAP, LAM, MU, M, S2, DISTANCE = (
    SYMBOL[name]
    for name in (
        *("T", "K", "Q", "L", "eta", "f0_gap", "lam"),
        *("mu", "m", "S2", "x_star_sq"),
    )
)
NO_NOISE = comparison_conditions("no noise", SYMBOL["sigma_l"], "==", sp.Integer(0))
EQUAL = comparison_conditions("equal clients", SYMBOL["sigma_g"], "==", sp.Integer(0))
CONVEX = Condition("convex", sp.Integer(0), MU)
STRICT = Condition("strongly convex", sp.Integer(0), MU, True)
ADAPT_FIRST = {"order": "adapt-then-combine"}


def of_descent(measure, aggregate, bound, *, conditions=(), kind="theorem", **fields):
    """Return a statement on gradient descent: equal clients and exact gradients."""
    found = statement(
        measure,
        aggregate,
        bound,
        conditions=(*NO_NOISE, *EQUAL, *conditions),
        algorithm=fields.pop("algorithm", "DPSGD"),
        hyperparameters=ADAPT_FIRST,
        common_start=True,
        **fields,
    )
    return replace(found, kind=kind)


def severities(findings):
    return {finding.severity for finding in findings}


# -- horizons


def geometric_sum(contraction):
    """Gradient descent: sum_{t <= T} of the gap, at most that of (1 - eta mu)^t."""
    total = (1 - contraction ** (T + 1)) / (1 - contraction)
    return of_descent(
        "f_gap",
        "sum",
        GAP * total,
        conditions=(SMALL_STEPS, STRICT),
        rounds=TO_LAST,
    )


def growing_disagreement(aggregate):
    """Minkowski: the disagreement of t rounds is at most eta S lam (1 + ... + lam^t)."""
    return statement(
        "consensus",
        aggregate,
        S2 * (ETA * LAM * (1 - LAM**T) / (1 - LAM)) ** 2,
        algorithm="DPSGD",
        hyperparameters=ADAPT_FIRST,
        common_start=True,
        rounds=TO_LAST,
    )


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "theorem",
    [
        geometric_sum(1 - ETA * MU),
        *map(growing_disagreement, ("last", "mean", "max", "each")),
    ],
)
def test_bound_that_grows_with_the_horizon_is_no_warning(theorem):
    assert severities(check_monotone(theorem)) == {"note"}


@pytest.mark.parametrize(
    ("aggregate", "bound"),
    [("min", 2 * GAP * T / ETA), ("max", L * GAP * (2 + 1 / T))],
)
def test_bound_that_a_longer_or_shorter_horizon_improves_is_a_warning(aggregate, bound):
    theorem = of_descent("grad_norm_sq", aggregate, bound, conditions=(SMALL_STEPS,))
    found = [f for f in check_monotone(theorem) if f.severity == "warning"]
    assert [f.place for f in found] == ["T"]


def test_condition_may_keep_the_horizon_below_a_limit():
    theorem = of_descent(
        "grad_norm_sq",
        "mean",
        2 * L * GAP / T,
        conditions=(Condition("few rounds", T, M**2),),
        schedule={"eta": 1 / L},
        kind="corollary",
    )
    assert severities(schedule_against_conditions(theorem)) == {"note"}
    limits_steps = of_descent(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T),
        conditions=(SMALL_STEPS,),
        schedule={"eta": T / (8 * L)},
    )
    assert severities(schedule_against_conditions(limits_steps)) == {"warning"}


@pytest.mark.parametrize(
    ("condition", "severity"),
    [
        (Condition("never", sp.Integer(2), 1 / T), "error"),
        (Condition("tiny L only", sp.Integer(10) ** 12 * L * T, 1 / M), "warning"),
    ],
    ids=["at no T", "at tiny L only"],
)
def test_condition_that_no_tried_round_meets_is_an_error_only_if_that_is_proved(
    condition, severity
):
    theorem = of_descent(
        "grad_norm_sq",
        "mean",
        2 * L * GAP / T,
        conditions=(condition,),
        schedule={"eta": 1 / L},
        kind="corollary",
    )
    assert severities(schedule_against_conditions(theorem)) == {severity}


# -- constants


def test_bound_is_not_judged_where_the_distance_contradicts_the_gap():
    """f0_gap <= L x_star_sq/2, so that the bound is at least f0_gap."""
    theorem = of_descent(
        "f_gap",
        "max",
        L * DISTANCE - GAP,
        conditions=(SMALL_STEPS, CONVEX),
        rounds=TO_LAST,
    )
    assert "error" not in severities(check_monotone(theorem))
    (change,) = [f for f in check_monotone(theorem) if f.place == "f0_gap"]
    assert (change.severity, change.correction) == ("warning", None)
    later = of_descent(
        "f_gap",
        "max",
        L * DISTANCE - GAP,
        conditions=(SMALL_STEPS, CONVEX),
        rounds={**TO_LAST, "first": sp.Integer(1), "start": 1},
    )
    assert "error" in severities(check_monotone(later))


@pytest.mark.parametrize("name", ["L_u", "L_v"])
def test_measure_of_two_blocks_contains_its_constants(name):
    steps = [
        Condition(f"small {block}", SYMBOL[f"eta_{block}"] * SYMBOL[f"L_{block}"], one)
        for block, one in (("u", sp.Integer(1)), ("v", sp.Integer(1)))
    ]
    one_client = comparison_conditions("one client", M, "==", sp.Integer(1))
    exact = [
        condition
        for noise in ("sigma_u", "sigma_v")
        for condition in comparison_conditions(
            noise, SYMBOL[noise], "==", sp.Integer(0)
        )
    ]
    slowest = sp.Min(*(SYMBOL[f"eta_{b}"] * SYMBOL[f"L_{b}"] for b in "uv"))
    theorem = statement(
        "two_block_next",
        "mean",
        2 * GAP / (slowest * T),
        conditions=(*steps, *one_client, *exact),
        algorithm="DFedMDC",
        hyperparameters={"K_u": "any", "K_v": "any"},
        common_start=True,
        two_blocks=True,
    )
    assert name not in {f.place for f in check_monotone(theorem)}


@pytest.mark.parametrize("aggregate", ["last", "max", "each"])
def test_bound_on_late_gradients_says_more_than_one_on_the_least(aggregate):
    """f falls along gradient descent, and ||grad f||^2 <= 2 L (f - f*)."""
    theorem = of_descent(
        "grad_norm_sq",
        aggregate,
        2 * L * GAP,
        conditions=(SMALL_STEPS,),
        rounds=TO_LAST,
    )
    assert severities(check_conditions(theorem)) <= {"note"}


# -- formulas without a value somewhere


@pytest.mark.drawn(1)
@pytest.mark.parametrize("growth", [(1 + ETA * L) ** 2, (1 - ETA * MU) ** 2])
def test_quotient_of_negative_numbers_is_no_error(growth):
    total = GAP * (growth ** (T + 1) - 1) / (growth - 1)
    inverse = GAP * (1 - growth ** (T + 1)) / (1 - growth)
    for bound in (total, inverse):
        theorem = of_descent(
            "f_gap",
            "sum",
            bound,
            conditions=(SMALL_STEPS, STRICT),
            rounds=TO_LAST,
        )
        assert "error" not in severities(check_conditions(theorem))
    wrong = of_descent(
        "grad_norm_sq",
        "mean",
        GAP / (ETA * T * (1 - 2 * ETA * L)),
        conditions=(SMALL_STEPS,),
    )
    assert "error" in severities(check_conditions(wrong))


def accuracy_reached():
    """Gradient descent: (1 - eta mu)^T f0_gap <= eps after log(f0_gap/eps)/(eta mu)."""
    accuracy = Quantity("eps", r"\epsilon", unit(f=1), "chosen accuracy", open_low=True)
    rounds = Condition("enough rounds", sp.log(GAP / accuracy.symbol), T * ETA * MU)
    return of_descent(
        "f_gap",
        "last",
        accuracy.symbol,
        conditions=(SMALL_STEPS, STRICT, rounds),
        quantities=(accuracy,),
        rounds=TO_LAST,
    )


def test_logarithm_of_a_gap_that_may_be_zero_ends_no_audit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert severities(check_satisfiable(accuracy_reached())) == {"note"}


@pytest.mark.parametrize(
    ("bound", "conditions"),
    [
        (2 * GAP * K / (ETA * T * (K - 1)), [Condition("K", sp.Integer(2), K)]),
        (2 * GAP / (ETA * T), [Condition("Q", sp.log(T), Q * sp.log(1 / LAM))]),
    ],
)
def test_formula_without_a_value_in_a_special_case_is_not_compared(bound, conditions):
    theorem = of_descent(
        "grad_norm_sq",
        "mean",
        bound,
        conditions=(SMALL_STEPS, *conditions),
        algorithm="DFedSAM",
    )
    assert severities(check_neutral(theorem)) <= {"note"}


def test_gossip_steps_without_a_contraction_are_not_judged():
    theorem = of_descent(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T),
        conditions=(SMALL_STEPS, Condition("many steps", sp.log(T), Q)),
        algorithm="DFedSAM",
    )
    assert "error" not in severities(check_extremes(theorem))


def test_schedule_without_a_step_size_says_nothing_there():
    """SGD with eta = min(1/L, sqrt(f0_gap/(L T))/sigma_l), which is 0 at f0_gap = 0."""
    noise = SYMBOL["sigma_l"]
    longest = sp.Max(L, noise * sp.sqrt(L * T / GAP))
    step = sp.Min(1 / L, sp.sqrt(GAP / (L * T)) / noise)
    theorem = statement(
        "grad_norm_sq",
        "mean",
        2 * GAP * longest / T + step * L * noise**2,
        conditions=comparison_conditions("one client", M, "==", sp.Integer(1)),
        algorithm="DPSGD",
        hyperparameters=ADAPT_FIRST,
        common_start=True,
        schedule={"eta": step},
    )
    found = check_extremes(replace(theorem, kind="corollary"))
    assert "f0_gap" not in {f.place for f in found if f.severity == "error"}


# -- what the search cannot treat


def test_search_refuses_a_distance_without_strong_convexity():
    theorem = of_descent(
        "f_gap", "max", L * DISTANCE / 2, conditions=(SMALL_STEPS,), rounds=TO_LAST
    )
    with pytest.raises(InputError, match="x_star_sq"):
        dfl.falsify(theorem, seconds=1)


def test_search_refuses_any_value_of_a_hyperparameter_without_a_range():
    theorem = statement(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T),
        algorithm="CHOCOSGD",
        hyperparameters=dict.fromkeys(
            ("gamma", "share", "levels", "compressor"), "any"
        ),
        common_start=True,
    )
    with pytest.raises(InputError, match="gamma"):
        dfl.falsify(theorem, seconds=1)
