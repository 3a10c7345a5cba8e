"""Personalized baselines with a server: heads or whole models belong to the clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, replace, taking_part
from dfltheory.algorithms.blocks import (
    Phase,
    SharedState,
    block_coordinates,
    empty_tensor,
)
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import Index, local_steps, pulled
from dfltheory.algorithms.server import Server


@dataclass(frozen=True)
class FedPer(Server[SharedState]):
    """FedPer: clients train body and head; the server averages the bodies only.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    alpha : float
        Momentum of the local steps.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Arivazhagan et al. 2019.
    """

    eta: float
    K: int
    alpha: float = field(default=0.0, kw_only=True)

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Arivazhagan et al. 2019"
    ranges: ClassVar = ranges("eta K alpha participation")


@dataclass(frozen=True)
class FedRep(Server[SharedState]):
    """FedRep: K_v steps on the head, then K_u on the body; the server averages bodies.

    Parameters
    ----------
    eta_u, eta_v : float
        Step sizes of the body u and the head v.
    K_u, K_v : int
        Numbers of local steps on the body u and the head v.
    alpha : float
        Momentum of the local steps.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Collins et al. 2021.
    """

    eta_u: float
    eta_v: float
    K_u: int
    K_v: int
    alpha: float = field(default=0.0, kw_only=True)

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Collins et al. 2021"
    ranges: ClassVar = ranges("eta_u eta_v K_u K_v alpha participation")

    def phases(self, u: Index, v: Index) -> list[Phase]:
        """Return two phases: K_v steps on the head, then K_u on the body."""
        return [(v, self.eta_v, self.K_v, 0.0), (u, self.eta_u, self.K_u, 0.0)]


@dataclass(frozen=True)
class FedBABU(Server[SharedState]):
    """FedBABU: only the body is trained and averaged; clients fine-tune at the end.

    The head keeps its initial value until the last round. Then each client takes K_v
    steps on its whole model.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps on the body per round.
    K_v : int
        Number of fine-tuning steps after the last round.
    alpha : float
        Momentum of the local steps.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Oh et al. 2022.
    """

    eta: float
    K: int
    K_v: int = 1
    alpha: float = field(default=0.0, kw_only=True)

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Oh et al. 2022"
    ranges: ClassVar = ranges("eta K K_v alpha participation")

    def phases(self, u: Index, v: Index) -> list[Phase]:
        """Return one phase: K steps on the body."""
        return [(u, self.eta, self.K, 0.0)]

    def finish(self, state: SharedState, grad: Oracle) -> SharedState:
        """Return the state after K_v steps on all coordinates (fine-tuning)."""
        y = grad.begin(state.x)
        local_steps(self, grad, y, eta=self.eta, K=self.K_v, alpha=self.alpha)
        return replace(state, x=y)


@dataclass(frozen=True, eq=False)
class HeadsState(SharedState):
    """State with a personal head (S, m, d_v) in addition to the generic one."""

    head: Tensor = field(default_factory=empty_tensor)


@dataclass(frozen=True)
class FedRoD(Server[HeadsState]):
    """Fed-RoD: a generic model for the class-balanced risk and personal heads.

    The server averages bodies and generic heads, which are trained on the
    class-balanced risk. A personal head is trained on the client's own risk, and its
    outputs are added to those of the generic head.

        y <- y - eta grad F_i^balanced(y; xi)
        p <- p - eta grad_v F_i((y_u, y_v + p); xi)

    Both gradients are evaluated at the old y and on one minibatch. The outputs of
    linear heads add like their parameters, so (u, v + p) is the personal model. This is
    the linear variant of the source, with p = 0 first.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Chen and Chao 2022 (balanced risk: balanced softmax, Ren et al. 2020).
    """

    eta: float
    K: int

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Chen and Chao 2022"
    ranges: ClassVar = ranges("eta K participation")

    def init(self, x0: Tensor, grad: Oracle) -> HeadsState:
        """Return the initial state, in which the personal heads are 0."""
        _, v = block_coordinates(grad.shared, x0.shape[-1])
        return HeadsState(
            x=x0, z=x0, shared=grad.shared, head=torch.zeros_like(x0[..., v])
        )

    def local_update(self, state: HeadsState, grad: Oracle) -> HeadsState:
        """Return the state after K steps on the generic model and the personal head.

        The generic model takes class-balanced gradients.
        """
        _, v = block_coordinates(grad.shared, state.x.shape[-1])
        eta = self.decayed(self.eta, grad.t)
        y = grad.begin(state.x)
        p = state.head.clone()
        for _ in range(self.K):
            batch = grad.sample()
            g = grad.balanced(y, batch)
            head_gradient = grad(_with_head(y, v, p), batch)[..., v]
            if self.weight_decay:
                g.add_(y, alpha=self.weight_decay)
                head_gradient = head_gradient.add(p, alpha=self.weight_decay)
            y.sub_(g, alpha=eta)
            p.sub_(head_gradient, alpha=eta)
        z = taking_part(grad, y, state.x)
        return replace(state, z=z, head=taking_part(grad, p, state.head))

    def communicate(self, state: HeadsState, mix: Mix) -> HeadsState:
        """Return the state with x, the averaged generic models."""
        return replace(state, x=mix(state.z))

    def models(self, state: HeadsState) -> Tensor:
        """Return the models with the personal head in addition to the generic one."""
        _, v = block_coordinates(state.shared, state.x.shape[-1])
        return _with_head(state.x, v, state.head)


def _with_head(y: Tensor, v: Index, p: Tensor) -> Tensor:
    """Return models (y_u, y_v + p), where v are the coordinates of the head."""
    point = y.clone()
    point[..., v] += p
    return point


@dataclass(frozen=True, eq=False)
class TwinState(SharedState):
    """State with the clients' personal models v (S, m, d)."""

    v: Tensor = field(default_factory=empty_tensor)


@dataclass(frozen=True)
class Ditto(Server[TwinState]):
    """Ditto: FedAvg, and a personal model of each client near the server's model.

        K times:    y <- y - eta grad F_i(y; xi),   averaged by the server
        K_v times:  v_i <- v_i - eta (grad F_i(v_i; xi) + lam (v_i - x))

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps on the server's model per round.
    K_v : int or None
        Number of local steps on the personal model per round. None: K.
    lam : float
        Weight of the proximal term.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Li et al. 2021.
    """

    eta: float
    K: int
    K_v: int | None = None
    lam: float = 0.75
    # not the network's contraction
    glossary: ClassVar[dict[str, str]] = {"lam": "pull"}

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Li et al. 2021"
    ranges: ClassVar = ranges("eta K K_v lam participation")

    def init(self, x0: Tensor, grad: Oracle) -> TwinState:
        """Return the initial state, in which personal models start at x0."""
        return TwinState(x=x0, z=x0, v=x0)

    def local_update(self, state: TwinState, grad: Oracle) -> TwinState:
        """Return the state after local steps of the shared and the personal models."""
        y = local_steps(self, grad, grad.begin(state.x), eta=self.eta, K=self.K)
        v = local_steps(
            self,
            grad,
            state.v.clone(),
            eta=self.eta,
            K=self.K if self.K_v is None else self.K_v,
            correct=pulled(state.x, self.lam),
        )
        return replace(
            state, z=taking_part(grad, y, state.x), v=taking_part(grad, v, state.v)
        )

    def communicate(self, state: TwinState, mix: Mix) -> TwinState:
        """Return the state with x, the average of z."""
        return replace(state, x=mix(state.z))

    def models(self, state: TwinState) -> Tensor:
        """Return the personal models v."""
        return state.v


__all__ = ["Ditto", "FedBABU", "FedPer", "FedRep", "FedRoD"]
