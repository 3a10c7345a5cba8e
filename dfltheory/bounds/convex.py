"""What theorems on convex problems speak of, beside the glossary: one word for one thing in all papers.

A run knows ``mu`` where its task does. The others are for the caller to give, by these names.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds.clauses import Condition, LeftSide
from dfltheory.bounds.symbols import CURVATURE, GLOSSARY, GRADIENT, LENGTH_SQ, VALUE, Quantity, define
from dfltheory.bounds.units import ONE, Expr

mu = define(Quantity("mu", r"\mu", CURVATURE, "strong convexity of f; 0: it is convex"))
mu_each = define(
    Quantity(
        "mu_each", r"\mu_{\mathrm{each}}", CURVATURE, "strong convexity of every f_i; 0: they are convex"
    )
)
x_star_sq = define(Quantity("x_star_sq", r"\Delta_\star", LENGTH_SQ, "E||x^0 - x*||^2, x* a minimizer of f"))
sigma_star = define(
    Quantity("sigma_star", r"\sigma_\star", GRADIENT, "root of (1/m) sum_i ||grad f_i(x*)||^2")
)
dist_now = define(Quantity("dist_now", r"r_t^2", LENGTH_SQ, "||xbar^t - x*||^2, x* a minimizer of f"))
gap_now = define(Quantity("gap_now", r"D_t", VALUE, "f(xbar^t) - f*"))
offset = define(
    Quantity("offset", r"\gamma", ONE, "step s of the run has eta offset/(offset + s)", open_low=True)
)
Gamma = define(Quantity("Gamma", r"\Gamma", VALUE, "f* minus the mean of the clients' own minima f_i*"))

T, sigma_l = GLOSSARY["T"].symbol, GLOSSARY["sigma_l"].symbol
EXACT = Condition("exact gradients", 2 * sigma_l, sigma_l)  # sigma_l = 0, in its unit


def last_gap(latex: str) -> LeftSide:
    """f - f* after T rounds."""
    return LeftSide("f_gap", latex, "last", last=T, unit=VALUE, averaging="at the last round")


def last_distance(latex: str) -> LeftSide:
    """||x - x*||^2 after T rounds."""
    return LeftSide("dist_sq", latex, "last", last=T, unit=LENGTH_SQ, averaging="at the last round")


def equal(name: str, left: Expr, right: Expr) -> tuple[Condition, Condition]:
    """``left = right``, as two inequalities."""
    return Condition(name, left, right), Condition(name, right, left)


def convex(least: sp.Symbol, L: Expr) -> Condition:
    """``mu <= L``, by which a statement asks that mu is known, and so that what it tells of is convex."""
    return Condition(f"0 <= {least} <= L: convex", least, L)


def strongly_convex(least: sp.Symbol, L: Expr) -> tuple[Condition, Condition]:
    """``0 < mu <= L``."""
    return Condition(f"{least} > 0", least / 2, least, strict=True), convex(least, L)


__all__ = [
    "EXACT", "Gamma", "convex", "dist_now", "equal", "gap_now", "last_distance", "last_gap", "mu", "mu_each",
    "offset", "sigma_star", "strongly_convex", "x_star_sq",
]  # fmt: skip
