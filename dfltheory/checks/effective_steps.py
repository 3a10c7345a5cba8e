"""Effective steps: how far a round moves the measured point, by algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class FamilyConstants:
    """Numbers of many problems of one family, as arrays of one shape.

    The entries are floats, or fractions in arrays of objects.

    Attributes
    ----------
    K, m, T, L, eta, rho, rho0, alpha, lam_admm, lam : as in the glossary
    size : the free size of the family: a noise, gradient, distance or radius
    n : number of rounds of a transient
    steps : number of gradient steps from one measured model to the next
    first, last : the first and the last measured round
    aggregate : the aggregate over the rounds
    algorithm : name of the algorithm; None if the family applies to none
    """

    K: np.ndarray
    m: np.ndarray
    T: np.ndarray
    L: np.ndarray
    eta: np.ndarray
    rho: np.ndarray
    rho0: np.ndarray
    alpha: np.ndarray
    lam_admm: np.ndarray
    size: np.ndarray
    lam: np.ndarray
    n: np.ndarray
    steps: np.ndarray
    first: np.ndarray
    last: np.ndarray
    aggregate: str
    algorithm: str | None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the numbers by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if name not in ("aggregate", "algorithm")
        }

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> FamilyConstants:
        """Return the setting with ``change`` applied to every array."""
        changed = {name: change(value) for name, value in self.arrays().items()}
        return replace(self, **changed)


PLAIN_STEPS = ("DFedAvg", "DPSGD", "LocalSGD", "FedAvg", "DFedSAM", "OSGP", "SGP")
"""Algorithms whose rounds are local gradient steps and an average: DFedSAM at rho = 0;
DPSGD where it adapts before it combines; push-sum on a doubly stochastic matrix, where
all its weights stay 1.
"""
MOMENTUM = ("DFedAvgM", "DFedSGPSM", "DFedSGPM")
"""The same with heavy-ball steps, and a velocity that is 0 at the start of a round."""
LASTING_MOMENTUM = "DFedAvgM that keeps its velocity"
"""Heavy-ball steps whose velocity goes on from round to round."""
DUAL = ("DFedADMM", "DFedADMMSAM")
"""Algorithms with dual variables; DFedADMM-SAM at rho = 0."""
SAM = ("DFedSAM", "FedSAM", "DFedSGPSM", "DFedADMMSAM", "DFedSMDC")
"""Algorithms that take gradients at y + rho g/norm(g) alone."""
SPANS = (*MOMENTUM, *PLAIN_STEPS, LASTING_MOMENTUM, "DSGT", "EXTRA", "D2", "SCAFFOLD")
"""Algorithms whose models lie in the span of the start and of the gradients, where all
clients have one objective and exact gradients.
"""


def travel(at: FamilyConstants) -> np.ndarray:
    """Return the effective step of a round, of the shape of the setting's arrays.

    It is how far a gradient 1 that never changes moves the measured point; for a
    velocity that is kept between rounds it is an upper bound.

    A velocity that starts at 0 is 1 + alpha + ... + alpha^(k-1) = (1 - alpha^k)/
    (1 - alpha) after k steps; the K steps of a round add up to (K - alpha
    (1 - alpha^K)/(1 - alpha))/(1 - alpha). A velocity that is kept is at most
    1/(1 - alpha), so that the effective step is eta K/(1 - alpha).

    With dual variables, gamma = 1 - (1 - eta/lam)^K and a constant gradient g, local
    steps end at x - lam gamma (g - dual), dual' = (1 - gamma) dual + gamma g and x' =
    x - lam dual'. So w = x - lam ((1 - gamma)/gamma) dual moves by -lam g in every
    round; for 0 < eta <= lam and a dual between 0 and g no other point of the round is
    beyond the next w.
    """
    if at.algorithm in DUAL:
        return at.lam_admm
    alpha, steps = at.alpha, at.steps
    if at.algorithm == LASTING_MOMENTUM:
        return at.eta * steps / (1 - alpha)
    slow = alpha * (1 - alpha**steps) / (1 - alpha)
    return at.eta * (steps - slow) / (1 - alpha)


def is_travel_exact(at: FamilyConstants) -> np.ndarray | bool:
    """Return where ``travel`` is derived: with dual variables, for eta <= lam."""
    return at.eta <= at.lam_admm if at.algorithm in DUAL else True


def is_local_descent(at: FamilyConstants) -> np.ndarray | bool:
    """Return where rounds are plain local steps and an average.

    With dual variables they are for K = 1 and eta = lam: then dual' is the gradient at
    x, w = x, and x' = W (x - lam dual').
    """
    if at.algorithm in DUAL:
        return (at.K == 1) & (at.eta == at.lam_admm)
    return True


__all__ = [
    "DUAL",
    "LASTING_MOMENTUM",
    "MOMENTUM",
    "PLAIN_STEPS",
    "SAM",
    "SPANS",
    "FamilyConstants",
    "is_local_descent",
    "is_travel_exact",
    "travel",
]
