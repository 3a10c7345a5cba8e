"""Signs that a script or a theorem declares, and that are false.

Each attack proves a false statement if the declared sign is believed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import Definition
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.quantity import Quantity
from dfltheory.errors import InputError
from dfltheory.proofs import comparison, kernel
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.declared_steps import judge_steps
from dfltheory.proofs.moments import Lag, count, k, lag, sq
from tests.bounds import proved
from tests.proofs.own_theorems import theorem_with_steps

SCRIPT = proved.known("dfedsam.theorem_4_5:corrected")
THEOREM = registry.get("dfedsam.theorem_4_5", "corrected")
MUCH = 1000 * s.f0_gap / (s.eta * s.K * s.T)
TOTAL = sp.Symbol("total", nonnegative=True)
SIGNED, UNSIGNED = sp.Symbol("D", positive=True), sp.Symbol("D", real=True)


def with_definition(symbol: sp.Symbol, formula: sp.Expr, parts: dict[str, sp.Expr]):
    """Return the corrected theorem with another bound and a further abbreviation."""
    defined = Definition(symbol, formula, symbol.name)
    return replace(THEOREM, definitions=(*THEOREM.definitions, defined), parts=parts)


def with_total(formula: sp.Expr, weights: Lag) -> comparison.Checked:
    """Return the answer for a bound to which D times a large term is added."""
    parts = {**THEOREM.parts, "more": UNSIGNED * MUCH}
    theorem = with_definition(UNSIGNED, formula, parts)
    names = {UNSIGNED: TOTAL}
    return comparison.check(theorem, replace(SCRIPT, lags=(weights,), names=names))


def test_total_of_negative_weights_is_not_taken_as_nonnegative():
    """D = -K: the bound is negative."""
    answer = with_total(-s.K, Lag(sp.S.NegativeOne, -count, count, at=TOTAL))
    assert len(answer.missing) == 1


@pytest.mark.slow
def test_total_of_nonnegative_weights_is_taken_as_nonnegative():
    assert with_total(s.K, Lag(at=TOTAL)).proved


def nothing(D: sp.Expr):
    """Claim that the mean squared gradient is 0, which follows if D = -K >= 0."""
    algorithm = ROUNDS["DFedSAM"]
    gradient = sq(algorithm.full(algorithm.mean_model))
    zero = kernel.square(kernel.minkowski())
    below = kernel.add((D,), kernel.weaken(zero, {gradient: sp.S.One}))
    solved = kernel.chain(kernel.solve(below, {gradient: sp.S.One}, 1 / s.K), zero)
    fact = kernel.average(kernel.weaken(solved, {gradient: sp.S.Zero}), "t")
    return kernel.add((1, 0), fact, kernel.gossip_steps(algorithm))


def nothing_of(symbol: sp.Symbol, formula: sp.Expr) -> comparison.Checked:
    """Return the answer for a small bound, with an abbreviation in the proof."""
    small = {"small": s.L * s.f0_gap / (10**9 * s.T)}
    theorem = with_definition(symbol, formula, small)

    def prove(**weights):
        return nothing(symbol)

    return comparison.check(theorem, replace(SCRIPT, prove=prove))


@pytest.mark.parametrize("symbol", [SIGNED, UNSIGNED])
def test_sign_of_an_abbreviation_is_shown(symbol):
    assert not nothing_of(symbol, -s.K).proved


def test_abbreviation_with_the_sign_of_its_formula_may_be_in_a_proof():
    """With D = K the rest of the proof is wrong, but not the sign."""
    right, wrong = (nothing_of(SIGNED, D).missing for D in (s.K, -s.K))
    assert len(wrong) == 1
    assert right
    assert not set(wrong) & set(right)


def outcome_of_step(formula: sp.Expr) -> str:
    """Return the judgment of ||x + g||^2 <= (2/(1 + m)) (||x||^2 + ||g||^2).

    Its weights in Young's inequality are (1 + m)/2, (1 + m)/2 and D.
    """
    step = ProofStep(
        "c <= 2*a/(1 + m) + 2*b/(1 + m)",
        (),
        ("young([(1 + m)/2, (1 + m)/2, D], x, g, 0*x)",),
        "step",
    )
    theorem = theorem_with_steps(
        step,
        moments={"a": "sq(x)", "b": "sq(g)", "c": "sq(x + g)"},
        parts={"x": s.eta * s.L * SIGNED**2},
        definitions=(Definition(SIGNED, formula, "D"),),
    )
    (judged,) = judge_steps(theorem)
    return judged.outcome


@pytest.mark.parametrize("formula", [-s.m, s.m])
def test_declared_step_with_a_weight_of_either_sign_does_not_follow(formula):
    assert outcome_of_step(formula) == "does not follow"


@pytest.mark.parametrize("symbol", [k, lag, count])
def test_local_step_is_no_abbreviation(symbol):
    """With k = 0, the demand that the weight -k of a fact is nonnegative would hold."""
    with pytest.raises(InputError, match=f"definitions: {symbol}"):
        with_definition(symbol, sp.S.Zero, dict(THEOREM.parts))


def test_proof_of_a_theorem_with_a_quantity_called_k_is_rejected():
    unit = s.GLOSSARY["K"].unit
    more = Quantity("k", "k", unit, "a number that is kept", integer=True, low=1)
    parts = {**THEOREM.parts, "more": more.symbol}
    theorem = replace(THEOREM, quantities=(more,), parts=parts)
    with pytest.raises(InputError):
        comparison.check(theorem, SCRIPT)
