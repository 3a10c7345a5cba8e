"""Piecewise-linear gradients with free knots, not fitted to networks or step sizes."""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.splits import Splits


def _one_client(read: Reader) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a clipped quadratic plus a bump, from 9 numbers.

    The result consists of ramps (P, 3) and the gradient far to the left (P,).
    """
    steep, center = read.log(1e-2, 1), read.between(-1, 1)
    low, high = read.log_or_zero(1e-3, 3, 0.3), read.log_or_zero(1e-3, 3, 0.3)
    rise, fall = read.log(0.1, 1), read.log(0.1, 1)
    sign = np.where(read.unit() < 0.5, -1.0, 1.0)
    height, place = read.log_or_zero(1e-2, 3, 0.2), read.between(-2, 2)
    knots = np.stack([center - low / steep, place - height / rise, place], -1)
    widths = np.stack([(low + high) / steep, height / rise, height / fall], -1)
    slopes = np.stack([steep, sign * rise, -sign * fall], -1)
    return knots, widths, slopes, -low


def ramps(read: Reader, clients: int) -> Ramps:
    """Return clients with three ramps each."""
    columns = zip(*(_one_client(read) for _ in range(clients)), strict=True)
    knots, widths, slopes, left = (np.stack(column, axis=1) for column in columns)
    return Ramps(knots, widths, slopes, left)


def splits(read: Reader, clients: int) -> Splits:
    """Return problems with ramps, parabolas and a coupling of both blocks.

    For ``clients`` = 1, both clients have the same ramps.
    """
    b = np.stack([read.between(-3, 3), read.between(-3, 3)], -1)
    shared = ramps(read, clients)
    return Splits.of(shared, b, read.log(1e-2, 10), read.log_or_zero(1e-3, 3, 0.4))


def starts(read: Reader, m: int, common: bool) -> np.ndarray:
    """Return starts (P, m): a common one, or with probability 1/2 one per client."""
    if common:
        return np.repeat(read.between(-4, 4)[:, None], m, axis=1)
    points = np.stack([read.between(-4, 4) for _ in range(m)], -1)
    return np.where((read.unit() < 0.5)[:, None], points, points[:, :1])


__all__ = ["ramps", "splits", "starts"]
