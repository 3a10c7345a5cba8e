"""Server-based, against client drift: what keeps local steps from leading to the clients' own minimizers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, ranges, replace, taking_part
from dfltheory.algorithms.blocks import Phased, SharedState, pulled
from dfltheory.algorithms.server import Server


@dataclass(frozen=True)
class FedProx(Server):
    """FedProx: FedAvg with local steps on F_i + lam/2 ||y - x||^2, x the server's model.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) + lam (y - x));    x <- mean over the sampled of y

    Clients drift less, but a constant step still ends off the minimizer where they differ.

    Parameters: ``eta`` step size, ``K`` local steps, ``lam`` pull toward the server's model (mu of Li et al.;
    1 is what Karimireddy et al. 2020 compare with), ``participation``.
    Source: Li et al. 2020 (FedProx), Algorithm 2, with K steps as the inexact solution.
    """

    eta: float
    K: int
    lam: float = 1.0
    glossary: ClassVar[dict[str, str]] = {"lam": "pull"}

    source: ClassVar[str] = "Li et al. 2020"
    ranges: ClassVar = ranges("eta K lam participation")

    def local_update(self, state: SharedState, grad: Oracle) -> SharedState:
        y = pulled(self, grad, grad.begin(state.x), state.x, eta=self.eta, K=self.K, lam=self.lam)
        return replace(state, z=taking_part(grad, y, state.x))


@dataclass(frozen=True, eq=False)
class ControlState(SharedState):
    """State with the control variates c of the server, the same everywhere, and ``own``, the clients' c_i.

    Both (S, m, d), in units of a gradient, 0 before round 0. ``share`` |S|/m of the clients take part;
    ``change`` (S, m, d) is what they send of their c_i.
    """

    c: Tensor = field(default_factory=lambda: torch.empty(0))
    own: Tensor = field(default_factory=lambda: torch.empty(0))
    share: float = 1.0
    change: Tensor | None = None


@dataclass(frozen=True)
class SCAFFOLD(Server):
    """SCAFFOLD: local steps are corrected by the difference of the server's gradient and the client's own.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) - c_i + c)
        c_i <- grad F_i(x; xi), one more minibatch (option I), or c_i - c + (x - y)/(K eta) (option II)
        x <- x + eta_s (mean over the sampled of y - x),   c <- c + 1/m sum over the sampled of new - old c_i

    Twice a model is sent in a round. With full participation and option II it is K-GT on the complete graph.

    Parameters: ``eta`` step size, ``K`` local steps, ``eta_s`` how much of the clients' progress the server
    takes (eta_g there, 1 in their experiments), ``option`` I or II, ``participation``.
    Source: Karimireddy et al. 2020, Algorithm 1.
    """

    eta: float
    K: int
    eta_s: float = 1.0
    option: Literal["I", "II"] = "II"

    source: ClassVar[str] = "Karimireddy et al. 2020"
    ranges: ClassVar = ranges("eta K eta_s participation")

    def init(self, x0: Tensor, grad: Oracle) -> ControlState:
        zero = torch.zeros_like(x0)
        return ControlState(x=x0, z=x0, c=zero, own=zero, share=self.share(x0.shape[1]))

    def local_update(self, state: ControlState, grad: Oracle) -> ControlState:
        eta, y = self.decayed(self.eta, grad.t), grad.begin(state.x)
        correction = state.c - state.own
        for _ in range(self.K):
            y.sub_(self.slope(grad, y).add_(correction), alpha=eta)
        if self.option == "I":
            change = self.slope(grad, state.x).sub_(state.own)
        else:
            change = torch.sub(state.x, y).div_(self.K * eta).sub_(state.c)
        change = taking_part(grad, change, 0.0)
        z = taking_part(grad, torch.lerp(state.x, y, self.eta_s), state.x)
        return replace(state, z=z, own=state.own + change, change=change)

    def communicate(self, state: ControlState, mix: Mix) -> ControlState:
        assert state.change is not None
        c = torch.add(state.c, mix(state.change), alpha=state.share)
        return replace(state, x=mix(state.z), c=c, change=None)


@dataclass(frozen=True, eq=False)
class DynamicState(SharedState):
    """State with the clients' ``dual`` (S, m, d), and the server's ``ahead`` = -h/lam, the same everywhere.

    Both (S, m, d), 0 before round 0. ``share`` |S|/m of the clients take part.
    """

    dual: Tensor = field(default_factory=lambda: torch.empty(0))
    ahead: Tensor = field(default_factory=lambda: torch.empty(0))
    share: float = 1.0


@dataclass(frozen=True)
class FedDyn(Server):
    """FedDyn: a regularizer that changes from round to round makes the clients' minimizers agree.

        y <- x;  K times:  y <- y - eta (grad F_i(y; xi) - dual_i + lam (y - x))
        dual_i <- dual_i - lam (y - x)
        h <- h - lam/m sum over the sampled of (y - x),   x <- mean over the sampled of y, minus h/lam

    Where y minimizes its local problem, the new dual_i is grad f_i(y), as the paper writes it. All begin at
    the server's model: from different starts h is not the mean of the duals.

    Parameters: ``eta`` step size, ``K`` local steps, ``lam`` pull toward the server's model (alpha of Acar et
    al., 0.01 in their code's example for CIFAR-10), ``participation``.
    Source: Acar et al. 2021, Algorithm 1, with K steps as the solution of the local problem.
    """

    eta: float
    K: int
    lam: float = 0.01
    glossary: ClassVar[dict[str, str]] = {"lam": "pull"}

    source: ClassVar[str] = "Acar et al. 2021"
    one_start: ClassVar[bool] = True
    ranges: ClassVar = ranges("eta K lam participation")

    def init(self, x0: Tensor, grad: Oracle) -> DynamicState:
        zero = torch.zeros_like(x0)
        return DynamicState(x=x0, z=x0, dual=zero, ahead=zero, share=self.share(x0.shape[1]))

    def local_update(self, state: DynamicState, grad: Oracle) -> DynamicState:
        begin = grad.begin(state.x)
        y = pulled(self, grad, begin, state.x, eta=self.eta, K=self.K, lam=self.lam, dual=state.dual)
        z = taking_part(grad, y, state.x)
        return replace(state, z=z, dual=torch.sub(z, state.x).mul_(-self.lam).add_(state.dual))

    def communicate(self, state: DynamicState, mix: Mix) -> DynamicState:
        mean = mix(state.z)
        ahead = torch.sub(mean, state.x).mul_(state.share).add_(state.ahead)
        return replace(state, x=mean.add_(ahead), ahead=ahead)


@dataclass(frozen=True, eq=False)
class PrimalDualState(SharedState):
    """State with the clients' ``own`` models and ``dual`` (S, m, d), the latter 0 before round 0.

    x is the server's model, or a client's guess of it since the server last spoke, ``silent`` rounds ago.
    """

    own: Tensor = field(default_factory=lambda: torch.empty(0))
    dual: Tensor = field(default_factory=lambda: torch.empty(0))
    silent: int = 0


@dataclass(frozen=True)
class FedPD(Phased):
    """FedPD: the augmented Lagrangian of "all models agree", by clients that may go on without the server.

        K times:  y_i <- y_i - eta (grad F_i(y_i; xi) - dual_i + lam (y_i - x_i))
        dual_i <- dual_i - lam (y_i - x_i)
        x_i <- y_i - dual_i/lam;   in every R-th round  x_i <- mean over all clients of these

    Local steps go on from the client's own y_i; nothing is sent in the other rounds. Started at x_i in place
    of y_i, and with R = 1, it is FedDyn with all clients; with R > 1 a constant step ends off the minimizer
    where clients differ. -dual_i is the paper's multiplier, 1/lam its eta.

    Parameters: ``eta`` step size, ``K`` local steps, ``lam`` penalty, ``R`` rounds from one average to the
    next (the paper tosses a coin: with probability 1/R the server averages).
    Source: Zhang et al. 2021 (FedPD) with gradient steps, as decent-bench (docs/fidelity.md) runs it.
    """

    eta: float
    K: int
    lam: float = 1.0
    R: int = 1
    glossary: ClassVar[dict[str, str]] = {"lam": "penalty", "R": "silence"}

    needs_topology: ClassVar[bool] = False
    source: ClassVar[str] = "Zhang et al. 2021, FedPD"
    ranges: ClassVar = {**ranges("eta K lam"), "R": ("an integer >= 1", lambda v: v >= 1)}

    def init(self, x0: Tensor, grad: Oracle) -> PrimalDualState:
        return PrimalDualState(x=x0, z=x0, own=x0, dual=torch.zeros_like(x0))

    def local_update(self, state: PrimalDualState, grad: Oracle) -> PrimalDualState:
        begin = grad.begin(state.own)
        y = pulled(self, grad, begin, state.x, eta=self.eta, K=self.K, lam=self.lam, dual=state.dual)
        dual = torch.sub(y, state.x).mul_(-self.lam).add_(state.dual)
        return replace(state, z=torch.sub(y, dual, alpha=1 / self.lam), own=y, dual=dual)

    def communicate(self, state: PrimalDualState, mix: Mix) -> PrimalDualState:
        silent = (state.silent + 1) % self.R
        return replace(state, x=state.z if silent else mix(state.z), silent=silent)


__all__ = ["SCAFFOLD", "FedDyn", "FedPD", "FedProx"]
