"""Symbols, definitions and assumptions of DFedADMM's registered statements."""

from __future__ import annotations

import sympy as sp

from dfltheory import admm
from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Definition

BOUNDED_GRADIENTS = registry.get("dfedadmm.theorem_1", "corrected")
SECOND_MOMENT = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
NO_BOUNDED_GRADIENTS = registry.get(
    "dfedadmm.theorem_1", "corrected_no_bounded_gradients"
)

GAMMA, THETA, P, GAMMA2, *_ = BOUNDED_GRADIENTS.definitions
gamma, theta, p, Gamma2 = GAMMA.symbol, THETA.symbol, P.symbol, GAMMA2.symbol
CORRECTED_ASSUMPTIONS = BOUNDED_GRADIENTS.assumptions[:-1]
BOUNDED = BOUNDED_GRADIENTS.assumptions[-1]
MOMENT = SECOND_MOMENT.assumptions[-1]
DIVERSITY = NO_BOUNDED_GRADIENTS.assumptions[-1]

left = sp.Symbol("left", nonnegative=True)
LEFT = Definition(
    left,
    (1 - s.eta / s.lam_admm) ** s.K,
    r"(1-\gamma)",
    "weight of what was there before the round",
    ("eta", "lam_admm", "K"),
    admm.left,
)
