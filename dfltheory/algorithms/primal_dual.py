"""Primal-dual: every client keeps a dual variable that steers its local steps toward agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory import admm
from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, ranges, replace
from dfltheory.algorithms.blocks import pulled


@dataclass(frozen=True, eq=False)
class DualState(State):
    """State with the dual variables ghat (S, m, d), 0 before round 0."""

    dual: Tensor


@dataclass(frozen=True)
class PrimalDual(Algorithm):
    """What DFedADMM and DFedADMM-SAM share."""

    glossary: ClassVar[dict[str, str]] = {"lam": "lam_admm"}
    implied: ClassVar = {"rho": 0.0, "alpha": 0.0}

    def init(self, x0: Tensor, grad: Oracle) -> DualState:
        return DualState(x=x0, z=x0, dual=torch.zeros_like(x0))

    def communicate(self, state: DualState, mix: Mix) -> DualState:
        return replace(state, x=mix(state.z))

    def local_update(self, state: DualState, grad: Oracle) -> DualState:
        """K steps y <- y - eta (g - ghat + (y - x)/lam), then the new dual and z = x - lam * (new dual)."""
        eta, K, lam, rho = map(self.letter, ("eta", "K", "lam", "rho"))
        y = grad.begin(state.x)
        y = pulled(self, grad, y, state.x, eta=eta, K=K, lam=1 / lam, rho=rho, dual=state.dual)
        dual = torch.sub(state.x, y).div_(lam).add_(state.dual)
        return replace(state, z=y.sub_(state.dual, alpha=lam), dual=dual)

    def auxiliary(self, state: DualState) -> Tensor | None:
        """w = xbar^t + (1 - gamma)/gamma (xbar^t - xbar^{t-1}), gamma = 1 - (1 - eta/lam)^K.

        xbar^t - xbar^{t-1} = -lam * mean of the duals when W preserves means, and xbar^{-1} = xbar^0.
        Not defined for decayed step sizes, nor outside 0 < eta <= lam; ``None`` also where (1 - gamma)/gamma
        is beyond what the models' precision can hold.
        """
        eta, lam, K = map(self.letter, ("eta", "lam", "K"))
        theta = float(admm.theta(eta, lam, K))
        if self.decay != 1 or eta > lam or theta > torch.finfo(state.x.dtype).max:
            return None
        moved = state.dual.mean(-2).mul_(-lam)  # xbar^t - xbar^{t-1}: lam * theta alone may be too large
        return state.x.mean(-2).add_(moved, alpha=theta)


@dataclass(frozen=True)
class DFedADMM(PrimalDual):
    """DFedADMM: local steps on the augmented Lagrangian, then neighbours' z_l are mixed.

        y <- x_i;  K times:  y <- y - eta (grad F_i(y; xi) - ghat_i + (y - x_i)/lam)
        z_i = y - lam ghat_i,   ghat_i <- ghat_i - (y - x_i)/lam,   x_i <- sum_l w_il z_l

    Line 19 of the paper prints w_il z_i, which would keep every client to itself; z_l is meant.

    Parameters: ``eta`` step size, ``K`` local steps, ``lam`` penalty lambda (glossary: lam_admm).
    Source: Li et al. 2024 (DFedADMM), Algorithm 1.
    """

    eta: float
    K: int
    lam: float

    source: ClassVar[str] = "DFedADMM paper"
    ranges: ClassVar = ranges("eta K lam")


@dataclass(frozen=True)
class DFedADMMSAM(PrimalDual):
    """DFedADMM-SAM: DFedADMM with the gradient at y + rho g/||g||, g = grad F_i(y; xi), the same minibatch.

    Parameters: ``eta`` step size, ``K`` local steps, ``lam`` penalty lambda (lam_admm), ``rho`` SAM radius.
    Source: Li et al. 2024 (DFedADMM), Algorithm 1, lines 9 to 14.
    """

    eta: float
    K: int
    lam: float
    rho: float = 0.1

    source: ClassVar[str] = "DFedADMM paper"
    ranges: ClassVar = ranges("eta K lam rho")


__all__ = ["DFedADMM", "DFedADMMSAM", "DualState", "PrimalDual"]
