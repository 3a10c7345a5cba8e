"""Decoding of points of the unit cube, in which the search moves, into numbers."""

from __future__ import annotations

import numpy as np

LEAST_STEP_FRACTION = 1e-5
"""Smallest fraction of the largest admissible step size."""


class Reader:
    """Reader that converts the columns of points in the unit cube to numbers.

    Columns are read in order. Reading beyond the last one returns 0.5 and is counted,
    which yields the dimension of a search space.
    """

    def __init__(self, u: np.ndarray):
        self.u, self.at = u, 0

    def unit(self) -> np.ndarray:
        """Return the next column, in [0, 1]; 0.5 if there is none."""
        column = self.at
        self.at += 1
        if column < self.u.shape[1]:
            return self.u[:, column]
        return np.full(len(self.u), 0.5)

    def log(self, low: float, high: float) -> np.ndarray:
        """Return log-uniform numbers in [low, high]."""
        return low * (high / low) ** self.unit()

    def between(self, low: float, high: float) -> np.ndarray:
        """Return uniform numbers in [low, high]."""
        return low + (high - low) * self.unit()

    def log_or_zero(self, low: float, high: float, zero: float = 0.25) -> np.ndarray:
        """Return 0 with probability ``zero``, otherwise log-uniform numbers."""
        u = self.unit()
        share = np.clip((u - zero) / (1 - zero), 0, 1)
        return np.where(u < zero, 0.0, low * (high / low) ** share)

    def share(self) -> np.ndarray:
        """Return a fraction of the largest step size.

        It is exactly 1 with probability 0.15, otherwise log-uniform in
        [``LEAST_STEP_FRACTION``, 1].
        """
        u = self.unit()
        return np.where(
            u > 0.85, 1.0, LEAST_STEP_FRACTION ** np.clip(1 - u / 0.85, 0, 1)
        )


__all__ = ["Reader"]
