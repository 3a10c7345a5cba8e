"""Two clients with opposite constant gradients that their mean never leaves.

f_1' = 1 + b and f_2' = -1 + b with the bump b(x) = max(h - |x - c|, 0); rho = 0. While
both clients are outside of the bump, a round moves them by -+ eta K, and the network
shrinks half of their distance r: r <- lam (r + eta K). So r grows to R = lam eta K/(1 -
lam), while their mean is stationary, as f_1' + f_2' = 0. From a common start both
clients are initially inside the bump, and the mean moves to the left by at most eta K h
per round. It is stationary at some x* once |x_i - c| >= h for both, and the left-hand
side is then b(x*)^2 <= h^2 forever, although f has that slope at the mean. This
requires h < R. The error is of the order of (lam eta K sigma_g/(1 - lam))^2 with
sigma_g = 1, as b is common to both clients.

*Unbalanced duals.* ADMM with penalty l takes K steps y <- y - eta (g - d + (y - x)/l),
sends y - l d and adds (x - y)/l to its dual d. With q = (1 - eta/l)^K and constant
gradients g_i, y = x - l (1 - q)(g - d). So d_i = g_i (1 - q^t) after t rounds, and the
client moves by -l g_i (1 - q^(t+1)) before gossip: l takes the place of eta K, and R =
lam l/(1 - lam). A mean dual D != 0 that remains from the bump moves the mean by l q
D/(1 - q) before it decays.

*Weights far from uniform.* Push-sum with W = [[1 - a, b], [a, 1 - b]] and lam = 1 - a -
b has the limiting weights w_1 = 2 b/(a + b) and w_2 = 2 a/(a + b). From x_1 = (1 -
a)(x_1 - eta K) + b (x_2 + eta K) and x_1 + x_2 = s follows x_1 = (b s - lam eta K)/(a +
b), so that x_1/w_1 = s/2 - lam eta K/(2 b) and x_2/w_2 = s/2 + lam eta K/(2 a). The
client with the larger weight is closer to the mean, at the distance R = lam eta K/(2
max(a, b)).
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.shapes import both, hill
from dfltheory.counterexamples.ramps import Ramps


class OpposingGradients(Family):
    """Gradients +-1 + max(h - |x - c|, 0), where h is a fraction of the limit R."""

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
    """Return two clients whose gradients are the bump b, and their start 0."""
    h = read.between(0.05, 0.999) * np.maximum(limit_distance(at), 1e-12)
    c = -h * read.between(0, 1)
    knots, widths = np.stack([c - h, c], -1), np.stack([h, h], -1)
    return hill(knots, widths), both(0 * h)


def limit_distance(at: RoundData) -> np.ndarray:
    """Return the limiting distance of the closer client from the mean.

    It is R = lam way/((1 - lam) max w).
    """
    return at.lam * at.way / (1 - at.lam) / at.heaviest


__all__ = ["OpposingGradients", "bump_at_zero", "limit_distance"]
