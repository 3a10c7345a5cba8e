"""Left-hand sides and conditions of theorems in Python about convex problems.

A run knows ``mu`` if its task does. The caller gives the other constants of convex
problems.
"""

from __future__ import annotations

import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import Condition, LeftSide
from dfltheory.bounds.symbols import GLOSSARY, LENGTH_SQ, VALUE

T, sigma_l = GLOSSARY["T"].symbol, GLOSSARY["sigma_l"].symbol
EXACT = Condition("exact gradients", 2 * sigma_l, sigma_l)  # sigma_l = 0, in its unit


def last_gap(latex: str) -> LeftSide:
    """Return the left-hand side f(xbar^T) - f*, displayed as ``latex``."""
    return LeftSide(
        "f_gap", latex, "last", last=T, unit=VALUE, averaging="at the last round"
    )


def last_distance(latex: str) -> LeftSide:
    """Return the left-hand side ||xbar^T - x*||^2, displayed as ``latex``."""
    return LeftSide(
        "dist_sq", latex, "last", last=T, unit=LENGTH_SQ, averaging="at the last round"
    )


def equal(name: str, left: Expr, right: Expr) -> tuple[Condition, Condition]:
    """Return ``left = right`` as two conditions of the same name."""
    return Condition(name, left, right), Condition(name, right, left)


def convex(least: sp.Symbol, L: Expr) -> Condition:
    """Return the condition ``least <= L``, which states that f is convex.

    ``least`` is a glossary symbol, mu or mu_each, whose range begins at 0.
    """
    return Condition(f"0 <= {least} <= L: convex", least, L)


def strongly_convex(least: sp.Symbol, L: Expr) -> tuple[Condition, Condition]:
    """Return ``0 < least <= L`` as two conditions; ``least`` is mu or mu_each."""
    return Condition(f"{least} > 0", least / 2, least, strict=True), convex(least, L)


__all__ = ["EXACT", "convex", "equal", "last_distance", "last_gap", "strongly_convex"]
