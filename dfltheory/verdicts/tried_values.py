"""Values of one quantity that a search for suggestions tries."""

from __future__ import annotations

import math

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.quantity import Quantity

LONGEST_RUN = 1_000_000
"""Largest T that is suggested.

A round of a small problem takes about a millisecond, so that this is a quarter of an
hour.
"""

MOST_STEPS = 100
"""Largest number of local steps or of gossip steps that is suggested."""

STEP_FACTORS: FloatArray = 10.0 ** np.linspace(-8, 8, 1601)
"""Multiples of a step size or a SAM radius that are tried."""

COARSE_FACTORS: FloatArray = 10.0 ** np.linspace(-8, 8, 161)
"""As STEP_FACTORS, for changes of two quantities."""


def tried_values(
    entry: Quantity, present: float, exact: float | None, factors: FloatArray
) -> FloatArray:
    """Return the values of a quantity that are tried, in increasing order.

    Parameters
    ----------
    entry : Quantity
        The quantity, with its range.
    present : float
        The value of the run.
    exact : float, optional
        The value that an equality among the conditions fixes.
    factors : array
        Multiples of the present value. They are not used for integers, nor for
        quantities in [0, 1], which have grids of their own.
    """
    if entry.name == "T":
        points = np.unique(np.round(np.geomspace(1, LONGEST_RUN, 600)))
    elif entry.integer:
        points = np.arange(entry.low, MOST_STEPS + 1.0)
    elif entry.high == 1:
        points = np.linspace(max(entry.low, 0.0), 1.0, 401)
    else:
        points = factors * (abs(present) or 1.0)
    ends = [end for end in (exact, entry.low) if end is not None and math.isfinite(end)]
    points = np.unique(np.append(points, ends))
    inside = (points > entry.low) if entry.open_low else (points >= entry.low)
    inside &= (points < entry.high) if entry.open_high else (points <= entry.high)
    return points[inside]


def distance_from(values: FloatArray, present: float) -> FloatArray:
    """Return distances of values from the present one, for choosing the nearest.

    They are |log(value/present)|; larger than all of these if one of both is not
    positive.
    """
    with np.errstate(all="ignore"):
        ratio = np.abs(np.log(values / present)) if present > 0 else values * np.nan
    return np.where(np.isfinite(ratio), ratio, np.abs(values - present) + 100.0)


__all__ = [
    "COARSE_FACTORS",
    "LONGEST_RUN",
    "MOST_STEPS",
    "STEP_FACTORS",
    "distance_from",
    "tried_values",
]
