"""Corollary 4.8, the rate of DFedSAM-MGS (Q > 1): as Corollary 4.6 is held against runs, on a worse
network.
"""

from __future__ import annotations

from dfltheory.analysis.experiment import Case
from validation import dfedsam_corollary_4_6 as same

KEY = "dfedsam.corollary_4_8"
Q = 4
TOPOLOGIES = ("torus", "exponential")
NOT_TESTED = same.NOT_TESTED


def cases(quick: bool = True) -> list[Case]:
    """Those of Corollary 4.6 with four gossip steps a round."""
    return same.cases(quick, KEY, Q, TOPOLOGIES)


def run(quick: bool = True) -> tuple:
    """(claims, outcomes)."""
    return same.run(quick, KEY, Q, TOPOLOGIES)
