"""Averages over rounds take coefficients out: these do not change between rounds.

Next states have the coordinates of their own block alone.
"""

import pytest
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import X_U, X_V, AlgorithmRound, G, RuleError, X

t = s.GLOSSARY["t"].symbol


@pytest.mark.parametrize("changing", [t, sp.Symbol("t"), s.GLOSSARY["D_u"].symbol])
def test_a_coefficient_that_changes_from_round_to_round_is_refused(changing):
    # root[mean t](t x) <= t root[mean t](x) is false
    with pytest.raises(RuleError, match="changes from round to round"):
        r.average(r.minkowski((changing, X)), "t")


def test_an_algorithm_whose_step_changes_from_round_to_round_is_refused():
    # for f = x^2/2, x = 1 and steps t, the sum of the descent over two rounds would
    # say 0 <= -1/4 at t = 1
    steps = G.mean().sum(s.K)
    changing = AlgorithmRound(
        "growing steps", local=X, sent=X - t * G.sum(s.K), mean_model=X.mean()
    )
    constant = AlgorithmRound(
        "steps of one size", local=X, sent=X - G.sum(s.K), mean_model=X.mean()
    )
    r.telescope(constant, r.descent(constant, X.mean(), -steps))
    with pytest.raises(RuleError, match="changes from round to round"):
        r.telescope(changing, r.descent(changing, X.mean(), -steps))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (X_U - X_V, X_V),
        (X_U, X_V - X_U.mean()),
        (X_U, X_V + 7 * X_U.mean()),
        (X, X_V),
    ],
)
def test_a_next_state_has_no_part_of_another_block(sent, kept):
    with pytest.raises(RuleError, match="of another block"):
        AlgorithmRound(
            "mixed blocks",
            local=X_U + X_V,
            sent=sent,
            mean_model=X_U.mean() + X_V,
            personal=X_U + X_V,
            kept=kept,
        )


def test_a_round_that_is_changed_after_it_was_made_is_refused():
    changed = AlgorithmRound(
        "changed later",
        local=X_U + X_V,
        sent=X_U,
        mean_model=X_U.mean() + X_V,
        personal=X_U + X_V,
        kept=X_V,
    )
    object.__setattr__(changed, "kept", X_V + X_U.mean())
    with pytest.raises(RuleError, match="of another block"):
        r.dual_start(changed)
