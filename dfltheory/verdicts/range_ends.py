"""Ends of the admissible values of a quantity, rounded inwards."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dfltheory.verdicts.measures import Array


def distance_from(values: Array, present: float) -> Array:
    """Return distances from the present value, by ratio where both are positive."""
    with np.errstate(all="ignore"):
        ratio = np.abs(np.log(values / present)) if present > 0 else values * np.nan
    return np.where(np.isfinite(ratio), ratio, np.abs(values - present) + 100.0)


def admissible_edge(
    holds: Callable[[float], bool], good: float, bad: float, whole: bool
) -> float:
    """Return the end of the admissible values between an admissible and another one."""
    for _ in range(200):
        middle = (good + bad) / 2
        if whole:
            middle = float(math.floor(middle) if good < bad else math.ceil(middle))
        if middle in (good, bad):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return float(good)


def rounded_inwards(
    edge: float, inside: float, holds: Callable[[float], bool], whole: bool
) -> float:
    """Return the end of a range with as few digits as possible, on its inner side."""
    direction = 1 if inside >= edge else -1
    if whole and edge < 1000:
        return edge
    for digits in range(3, 17):
        value = round_towards(edge, direction, digits)
        beyond = value > inside if direction > 0 else value < inside
        if not beyond and holds(value):
            return value
    return edge


def round_towards(value: float, direction: int, digits: int) -> float:
    """``value`` with so many digits, rounded up (1) or down (-1)."""
    if value == 0 or not math.isfinite(value):
        return value
    rounded = float(f"{value:.{digits - 1}e}")
    if (rounded - value) * direction >= 0:
        return rounded
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return float(f"{rounded + direction * unit:.{digits - 1}e}")


__all__ = ["distance_from", "admissible_edge", "round_towards", "rounded_inwards"]
