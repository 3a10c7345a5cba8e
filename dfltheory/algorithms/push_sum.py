"""Push-sum on directed graphs: P is column-stochastic and models are x / w."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import local_steps


@dataclass(frozen=True, eq=False)
class PushSumState(State):
    """State with the push-sum weights w (S, m, 1); sum_i w_i = m in every round."""

    w: Tensor


@dataclass(frozen=True)
class PushSum(Algorithm[PushSumState]):
    """Base class: gradients are evaluated at x / w, and the same P mixes x and w."""

    mixing: ClassVar = "column-stochastic"
    implied: ClassVar = {"K": 1, "alpha": 0.0, "rho": 0.0}

    def init(self, x0: Tensor, grad: Oracle) -> PushSumState:
        """Return the initial state with push-sum weights 1."""
        return PushSumState(x=x0, z=x0, w=torch.ones_like(x0[..., :1]))

    def local_update(self, state: PushSumState, grad: Oracle) -> PushSumState:
        """Take K steps v <- alpha v + SAM gradient at x / w, x <- x - eta v."""
        x = local_steps(
            self,
            grad,
            grad.begin(state.x),
            eta=self.hyperparameter("eta"),
            K=self.hyperparameter("K"),
            rho=self.hyperparameter("rho"),
            alpha=self.hyperparameter("alpha"),
            weights=state.w,
        )
        return replace(state, z=x)

    def communicate(self, state: PushSumState, mix: Mix) -> PushSumState:
        """Return the state with x and w mixed by one matrix."""
        return replace(state, x=mix(state.z), w=mix(state.w))

    def models(self, state: PushSumState) -> Tensor:
        """Return the models x / w."""
        return state.x / state.w


@dataclass(frozen=True)
class SGP(PushSum):
    """Stochastic gradient push: one gradient and one exchange a round.

        x_i <- sum_j p_ij (x_j - eta grad F_j(x_j / w_j; xi_j)),  w_i <- sum_j p_ij w_j

    Parameters
    ----------
    eta : float
        Step size.

    References
    ----------
    Assran et al. 2019, Algorithm 1.
    """

    eta: float

    source: ClassVar[str] = "Assran et al. 2019"
    ranges: ClassVar = ranges("eta")


@dataclass(frozen=True)
class OSGP(PushSum):
    """SGP with K local steps before each exchange, called OSGP in the DFedSGPSM paper.

    Unlike the OSGP of Assran et al., it does not overlap communication with
    computation.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.

    References
    ----------
    Li et al. (DFedSGPSM), section 5 and appendix A ("More details about
    baselines"), after Assran et al. 2019.
    """

    eta: float
    K: int

    source: ClassVar[str] = "Assran et al. 2019, as the DFedSGPSM paper uses it"
    ranges: ClassVar = ranges("eta K")


@dataclass(frozen=True)
class DFedSGPM(PushSum):
    """DFedSGPSM without SAM: K momentum steps at x / w, then one push-sum exchange.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    alpha : float
        Momentum of the local steps, reset to v = 0 in each round; 0.9 in the
        paper's experiments on MNIST and CIFAR-10, 0.1 on CIFAR-100.

    References
    ----------
    DFedSGPSM paper, Algorithm 1 with rho = 0 (its ablation); alpha: appendix A.
    """

    eta: float
    K: int
    alpha: float = 0.9

    source: ClassVar[str] = "DFedSGPSM paper, ablation"
    ranges: ClassVar = ranges("eta K alpha")


@dataclass(frozen=True)
class DFedSGPSM(PushSum):
    """Stochastic gradient push with SAM and momentum on directed graphs.

        v <- 0;  K times:  z <- x / w_i,  g = grad F_i(z; xi),
                           v <- alpha v + grad F_i(z + rho g/||g||; xi),  x <- x - eta v
        x_i <- sum_j p_ij x_j,  w_i <- sum_j p_ij w_j     (P column-stochastic)

    DFedSGPSM-S is this algorithm on the loss-driven sequence of ``graphs``, in which
    neighbors are drawn by the clients' losses f_i(z_i^t) at the start of the round.

    The paper prints p_ji = 1/|N_i^out(0)|, of round 0; here P is the matrix of round t.
    SAM at g = 0 is not defined there; here its point is z.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    alpha : float
        Momentum of the local steps; 0.9 in the paper's experiments on MNIST and
        CIFAR-10, 0.1 on CIFAR-100.
    rho : float
        SAM radius; 0.1 in the paper's experiments on directed graphs. With 0 it
        is DFedSGPM.

    References
    ----------
    DFedSGPSM paper, Algorithm 1; appendix A.1 for -S; alpha: appendix A; rho:
    section 5.1, "asymmetric topology".
    """

    eta: float
    K: int
    alpha: float = 0.9
    rho: float = 0.1

    source: ClassVar[str] = "DFedSGPSM paper"
    ranges: ClassVar = ranges("eta K alpha rho")


__all__ = ["DFedSGPM", "DFedSGPSM", "OSGP", "SGP", "PushSum", "PushSumState"]
