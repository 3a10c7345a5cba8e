"""Symbols, definitions and assumptions of the registered statements that the case study uses."""

from __future__ import annotations

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Definition, Theorem
from dfltheory.bounds.units import Expr

PAPER = registry.paper("dfedsgpsm")
PRINTED = registry.get("dfedsgpsm.theorem_1", "printed")
CORRECTED = registry.get("dfedsgpsm.theorem_1", "corrected")
WITH_WINDOWS = registry.get("dfedsgpsm.theorem_1", "corrected_windows")
LAST_TERMS_TOGETHER = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
NO_BOUNDED_GRADIENTS = registry.get("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients")
COROLLARY = registry.get("dfedsgpsm.corollary_1", "printed")


def _definition(theorem: Theorem, name: str) -> Definition:
    return next(d for d in theorem.definitions if d.symbol.name == name)


SCOPE = PRINTED.scope
(PRINTED_STEP,) = PRINTED.conditions
C1_DEFINITION = _definition(PRINTED, "C1")
C1, C2 = C1_DEFINITION.symbol, _definition(COROLLARY, "C2").symbol
AT, AT_BEFORE, SUM_C2, G_DEFINITION = CORRECTED.definitions
at, at_before, sum_c2, G = (definition.symbol for definition in CORRECTED.definitions)
DBAR = _definition(LAST_TERMS_TOGETHER, "dbar")
dbar = DBAR.symbol
RE_DERIVED = CORRECTED.scope
CORRECTED_ASSUMPTIONS = CORRECTED.assumptions[:-1]
BOUNDED = CORRECTED.assumptions[-1]
WINDOW_ASSUMPTIONS = WITH_WINDOWS.assumptions[:-1]
WINDOWS = WITH_WINDOWS.assumptions[1]
DIVERSITY = NO_BOUNDED_GRADIENTS.assumptions[-1]

ONE_STEP: tuple[Expr, Expr] = (s.q / (1 - s.q), 1 / (1 - s.q**2))
"""The sums of q^t and of q^(2t) over t >= 1 and t >= 0, where every round contracts."""
PER_WINDOW: tuple[Expr, Expr] = ((s.window - 1 + s.q) / (1 - s.q), s.window / (1 - s.q**2))
"""The same of q^floor(t/window), where only windows contract. The root q^(1/window) in ``ONE_STEP`` would be
too small: for q = 0 it says that one round averages exactly."""


def total_form(steps: Expr) -> Expr:
    """sum_s c_s of the momentum weights in closed form; see :mod:`dfltheory.momentum`."""
    return AT.expr.xreplace({s.K: steps})


def square_form(steps: Expr) -> Expr:
    """sum_s c_s^2 in closed form."""
    return SUM_C2.expr.xreplace({s.K: steps})
