"""Why a measured exponent does not contradict a rate: scope, step sizes, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.rates.measured import Measured
from dfltheory.rates.predicted import symbols_of
from dfltheory.rates.varied import step_factors

_SAME = 1e-6
"""Relative difference up to which two values count as equal."""


def not_exceeded(measured: FloatArray, bound: FloatArray) -> str:
    """Return why points do not contradict a bound; empty if one exceeds it."""
    if (measured > bound).any():
        return ""
    if np.isfinite(bound).all():
        return (
            "all points lie below the bound (pre-asymptotic): it promises its exponent"
            " only where it is tight"
        )
    return (
        "constants of the bound are unknown, and the points may lie below it"
        " (pre-asymptotic)"
    )


def not_applicable(vary: str, over: Sequence[float], points: Sequence[Measured]) -> str:
    """Return why the theorem does not cover the first such run; empty if it does."""
    for value, point in zip(over, points, strict=True):
        if point.obstacle is not None:
            return f"not applicable at {vary} = {value:g}: {point.obstacle}"
    return ""


def other_step_sizes(theorem: Theorem, values: Sequence[Mapping[str, float]]) -> str:
    """Return which step size is not the scheduled one; empty if all are.

    A bound that was stated for the schedule claims nothing about such runs.
    """
    for point in values:
        for name, factor in step_factors(theorem, point).items():
            if name in theorem.scheduled and abs(factor - 1) > _SAME:
                return (
                    f"the runs have {factor:.6g} times the scheduled {name}, and the"
                    " bound holds only at the schedule"
                )
    return ""


def differ(numbers: Sequence[float]) -> bool:
    """Return whether numbers differ by more than rounding; False if one is unknown."""
    if not np.isfinite(numbers).all():
        return False
    return max(numbers) - min(numbers) > _SAME * max(map(abs, numbers))


def refuse_other_schedules(
    theorem: Theorem, vary: str, values: Sequence[Mapping[str, float]]
) -> None:
    """Raise InputError unless the runs follow the schedule up to a constant factor."""
    factors = [step_factors(theorem, point) for point in values]
    for name in set(factors[0]) - symbols_of(vary):
        factors_of_name = [point[name] for point in factors if name in point]
        if differ(factors_of_name):
            low, high = min(factors_of_name), max(factors_of_name)
            raise InputError(
                f"{name} of the runs is not the schedule of {theorem} times one factor:"
                f" the factors run from {low:.6g} to {high:.6g}. Follow the schedule,"
                " or give predicted=..."
            )
