"""Server-based methods against client drift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, replace, taking_part
from dfltheory.algorithms.blocks import Phased, SharedState, empty_tensor
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import corrected_steps, pulled, shifted
from dfltheory.algorithms.server import Server
from dfltheory.number_ranges import NumberRange


@dataclass(frozen=True)
class FedProx(Server[SharedState]):
    """FedProx: FedAvg with a proximal term lam/2 ||y - x||^2, x the server's model.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) + lam (y - x))
        x <- mean of y over the sampled clients

    Clients drift less, but with a constant step size heterogeneous clients still cause
    a bias.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    lam : float
        Weight of the proximal term; mu in Li et al. Karimireddy et al. 2020 use
        1.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Li et al. 2020 (FedProx), Algorithm 2, with K steps as the inexact solution.
    """

    eta: float
    K: int
    lam: float = 1.0
    glossary: ClassVar[dict[str, str]] = {"lam": "pull"}

    source: ClassVar[str] = "Li et al. 2020"
    ranges: ClassVar = ranges("eta K lam participation")

    def local_update(self, state: SharedState, grad: Oracle) -> SharedState:
        """Return the state with z after local steps with the proximal term."""
        y = corrected_steps(self, grad, state.x, pulled(state.x, self.lam))
        return replace(state, z=taking_part(grad, y, state.x))


@dataclass(frozen=True, eq=False)
class ControlState(SharedState):
    """State with the control variates c of the server and ``own`` of the clients.

    Both (S, m, d), in units of a gradient, 0 before round 0; c is equal for all
    clients. ``share`` |S|/m of the clients participate; they send the ``change`` (S, m,
    d) of their control variates.
    """

    c: Tensor = field(default_factory=empty_tensor)
    own: Tensor = field(default_factory=empty_tensor)
    share: float = 1.0
    change: Tensor | None = None


@dataclass(frozen=True)
class SCAFFOLD(Server[ControlState]):
    """SCAFFOLD: local steps are corrected by control variates.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) - c_i + c)
        option I:   c_i <- grad F_i(x; xi), a new minibatch
        option II:  c_i <- c_i - c + (x - y)/(K eta)
        x <- x + eta_s mean of (y - x) over the sampled clients
        c <- c + 1/m sum of (new - old c_i) over the sampled clients

    Two vectors of the size of a model are sent in a round. With full participation and
    option II it is K-GT on the complete graph.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    eta_s : float
        Factor of the clients' progress in a round; eta_g in the paper, and 1 in
        its experiments.
    option : {"I", "II"}
        Update of the control variates.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Karimireddy et al. 2020, Algorithm 1.
    """

    eta: float
    K: int
    eta_s: float = 1.0
    option: Literal["I", "II"] = "II"

    source: ClassVar[str] = "Karimireddy et al. 2020"
    ranges: ClassVar = ranges("eta K eta_s participation")

    def init(self, x0: Tensor, grad: Oracle) -> ControlState:
        """Return the initial state, in which all controls are 0."""
        zero = torch.zeros_like(x0)
        return ControlState(x=x0, z=x0, c=zero, own=zero, share=self.share(x0.shape[1]))

    def local_update(self, state: ControlState, grad: Oracle) -> ControlState:
        """Return the state after corrected steps, with the clients' new controls."""
        eta = self.decayed(self.eta, grad.t)
        y = corrected_steps(self, grad, state.x, shifted(state.c - state.own))
        if self.option == "I":
            change = self.slope(grad, state.x).sub_(state.own)
        else:
            change = torch.sub(state.x, y).div_(self.K * eta).sub_(state.c)
        change = taking_part(grad, change, 0.0)
        z = taking_part(grad, torch.lerp(state.x, y, self.eta_s), state.x)
        return replace(state, z=z, own=state.own + change, change=change)

    def communicate(self, state: ControlState, mix: Mix) -> ControlState:
        """Return the state with the averaged models and the server's new control."""
        assert state.change is not None
        c = torch.add(state.c, mix(state.change), alpha=state.share)
        return replace(state, x=mix(state.z), c=c, change=None)


@dataclass(frozen=True, eq=False)
class DynamicState(SharedState):
    """State with the clients' ``dual`` and the server's ``ahead`` = -h/lam.

    Both (S, m, d), 0 before round 0; ``ahead`` is equal for all clients. ``share``
    |S|/m of the clients participate.
    """

    dual: Tensor = field(default_factory=empty_tensor)
    ahead: Tensor = field(default_factory=empty_tensor)
    share: float = 1.0


@dataclass(frozen=True)
class FedDyn(Server[DynamicState]):
    """FedDyn: a dynamic regularizer makes the clients' minimizers agree.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) - dual_i + lam (y - x))
        dual_i <- dual_i - lam (y - x)
        h <- h - lam/m sum of (y - x) over the sampled clients
        x <- (mean of y over the sampled clients) - h/lam

    If y minimizes its local problem, the new dual_i is grad f_i(y), as in the paper.
    All clients start at the server's model: with different starts h is not the mean of
    the duals.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    lam : float
        Weight of the proximal term; alpha in Acar et al., and 0.01 in their
        code's example for CIFAR-10.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Acar et al. 2021, Algorithm 1, with K steps as the solution of the local
    problem.
    """

    eta: float
    K: int
    lam: float = 0.01
    glossary: ClassVar[dict[str, str]] = {"lam": "pull"}

    source: ClassVar[str] = "Acar et al. 2021"
    one_start: ClassVar[bool] = True
    ranges: ClassVar = ranges("eta K lam participation")

    def init(self, x0: Tensor, grad: Oracle) -> DynamicState:
        """Return the initial state, in which the duals and ``ahead`` are 0."""
        zero = torch.zeros_like(x0)
        return DynamicState(
            x=x0, z=x0, dual=zero, ahead=zero, share=self.share(x0.shape[1])
        )

    def local_update(self, state: DynamicState, grad: Oracle) -> DynamicState:
        """Return the state after local steps with the dual pull, with the new duals."""
        y = corrected_steps(self, grad, state.x, pulled(state.x, self.lam, state.dual))
        z = taking_part(grad, y, state.x)
        return replace(
            state, z=z, dual=torch.sub(z, state.x).mul_(-self.lam).add_(state.dual)
        )

    def communicate(self, state: DynamicState, mix: Mix) -> DynamicState:
        """Return the state with x, the mean of z plus the new ``ahead``."""
        mean = mix(state.z)
        ahead = torch.sub(mean, state.x).mul_(state.share).add_(state.ahead)
        return replace(state, x=mean.add_(ahead), ahead=ahead)


@dataclass(frozen=True, eq=False)
class PrimalDualState(SharedState):
    """State with the clients' ``own`` models and ``dual`` (S, m, d), 0 at first.

    x is the server's model of ``silent`` rounds ago, or the client's own estimate since
    then.
    """

    own: Tensor = field(default_factory=empty_tensor)
    dual: Tensor = field(default_factory=empty_tensor)
    silent: int = 0


@dataclass(frozen=True)
class FedPD(Phased[PrimalDualState]):
    """FedPD: a primal-dual method whose clients may skip the server.

        K times:  y_i <- y_i - eta (grad F_i(y_i; xi) - dual_i + lam (y_i - x_i))
        dual_i <- dual_i - lam (y_i - x_i)
        x_i <- y_i - dual_i/lam;   in each R-th round, the mean of these

    Local steps continue from the client's own y_i, and nothing is sent in the other
    rounds. With R = 1 and local steps from x_i instead of y_i, it is FedDyn with full
    participation. With R > 1 and a constant step size, heterogeneous clients cause a
    bias. -dual_i is the paper's multiplier, 1/lam its eta.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    lam : float
        Penalty parameter; 1/eta in the paper.
    R : int
        Number of rounds between averages. In the paper the server averages with
        probability 1/R.

    References
    ----------
    Zhang et al. 2021 (FedPD) with gradient steps, as decent-bench
    (docs/fidelity.md) runs it.
    """

    eta: float
    K: int
    lam: float = 1.0
    R: int = 1
    glossary: ClassVar[dict[str, str]] = {"lam": "penalty", "R": "silence"}

    needs_topology: ClassVar[bool] = False
    source: ClassVar[str] = "Zhang et al. 2021, FedPD"
    ranges: ClassVar = {
        **ranges("eta K lam"),
        "R": NumberRange(1, integer=True),
    }

    def init(self, x0: Tensor, grad: Oracle) -> PrimalDualState:
        """Return the initial state: the duals are 0, and clients start at x0."""
        return PrimalDualState(x=x0, z=x0, own=x0, dual=torch.zeros_like(x0))

    def local_update(self, state: PrimalDualState, grad: Oracle) -> PrimalDualState:
        """Return the state with the clients' models and duals, and z = y - dual/lam."""
        y = corrected_steps(
            self, grad, state.own, pulled(state.x, self.lam, state.dual)
        )
        dual = torch.sub(y, state.x).mul_(-self.lam).add_(state.dual)
        return replace(
            state, z=torch.sub(y, dual, alpha=1 / self.lam), own=y, dual=dual
        )

    def communicate(self, state: PrimalDualState, mix: Mix) -> PrimalDualState:
        """Return the state with z averaged in each R-th round, else kept."""
        silent = (state.silent + 1) % self.R
        return replace(state, x=state.z if silent else mix(state.z), silent=silent)


__all__ = ["SCAFFOLD", "FedDyn", "FedPD", "FedProx"]
