"""Bounds and measured left-hand sides as functions of the horizon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.confidence import half_widths, upper_limits
from dfltheory.errors import InputError
from dfltheory.verdicts.evidence import evidence_lower_limits
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.simultaneous_limits import running_upper_limits
from dfltheory.verdicts.statistics import upper_of_each

VerdictLike = Any
"""A :class:`~dfltheory.verdicts.verdict.Verdict`.

``Verdict.plot`` imports this package, so importing the class here would be circular.
"""
_T = GLOSSARY["T"].symbol


def bound_where_conditions_fail(
    verdict: VerdictLike, horizons: np.ndarray
) -> FloatArray:
    """Evaluate the formula of a bound at horizons at which the theorem claims nothing.

    Values are nan where :func:`bound_over` is finite, and everywhere if a quantity of
    the bound is unknown or out of range.
    """
    thm: Theorem = verdict.theorem
    nothing = np.full(horizons.shape, np.nan)
    values = {name: v for name, v in verdict.values.needed.items() if name != "T"}
    if set(values) | {"T"} < set(thm.needs):
        return nothing
    try:
        formula = thm.evaluate(**values, T=horizons, where="ignore")
    except InputError:  # such as lam = 1 on a disconnected network
        return nothing
    claimed = np.isfinite(bound_over(verdict, horizons))
    # formulas may be negative or infinite at step sizes that violate the conditions
    sensible = np.isfinite(formula) & (np.asarray(formula) > 0)
    return np.where(claimed | ~sensible, np.nan, formula)


@overload
def bound_over(
    verdict: VerdictLike, horizons: np.ndarray, by_term: Literal[False] = False
) -> FloatArray: ...


@overload
def bound_over(
    verdict: VerdictLike, horizons: np.ndarray, by_term: Literal[True]
) -> dict[str, FloatArray]: ...


def bound_over(
    verdict: VerdictLike, horizons: np.ndarray, by_term: bool = False
) -> FloatArray | dict[str, FloatArray]:
    """Evaluate the bound of a verdict at several horizons of its run.

    Values are nan where the theorem makes no claim about this run: if it is not
    applicable, if a condition fails, and at horizons h < T if its schedule depends on
    T, since the run uses the step sizes for T.

    Parameters
    ----------
    verdict : Verdict
        A verdict with its theorem.
    horizons : (n,) array
        Horizons h <= T.
    by_term : bool
        Whether to return the terms of the bound instead of their sum.

    Returns
    -------
    (n,) array or dict of str to (n,) array
        The bound, or its terms by name.
    """
    thm: Theorem = verdict.theorem
    nothing = np.full(horizons.shape, np.nan)
    if verdict.kind == "not applicable":
        return dict.fromkeys(thm.parts, nothing) if by_term else nothing
    at_last = horizons == verdict.rounds
    if not verdict.at:  # read from a file without the values of the quantities
        ones = np.where(at_last, 1.0, np.nan)
        if by_term:
            return {name: value * ones for name, value in verdict.terms.items()}
        return verdict.bound * ones
    values: Mapping[str, float] = {n: v for n, v in verdict.at.items() if n != "T"}
    covered = np.ones(horizons.shape, dtype=bool)
    if _schedule_depends_on_horizon(thm):
        covered = at_last
    if by_term:
        terms = thm.evaluate_terms(**values, T=horizons, where="nan")
        return {name: np.where(covered, term, np.nan) for name, term in terms.items()}
    bound = thm.evaluate(**values, T=horizons, where="nan")
    return np.where(covered, bound, np.nan)


def _schedule_depends_on_horizon(thm: Theorem) -> bool:
    """Return whether the bound contains a scheduled step size that depends on T."""
    return any(_T in thm.schedule[name].free_symbols for name in thm.scheduled)


BandLimits = tuple[FloatArray, FloatArray, FloatArray]
"""Estimate, lower limit and upper limit at each horizon."""


def running_left_hand_side(left: LeftHandSide, confidence: float) -> BandLimits:
    """Return the left-hand side at each horizon, with confidence limits.

    The lower limits are based on e-values and remain below the estimate however
    similar the seeds are. For one seed, or a deterministic run, both limits equal the
    estimate.

    Parameters
    ----------
    left : LeftHandSide
        The left-hand side of a theorem on a run.
    confidence : float
        Confidence level of the limits, in (0, 1).

    Returns
    -------
    tuple of three (T,) arrays
        Estimate, lower limit and upper limit at the horizons 1..T.
    """
    tail = (1 - confidence) / 2
    columns = _running_columns(left)
    means = columns.mean(axis=0)
    estimate = means
    if left.is_minimum:
        estimate = np.minimum.accumulate(means)
    elif left.is_maximum:
        estimate = np.maximum.accumulate(means)
    if left.exact or columns.shape[0] == 1:
        return estimate, estimate, estimate
    if left.is_maximum:
        return _limits_of_running_maximum(left, columns, estimate, tail)
    finite = np.isfinite(means)  # after divergence all values are infinite
    low = means.copy()
    high = np.full(means.shape, np.inf)
    low[finite] = evidence_lower_limits(columns[:, finite], tail)
    if not left.is_minimum:
        high[finite] = upper_limits(columns[:, finite], tail)
        return estimate, low, high
    equal_rounds = left.equal_rounds[finite]
    high[finite] = running_upper_limits(columns[:, finite], tail, equal_rounds)
    return estimate, np.minimum.accumulate(low), high


def mean_band(left: LeftHandSide, confidence: float) -> BandLimits:
    """Return the left-hand side at each horizon with Student's two-sided interval.

    For a minimum or maximum over rounds, the interval is that of the mean at the round
    where it is attained. For one seed, or a deterministic run, both limits equal the
    estimate.

    Parameters
    ----------
    left : LeftHandSide
        The left-hand side of a theorem on a run.
    confidence : float
        Level of the interval, in (0, 1).

    Returns
    -------
    tuple of three (T,) arrays
        Estimate, lower limit and upper limit at the horizons 1..T.
    """
    columns = _running_columns(left)
    means = columns.mean(axis=0)
    rounds = np.arange(means.size)
    if left.is_minimum:
        attained = means == np.minimum.accumulate(means)
        rounds = np.maximum.accumulate(np.where(attained, rounds, 0))
    elif left.is_maximum:
        attained = means == np.maximum.accumulate(means)
        rounds = np.maximum.accumulate(np.where(attained, rounds, 0))
    estimate = means[rounds]
    if left.exact or columns.shape[0] == 1:
        return estimate, estimate, estimate
    with np.errstate(invalid="ignore"):  # inf - inf after divergence
        half = half_widths(columns, (1 - confidence) / 2)[rounds]
    return estimate, np.maximum(estimate - half, 0.0), estimate + half


def seed_curves(left: LeftHandSide) -> FloatArray:
    """Return the left-hand side of each seed at each horizon, (seeds, horizons)."""
    columns = _running_columns(left)
    if left.is_minimum:
        return np.minimum.accumulate(columns, axis=1)
    if left.is_maximum:
        return np.maximum.accumulate(columns, axis=1)
    return columns


def _running_columns(left: LeftHandSide) -> FloatArray:
    """Return the samples (seeds, horizons) of the left-hand side at each horizon.

    For a minimum or maximum they are the values in each round, and for a mean or sum
    the means or sums over all rounds up to the horizon.
    """
    samples = left.samples
    match left.theorem.lhs.aggregate:
        case "min" | "max":
            return samples
        case "sum":
            return np.cumsum(samples, axis=1)
        case "mean" | "last":
            return np.cumsum(samples, axis=1) / np.arange(1, samples.shape[1] + 1)
    aggregate = left.theorem.lhs.aggregate
    raise InputError(
        f"{left.theorem}: aggregate = {aggregate!r} cannot be drawn; it must be min,"
        " max, mean, sum or last"
    )


def _limits_of_running_maximum(
    left: LeftHandSide,
    columns: FloatArray,
    estimate: FloatArray,
    tail: float,
) -> BandLimits:
    """Return the estimate and limits of max_{t <= h} E Y_t at each horizon h.

    The lower limits hold simultaneously in all rounds, because the round with the
    largest value is selected after seeing the data.
    """
    low = columns.mean(axis=0)
    finite = np.isfinite(low)
    low[finite] = evidence_lower_limits(columns[:, finite], tail / columns.shape[1])
    high = upper_of_each(columns, tail, left.equal_rounds)
    return estimate, np.maximum.accumulate(low), np.maximum.accumulate(high)
