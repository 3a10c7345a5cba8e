"""Shi et al. 2023: decentralized federated learning with a shared part u and personal parts v_i (DFedMDC)."""

from dfltheory.bounds.paper import Paper

PAPER = Paper("DFedMDC and DFedSMDC", "Shi et al. 2023, DFedMDC and DFedSMDC", letters={"delta_u": r"\delta"})

__all__ = ["PAPER"]
