"""Searches of true statements whose conditions fix a count, or that do not contain Q."""

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds.comparisons import comparison_conditions
from tests.verdicts.statements import COMPLETE, NO_NOISE, SMALL_STEPS, SYMBOL, statement

T, L, ETA, GAP, RHO = (SYMBOL[name] for name in ("T", "L", "eta", "f0_gap", "rho"))
DESCENT = (SMALL_STEPS, NO_NOISE, COMPLETE)


@pytest.mark.parametrize("candidates", [80, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.drawn(1)
@pytest.mark.parametrize(("count", "value"), [("T", 5), ("K", 1), ("m", 2)])
def test_falsify_searches_statements_that_fix_a_count(count, value, candidates):
    """Gradient descent: mean ||grad f||^2 <= 2 f0_gap/(eta T), and with eta K."""
    fixed = comparison_conditions(count, SYMBOL[count], "==", sp.Integer(value))
    bound = 2 * GAP / (ETA * (value if count == "T" else T))
    one_step = comparison_conditions("one step", SYMBOL["K"], "==", sp.Integer(1))
    theorem = statement(
        "grad_norm_sq",
        "mean",
        bound,
        conditions=(*DESCENT, *fixed, *(one_step if count != "K" else ())),
        common_start=True,
    )
    found = dfl.falsify(theorem, candidates=candidates)
    assert not found.violated
    assert 0.5 < found.ratio <= 1
    assert found.instance.algorithm.K == 1


@pytest.mark.slow
def test_falsify_searches_statements_of_dfedsam_without_gossip_steps():
    """The bias of a SAM gradient is at most L rho."""
    theorem = statement(
        "grad_norm_sq",
        "mean",
        2 * GAP / (ETA * T) + L**2 * RHO**2,
        conditions=(
            *DESCENT,
            *comparison_conditions("one step", SYMBOL["K"], "==", sp.Integer(1)),
        ),
        algorithm="DFedSAM",
        common_start=True,
    )
    found = dfl.falsify(theorem, candidates=200)
    assert not found.violated
    assert found.ratio > 0.5
    assert found.instance.algorithm.Q == 1
