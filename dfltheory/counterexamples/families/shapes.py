"""Functions on the line that several families use."""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.splits import Splits

REACH = 2.0
"""Distance from their centers at which gradients of parabolas become constant."""


def unfitted(size: int) -> Ramps:
    """Return two clients with L = B = 1.

    Step sizes are drawn from their constants before a problem is fitted to the step
    sizes.
    """
    ones = np.ones(size)
    return wells(ones, ones, 0 * ones)


def bowl(size: int) -> Ramps:
    """Return one client with the function x^2/2."""
    flat = np.zeros((size, 1, 1))
    return Ramps(flat, 1 + flat, flat, flat[..., 0], curve=np.ones(size))


def uncoupled(read: Reader) -> Splits:
    """Return two clients with personal parts in a parabola around 0, uncoupled."""
    size = len(read.u)
    return Splits.of(
        unfitted(size), np.zeros((size, 2)), read.log(1e-2, 10), np.zeros(size)
    )


def wells(v: np.ndarray, w: np.ndarray, e: np.ndarray) -> Ramps:
    """Return clients with gradients phi + e and phi - e and wells at -2 v and 2 w.

    Beyond the wells |phi| is at most 1.
    """
    knots = np.stack([-2 * v - 1, -v, w], -1)
    widths = np.stack([v + 1, v + w, w + 1], -1)
    slopes = np.tile([1.0, -1.0, 1.0], (len(v), 1, 1))
    ramps = Ramps(knots[:, None], widths[:, None], slopes, -np.ones((len(v), 1)))
    both = ramps.repeated(2)
    left = both.left + e[:, None] * np.array([1.0, -1.0])
    return Ramps(both.knots, both.widths, both.slopes, left)


def hill(knots: np.ndarray, widths: np.ndarray) -> Ramps:
    """Return two clients whose gradients rise from 0 with slope 1 and fall again."""
    slopes = np.tile([1.0, -1.0], (len(knots), 1, 1))
    left = np.zeros((len(knots), 1))
    return Ramps(knots[:, None], widths[:, None], slopes, left).repeated(2)


def both(start: np.ndarray) -> np.ndarray:
    """Return one start for both clients, (P, 2)."""
    return np.stack([start, start], -1)


__all__ = ["REACH", "both", "bowl", "hill", "uncoupled", "unfitted", "wells"]
