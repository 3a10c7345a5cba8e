"""Shi et al. 2023, "Improving the Model Consistency of Decentralized Federated Learning" (DFedSAM, -MGS)."""

from dfltheory.bounds.paper import Paper

PAPER = Paper("DFedSAM and DFedSAM-MGS", "Shi et al. 2023, DFedSAM")

__all__ = ["PAPER"]
