"""What statements on convex problems share: left-hand sides and conditions.

A run knows ``mu`` where its task does. The other quantities of convex problems are
given by the caller.
"""

from __future__ import annotations

import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import Condition, LeftSide
from dfltheory.bounds.symbols import GLOSSARY, LENGTH_SQ, VALUE

T, sigma_l = GLOSSARY["T"].symbol, GLOSSARY["sigma_l"].symbol
EXACT = Condition("exact gradients", 2 * sigma_l, sigma_l)  # sigma_l = 0, in its unit


def last_gap(latex: str) -> LeftSide:
    """Return the left side f - f* after T rounds."""
    return LeftSide(
        "f_gap", latex, "last", last=T, unit=VALUE, averaging="at the last round"
    )


def last_distance(latex: str) -> LeftSide:
    """||x - x*||^2 after T rounds."""
    return LeftSide(
        "dist_sq", latex, "last", last=T, unit=LENGTH_SQ, averaging="at the last round"
    )


def equal(name: str, left: Expr, right: Expr) -> tuple[Condition, Condition]:
    """``left = right``, as two inequalities."""
    return Condition(name, left, right), Condition(name, right, left)


def convex(least: sp.Symbol, L: Expr) -> Condition:
    """Return ``mu <= L``, by which a statement says that it is about convex f."""
    return Condition(f"0 <= {least} <= L: convex", least, L)


def strongly_convex(least: sp.Symbol, L: Expr) -> tuple[Condition, Condition]:
    """``0 < mu <= L``."""
    return Condition(f"{least} > 0", least / 2, least, strict=True), convex(least, L)


__all__ = ["EXACT", "convex", "equal", "last_distance", "last_gap", "strongly_convex"]
