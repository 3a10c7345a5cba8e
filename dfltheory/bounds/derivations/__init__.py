"""The displayed steps of the proofs, and the inequalities that they lean on: as claimed, paper by paper."""

from __future__ import annotations

from dfltheory.bounds.derivations import dfedadmm, dfedmdc, dfedsam, dfedsgpsm
from dfltheory.bounds.steps import Inequality, Step

_PAPERS = (dfedsam, dfedadmm, dfedsgpsm, dfedmdc)


def all_steps() -> tuple[Step, ...]:
    """Every declared step."""
    return tuple(step for paper in _PAPERS for step in paper.STEPS)


def inequalities() -> tuple[Inequality, ...]:
    """Inequalities on numbers, vectors and matrices that the proofs use."""
    return tuple(claim for paper in _PAPERS for claim in paper.INEQUALITIES)


__all__ = ["all_steps", "inequalities"]
