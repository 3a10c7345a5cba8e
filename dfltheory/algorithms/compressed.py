"""Compressed gossip.

Clients keep an estimate of each neighbor's model and receive compressed corrections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, replace
from dfltheory.algorithms.compressors import QSGD, Compressor, RandK, Sign, TopK
from dfltheory.algorithms.hyperparameters import ranges


@dataclass(frozen=True, eq=False)
class EstimateState(State):
    """State with ``public`` (S, m, d), the neighbors' common estimate of each model."""

    public: Tensor


def _omega(algorithm: CHOCOSGD, d: int) -> float:
    """Return the contraction constant of the compressor for d parameters."""
    return algorithm.compress.delta(d)


@dataclass(frozen=True)
class CHOCOSGD(Algorithm[EstimateState]):
    """CHOCO-SGD: an SGD step, then gossip of the estimated models with step gamma.

        z_i = x_i - eta grad F_i(x_i; xi)
        q_i = C(z_i - p_i) is sent,   p_i <- p_i + q_i (at neighbors too)
        x_i <- z_i + gamma (sum_l w_il p_l - p_i)

    The error of C stays in z_i - p_i and is sent later. Only q is sent, with the number
    of bits of C, a compressor of :mod:`dfltheory.algorithms.compressors`. The network
    must be constant, because a new neighbor would not have p. With C(x) = x and gamma =
    1 this is D-PSGD, adapt then combine.

    Parameters
    ----------
    eta : float
        Step size.
    gamma : float
        Step size of gossip.
    compressor : {"top-k", "rand-k", "sign", "qsgd"}
        Compressor of the messages.
    share : float
        Fraction k/d of coordinates that top-k and rand-k send; 0.01 in the
        paper's experiments.
    levels : int
        Number of levels of qsgd; 16 in the paper's experiments.

    References
    ----------
    Koloskova, Stich and Jaggi 2019, Algorithm 2.
    """

    eta: float
    gamma: float
    compressor: Literal["top-k", "rand-k", "sign", "qsgd"] = "top-k"
    share: float = 0.01
    levels: int = 16

    fixed: ClassVar[bool] = True
    source: ClassVar[str] = "Koloskova et al. 2019"
    ranges: ClassVar = ranges("eta gamma share levels")
    summed_up: ClassVar = {"omega": (("compressor", "share", "levels"), _omega)}

    @property
    def compress(self) -> Compressor:
        """The compressor C."""
        known: dict[str, Compressor] = {
            "top-k": TopK(self.share),
            "rand-k": RandK(self.share),
            "sign": Sign(),
            "qsgd": QSGD(self.levels),
        }
        return known[self.compressor]

    @property
    def draws(self) -> bool:
        """Whether the compressor draws random numbers."""
        return self.compressor in ("rand-k", "qsgd")

    def init(self, x0: Tensor, grad: Oracle) -> EstimateState:
        """Return the initial state, in which the public estimates are 0."""
        return EstimateState(x=x0, z=x0, public=torch.zeros_like(x0))

    def local_update(self, state: EstimateState, grad: Oracle) -> EstimateState:
        """Return the state with z, the models after one SGD step."""
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state: EstimateState, mix: Mix) -> EstimateState:
        """Return the state after the compressed exchange and gossip of estimates."""
        C = self.compress
        z = state.z
        bits = C.bits(z.shape[-1], 8 * z.element_size())
        q = mix.send(C(z - state.public, mix.uniform), bits=bits)
        public = state.public + q
        x = mix(public, bits=0).sub_(public).mul_(self.gamma).add_(z)
        return replace(state, x=x, public=public)


__all__ = ["CHOCOSGD", "EstimateState"]
