"""Users' algorithms that need more of the network than mix(z), and that the package
does not have.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from dfltheory.algorithms.base import Algorithm, State, replace, taking_part


@dataclass(frozen=True, eq=False)
class Duals(State):
    """State with a dual for every arc j -> i, stored by i."""

    dual: Any = None

    per_edge: ClassVar = ("dual",)


@dataclass(frozen=True)
class EdgeADMM(Algorithm):
    """x_i <- x_i - eta (g_i + rho d_i x_i - sum_j z_ij); z_ij <- (1-a) z_ij + a (2 rho
    x_j - z_ji)

    The relaxed Peaceman-Rachford splitting with a dual for every arc, linearized.
    [Bastianello et al. 2021]
    """

    eta: float
    rho: float = 0.5
    alpha: float = 0.5

    links: ClassVar = "undirected"

    def init(self, x0, grad):
        return Duals(x=x0, z=x0, dual=self.rho * grad.edges.own(x0))

    def local_update(self, state, grad):
        degrees = grad.edges.sum(torch.ones_like(state.dual[..., :1]))
        g = (
            self.slope(grad, state.x)
            + self.rho * degrees * state.x
            - grad.edges.sum(state.dual)
        )
        return replace(state, z=state.x - self.decayed(self.eta, grad.t) * g)

    def communicate(self, state, mix):
        message = 2 * self.rho * mix.edges.own(state.z) - state.dual
        dual = (1 - self.alpha) * state.dual + self.alpha * mix.swap(message)
        return replace(state, x=state.z, dual=dual)


@dataclass(frozen=True)
class ADPSGD(Algorithm):
    """The clients that W_t pairs take a step and average; the others are inactive.  [Lian et
    al. 2018]
    """

    eta: float

    inactive_when_isolated: ClassVar[bool] = True

    def local_update(self, state, grad):
        y = state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x)
        return replace(state, z=taking_part(grad, y, state.x))

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


@dataclass(frozen=True, eq=False)
class Compressed(State):
    """State with the estimate that all neighbors have of each client."""

    known: Any = None


@dataclass(frozen=True)
class RandomChoco(Algorithm):
    """q = rand-k(x^{t+1/2} - xhat), xhat += q, x += gamma (W xhat - xhat)  [Koloskova
    et al. 2019]
    """

    eta: float
    share: float = 0.5
    gamma: float = 0.3
    draws = True

    def init(self, x0, grad):
        return Compressed(x=x0, z=x0, known=x0)

    def local_update(self, state, grad):
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state, mix):
        kept = mix.uniform(tuple(state.z.shape[1:])) < self.share
        q = mix.send(
            torch.where(kept, state.z - state.known, 0), bits=64.0 * kept.sum(-1)
        )
        known = state.known + q
        return replace(
            state, x=state.z + self.gamma * (mix(known, bits=0) - known), known=known
        )


@dataclass(frozen=True)
class MixesTwice(Algorithm):
    """x <- W_{t,1} W_{t,0} (x - eta g), in two calls."""

    eta: float = 0.1

    def local_update(self, state, grad):
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state, mix):
        return replace(state, x=mix(mix(state.z), after=1))
