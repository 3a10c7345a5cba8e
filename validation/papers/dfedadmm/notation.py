"""What the case study of DFedADMM takes from the registered statements: symbols, definitions, assumptions."""

from __future__ import annotations

import sympy as sp

from dfltheory import admm
from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Definition

PAPER = registry.paper("dfedadmm")
PRINTED = registry.get("dfedadmm.theorem_1", "printed")
APPENDIX = registry.get("dfedadmm.theorem_1", "appendix")
BOUNDED_GRADIENTS = registry.get("dfedadmm.theorem_1", "corrected")
SECOND_MOMENT = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
NO_BOUNDED_GRADIENTS = registry.get("dfedadmm.theorem_1", "corrected_no_bounded_gradients")

SCOPE = PRINTED.scope
ASSUMPTIONS = PRINTED.assumptions
ENOUGH_STEPS = next(c for c in PRINTED.conditions if c.name == "K >= lam_admm/eta")
KAPPA, C2_DEFINITION = APPENDIX.definitions
kappa, C2 = KAPPA.symbol, C2_DEFINITION.symbol
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
