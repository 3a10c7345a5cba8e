"""Points of the unit cube, on which the search moves, as the numbers of candidates."""

from __future__ import annotations

import numpy as np

LEAST = 1e-5
"""The least share of the largest step size."""


class Reader:
    """Reader that turns columns of the unit cube into numbers, one after the other.

    A column that the cube does not have is 0.5, and is counted.
    """

    def __init__(self, u: np.ndarray):
        self.u, self.at = u, 0

    def unit(self) -> np.ndarray:
        """Return the next column, in [0, 1]; 0.5 where there is none."""
        column = self.at
        self.at += 1
        if column < self.u.shape[1]:
            return self.u[:, column]
        return np.full(len(self.u), 0.5)

    def log(self, low: float, high: float) -> np.ndarray:
        """Return numbers in [low, high], uniform in their logarithm."""
        return low * (high / low) ** self.unit()

    def between(self, low: float, high: float) -> np.ndarray:
        """Return numbers in [low, high], uniform."""
        return low + (high - low) * self.unit()

    def log_or_zero(self, low: float, high: float, zero: float = 0.25) -> np.ndarray:
        """Exactly 0 for a share ``zero`` of the interval, then logarithmic."""
        u = self.unit()
        share = np.clip((u - zero) / (1 - zero), 0, 1)
        return np.where(u < zero, 0.0, low * (high / low) ** share)

    def share(self) -> np.ndarray:
        """Return a share of the largest step size.

        It is exactly 1 for a part of the interval, else logarithmic.
        """
        u = self.unit()
        return np.where(u > 0.85, 1.0, LEAST ** np.clip(1 - u / 0.85, 0, 1))


__all__ = ["Reader"]
