"""Li et al. 2023, "Asymmetrically Decentralized Federated Learning" (DFedSGPSM, DFedSGPSM-S)."""

from dfltheory.bounds.paper import Paper

PAPER = Paper("DFedSGPSM and DFedSGPSM-S", "Li et al. 2023, DFedSGPSM", letters={"m": r"n", "eta": r"\eta_l"})

__all__ = ["PAPER"]
