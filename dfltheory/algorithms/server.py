"""Server-based baselines: a server averages the sampled clients' messages.

``participation`` is the fraction of clients that a round samples without replacement (1
for all). Clients that are not sampled keep their personal parts. The shared part
belongs to the server and is equal for all clients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, replace, sampled, taking_part
from dfltheory.algorithms.blocks import (
    Phase,
    Phased,
    Shared,
    SharedState,
    blocks,
    empty_tensor,
)
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import Index, local_steps, pulled
from dfltheory.number_ranges import POSITIVE


@dataclass(frozen=True)
class Server(Phased[Shared]):
    """Base class: a fraction of the clients participates in each round."""

    participation: float = field(default=1.0, kw_only=True)

    needs_topology: ClassVar[bool] = False

    def share(self, m: int) -> float:
        """Return the fraction of m clients that a round samples."""
        return sampled(self.participation, m) / m


@dataclass(frozen=True)
class FedAvg(Server[SharedState]):
    """FedAvg: x_i = K SGD steps from the server's model; the server averages.

    Parameters: ``eta`` step size, ``K`` local steps, ``alpha`` local momentum,
    ``participation``, ``offset`` gamma, for the step sizes eta gamma/(gamma + s) at
    steps s = 0, 1, ... of the run (None for constant eta). Source: McMahan et al. 2017
    (clients weighted equally, as in the theory); ``offset``: Li et al. 2020.
    """

    eta: float
    K: int
    alpha: float = field(default=0.0, kw_only=True)
    offset: float | None = field(default=None, kw_only=True)

    source: ClassVar[str] = "McMahan et al. 2017"
    ranges: ClassVar = {
        **ranges("eta K alpha participation"),
        "offset": POSITIVE,
    }

    def step(self, eta: float, t: int, k: int) -> float:
        """Return the step size of local step k of round t."""
        size = self.decayed(eta, t)
        if self.offset is None:
            return size
        return size * self.offset / (self.offset + t * self.K + k)


@dataclass(frozen=True)
class FedSAM(Server[SharedState]):
    """FedSAM: FedAvg with SAM local steps, both gradients of a step on one minibatch.

    Parameters: ``eta`` step size, ``K`` local steps, ``rho`` SAM radius, ``alpha``
    local momentum, ``participation``.
    Source: Qu et al. 2022, Caldarola et al. 2022.
    """

    eta: float
    K: int
    rho: float = 0.1
    alpha: float = field(default=0.0, kw_only=True)

    source: ClassVar[str] = "Qu et al. 2022"
    ranges: ClassVar = ranges("eta K rho alpha participation")


@dataclass(frozen=True)
class Local(Phased[SharedState]):
    """Local: each client takes K SGD steps per round, without communication.

    Parameters: ``eta`` step size, ``K`` local steps, ``alpha`` local momentum.
    Source: DFedMDC paper, appendix B.3.
    """

    eta: float
    K: int
    alpha: float = field(default=0.0, kw_only=True)

    needs_topology: ClassVar[bool] = False
    personal: ClassVar[bool] = True
    source: ClassVar[str] = "DFedMDC paper, appendix B.3"
    ranges: ClassVar = ranges("eta K alpha")

    def communicate(self, state: SharedState, mix: Mix) -> SharedState:
        """Return the state with x = z: nothing is exchanged."""
        return replace(state, x=state.z)


@dataclass(frozen=True, eq=False)
class CountingState(SharedState):
    """State with ``steps``, the number of steps since the last average."""

    steps: int = 0


Counting = TypeVar("Counting", bound=CountingState)


@dataclass(frozen=True)
class LocalSGD(Phased[Counting]):
    """Local SGD: a round is one step, and each K-th round ends with an average.

    Therefore measurements also exist between averages, at the mean of the local models.

    Parameters: ``eta`` step size, ``K`` steps between averages.
    Source: Stich 2019; Khaled et al. 2019, Algorithm 1 (exact gradients: local gradient
    descent).
    """

    eta: float
    K: int

    needs_topology: ClassVar[bool] = False
    source: ClassVar[str] = "Khaled et al. 2019, Algorithm 1"
    implied: ClassVar = {**Phased.implied, "alpha": 0.0}
    ranges: ClassVar = ranges("eta K")

    def init(self, x0: Tensor, grad: Oracle) -> Counting | CountingState:
        return CountingState(x=x0, z=x0)

    def phases(self, u: Index, v: Index) -> Iterable[Phase]:
        return [(None, self.eta, 1, 0.0)]

    def communicate(self, state: Counting, mix: Mix) -> Counting:
        steps = (state.steps + 1) % self.K
        return replace(state, x=state.z if steps else mix(state.z), steps=steps)


@dataclass(frozen=True)
class FedPer(Server[SharedState]):
    """FedPer: clients train body and head; the server averages the bodies only.

    Parameters: ``eta`` step size, ``K`` local steps, ``alpha`` local momentum,
    ``participation``.
    Source: Arivazhagan et al. 2019.
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

    Parameters: ``eta_u, eta_v`` step sizes, ``K_u, K_v`` local steps, ``alpha`` local
    momentum, ``participation``.
    Source: Collins et al. 2021.
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

    Parameters: ``eta`` step size, ``K`` local steps on the body, ``K_v`` fine-tuning
    steps after the last round, ``alpha`` local momentum, ``participation``.
    Source: Oh et al. 2022.
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

    Parameters: ``eta`` step size, ``K`` local steps, ``participation``.
    Source: Chen and Chao 2022 (balanced risk: balanced softmax, Ren et al. 2020).
    """

    eta: float
    K: int

    personal: ClassVar[bool] = True
    source: ClassVar[str] = "Chen and Chao 2022"
    ranges: ClassVar = ranges("eta K participation")

    def init(self, x0: Tensor, grad: Oracle) -> HeadsState:
        """Return the initial state, in which the personal heads are 0."""
        _, v = blocks(grad.shared, x0.shape[-1])
        return HeadsState(
            x=x0, z=x0, shared=grad.shared, head=torch.zeros_like(x0[..., v])
        )

    def local_update(self, state: HeadsState, grad: Oracle) -> HeadsState:
        """Return the state after K steps on the generic model and the personal head.

        The generic model takes class-balanced gradients.
        """
        _, v = blocks(grad.shared, state.x.shape[-1])
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
        _, v = blocks(state.shared, state.x.shape[-1])
        return _with_head(state.x, v, state.head)


def _with_head(y: Tensor, v: Index, p: Tensor) -> Tensor:
    """Return models whose head is v + p."""
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

    Parameters: ``eta`` step size, ``K`` and ``K_v`` local steps of the two models
    (``None``: K_v = K), ``lam`` weight of the proximal term, ``participation``.
    Source: Li et al. 2021.
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


__all__ = [
    "Ditto",
    "FedAvg",
    "FedBABU",
    "FedPer",
    "FedRep",
    "FedRoD",
    "FedSAM",
    "Local",
    "Server",
]
