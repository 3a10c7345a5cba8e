"""Shi, Ling, Wu and Yin 2015, "EXTRA: An Exact First-Order Algorithm for Decentralized Consensus ..."."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import EXACT, convex, mu_each
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

PAPER = Paper(
    "EXTRA",
    "Shi et al. 2015, EXTRA",
    letters={"m": "n", "eta": r"\alpha", "L": r"L_{\mathbf f}", "lam_min": r"\lambda_n(W)"},
    provenance=(
        "SIAM J. Optim. 2015, arXiv:1404.6264v4, Theorem 3.5 (page 13), as stated in Lean 4 (without proof) "
        "in ExtraConsensus.Sublinear.theorem_3_5 with its Model, envs/0df444a of "
        "https://github.com/prove2me/formalpedia (Apache-2.0), commit cc1b5f740993. Read there too, not "
        "entered: Theorems 3.3 and 3.7, contractions in a norm of pairs (q, x) that no run records. Text not "
        "at hand: the paper itself"
    ),
)


def theorem_3_5() -> Theorem:
    """(1/T) sum over t = 1..T of ||U x^t||_F^2 = O(1/T), alpha < 2 lambda_min((I + W)/2)/L."""
    return Theorem(
        key="shi2015.theorem_3_5",
        variant="printed",
        kind="rate",
        title="Rate of EXTRA's consensus on convex functions",
        source=f"{PAPER.citation}, Theorem 3.5 (3)",
        lhs=LeftSide(
            "consensus",
            r"\frac1T\sum_{t=1}^{T}\|U\mathbf{x}^t\|_F^2",
            "mean",
            first=sp.S.One,
            last=s.T,
            unit=LENGTH_SQ,
            averaging="mean over the rounds 1..T",
        ),
        parts={"optimization": 1 / s.T},
        conditions=(
            Condition("alpha < 2 lambda_min/L", s.L * s.eta, 1 + s.lam_min, strict=True),
            EXACT,
            convex(mu_each, s.L),
        ),
        assumptions=("every $f_i$ is convex and smooth with $L$, and $f$ has a minimizer",),
        scope=Scope(("EXTRA",), "definition 1"),
        order=True,
        remark="Of W~ = (I + W)/2, so that lambda_min(W~) = (1 + lambda_n(W))/2 and U^2 = (I - W)/2; "
        "||U x||_F^2 is at least (1 - lambda_2)/2 times the sum of ||x_i - xbar||^2, which is measured",
    )


def statements() -> tuple[Theorem, ...]:
    """The sublinear rate."""
    return (theorem_3_5(),)


__all__ = ["PAPER", "statements"]
