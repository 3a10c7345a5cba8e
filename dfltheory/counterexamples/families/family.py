"""The contract of a family of candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import convex, hyperparameters

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

NOISE = frozenset(("sigma_l", "S2", "sigma_u", "sigma_v"))
"""Quantities of which a statement about noise has one."""


@dataclass(frozen=True, eq=False)
class RoundData:
    """What a problem is fitted to, (P,) each, in units in which L = 1.

    Attributes
    ----------
    eta : step size
    lam : the eigenvalue of the network that is not 1, with its sign, for all gossip
        steps of a round together
    rho : SAM radius
    K : local steps
    penalty : the penalty of ADMM
    heaviest : the largest push-sum weight
    """

    eta: np.ndarray
    lam: np.ndarray
    rho: np.ndarray
    K: int = 1
    penalty: np.ndarray | None = None
    heaviest: np.ndarray | float = 1.0

    @property
    def way(self) -> np.ndarray:
        """Distance that a client moves in a round on a slope of 1 in the long run.

        It is eta K, or the penalty.
        """
        return self.eta * self.K if self.penalty is None else self.penalty


class Family(ABC):
    """Problems of one kind, fitted to the step sizes and the network of a candidate.

    The search draws numbers in the unit cube, the network and the step sizes; a family
    makes a problem of two clients on the line, and their starts, from them. It is found
    by the entry point group ``dfltheory.families``.
    """

    name: ClassVar[str]
    """In plain words; it is reported with the results."""
    summary: ClassVar[str]
    """The functions and what they show, in one sentence."""
    rounds: ClassVar[int] = 300
    """Rounds to be simulated until the state is stationary."""
    networks: ClassVar[tuple[str, ...]] = ()
    """Kinds of :mod:`.networks` on which it is searched too."""
    also_complete: ClassVar[bool] = False
    """Whether it is searched with lam = 0 too."""
    convex: ClassVar[bool] = False
    """Whether it is for statements about convex problems, and for no others."""
    sam: ClassVar[bool] = False
    """Whether it is about the SAM radius."""
    noisy: ClassVar[bool] = False
    """Whether it has noise; then clients are identical and their rounds are affine."""
    state_noise: ClassVar[bool] = False
    """Whether its noise depends on the state, see :meth:`noise`."""
    different_starts: ClassVar[bool] = False
    """Whether clients start at different points."""
    personal: ClassVar[bool] = False
    """Whether it is about personal parts, and for two blocks alone."""
    settles: ClassVar[bool] = False
    """Whether the limit is reached in few rounds however small the step size is."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Quantities of which a statement must have one."""

    def refusal(self, theorem: Theorem) -> str:
        """Return why the family has no candidate for a statement; empty if it has."""
        scope = theorem.scope
        about_noise = bool(NOISE & {*theorem.needs})
        free, _ = hyperparameters(theorem)
        has_radius = any(quantity is GLOSSARY["rho"] for quantity in free.values())
        reasons = {
            "convex problems only": self.convex and not convex(theorem),
            "problems that are not convex": convex(theorem) and not self.convex,
            f"needs {' or '.join(self.needs)}": bool(self.needs)
            and not {*self.needs} & {*theorem.needs},
            "needs a SAM radius": self.sam and not has_radius,
            "needs noise": self.noisy and not about_noise,
            "clients start at different points": self.different_starts
            and scope.common_start,
            "needs two blocks": self.personal and not scope.two_blocks,
            "noise that depends on the state": self.state_noise
            and (scope.samplewise or scope.two_blocks or not about_noise),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    def admits(self, theorem: Theorem) -> bool:
        """Return whether the family has candidates for a statement."""
        return not self.refusal(theorem)

    @abstractmethod
    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return P problems of two clients (or one) and starts (P, clients).

        Parameters
        ----------
        read : Reader
            Free numbers of the unit cube; each call takes the next column.
        at : RoundData
            What the problems are fitted to; the results are in units in which L = 1.
        """

    def noise(self, clients: Ramps, at: RoundData) -> Ramps:
        """Return the function s of noise xi s(x) for these clients.

        Only for families with ``state_noise``, whose runs are the same for every xi.
        """
        raise NotImplementedError(f"{type(self).__name__} has no noise of its own")

    def describe(self) -> str:
        """Return name and summary."""
        return f"{self.name}: {self.summary}"


__all__ = ["NOISE", "Family", "RoundData"]
