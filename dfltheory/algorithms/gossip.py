"""Gossip: local steps, then x <- W z with a doubly stochastic W."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, S, State, replace
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import local_steps
from dfltheory.errors import InputError

UpdateOrder = Literal["combine-then-adapt", "adapt-then-combine"]
"""Whether clients mix models before they take a step, or after it."""


@dataclass(frozen=True)
class LocalSteps(Algorithm[S]):
    """Base of the family: K (SAM) steps, then Q gossip steps."""

    implied: ClassVar = {"K": 1, "Q": 1, "rho": 0.0, "alpha": 0.0}
    _repeats_gossip: ClassVar[bool] = True

    def local_update(self, state: S, grad: Oracle) -> S:
        """Return the state with z, the models after K local steps."""
        eta, K, rho = map(self.hyperparameter, ("eta", "K", "rho"))
        y = local_steps(self, grad, grad.begin(state.x), eta=eta, K=K, rho=rho)
        return replace(state, z=y)

    def communicate(self, state: S, mix: Mix) -> S:
        """Return the state with x, the mixture of z after Q gossip steps."""
        return replace(state, x=mix(state.z, times=self.gossip_steps))


@dataclass(frozen=True, eq=False)
class StepState(State):
    """State with the gradient g (S, m, d) and the size of a step after gossip."""

    g: Tensor | None = None
    eta: float = 0.0


@dataclass(frozen=True)
class DPSGD(LocalSteps[StepState]):
    """Decentralized parallel SGD: one gradient and one exchange a round.

    ``combine-then-adapt`` (as printed by Lian et al.): x_i <- sum_l w_il x_l - eta g_i
    ``adapt-then-combine``: x_i <- sum_l w_il (x_l - eta g_l)
    In both, g_i = grad F_i(x_i; xi_i) is evaluated at the client's own model.

    Parameters
    ----------
    eta : float
        Step size.
    order : {"adapt-then-combine", "combine-then-adapt"}
        Whether the gradient step comes before or after the gossip step.

    References
    ----------
    Lian et al. 2017, Algorithm 1; the two orders after Chen and Sayed 2012.
    """

    eta: float
    order: UpdateOrder = "combine-then-adapt"

    source: ClassVar[str] = "Lian et al. 2017"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> StepState:
        """Return the initial state, without a gradient."""
        return StepState(x=x0, z=x0)

    def local_update(self, state: StepState, grad: Oracle) -> StepState:
        """Return the state with one gradient step, taken now or after the exchange."""
        g = self.slope(grad, state.x)
        eta = self.decayed(self.eta, grad.t)
        if self.order == "adapt-then-combine":
            return replace(state, z=torch.sub(state.x, g, alpha=eta))
        return replace(state, z=state.x, g=g, eta=eta)

    def communicate(self, state: StepState, mix: Mix) -> StepState:
        """Return the mixed state; combine-then-adapt then takes the gradient step."""
        if self.order == "adapt-then-combine":
            return replace(state, x=mix(state.z))
        assert state.g is not None
        return replace(state, x=mix(state.z).sub_(state.g, alpha=state.eta), g=None)


@dataclass(frozen=True)
class DFedSAM(LocalSteps[State]):
    """DFedSAM (Q = 1) and DFedSAM-MGS (Q > 1): K SAM steps, then Q gossip steps.

        y <- x_i
        K times:  g = grad F_i(y; xi),  y <- y - eta grad F_i(y + rho g/||g||; xi)
        x_i <- sum_l (W^Q)_il z_l,  z_l = y of client l

    With random W_t, the Q gossip steps use Q independent matrices. Line 4 of the paper
    sets y <- x_i inside the loop over local steps; here it is set once per round.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    rho : float
        SAM radius; 0.01 in the paper's experiments on CIFAR. With 0 it is
        DFedAvg.
    Q : int
        Number of gossip steps per round.

    References
    ----------
    Shi et al. 2023, Algorithm 1; rho: section 5.2 and appendix B.3.
    """

    eta: float
    K: int
    rho: float = 0.01
    Q: int = 1

    source: ClassVar[str] = "Shi et al. 2023"
    ranges: ClassVar = ranges("eta K rho Q")


@dataclass(frozen=True)
class DFedAvg(LocalSteps[State]):
    """DFedAvg: K SGD steps, then one gossip step; DFedSAM with rho = 0 and Q = 1.

        y <- x_i;  K times:  y <- y - eta grad F_i(y; xi)
        x_i <- sum_l w_il z_l,  z_l = y of client l

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.

    References
    ----------
    Sun et al. 2022 (without momentum).
    """

    eta: float
    K: int

    source: ClassVar[str] = "Sun et al. 2022"
    ranges: ClassVar = ranges("eta K")


@dataclass(frozen=True, eq=False)
class MomentumState(State):
    """State with the momentum v (S, m, d)."""

    v: Tensor


@dataclass(frozen=True)
class DFedAvgM(LocalSteps[MomentumState]):
    """DFedAvgM: K heavy-ball steps, then one gossip step.

        y <- x_i, v <- 0;  K times:  v <- alpha v + grad F_i(y; xi),  y <- y - eta v
        x_i <- sum_l w_il z_l,  z_l = y of client l

    That is y_{k+1} = y_k - eta g_k + alpha (y_k - y_{k-1}) with y_{-1} = y_0, as in Sun
    et al.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    alpha : float
        Momentum of the local steps; theta in Sun et al.
    keep_momentum : bool
        Whether the next round starts from v instead of 0.

    References
    ----------
    Sun et al. 2022, Algorithm 1.
    """

    eta: float
    K: int
    alpha: float = 0.9
    keep_momentum: bool = False

    source: ClassVar[str] = "Sun et al. 2022"
    ranges: ClassVar = ranges("eta K alpha")

    def init(self, x0: Tensor, grad: Oracle) -> MomentumState:
        """Return the initial state; it stores a momentum of 0 if ``keep_momentum``."""
        stored = x0 if self.keep_momentum else x0[..., :0]
        return MomentumState(x=x0, z=x0, v=torch.zeros_like(stored))

    def local_update(self, state: MomentumState, grad: Oracle) -> MomentumState:
        """Return the state after K momentum steps, with the momentum if it is kept."""
        v = state.v.clone() if self.keep_momentum else None
        y = local_steps(
            self,
            grad,
            grad.begin(state.x),
            eta=self.eta,
            K=self.K,
            alpha=self.alpha,
            velocity=v,
        )
        return replace(state, z=y, v=state.v if v is None else v)


@dataclass(frozen=True, eq=False)
class GlobalMomentumState(MomentumState):
    """State with the quasi-global momentum v, and the round's step size."""

    eta: float = 0.0


@dataclass(frozen=True)
class QGDSGDm(Algorithm[GlobalMomentumState]):
    """QG-DSGDm, and QG-DSGDm-N (``nesterov``): momentum of the mixed models.

        g_i = grad F_i(x_i; xi),   m_i = alpha v_i + g_i
        z_i = x_i - eta m_i        (nesterov: x_i - eta (g_i + alpha m_i))
        x_i' = sum_l w_il z_l,  v_i <- mu v_i + (1 - mu) (x_i - x_i')/eta,  first 0

    So v_i approximates the common direction of all clients. One model is sent in a
    round.

    Parameters
    ----------
    eta : float
        Step size.
    alpha : float
        Momentum; beta in Lin et al., and 0.9 in their experiments.
    mu : float or None
        Decay factor of v. None: alpha, as in the paper.
    nesterov : bool
        Whether to use Nesterov momentum.

    References
    ----------
    Lin et al. 2021, Algorithm 1.
    """

    eta: float
    alpha: float = 0.9
    mu: float | None = None
    nesterov: bool = False
    glossary: ClassVar[dict[str, str]] = {"mu": "memory"}  # not strong convexity

    source: ClassVar[str] = "Lin et al. 2021"
    ranges: ClassVar = ranges("eta alpha mu")

    def init(self, x0: Tensor, grad: Oracle) -> GlobalMomentumState:
        """Return the initial state with momentum 0."""
        return GlobalMomentumState(x=x0, z=x0, v=torch.zeros_like(x0))

    def local_update(
        self, state: GlobalMomentumState, grad: Oracle
    ) -> GlobalMomentumState:
        """Return the state with z after one momentum step.

        Raises
        ------
        InputError
            If the step size of the round is 0.
        """
        eta = self.decayed(self.eta, grad.t)
        g = self.slope(grad, state.x)
        if eta == 0:
            raise InputError(
                f"decay = {self.decay}: the step size of round {grad.t} must not be 0"
            )
        m = torch.add(g, state.v, alpha=self.alpha)
        step = g.add_(m, alpha=self.alpha) if self.nesterov else m
        return replace(state, z=torch.sub(state.x, step, alpha=eta), eta=eta)

    def communicate(self, state: GlobalMomentumState, mix: Mix) -> GlobalMomentumState:
        """Return the mixed state, with the momentum updated by the models' movement."""
        x = mix(state.z)
        mu = self.alpha if self.mu is None else self.mu
        moved = torch.sub(state.x, x).mul_((1 - mu) / state.eta)
        return replace(state, x=x, v=moved.add_(state.v, alpha=mu))


__all__ = [
    "DFedAvg",
    "DFedAvgM",
    "DFedSAM",
    "DPSGD",
    "LocalSteps",
    "MomentumState",
    "UpdateOrder",
    "QGDSGDm",
]
