"""Li et al. 2023, "DFedADMM: Dual Constraints Controlled Model Inconsistency for Decentralized FL"."""

from dfltheory.bounds.paper import Paper

PAPER = Paper(
    "DFedADMM and DFedADMM-SAM",
    "Li et al. 2023, DFedADMM",
    letters={"lam": r"\psi", "lam_admm": r"\lambda", "eta": r"\eta_l"},
)

__all__ = ["PAPER"]
