"""Server-based baselines: a server averages the sampled clients' messages.

``participation`` is the fraction of clients that a round samples without replacement (1
for all). Clients that are not sampled keep their personal parts. The shared part
belongs to the server and is equal for all clients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from torch import Tensor

from dfltheory.algorithms.base import Mix, Oracle, replace, sampled
from dfltheory.algorithms.blocks import (
    Phase,
    Phased,
    SharedState,
    SharedStateType,
)
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import Index
from dfltheory.number_ranges import POSITIVE


@dataclass(frozen=True)
class Server(Phased[SharedStateType]):
    """Base class: a fraction of the clients participates in each round."""

    participation: float = field(default=1.0, kw_only=True)

    needs_topology: ClassVar[bool] = False

    def share(self, m: int) -> float:
        """Return the fraction of m clients that a round samples."""
        return sampled(self.participation, m) / m


@dataclass(frozen=True)
class FedAvg(Server[SharedState]):
    """FedAvg: K SGD steps of each client from the server's model, then an average.

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
    offset : float or None
        gamma in the decreasing step sizes eta gamma/(gamma + s) of the steps s
        = 0, 1, ... of the run. None: constant step size eta.

    References
    ----------
    McMahan et al. 2017 (clients weighted equally, as in the theory); offset: Li et
    al. 2020.
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

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    rho : float
        SAM radius.
    alpha : float
        Momentum of the local steps.
    participation : float
        Fraction of the clients that each round samples.

    References
    ----------
    Qu et al. 2022, Caldarola et al. 2022.
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

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of local steps per round.
    alpha : float
        Momentum of the local steps.

    References
    ----------
    DFedMDC paper, appendix B.3.
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

    Parameters
    ----------
    eta : float
        Step size.
    K : int
        Number of steps between averages.

    References
    ----------
    Stich 2019; Khaled et al. 2019, Algorithm 1 (exact gradients: local gradient
    descent).
    """

    eta: float
    K: int

    needs_topology: ClassVar[bool] = False
    source: ClassVar[str] = "Khaled et al. 2019, Algorithm 1"
    implied: ClassVar = {**Phased.implied, "alpha": 0.0}
    ranges: ClassVar = ranges("eta K")

    def init(self, x0: Tensor, grad: Oracle) -> Counting | CountingState:
        """Return the initial state, with 0 steps since the last average."""
        return CountingState(x=x0, z=x0)

    def phases(self, u: Index, v: Index) -> Iterable[Phase]:
        """Return one phase: a single step on all coordinates."""
        return [(None, self.eta, 1, 0.0)]

    def communicate(self, state: Counting, mix: Mix) -> Counting:
        """Return the state with z averaged in each K-th round, else kept."""
        steps = (state.steps + 1) % self.K
        return replace(state, x=state.z if steps else mix(state.z), steps=steps)


__all__ = ["FedAvg", "FedSAM", "Local", "Server"]
