"""Base class of families of candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.shapes import uncoupled
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import hyperparameters, searches_convex
from dfltheory.counterexamples.splits import Splits

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

NOISE = frozenset(("sigma_l", "S2", "sigma_u", "sigma_v"))
"""A statement about noise contains one of these quantities."""


@dataclass(frozen=True, eq=False)
class RoundData:
    """The data of a round that a problem is fitted to, (P,) each, for L = 1.

    Attributes
    ----------
    eta : (P,) array
        Step size.
    lam : (P,) array
        The eigenvalue of the network that is not 1, with its sign, for all gossip steps
        of a round together.
    rho : (P,) array
        SAM radius.
    K : int
        Number of local steps.
    penalty : (P,) array, optional
        Penalty of ADMM.
    heaviest : (P,) array or float
        Largest push-sum weight.
    """

    eta: np.ndarray
    lam: np.ndarray
    rho: np.ndarray
    K: int = 1
    penalty: np.ndarray | None = None
    heaviest: np.ndarray | float = 1.0

    @property
    def way(self) -> np.ndarray:
        """Distance that a client on a slope of 1 moves in a round in the long run.

        It is eta K, or the penalty.
        """
        return self.eta * self.K if self.penalty is None else self.penalty


class Family(ABC):
    """Problems of one kind, fitted to the step sizes and the network of a candidate.

    The search draws points of the unit cube, networks and step sizes. From them, a
    family constructs problems of two clients on the line, and their starts. The entry
    point group ``dfltheory.families`` lists further families.
    """

    name: ClassVar[str]
    """Name in plain words, which is reported with results."""
    summary: ClassVar[str]
    """One sentence on the functions and what they show."""
    rounds: ClassVar[int] = 300
    """Number of rounds to simulate, after which the state should be stationary."""
    networks: ClassVar[tuple[str, ...]] = ()
    """Additional kinds of :mod:`.networks` to search."""
    also_complete: ClassVar[bool] = False
    """Whether lam = 0 is searched, too."""
    convex: ClassVar[bool] = False
    """Whether the family is for statements about convex problems only."""
    sam: ClassVar[bool] = False
    """Whether the family needs a SAM radius."""
    noisy: ClassVar[bool] = False
    """Whether there is noise. Then clients are identical, and rounds are affine."""
    state_noise: ClassVar[bool] = False
    """Whether the noise depends on the state, see :meth:`noise`."""
    different_starts: ClassVar[bool] = False
    """Whether clients start at different points."""
    personal: ClassVar[bool] = False
    """Whether the family is for statements with two blocks only."""
    settles: ClassVar[bool] = False
    """Whether few rounds reach the limit, however small the step size is."""
    transient: ClassVar[bool] = False
    """Whether only the first rounds matter. Then later rounds up to the horizon of a
    schedule count as 0.
    """
    many_steps: ClassVar[int] = 0
    """Number of local steps of one kind to search additionally; 0 if there is none."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Quantities, of which a statement must contain at least one."""

    def refusal(self, theorem: Theorem) -> str:
        """Return why the family has no candidates for a statement; else empty."""
        scope = theorem.scope
        about_noise = bool(NOISE & {*theorem.needs})
        free, _ = hyperparameters(theorem)
        has_radius = any(quantity is GLOSSARY["rho"] for quantity in free.values())
        reasons = {
            "convex problems only": self.convex and not searches_convex(theorem),
            "problems that are not convex": searches_convex(theorem)
            and not self.convex,
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
        """Return P problems of two clients (or one), and starts (P, clients).

        Parameters
        ----------
        read : Reader
            Free numbers of the unit cube; each call reads the next column.
        at : RoundData
            The data to fit the problems to, in units with L = 1, as the result.
        """

    def blocks(self, read: Reader) -> Splits:
        """Return two clients whose personal parts and coupling a candidate has.

        It is called for statements with two blocks only. Step sizes are drawn from the
        constants of these clients, which have L_u >= 1. Then the ramps of
        :meth:`decode` replace theirs.
        """
        return uncoupled(read)

    def noise(self, clients: Ramps, at: RoundData) -> Ramps:
        """Return the function s of the noise xi s(x) for these clients.

        It is called only for families with ``state_noise``, whose runs must be the same
        for both signs xi.
        """
        raise NotImplementedError(f"{type(self).__name__} has no noise of its own")

    def describe(self) -> str:
        """Return the name and the summary."""
        return f"{self.name}: {self.summary}"


__all__ = ["NOISE", "Family", "RoundData"]
