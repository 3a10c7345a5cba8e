"""SAM whose stochastic ascent step hides the gradient, if samples are not smooth.

The clients are identical with f' = w > 0 to the right of -rho, and the noise is xi
s(x), where xi = +-1 with probability 1/2 each. The function s is continuous with s(0) =
(1 + e) w, s(rho) = -w, s(-rho) = w and |s| <= (1 + e) w =: sigma.

At x = 0 the sample's gradient w + xi s(0) has the sign of xi, so that the ascent step
of SAM leads to xi rho. There the same sample has the gradient w + xi s(xi rho) = 0, and
also in a neighborhood. Every local step is therefore 0, for both xi, in every round,
for all eta, K and W. So the left-hand side is f'(0)^2 = w^2 forever, even if rho and
the steps vanish, and it exceeds every term of a bound in which eta multiplies sigma^2
for small eta. E grad F_i = f_i', and the variance is at most sigma^2.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both
from dfltheory.counterexamples.ramps import Ramps

NOISE_EXCESS = 1e-3
"""The e of s(0) = (1 + e) w. It must be positive, so that at 0 the sign of a sample's
gradient is that of the noise.
"""
RADIUS_TOLERANCE = 0.25
"""All steps are 0 for any SAM radius that differs from rho by at most this fraction."""


class BiasedSAM(Family):
    """Identical clients whose f' rises with slope 1 to w to the left of -rho."""

    name = "biased SAM gradients"
    summary = "f' = w near 0 and noise xi s(x), for which every SAM step at 0 is 0"
    sam = True
    settles = True
    state_noise = True

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients with f' = w to the right of -rho, that start at 0."""
        rho = np.where(at.rho > 0, at.rho, 1.0)
        w = rho * read.log(1e-2, 1e5)
        knots = (-(1 + RADIUS_TOLERANCE) * rho - w)[:, None, None]
        widths = w[:, None, None]
        left = np.zeros((len(w), 1))
        ramps = Ramps(knots, widths, np.ones_like(knots), left)
        return ramps.repeated(2), both(0 * w)

    def noise(self, clients: Ramps, at: RoundData) -> Ramps:
        """Return the function s of the noise xi s(x).

        It is w up to -rho, rises to (1 + e) w at 0, and falls to -w at rho.
        """
        w = clients.widths[:, :1, 0]
        distance = (1 - RADIUS_TOLERANCE) * np.where(at.rho > 0, at.rho, 1.0)[:, None]
        slopes = np.stack(
            [NOISE_EXCESS * w / distance, -(2 + NOISE_EXCESS) * w / distance], -1
        )
        knots = np.stack([-distance, 0 * distance], -1)
        return Ramps(knots, np.stack([distance, distance], -1), slopes, w)


__all__ = ["BiasedSAM"]
