"""What the case study of DFedMDC takes from the registered statements: symbols, definitions, assumptions."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition

PAPER = registry.paper("dfedmdc")
PRINTED_2 = registry.get("dfedmdc.theorem_2", "printed")
CORRECTED_2 = registry.get("dfedmdc.theorem_2", "corrected")

SCOPES = {number: registry.get(f"dfedmdc.theorem_{number}", "printed").scope for number in (1, 2)}
CORRECTED_ASSUMPTIONS = CORRECTED_2.assumptions
sigma = PRINTED_2.definitions[0].symbol
A_STEP, B_STEP, SIZE = CORRECTED_2.definitions
a, b, size = (definition.symbol for definition in CORRECTED_2.definitions)

CONDITIONS = (
    Condition("a <= (1 - lam)/32", 32 * a, 1 - s.lam),
    Condition("b <= 1/16", 16 * b, sp.Integer(1)),
    Condition("125 lam^2 chi^2 a b <= (1 - lam)^2", 125 * s.lam**2 * s.chi**2 * a * b, (1 - s.lam) ** 2),
)
"""The conditions of Theorem M with the constant that its proof rounds to."""
