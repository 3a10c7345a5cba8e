"""Two clients with opposite constant gradients that their mean never leaves.

f_1' = 1 + b and f_2' = -1 + b with the bump b(x) = max(h - |x - c|, 0); rho = 0. While
both clients are outside of the bump, a round adds -+ eta K to them, and the network
shrinks their half distance r: r <- lam (r + eta K), so that r grows to R = lam eta K/(1
- lam), while their mean is stationary, as f_1' + f_2' = 0. From a common start both are
inside the bump at first, and the mean moves left by at most eta K h in a round. It is
stationary at x* once |x_i - c| >= h for both, and the left-hand side is b(x*)^2
forever, h^2 at most, though f itself has that slope at the mean. h < R is needed. That
error is of the order of (lam eta K sigma_g/(1 - lam))^2 with sigma_g = 1, as b is
common to both.

*Unbalanced duals.* ADMM with penalty l takes K steps y <- y - eta (g - d + (y - x)/l),
sends y - l d and adds (x - y)/l to its dual d. With q = (1 - eta/l)^K and constant
gradients g_i, y = x - l (1 - q)(g - d), so that d_i = g_i (1 - q^t) after t rounds, and
-l g_i (1 - q^(t+1)) is sent: l takes the place of eta K, and R = lam l/(1 - lam). A
mean dual D != 0, left from the bump, moves the mean by l q D/(1 - q) before it is gone.

*Weights far from uniform.* Push-sum with W = [[1 - a, b], [a, 1 - b]], lam = 1 - a - b,
has the weights 2 b/(a + b) and 2 a/(a + b) in the limit. x_1 = (1 - a)(x_1 - eta K) + b
(x_2 + eta K) with x_1 + x_2 = s gives x_1 = (b s - lam eta K)/(a + b), so that x_1/w_1
= s/2 - lam eta K/(2 b) and x_2/w_2 = s/2 + lam eta K/(2 a): the client of the larger
weight is the nearer one, at R = lam eta K/(2 max(a, b)).
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both, hill
from dfltheory.counterexamples.ramps import Ramps


class OpposingGradients(Family):
    """+-1 + max(h - |x - c|, 0), h a share of the half distance in the limit."""

    name = "opposing gradients"
    summary = (
        "f_i'(x) = +-1 + max(h - |x - c|, 0), whose mean is stationary at a slope h"
    )
    rounds = 800
    settles = True
    networks = ("unbalanced", "random matchings of 4")

    def decode(self, read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
        """Return clients that start at 0."""
        bump, start = bump_at_zero(read, at)
        left = bump.left + np.array([1.0, -1.0])
        return Ramps(bump.knots, bump.widths, bump.slopes, left), start


def bump_at_zero(read: Reader, at: RoundData) -> tuple[Ramps, np.ndarray]:
    """Return two clients with b alone, and their start 0."""
    h = read.between(0.05, 0.999) * np.maximum(limit_distance(at), 1e-12)
    c = -h * read.between(0, 1)
    knots, widths = np.stack([c - h, c], -1), np.stack([h, h], -1)
    return hill(knots, widths), both(0 * h)


def limit_distance(at: RoundData) -> np.ndarray:
    """Return the distance from the mean of the nearer client.

    It is R = lam way/((1 - lam) max w).
    """
    return at.lam * at.way / (1 - at.lam) / at.heaviest


__all__ = ["OpposingGradients", "bump_at_zero", "limit_distance"]
