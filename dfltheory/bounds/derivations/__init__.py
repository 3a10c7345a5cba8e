"""The displayed steps of the proofs, and the inequalities that they lean on: as the papers claim them, and as
the re-derived theorems' proofs have them."""

from __future__ import annotations

from dfltheory.bounds.derivations import (
    dfedadmm,
    dfedmdc,
    dfedsam,
    dfedsgpsm,
    push_sum,
    theorem_a,
    theorem_b,
    theorem_m,
)
from dfltheory.bounds.steps import Inequality, Step

_PAPERS = (dfedsam, dfedadmm, dfedsgpsm, dfedmdc)
_PROOFS = (theorem_a, theorem_b, push_sum, theorem_m)


def all_steps() -> tuple[Step, ...]:
    """Every declared step."""
    return tuple(step for module in (*_PAPERS, *_PROOFS) for step in module.STEPS)


def inequalities() -> tuple[Inequality, ...]:
    """Inequalities on numbers, vectors and matrices that the proofs use."""
    return tuple(claim for paper in (*_PAPERS, theorem_b) for claim in paper.INEQUALITIES)


__all__ = ["all_steps", "inequalities"]
