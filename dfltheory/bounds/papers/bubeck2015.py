"""Bubeck 2015, "Convex Optimization: Algorithms and Complexity": gradient descent, and what no method beats.

T counts rounds: x_1 of the text is the start, and x_(T+1) what T steps lead to.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import (
    EXACT,
    convex,
    equal,
    last_distance,
    last_gap,
    mu,
    strongly_convex,
    x_star_sq,
)
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import VALUE
from dfltheory.bounds.theorem import Condition, Kind, LeftSide, Theorem
from dfltheory.bounds.units import Expr

T, eta, L, f0_gap = s.T, s.eta, s.L, s.f0_gap
kappa = L / mu

PAPER = Paper(
    "Convex optimization, and its limits",
    "Bubeck 2015, Convex Optimization",
    letters={"L": r"\beta", "mu": r"\alpha", "x_star_sq": r"\|x_1-x^\star\|^2"},
    provenance=(
        "Foundations and Trends in Machine Learning 8, 2015 (arXiv:1405.4980), a public copy of its text by "
        "pages, with the proofs: Theorem 3.7 (page 270), 3.10 (278), 3.12 (279), 3.14 and 3.15 (282 and "
        "283). Not entered: Theorems 3.8, 3.9 and 3.13, of norms, projections and kinks"
    ),
)

LAST = last_gap(r"f(x_{T+1})-f(x^\star)")


def _stated(
    name: str,
    title: str,
    lhs: LeftSide,
    bound: Expr,
    *conditions: Condition,
    kind: Kind = "theorem",
    remark: str = "",
) -> Theorem:
    exact = () if kind == "lower bound" else (EXACT,)  # to allow noise makes no problem easier
    return Theorem(
        key=f"bubeck2015.theorem_{name}", variant="printed", kind=kind, title=title, lhs=lhs,
        parts={"optimization": bound}, source=f"{PAPER.citation}, Theorem {name.replace('_', '.')}",
        conditions=(*conditions, *exact), scope=Scope(("FedAvg",), "none", common_start=True), remark=remark,
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Gradient descent on all of R^n, and the lower bounds for methods whose points lie in the gradients'
    span."""
    least = LeftSide(
        "f_gap", r"\min_{s\le T+1} f(x_s)-f(x^\star)", "min", last=T, unit=VALUE,
        averaging="least of the rounds 0..T",
    )  # fmt: skip
    hard = (
        "some f is so hard for every method whose points lie in x_1 + span of the gradients seen; the run "
        "of one that asks K gradients of f a round has K T in place of T"
    )
    return (
        _stated(
            "3_7", "Gradient descent on convex functions", LAST, (3 * L * x_star_sq + f0_gap) / (T + 1),
            *equal("eta = 1/beta", eta, 1 / L), convex(mu, L), remark="with X = R^n",
        ),
        _stated(
            "3_10", "Gradient descent on strongly convex functions",
            last_distance(r"\|x_{T+1}-x^\star\|^2"), sp.exp(-T / kappa) * x_star_sq,
            *equal("eta = 1/beta", eta, 1 / L), *strongly_convex(mu, L), remark="with X = R^n",
        ),
        _stated(
            "3_12", "Gradient descent with the longest step", LAST,
            L / 2 * sp.exp(-4 * T / (kappa + 1)) * x_star_sq,
            *equal("eta = 2/(alpha + beta)", eta, 2 / (mu + L)), *strongly_convex(mu, L),
        ),
        _stated(
            "3_14", "No first-order method is faster on convex functions", least,
            3 * L * x_star_sq / (32 * (T + 2) ** 2), convex(mu, L), kind="lower bound",
            remark=f"in at least 2 T + 3 dimensions {hard}",
        ),
        _stated(
            "3_15", "No first-order method is faster on strongly convex functions", LAST,
            mu / 2 * ((sp.sqrt(kappa) - 1) / (sp.sqrt(kappa) + 1)) ** (2 * T) * x_star_sq,
            *strongly_convex(mu, L), kind="lower bound", remark=f"in infinitely many dimensions {hard}",
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
