"""Corrected gossip: constant steps converge to the minimizer of the mean objective.

Plain gossip with a constant step size has an error of the order of eta times the
heterogeneity of the clients. Here each client stores a correction that cancels it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.gossip import UpdateOrder
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import corrected_steps, shifted


@dataclass(frozen=True, eq=False)
class TrackingState(State):
    """State with the corrections c (S, m, d), in units of a gradient.

    They are 0 before round 0 and have mean 0. Between local work and communication,
    ``slope`` (S, m, d) is the corrected mean gradient of the round and ``eta`` its step
    size.
    """

    c: Tensor
    slope: Tensor | None = None
    eta: float = 0.0


@dataclass(frozen=True)
class Tracking(Algorithm[TrackingState]):
    """Base of the family: gossip of models and slopes.

    The correction is c_i <- c_i - slope_i + sum_l w_il slope_l.
    """

    def init(self, x0: Tensor, grad: Oracle) -> TrackingState:
        """Return the initial state, in which the corrections are 0."""
        return TrackingState(x=x0, z=x0, c=torch.zeros_like(x0))

    def followed(self, slope: Tensor, mix: Mix) -> Tensor:
        """Return the mixed slopes."""
        return mix(slope)

    def communicate(self, state: TrackingState, mix: Mix) -> TrackingState:
        """Return the state after gossip of models and slopes, with new corrections."""
        assert state.slope is not None
        c = self.followed(state.slope, mix).sub_(state.slope).add_(state.c)
        return replace(state, x=mix(state.z), c=c, slope=None)


@dataclass(frozen=True)
class DSGT(Tracking):
    """Gradient tracking: y_i tracks the mean gradient, and x_i steps along it.

        g_i = grad F_i(x_i; xi)
        y_i <- sum_l w_il y_l + g_i - (g_i of the previous round),   first y_i = g_i
        ``adapt-then-combine``:  x_i <- sum_l w_il (x_l - eta y_l)    (DSGT)
        ``combine-then-adapt``:  x_i <- sum_l w_il x_l - eta y_l      (DIGing)

    The state contains c_i = y_i - g_i, one vector instead of two. Two vectors of the
    size of a model are sent in a round. With full gradients and L-smooth, strongly
    convex clients, all x_i converge linearly to x* if eta is small relative to 1/L and
    1 - lambda.

    Parameters
    ----------
    eta : float
        Step size.
    order : {"adapt-then-combine", "combine-then-adapt"}
        Whether the gradient step comes before or after the gossip step.

    References
    ----------
    Pu and Nedic 2021 (DSGT); Nedic, Olshevsky and Shi 2017 (DIGing).
    """

    eta: float
    order: UpdateOrder = "adapt-then-combine"

    source: ClassVar[str] = "Pu and Nedic 2021"
    ranges: ClassVar = ranges("eta")

    def local_update(self, state: TrackingState, grad: Oracle) -> TrackingState:
        """Return the state with the corrected slope and step size, and z.

        z is x - eta y for adapt-then-combine, else x.
        """
        eta = self.decayed(self.eta, grad.t)
        y = self.slope(grad, state.x).add_(state.c)
        z = state.x
        if self.order == "adapt-then-combine":
            z = torch.sub(state.x, y, alpha=eta)
        return replace(state, z=z, slope=y, eta=eta)

    def communicate(self, state: TrackingState, mix: Mix) -> TrackingState:
        """Return the mixed state; combine-then-adapt then takes the step."""
        mixed = super().communicate(state, mix)
        if self.order == "adapt-then-combine":
            return mixed
        assert state.slope is not None
        return replace(mixed, x=mixed.x.sub_(state.slope, alpha=state.eta))


@dataclass(frozen=True)
class KGT(Tracking):
    """K-GT: gradient tracking with K local steps; with K = eta_s = 1 it is DSGT.

        y <- x_i;  K times:  y <- y - eta (grad F_i(y; xi) + c_i)
        slope_i = (x_i - y)/(K eta),   c_i <- c_i - slope_i + sum_l w_il slope_l
        x_i <- sum_l w_il (x_l - eta_s K eta slope_l)

    The paper starts from c_i = (mean of all g_l) - g_i, which needs an average over all
    clients. Its code and this class start from c_i = 0, which does not change the
    limit. Two vectors of the size of a model are sent in a round.

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    eta_s : float
        Factor of the clients' progress in a round.

    References
    ----------
    Liu et al. 2024, Algorithm 1.
    """

    eta: float
    K: int
    eta_s: float = 1.0

    source: ClassVar[str] = "Liu et al. 2024"
    ranges: ClassVar = ranges("eta K eta_s")

    def local_update(self, state: TrackingState, grad: Oracle) -> TrackingState:
        """Return the state after K corrected steps, with their mean slope."""
        eta = self.decayed(self.eta, grad.t)
        y = corrected_steps(self, grad, state.x, shifted(state.c))
        slope = torch.sub(state.x, y).div_(self.K * eta)
        return replace(state, z=torch.lerp(state.x, y, self.eta_s), slope=slope)


@dataclass(frozen=True, eq=False)
class ExtraState(State):
    """State with q (S, m, d), the sum of (x - W x)/2 over earlier rounds.

    Between local work and communication, ``step`` (S, m, d) is eta g + q.
    """

    q: Tensor
    step: Tensor | None = None


@dataclass(frozen=True)
class EXTRA(Algorithm[ExtraState]):
    """EXTRA: gossip with a correction by accumulated disagreement, W~ = (I + W)/2.

        x_i^1     = sum_l w_il x_l^0 - eta g_i^0
        x_i^{t+2} = x_i^{t+1} + sum_l w_il x_l^{t+1} - sum_l w~_il x_l^t
                    - eta (g_i^{t+1} - g_i^t)

    The code uses the sum over rounds: x^{t+1} = W x^t - eta g^t - q^t with q^t =
    sum_{s<t} (x^s - W x^s)/2. One model is sent in a round. With full gradients, a
    constant symmetric W, and L-smooth convex clients it converges for eta < 2
    lambda_min(W~)/L, and linearly for eta < 2 mu lambda_min(W~)/L^2 if all are
    mu-strongly convex.

    Parameters
    ----------
    eta : float
        Step size.

    References
    ----------
    Shi, Ling, Wu and Yin 2015, Algorithm 1, in the form (6).
    """

    eta: float

    symmetric: ClassVar[bool] = True
    source: ClassVar[str] = "Shi et al. 2015"
    ranges: ClassVar = ranges("eta")

    def init(self, x0: Tensor, grad: Oracle) -> ExtraState:
        """Return the initial state with q = 0."""
        return ExtraState(x=x0, z=x0, q=torch.zeros_like(x0))

    def local_update(self, state: ExtraState, grad: Oracle) -> ExtraState:
        """Return the state with ``step``, the gradient step plus q; z is x."""
        step = (
            self.slope(grad, state.x).mul_(self.decayed(self.eta, grad.t)).add_(state.q)
        )
        return replace(state, z=state.x, step=step)

    def communicate(self, state: ExtraState, mix: Mix) -> ExtraState:
        """Return the state with x = W z - step, and (z - W z)/2 added to q."""
        assert state.step is not None
        mixed = mix(state.z)
        q = torch.sub(state.z, mixed).div_(2).add_(state.q)
        return replace(state, x=mixed.sub_(state.step), q=q, step=None)


@dataclass(frozen=True, eq=False)
class DiffusionState(State):
    """State with psi = x - eta g (S, m, d) of the previous round."""

    psi: Tensor


@dataclass(frozen=True)
class D2(Algorithm[DiffusionState]):
    """D^2, and Exact Diffusion (``lazy``): the bias of gossip is corrected.

        psi_i^t = x_i^t - eta g_i^t,   psi_i^{-1} = x_i^0
        x_i^{t+1} = sum_l w_il (psi_l^t + x_l^t - psi_l^{t-1})

    That is X^1 = W (X^0 - eta G^0), X^{t+1} = W (2 X^t - X^{t-1} - eta (G^t -
    G^{t-1})). One model is sent in a round. D^2 diverges unless lambda_min(W) > -1/3.
    Exact Diffusion mixes by (I + W)/2, for which this always holds.

    Parameters
    ----------
    eta : float
        Step size.
    lazy : bool
        Whether to mix by (I + W)/2 instead of W.

    References
    ----------
    Tang et al. 2018, Algorithm 1 (D^2); Yuan, Ying, Zhao and Sayed 2019 (Exact
    Diffusion).
    """

    eta: float
    lazy: bool = False

    symmetric: ClassVar[bool] = True
    source: ClassVar[str] = "Tang et al. 2018"
    ranges: ClassVar = ranges("eta")

    @property
    def least_eigenvalue(self) -> float:
        """Return the lower limit of the eigenvalues of W: -1 if ``lazy``, else -1/3."""
        return -1.0 if self.lazy else -1 / 3

    def init(self, x0: Tensor, grad: Oracle) -> DiffusionState:
        """Return the initial state with psi = x0."""
        return DiffusionState(x=x0, z=x0, psi=x0)

    def local_update(self, state: DiffusionState, grad: Oracle) -> DiffusionState:
        """Return the state with psi = x - eta g, and z = psi + x - the previous psi."""
        psi = torch.sub(
            state.x, self.slope(grad, state.x), alpha=self.decayed(self.eta, grad.t)
        )
        return replace(state, z=torch.add(psi, state.x).sub_(state.psi), psi=psi)

    def communicate(self, state: DiffusionState, mix: Mix) -> DiffusionState:
        """Return the state with x = W z, or (W z + z)/2 if ``lazy``."""
        mixed = mix(state.z)
        return replace(state, x=mixed.add_(state.z).div_(2) if self.lazy else mixed)


__all__ = ["D2", "DSGT", "EXTRA", "KGT", "Tracking", "TrackingState"]
