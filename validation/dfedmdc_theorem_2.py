"""DFedSMDC against Theorem 2 of the DFedMDC paper: as Theorem 1, with SAM steps on the shared block."""

from __future__ import annotations

from dfltheory.analysis.experiment import Case
from validation import dfedmdc_theorem_1 as same

KEY = "dfedmdc.theorem_2"
NOT_TESTED = same.NOT_TESTED


def cases(quick: bool = True) -> list[Case]:
    """Those of Theorem 1 with rho = 1/sqrt(T)."""
    return same.cases(quick, KEY, sam=True)


def run(quick: bool = True) -> tuple:
    """(claims, outcomes)."""
    return same.run(quick, KEY, sam=True)
