"""What the case study of DFedSAM takes from the registered statements: symbols, definitions, assumptions."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Definition

PAPER = registry.paper("dfedsam")
PRINTED = registry.get("dfedsam.theorem_4_5", "printed")
CORRECTED = registry.get("dfedsam.theorem_4_5", "corrected")

SCOPE = PRINTED.scope
MIN_1_T = PRINTED.lhs
ASSUMPTIONS = PRINTED.assumptions
(STEP_PRINTED,) = PRINTED.conditions
DENOMINATOR, PHI, C3_DEFINITION = PRINTED.definitions
D, Phi, C3 = (definition.symbol for definition in PRINTED.definitions)
CORRECTED_ASSUMPTIONS = CORRECTED.assumptions[:-1]
COMMON_START = CORRECTED.assumptions[-1]

K, L, eta, rho, sigma_g, sigma_l = s.K, s.L, s.eta, s.rho, s.sigma_g, s.sigma_l
C1 = sp.Symbol("C1", positive=True)
C1_DEFINITION = Definition(
    C1,
    2
    * K
    * (
        4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
        + 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2)
    )
    + 2 * K * rho**2 / (2 * K - 1),
    "C_1",
    "drift of one round without its gradient part, below (22)",
)
