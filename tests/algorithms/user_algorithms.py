"""Algorithms as a user writes them, outside the package, one for each part of the
contract that they use.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from dfltheory.algorithms.base import Algorithm, State, replace, taking_part


@dataclass(frozen=True)
class Plain(Algorithm):
    """x <- W (x - eta g)"""

    eta: float = 0.1

    def local_update(self, state, grad):
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


@dataclass(frozen=True)
class Damped(Plain):
    """x <- z + gamma (W z - z), z = x - eta g"""

    gamma: float = 0.5

    def communicate(self, state, mix):
        z = state.z
        return replace(state, x=z + self.gamma * (mix(z) - z))


@dataclass(frozen=True, eq=False)
class Before(State):
    """State with the models and a vector of the previous round, and whether there was
    one.
    """

    last: Any = None
    g: Any = None
    g_last: Any = None
    first: bool = True


@dataclass(frozen=True)
class Extra(Algorithm):
    """x^1 = W x^0 - a g^0;  x^{k+2} = (I + W) x^{k+1} - (I + W)/2 x^k - a (g^{k+1} -
    g^k)  [Shi 2015]
    """

    alpha: float

    def init(self, x0, grad):
        return Before(
            x=x0, z=x0, last=x0, g=torch.zeros_like(x0), g_last=torch.zeros_like(x0)
        )

    def local_update(self, state, grad):
        return replace(state, g=self.slope(grad, state.x))

    def communicate(self, state, mix):
        if state.first:
            x = mix(state.x) - self.alpha * state.g
        else:
            x = (
                state.x
                + mix(state.x)
                - (state.last + mix(state.last)) / 2
                - self.alpha * (state.g - state.g_last)
            )
        return replace(state, x=x, last=state.x, g_last=state.g, first=False)


@dataclass(frozen=True)
class Tracking(Algorithm):
    """y_i <- (W y)_i + g_i^t - g_i^{t-1};  x_i <- sum_l w_il (x_l - eta y_l)
    [DIGing]
    """

    eta: float

    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=torch.zeros_like(x0), g=torch.zeros_like(x0))

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        y = state.last + g - state.g
        return replace(state, z=state.x - self.eta * y, last=y, g=g)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z), last=mix(state.last))


@dataclass(frozen=True)
class QuasiGlobal(Algorithm):
    """x+ = W (x - eta (g + beta v));  v <- beta v + (1 - beta) (x - x+)/eta  [Lin et
    al. 2021]
    """

    eta: float
    beta: float = 0.9

    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=torch.zeros_like(x0))

    def local_update(self, state, grad):
        step = self.slope(grad, state.x) + self.beta * state.last
        return replace(state, z=state.x - self.eta * step)

    def communicate(self, state, mix):
        x = mix(state.z)
        v = self.beta * state.last + (1 - self.beta) * (state.x - x) / self.eta
        return replace(state, x=x, last=v)


@dataclass(frozen=True, eq=False)
class Counted(State):
    """State with a number per client (S, m), one for all (S, 1), and a count."""

    pace: Any = None
    limit: Any = None
    rounds: int = 0


@dataclass(frozen=True)
class Paced(Algorithm):
    """Each client's step size decreases with its own gradients, as in Adagrad."""

    eta: float

    def init(self, x0, grad):
        S, m = x0.shape[:2]
        return Counted(
            x=x0, z=x0, pace=x0.new_ones(S, m), limit=x0.new_full((S, 1), 3.0)
        )

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        pace = torch.minimum(state.pace + g.square().sum(-1), state.limit)
        return replace(state, z=state.x - self.eta / pace[..., None] * g, pace=pace)

    def communicate(self, state, mix):
        pace = mix(state.pace[..., None])[..., 0]
        return replace(state, x=mix(state.z), pace=pace, rounds=state.rounds + 1)


@dataclass(frozen=True, eq=False)
class Halves(State):
    """State with two views of one tensor."""

    left: Any = None
    right: Any = None


class KeepsViews(Plain):
    def init(self, x0, grad):
        return Halves(x=x0, z=x0)

    def communicate(self, state, mix):
        m = state.z.shape[1]
        both = torch.cat([state.z, 2 * state.z], dim=1)
        return replace(state, x=mix(state.z), left=both[:, :m], right=both[:, m:])


# -- more of the network than mix(z)


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
class RandomChoco(Plain):
    """q = rand-k(x^{t+1/2} - xhat), xhat += q, x += gamma (W xhat - xhat)  [Koloskova
    et al. 2019]
    """

    share: float = 0.5
    gamma: float = 0.3
    draws = True

    def init(self, x0, grad):
        return Compressed(x=x0, z=x0, known=x0)

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
class MixesTwice(Plain):
    """x <- W_{t,1} W_{t,0} (x - eta g), in two calls."""

    def communicate(self, state, mix):
        return replace(state, x=mix(mix(state.z), after=1))


USER_ALGORITHMS = {
    "plain": Plain(),
    "damped": Damped(0.1),
    "extra": Extra(0.1),
    "tracking": Tracking(0.1),
    "quasi-global": QuasiGlobal(0.1),
    "paced": Paced(0.1),
    "duals of edges": EdgeADMM(0.1),
    "pairs": ADPSGD(0.1),
    "compressed": RandomChoco(0.1),
}
"""Instances that must keep the contract, by what is special about them."""
