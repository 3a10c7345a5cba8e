"""Gossip that asks more of the network than one matrix: two matrices, sleeping clients, arcs, trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Law, Mix, Oracle, State, ranges, replace, taking_part
from dfltheory.algorithms.corrected import DSGT
from dfltheory.algorithms.gossip import StepState


@dataclass(frozen=True)
class PushPull(DSGT):
    """Push-pull, or AB: gradient tracking over one digraph with two matrices, of which each knows one sum.

        g_i = grad F_i(x_i; xi),   y_i <- sum_l b_il y_l + g_i - (g_i of the round before),  first y_i = g_i
        ``adapt-then-combine``:  x_i <- sum_l a_il (x_l - eta y_l)    (push-pull, Pu et al.)
        ``combine-then-adapt``:  x_i <- sum_l a_il x_l - eta y_i      (AB, Xin and Khan)

    A is row-stochastic: models are pulled. B, a further matrix, is column-stochastic: slopes are pushed, so
    that their sum is kept. Where A = B it is DSGT. Twice a model is sent in a round. With full gradients of
    L-smooth, strongly convex clients over a strongly connected digraph it reaches x* linearly for eta small.

    Parameters: ``eta`` step size, ``order`` which of the two.
    Source: Pu, Shi, Xu and Nedic 2021, Algorithm 1; Xin and Khan 2018 (AB).
    """

    mixing: ClassVar[Law] = "row-stochastic"
    further: ClassVar[Mapping[str, Law]] = {"B": "column-stochastic"}
    source: ClassVar[str] = "Pu et al. 2021"

    def followed(self, slope: Tensor, mix: Mix) -> Tensor:
        return mix(slope, W="B")


@dataclass(frozen=True)
class ADPSGD(Algorithm):
    """AD-PSGD in rounds, without delay: who is paired averages with the partner, and steps; others sleep.

        x_i <- sum_l w_il x_l - eta grad F_i(x_i; xi),  the gradient at x_i from before the average

    for the clients that some link of W_t touches; all others keep x_i. Over a network of random pairs
    it is the paper's recursion with tau = 0 but for one thing: there one client of a pair steps, the one that
    woke the other; here both do. Where nobody sleeps it is D-PSGD.

    Parameters: ``eta`` step size.
    Source: Lian, Zhang, Zhang and Liu 2018, Algorithm 1.
    """

    eta: float

    sleeps: ClassVar[bool] = True
    source: ClassVar[str] = "Lian et al. 2018"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> StepState:
        return StepState(x=x0, z=x0)

    def local_update(self, state: StepState, grad: Oracle) -> StepState:
        g = taking_part(grad, self.slope(grad, state.x), 0.0)
        return replace(state, z=state.x, g=g, eta=self.decayed(self.eta, grad.t))

    def communicate(self, state: StepState, mix: Mix) -> StepState:
        assert state.g is not None
        return replace(state, x=mix(state.z).sub_(state.g, alpha=state.eta), g=None)


@dataclass(frozen=True, eq=False)
class DualsState(State):
    """State with a dual of every arc j -> i, kept by i: ``dual`` (S, E, d), in units of lam x."""

    dual: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ("dual",)


@dataclass(frozen=True)
class LTADMM(Algorithm):
    """LT-ADMM, without variance reduction: ADMM with a dual of every arc, solved by K local steps.

        y <- x_i;  K times:  y <- y - eta grad F_i(y; xi) - beta (lam d_i x_i - sum_j z_ij);    x_i <- y
        z_ij <- (z_ij - z_ji + 2 lam x_j)/2  over the d_i neighbors j, z_ij = lam x_i^0 before round 0

    The pull to the neighbors stays as it was when the round began. i sends j 2 lam x_i - z_ij, once a model
    over each arc; the weights of the links do not matter. With full gradients it reaches x* of the mean of
    L-smooth, strongly convex clients linearly for steps small in terms of 1/(K L), 1/(K lam d_max).

    Parameters: ``eta`` step size (gamma there), ``K`` local steps (tau), ``lam`` penalty (rho), ``beta`` step
    size of the pull; ``None``: eta, a gradient step on the augmented Lagrangian.
    Source: Ren, Bastianello, Johansson and Parisini 2025, Algorithm 1, with plain stochastic gradients.
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
        return DualsState(x=x0, z=x0, dual=self.lam * grad.edges.own(x0))

    def local_update(self, state: DualsState, grad: Oracle) -> DualsState:
        eta, y = self.decayed(self.eta, grad.t), grad.begin(state.x)
        beta = eta if self.beta is None else self.decayed(self.beta, grad.t)
        pull = beta * grad.edges.sum(self.lam * grad.edges.own(state.x) - state.dual)
        for _ in range(self.K):
            y.sub_(self.slope(grad, y), alpha=eta).sub_(pull)
        return replace(state, z=y)

    def communicate(self, state: DualsState, mix: Mix) -> DualsState:
        told = 2 * self.lam * mix.edges.own(state.z) - state.dual
        here = (mix.edges.weights != 0)[
            None, :, None
        ]  # over an arc that is away nothing comes: its dual waits
        return replace(
            state, x=state.z, dual=torch.where(here, (state.dual + mix.swap(told)) / 2, state.dual)
        )


@dataclass(frozen=True, eq=False)
class RelayState(State):
    """State with the sum that came last over every arc (S, E, d), and of how many models it is (S, E, 1)."""

    sums: Tensor
    counts: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ("sums", "counts")


@dataclass(frozen=True)
class RelaySGD(Algorithm):
    """RelaySGD: on a tree, sums of models are passed on, so that each counts once, as late as it is far.

        z_i = x_i - eta grad F_i(x_i; xi)
        m_ij = z_i + sum over the neighbors k != j of (m_ki of the round before) goes from i to j
        x_i <- (z_i + sum_j m_ji)/n_i,  n_i the number of models in it, counted by messages alike

    After as many rounds as the tree is wide, n_i = m: x_i is the mean of all models, client j's as it was
    dist(i, j) - 1 rounds ago. A model and a number are sent over each arc. Delays vanish where nothing moves,
    so that a constant step reaches x* from full gradients.

    Parameters: ``eta`` step size.
    Source: Vogels et al. 2021, Algorithm 1 (RelaySum of models), without momentum.
    """

    eta: float

    links: ClassVar = "tree"
    source: ClassVar[str] = "Vogels et al. 2021"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> RelayState:
        sums = torch.zeros_like(grad.edges.own(x0))
        return RelayState(x=x0, z=x0, sums=sums, counts=sums[..., :1])

    def local_update(self, state: RelayState, grad: Oracle) -> RelayState:
        return replace(state, z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x))

    def communicate(self, state: RelayState, mix: Mix) -> RelayState:
        arcs, one = mix.edges, torch.ones_like(state.z[..., :1])
        sums = mix.swap(arcs.own(state.z + arcs.sum(state.sums)) - state.sums)
        counts = mix.swap(arcs.own(one + arcs.sum(state.counts)) - state.counts)
        x = (state.z + arcs.sum(sums)) / (one + arcs.sum(counts))
        return replace(state, x=x, sums=sums, counts=counts)


__all__ = ["ADPSGD", "LTADMM", "DualsState", "PushPull", "RelaySGD", "RelayState"]
