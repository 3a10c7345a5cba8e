"""Symbols, definitions and assumptions of DFedSGPSM's registered statements."""

from __future__ import annotations

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr

CORRECTED = registry.get("dfedsgpsm.theorem_1", "corrected")
WITH_WINDOWS = registry.get("dfedsgpsm.theorem_1", "corrected_windows")
LAST_TERMS_TOGETHER = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
NO_BOUNDED_GRADIENTS = registry.get(
    "dfedsgpsm.theorem_1", "corrected_no_bounded_gradients"
)

AT, AT_BEFORE, SUM_C2, _ = CORRECTED.definitions
at, at_before, sum_c2 = AT.symbol, AT_BEFORE.symbol, SUM_C2.symbol
DBAR = next(d for d in LAST_TERMS_TOGETHER.definitions if d.symbol.name == "dbar")
dbar = DBAR.symbol
CORRECTED_ASSUMPTIONS = CORRECTED.assumptions[:-1]
BOUNDED = CORRECTED.assumptions[-1]
WINDOWS = WITH_WINDOWS.assumptions[1]
DIVERSITY = NO_BOUNDED_GRADIENTS.assumptions[-1]


def total_form(steps: Expr) -> Expr:
    """Return sum_s c_s of the momentum weights; see :mod:`dfltheory.momentum`."""
    return AT.expr.xreplace({s.K: steps})


def square_form(steps: Expr) -> Expr:
    """Return sum_s c_s^2 of the momentum weights."""
    return SUM_C2.expr.xreplace({s.K: steps})
