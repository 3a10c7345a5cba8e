"""Two parabolas of different curvature, whose local steps miss the minimum.

f_i' = k_i (x - c_i) with k_1 = 1 >= k_2 and c_i = +-1 in a range that no run leaves;
rho = 0. K local steps are x -> c_i + (1 - eta k_i)^K (x - c_i) =: c_i + q_i (x - c_i).
For lam = 0, a round replaces the mean by the average of both, and is stationary at x* =
sum_i (1 - q_i) c_i/sum_i (1 - q_i). At the minimum 1 - q_i is replaced by eta k_i. For
K > 1 the two points differ unless k_1 = k_2. For lam > 0 the fixed point is that of a 2
x 2 linear system (:func:`drift_limit`), which misses the minimum for K = 1, too. Half
of the starts are near the minimum, where a bound retains only the terms that keep the
mean away from it.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import REACH, both
from dfltheory.counterexamples.ramps import Ramps


class LocalDrift(Family):
    """Parabolas around +-1 with curvatures 1 and k <= 1."""

    name = "local drift"
    summary = (
        "f_1'(x) = x - 1 and f_2'(x) = k (x + 1), whose local steps miss the minimum"
    )
    also_complete = True
    networks = ("two groups of 4", "two groups of 32")

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at one point."""
        k = np.stack([np.ones(len(at.eta)), read.log(1e-2, 1)], -1)
        minimum = (1 - k[:, 1]) / (1 + k[:, 1]) + read.log(1e-6, 1e-1)
        start = np.where(read.unit() < 0.5, drift_start(k, at), minimum)
        return parabolas(k), both(start)


def parabolas(k: np.ndarray, reach: float | np.ndarray = REACH) -> Ramps:
    """Return k_i (x - c_i) with c_i = +-1, constant beyond ``reach`` from c_i."""
    centers = np.array([1.0, -1.0])
    ends = np.broadcast_to(np.asarray(reach).reshape(-1, 1, 1), (*k.shape, 1))
    left = -k * ends[..., 0]
    return Ramps(centers[:, None] - ends, 2 * ends, k[..., None], left)


def drift_system(k: np.ndarray, at: RoundData) -> tuple[np.ndarray, np.ndarray]:
    """Return the round x -> A x + b of the two parabolas, (P, 2, 2) and (P, 2)."""
    q = (1 - at.eta[:, None] * k) ** at.K
    w = (1 - at.lam) / 2
    W = np.stack([np.stack([1 - w, w], -1), np.stack([w, 1 - w], -1)], -2)
    pull = (1 - q) * np.array([1.0, -1.0])
    return W * q[:, None, :], np.einsum("pij,pj->pi", W, pull)


def drift_limit(k: np.ndarray, at: RoundData) -> np.ndarray:
    """Return the fixed point of the two clients, (P, 2)."""
    A, b = drift_system(k, at)
    return np.linalg.solve(np.eye(2) - A, b[..., None])[..., 0]


def drift_start(k: np.ndarray, at: RoundData) -> np.ndarray:
    """Return the common start that has no component along the slow eigenvector.

    From it the state converges at the rate of lam. If z is the left eigenvector of A
    for its larger eigenvalue, this start x satisfies z'(x 1) = z'x*.
    """
    A, _ = drift_system(k, at)
    values, left = np.linalg.eig(np.swapaxes(A, 1, 2))
    slow = np.real(left[np.arange(len(A)), :, np.abs(values).argmax(-1)])
    return (slow * drift_limit(k, at)).sum(-1) / slow.sum(-1)


__all__ = ["LocalDrift", "drift_limit", "drift_start", "drift_system", "parabolas"]
