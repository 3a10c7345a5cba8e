"""Nesterov 2018, "Lectures on Convex Optimization": the gradient method with a constant step."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import EXACT, convex, last_gap, mu, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, Theorem

T, h, L, f0_gap = s.T, s.eta, s.L, s.f0_gap

PAPER = Paper(
    "The gradient method, by its textbook",
    "Nesterov 2018, Lectures on Convex Optimization",
    letters={"T": "k", "eta": "h", "x_star_sq": r"\|x_0-x^\star\|^2"},
    provenance=(
        "second edition, Springer 2018, Theorem 2.1.14 and Corollary 2.1.2 (pages 80 and 81), as pictures in "
        "docs/references of https://github.com/ericphanson/newtons-method, commit "
        "73556f8d228f. Theorem 2.1.15 is lean.gd_strongly_convex. Text not at hand: the rest of the book"
    ),
)

LAST, CONVEX = last_gap(r"f(x_k)-f^\star"), (convex(mu, L), EXACT)
SCOPE = Scope(("FedAvg",), "none", common_start=True)


def statements() -> tuple[Theorem, ...]:
    """At any step below 2/L, and at 1/L."""
    theorem = Theorem(
        key="nesterov2018.theorem_2_1_14",
        variant="printed",
        kind="theorem",
        title="Gradient descent on convex functions, for all steps",
        source=f"{PAPER.citation}, Theorem 2.1.14",
        lhs=LAST,
        parts={"optimization": 2 * f0_gap * x_star_sq / (2 * x_star_sq + T * h * (2 - L * h) * f0_gap)},
        conditions=(
            Condition("h < 2/L", L * h, sp.Integer(2), strict=True),
            Condition("x_0 is no minimizer", x_star_sq / 2, x_star_sq, strict=True),
            *CONVEX,
        ),
        scope=SCOPE,
        remark="At a minimizer x_0 the right side is 0/0",
    )
    corollary = Theorem(
        key="nesterov2018.corollary_2_1_2",
        variant="printed",
        kind="corollary",
        title="Gradient descent on convex functions at h = 1/L",
        source=f"{PAPER.citation}, Corollary 2.1.2",
        lhs=LAST,
        parts={"optimization": 2 * L * x_star_sq / (T + 4)},
        conditions=CONVEX,
        schedule={"eta": 1 / L},
        scope=SCOPE,
        of=(theorem.key, "printed"),
        remark="f(x_0) - f* <= L/2 ||x_0 - x*||^2 is put into the theorem, which grows with it",
    )
    return theorem, corollary


__all__ = ["PAPER", "statements"]
