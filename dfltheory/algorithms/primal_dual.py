"""Primal-dual methods: a dual variable of each client promotes consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory import admm
from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import local_steps, pulled


@dataclass(frozen=True, eq=False)
class DualState(State):
    """State with ``dual`` (S, m, d), the ghat_i of the paper, 0 before round 0."""

    dual: Tensor


@dataclass(frozen=True)
class PrimalDual(Algorithm[DualState]):
    """Base of DFedADMM and DFedADMM-SAM."""

    glossary: ClassVar[dict[str, str]] = {"lam": "lam_admm"}
    implied: ClassVar = {"rho": 0.0, "alpha": 0.0}

    def init(self, x0: Tensor, grad: Oracle) -> DualState:
        """Return the initial state, in which the duals are 0."""
        return DualState(x=x0, z=x0, dual=torch.zeros_like(x0))

    def communicate(self, state: DualState, mix: Mix) -> DualState:
        """Return the state with x = W z."""
        return replace(state, x=mix(state.z))

    def local_update(self, state: DualState, grad: Oracle) -> DualState:
        """Take K steps y <- y - eta (g - ghat + (y - x)/lam) and update the dual.

        The message is z = x - lam * (new dual).
        """
        eta, K, lam, rho = map(self.hyperparameter, ("eta", "K", "lam", "rho"))
        y = local_steps(
            self,
            grad,
            grad.begin(state.x),
            eta=eta,
            K=K,
            rho=rho,
            correct=pulled(state.x, 1 / lam, state.dual),
        )
        dual = torch.sub(state.x, y).div_(lam).add_(state.dual)
        return replace(state, z=y.sub_(state.dual, alpha=lam), dual=dual)

    def auxiliary(self, state: DualState) -> Tensor | None:
        """Return w = xbar^t + (1 - gamma)/gamma (xbar^t - xbar^{t-1}).

        gamma = 1 - (1 - eta/lam)^K. If W preserves means, xbar^t - xbar^{t-1} is -lam
        times the mean of the duals, with xbar^{-1} = xbar^0. None with decayed step
        sizes, unless 0 < eta <= lam, or if (1 - gamma)/gamma exceeds the range of the
        models' type.
        """
        eta, lam, K = map(self.hyperparameter, ("eta", "lam", "K"))
        theta = float(admm.theta(eta, lam, K))
        if self.decay != 1 or eta > lam or theta > torch.finfo(state.x.dtype).max:
            return None
        # lam is multiplied first, because lam * theta may overflow
        moved = state.dual.mean(-2).mul_(-lam)
        return state.x.mean(-2).add_(moved, alpha=theta)


@dataclass(frozen=True)
class DFedADMM(PrimalDual):
    """DFedADMM: local steps on the augmented Lagrangian, then gossip of z_l.

        y <- x_i;  K times:  y <- y - eta (grad F_i(y; xi) - ghat_i + (y - x_i)/lam)
        z_i = y - lam ghat_i,  ghat_i <- ghat_i - (y - x_i)/lam,  x_i <- sum_l w_il z_l

    Line 19 of the paper prints w_il z_i, which involves no neighbor; here it is w_il
    z_l.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    lam : float
        Penalty parameter lambda; lam_admm in the glossary.

    References
    ----------
    Li et al. 2023 (DFedADMM), Algorithm 1.
    """

    eta: float
    K: int
    lam: float

    source: ClassVar[str] = "DFedADMM paper"
    ranges: ClassVar = ranges("eta K lam")


@dataclass(frozen=True)
class DFedADMMSAM(PrimalDual):
    """DFedADMM-SAM: DFedADMM with SAM gradients.

    The gradient is taken at y + rho g/||g||, g = grad F_i(y; xi), on the same
    minibatch.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    lam : float
        Penalty parameter lambda; lam_admm in the glossary.
    rho : float
        SAM radius; 0.1 in the paper's experiments.

    References
    ----------
    Li et al. 2023 (DFedADMM), Algorithm 1, lines 9 to 14; rho: section 5.1.
    """

    eta: float
    K: int
    lam: float
    rho: float = 0.1

    source: ClassVar[str] = "DFedADMM paper"
    ranges: ClassVar = ranges("eta K lam rho")


__all__ = ["DFedADMM", "DFedADMMSAM", "DualState", "PrimalDual"]
