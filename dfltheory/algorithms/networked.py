"""Gossip with two matrices, in every K-th step, with variables on arcs, or on trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import (
    Algorithm,
    Law,
    Mix,
    Oracle,
    State,
    replace,
    taking_part,
)
from dfltheory.algorithms.blocks import empty_tensor
from dfltheory.algorithms.corrected import DSGT
from dfltheory.algorithms.gossip import StepState
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.server import CountingState, LocalSGD


@dataclass(frozen=True)
class PushPull(DSGT):
    """Push-pull, or AB: gradient tracking on a digraph with two matrices.

        g_i = grad F_i(x_i; xi)
        y_i <- sum_l b_il y_l + g_i - (g_i of the previous round),   first y_i = g_i
        ``adapt-then-combine``:  x_i <- sum_l a_il (x_l - eta y_l)    (push-pull)
        ``combine-then-adapt``:  x_i <- sum_l a_il x_l - eta y_i      (AB, Xin and Khan)

    A is row-stochastic and pulls models. B, a further matrix, is column-stochastic and
    pushes slopes, which preserves their sum. If A = B, this is DSGT. Two vectors of the
    size of a model are sent in a round. With full gradients of L-smooth, strongly
    convex clients on a strongly connected digraph it converges linearly to x* for small
    eta.

    Parameters
    ----------
    eta : float
        Step size.
    order : {"adapt-then-combine", "combine-then-adapt"}
        Whether the gradient step comes before or after the gossip step.

    References
    ----------
    Pu, Shi, Xu and Nedic 2021, Algorithm 1; Xin and Khan 2018 (AB).
    """

    mixing: ClassVar[Law] = "row-stochastic"
    further: ClassVar[Mapping[str, Law]] = {"B": "column-stochastic"}
    source: ClassVar[str] = "Pu et al. 2021"

    def followed(self, slope: Tensor, mix: Mix) -> Tensor:
        """Return the slopes mixed by B."""
        return mix(slope, W="B")


@dataclass(frozen=True)
class CooperativeSGD(LocalSGD[CountingState]):
    """Cooperative SGD without auxiliary variables: local SGD over a network.

        z_i = x_i - eta grad F_i(x_i; xi)
        x_i <- sum_l w_il z_l  in rounds K, 2 K, ...;  x_i <- z_i  in the others

    A round is one step, so that the mean model is measured at every local step. With K
    = 1 it is D-PSGD (adapt, then combine), with W = 11'/m it is LocalSGD, and after K
    rounds it is one round of DFedAvg.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of steps between averages; tau in the paper.

    References
    ----------
    Wang and Joshi 2021, (10), with v = 0.
    """

    needs_topology: ClassVar[bool] = True
    source: ClassVar[str] = "Wang and Joshi 2021"


@dataclass(frozen=True, eq=False)
class CenterState(CountingState):
    """State with the auxiliary ``center`` (S, m, d), equal for all clients."""

    center: Tensor = field(default_factory=empty_tensor)


@dataclass(frozen=True)
class EASGD(LocalSGD[CenterState]):
    """Elastic averaging SGD: models and a center pull each other.

        z_i = x_i - eta grad F_i(x_i; xi);  in rounds K, 2 K, ..., at one time:
        x_i <- (1 - alpha) z_i + alpha c,  c <- (1 - m alpha) c + alpha sum_i z_i
        in the other rounds:  x_i <- z_i

    alpha is 2/(m + 2), which maximizes the contraction of the mixing matrix of models
    and center. A round is one step. The auxiliary point is the mean of the m models and
    the center, which moves like SGD; the center starts at the mean of the models.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of steps between averages; tau in the paper.

    References
    ----------
    Wang and Joshi 2021, (10) and (11), Lemma 1; Zhang et al. 2015.
    """

    source: ClassVar[str] = "Wang and Joshi 2021"

    def init(self, x0: Tensor, grad: Oracle) -> CenterState:
        """Return the initial state, in which the center is the mean of x0."""
        center = x0.mean(-2, keepdim=True).expand_as(x0)
        return CenterState(x=x0, z=x0, center=center)

    def communicate(self, state: CenterState, mix: Mix) -> CenterState:
        """Return the state; in each K-th round models and center pull each other."""
        steps = (state.steps + 1) % self.K
        if steps:
            return replace(state, x=state.z, steps=steps)
        m = state.z.shape[-2]
        alpha = 2 / (m + 2)
        center = torch.lerp(state.center, mix(state.z), m * alpha)
        x = torch.lerp(state.z, state.center, alpha)
        return replace(state, x=x, center=center, steps=steps)

    def auxiliary(self, state: CenterState) -> Tensor:
        """Return the mean of the m models and the center (S, d)."""
        m = state.x.shape[-2]
        return torch.lerp(state.x.mean(-2), state.center.mean(-2), 1 / (m + 1))


@dataclass(frozen=True)
class ADPSGD(Algorithm[StepState]):
    """AD-PSGD in rounds without delay: paired clients average and step.

        x_i <- sum_l w_il x_l - eta grad F_i(x_i; xi),  the gradient at the old x_i

    This is the update of the clients with a link in W_t; others are inactive and keep
    x_i. On a network of random pairs, this is the paper's recursion with tau = 0,
    except that both clients of a pair take a step here; in the paper only the client
    that initiates the contact does. If all clients are active, this is D-PSGD.

    Parameters
    ----------
    eta : float
        Step size.

    References
    ----------
    Lian, Zhang, Zhang and Liu 2018, Algorithm 1.
    """

    eta: float

    inactive_when_isolated: ClassVar[bool] = True
    source: ClassVar[str] = "Lian et al. 2018"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> StepState:
        """Return the initial state, without a gradient."""
        return StepState(x=x0, z=x0)

    def local_update(self, state: StepState, grad: Oracle) -> StepState:
        """Return the state with the gradient, 0 for clients that do not participate."""
        g = taking_part(grad, self.slope(grad, state.x), 0.0)
        return replace(state, z=state.x, g=g, eta=self.decayed(self.eta, grad.t))

    def communicate(self, state: StepState, mix: Mix) -> StepState:
        """Return the state with x = W z minus the gradient step."""
        assert state.g is not None
        return replace(state, x=mix(state.z).sub_(state.g, alpha=state.eta), g=None)


@dataclass(frozen=True, eq=False)
class DualsState(State):
    """State with a dual of each arc j -> i at client i: ``dual`` (S, E, d)."""

    dual: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ("dual",)


@dataclass(frozen=True)
class LTADMM(Algorithm[DualsState]):
    """LT-ADMM without variance reduction: K local steps, and a dual for each arc.

        y <- x_i
        K times:  y <- y - eta grad F_i(y; xi) - beta (lam d_i x_i - sum_j z_ij)
        x_i <- y
        z_ij <- (z_ij - z_ji + 2 lam x_j)/2  for the d_i neighbors j, first lam x_i^0

    The consensus term is evaluated at the start of the round. Client i sends 2 lam x_i
    - z_ij to j, one vector of the size of a model over each arc. The weights of the
    links have no effect. With full gradients of L-smooth, strongly convex clients it
    converges linearly to x* for step sizes small relative to 1/(K L) and 1/(K lam
    d_max).

    Parameters
    ----------
    eta : float
        Step size; gamma in the paper.
    K : int
        Number of local steps per round; tau in the paper.
    lam : float
        Penalty parameter; rho in the paper.
    beta : float or None
        Step size of the consensus term. None: eta, which gives a gradient step
        on the augmented Lagrangian.

    References
    ----------
    Ren, Bastianello, Johansson and Parisini 2025, Algorithm 1, with plain
    stochastic gradients.
    """

    eta: float
    K: int
    lam: float = 0.5
    beta: float | None = None
    glossary: ClassVar[dict[str, str]] = {"lam": "penalty", "beta": "eta_pull"}

    links: ClassVar = "undirected"
    source: ClassVar[str] = "Ren et al. 2025"
    ranges: ClassVar = ranges("eta K lam beta")

    def init(self, x0: Tensor, grad: Oracle) -> DualsState:
        """Return the initial state, in which each dual is lam times the own model."""
        return DualsState(x=x0, z=x0, dual=self.lam * grad.edges.own(x0))

    def local_update(self, state: DualsState, grad: Oracle) -> DualsState:
        """Return the state with z after K local steps with the pull of the duals."""
        eta = self.decayed(self.eta, grad.t)
        y = grad.begin(state.x)
        beta = eta if self.beta is None else self.decayed(self.beta, grad.t)
        pull = beta * grad.edges.sum(self.lam * grad.edges.own(state.x) - state.dual)
        for _ in range(self.K):
            y.sub_(self.slope(grad, y), alpha=eta).sub_(pull)
        return replace(state, z=y)

    def communicate(self, state: DualsState, mix: Mix) -> DualsState:
        """Return the state with the new duals of the active arcs, and x = z."""
        message = 2 * self.lam * mix.edges.own(state.z) - state.dual
        # other arcs keep their duals
        is_active = (mix.edges.weights != 0)[None, :, None]
        updated = (state.dual + mix.swap(message)) / 2
        dual = torch.where(is_active, updated, state.dual)
        return replace(state, x=state.z, dual=dual)


@dataclass(frozen=True, eq=False)
class RelayState(State):
    """State with the last sum received over each arc, and its number of models.

    The shapes are (S, E, d) and (S, E, 1).
    """

    sums: Tensor
    counts: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ("sums", "counts")


@dataclass(frozen=True)
class RelaySGD(Algorithm[RelayState]):
    """RelaySGD: sums of models travel along a tree, so that each model counts once.

        z_i = x_i - eta grad F_i(x_i; xi)
        m_ij = z_i + sum of (m_ki of the previous round) over neighbors k != j is sent
        x_i <- (z_i + sum_j m_ji)/n_i,  n_i the number of models in the sum

    After as many rounds as the diameter, n_i = m: x_i is the mean of all models, where
    the model of client j has a delay of dist(i, j) - 1 rounds. A model and a number are
    sent over each arc. With full gradients a constant step size converges to x*.

    Parameters
    ----------
    eta : float
        Step size.

    References
    ----------
    Vogels et al. 2021, Algorithm 1 (RelaySum of models), without momentum.
    """

    eta: float

    links: ClassVar = "tree"
    source: ClassVar[str] = "Vogels et al. 2021"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> RelayState:
        """Return the initial state, in which sums and counts are 0."""
        sums = torch.zeros_like(grad.edges.own(x0))
        return RelayState(x=x0, z=x0, sums=sums, counts=sums[..., :1])

    def local_update(self, state: RelayState, grad: Oracle) -> RelayState:
        """Return the state with z after one SGD step."""
        eta = self.decayed(self.eta, grad.t)
        return replace(state, z=state.x - eta * self.slope(grad, state.x))

    def communicate(self, state: RelayState, mix: Mix) -> RelayState:
        """Return the state with new sums and counts, and x, their mean."""
        arcs = mix.edges
        one = torch.ones_like(state.z[..., :1])
        sums = mix.swap(arcs.own(state.z + arcs.sum(state.sums)) - state.sums)
        counts = mix.swap(arcs.own(one + arcs.sum(state.counts)) - state.counts)
        x = (state.z + arcs.sum(sums)) / (one + arcs.sum(counts))
        return replace(state, x=x, sums=sums, counts=counts)


__all__ = [
    "ADPSGD",
    "EASGD",
    "LTADMM",
    "CenterState",
    "CooperativeSGD",
    "DualsState",
    "PushPull",
    "RelaySGD",
    "RelayState",
]
