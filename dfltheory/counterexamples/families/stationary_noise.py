"""Noise around the minimum of a parabola.

m clients with f'(x) = x and noise of variance sigma^2 start at one point, mostly at 0;
:mod:`dfltheory.counterexamples.noisy_parabola` has the expectation of f'(xbar^t)^2. For
statements about convex problems, f'(x) = x on the whole line.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import bowl
from dfltheory.counterexamples.ramps import Ramps

LINEAR_DISTANCE = 1e3
"""Distance from the minimum at which the gradient becomes constant."""


class StationaryNoise(Family):
    """The function x^2/2, as far as noise leads, for one client."""

    name = "stationary noise"
    summary = "f'(x) = x with noise, from the minimum mostly"
    noisy = True
    also_complete = True
    networks = (
        "complete",
        "alone",
        "two groups of 4",
        "two groups of 32",
    )

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return one client and its start."""
        far, ones = (
            np.full((len(at.eta), 1), LINEAR_DISTANCE),
            np.ones((len(at.eta), 1, 1)),
        )
        ramps = Ramps(-far[..., None], 2 * far[..., None], ones, -far)
        return ramps, _start(read)


class StationaryNoiseConvex(Family):
    """The function x^2/2 on the whole line, for one client."""

    name = "stationary noise, strongly convex"
    summary = "f(x) = x^2/2 with noise, from the minimum mostly"
    noisy = True
    convex = True

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return one client and its start."""
        return bowl(len(at.eta)), _start(read)


def _start(read: Reader) -> np.ndarray:
    """Return the starts of one client, mostly 0."""
    return read.log_or_zero(1e-4, 3, 0.6)[:, None]


__all__ = ["StationaryNoise", "StationaryNoiseConvex"]
