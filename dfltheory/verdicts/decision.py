"""The kind of a verdict, and its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.clauses import Number
from dfltheory.bounds.theorem import Theorem
from dfltheory.training.history import History
from dfltheory.verdicts import evidence
from dfltheory.verdicts.applicability import points_of_starts
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    per_start_columns,
    proved_ceiling,
)
from dfltheory.verdicts.measures import precision, stated_digits
from dfltheory.verdicts.rounding import bound_error
from dfltheory.verdicts.run_values import RunValues
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.verdict import ASSUMED, VerdictKind


class Bounds(NamedTuple):
    """The bound, and its lower and upper end within rounding errors.

    Arrays of shape (), or (S,) if the seeds have different starts.
    """

    low: FloatArray
    nominal: FloatArray
    high: FloatArray


class Decision(NamedTuple):
    """A kind with its reason.

    ``seeds`` is about how many seeds would decide an undecided kind; None if unknown.
    """

    kind: VerdictKind
    reason: str
    seeds: int | None = None


def bounds_within_rounding(
    values: RunValues, inputs: Mapping[str, Number], run: History
) -> Bounds:
    """Return the bound, and its ends within the rounding errors of all constants.

    Starts are treated as distinct even if they differ only by their rounding errors.

    Parameters
    ----------
    values : RunValues
        The values of the run, with the rounding error of f0_gap.
    inputs : mapping
        The values that the theorem needs, by glossary name.
    run : History
    """
    theorem = values.theorem
    gap, error = np.broadcast_arrays(inputs.get("f0_gap", 0.0), values.f0_gap_error)
    bounds: list[np.ndarray] = []
    for end in (np.maximum(gap - error, 0.0), gap, gap + error):
        point = dict(inputs)
        if "f0_gap" in inputs:  # its error may be infinite
            point["f0_gap"] = np.minimum(end, np.finfo(float).max)
        # conditions were tested at the values of each start, and need not hold here
        value = theorem.evaluate(where="ignore", **point)
        bounds.append(np.asarray(value, dtype=float))
    starts = values.start_errors
    rounded = bound_error(theorem, inputs, precision(run), starts, stated_digits(run))
    # the first may be the larger one, since a bound may decrease in f0_gap
    least, largest = np.minimum(bounds[0], bounds[2]), np.maximum(bounds[0], bounds[2])
    return Bounds(least - rounded, bounds[1], largest + rounded)


def without_missing_rounds(left: LeftHandSide, decision: Decision) -> Decision:
    """Return the decision, or "undecided" if unmeasured rounds could change the kind.

    One small round suffices for a bound on a minimum to hold, and one large round to
    violate a bound on a maximum, whatever the other rounds are.
    """
    one_round_holds = decision.kind == "holds" and left.is_minimum
    one_round_violates = decision.kind == "violated" and left.is_maximum
    decided = decision.kind in ("holds", "violated")
    if not left.thinned or one_round_holds or one_round_violates or not decided:
        return decision
    measured, planned = left.rounds.size, len(left.theorem.lhs.rounds(left.run.rounds))
    reason = (
        f"only {measured} of {planned} rounds were measured (there: {decision.reason})"
    )
    return decision._replace(kind="undecided", reason=reason)


def without_grown_rounding(decision: Decision, disagreement: float) -> Decision:
    """Return the decision, or "undecided" if rounding errors of the run explain it.

    Parameters
    ----------
    decision : Decision
        A violation.
    disagreement : float
        As :func:`~dfltheory.verdicts.grown_rounding.grown_disagreement` returns it; 0
        if rounding errors did not grow.
    """
    if not disagreement:
        return decision
    reason = (
        f"{decision.reason}, but equal clients agree in exact arithmetic: their"
        f" disagreement {disagreement:.3g} comes from rounding errors that grew (or"
        " from an algorithm that treats clients differently)"
    )
    return decision._replace(kind="undecided", reason=reason)


def decide(
    left: LeftHandSide,
    interval: Interval,
    bound: float,
    bounds: Bounds,
    trivial: float,
    confidence: float,
    method: str,
) -> Decision:
    """Return the kind of the verdict and its reason.

    Parameters
    ----------
    left : LeftHandSide
        The measured left-hand side.
    interval : Interval
        Its confidence interval, or its value at the worst start.
    bound : float
        The bound that the reason states.
    bounds : Bounds
        The bound of each start, within rounding errors.
    trivial : float
        What is known of the left-hand side without a theorem.
    confidence : float
        Level of the interval.
    method : str
        How the upper end was computed, a key of :data:`ASSUMED`.
    """
    if math.isnan(bound):
        return Decision(
            "undecided", "the bound has no value at the run's constants, such as 0/0"
        )
    limits = f"[{interval.low:.3g}, {interval.high:.3g}]"
    percent = f"{100 * confidence:g} %"
    measured = _describe(left, interval, bounds, percent)
    least, tail = float(bounds.low.mean()), (1 - confidence) / 2
    lower, upper = left.least_columns, left.columns
    if bounds.high.ndim:
        lower, upper = per_start_columns(left, lower), per_start_columns(left, upper)
    ratios = evidence.in_bounds(left.lowered(lower), bounds.high)
    log_e, seeds = -math.inf, None
    if left.exact:  # each seed is the expectation for its start
        above = bool((left.over_columns(ratios) > 1).any())
        within = bool((left.raised(left.over_columns(upper)) <= bounds.low).all())
    else:
        log_e = _log_evidence(left, ratios)
        above = log_e >= -math.log(tail)
        within = float(left.raised(interval.high)) <= least
        seeds = evidence.seeds_for(ratios, tail, left.is_maximum)
    if above:
        return Decision("violated", f"{measured} exceeds the bound {bound:.3g}")
    if least >= trivial:
        return _vacuous(least, trivial)
    if within:
        assumption = ASSUMED[method].format(most=proved_ceiling(left))
        return Decision(
            "holds", f"{measured} is within the bound {bound:.3g} ({assumption})"
        )
    if left.unknown is not None:
        reason = f"{left.unknown}, and what is known, {limits}, decides nothing about"
        return Decision("undecided", f"{reason} the bound {bound:.3g}", seeds)
    if interval.low > bound or interval.high <= bound < math.inf:
        side = "exceeds" if interval.low > bound else "is within"
        relation = f"{measured} {side} the bound {bound:.3g}"
        return Decision("undecided", f"{relation}{_rounding_decides(left)}")
    if seeds is not None:
        few = f"{left.seeds} seeds are too few to say so whatever their law"
        strength = f"(evidence {math.exp(min(log_e, 700.0)):.3g} of {1 / tail:.3g})"
        reason = f"{measured} exceeds the bound {bound:.3g}, but {few} {strength}"
        return Decision("undecided", reason, seeds)
    contains = f"the interval {limits} ({percent}) straddles the bound {bound:.3g}"
    return Decision("undecided", f"{contains}: {_remedy(left, interval)}")


def _vacuous(bound: float, trivial: float) -> Decision:
    """Return the decision on a bound that is no less than the trivial one."""
    if bound == math.inf:
        return Decision("vacuous", "the bound is infinite")
    reason = (
        f"the bound {bound:.3g} is no less than {trivial:.3g}, which is known without"
        " any theorem"
    )
    return Decision("vacuous", reason)


def worst_start_counts(left: LeftHandSide, bounds: Bounds) -> bool:
    """Return whether the run has no randomness and its starts are judged one by one.

    Each start then has an expectation or a bound of its own, and the worst one counts.
    """
    return left.exact and (bounds.high.ndim > 0 or left.seeds_differ)


def _describe(
    left: LeftHandSide, interval: Interval, bounds: Bounds, percent: str
) -> str:
    """Return what was measured, in words."""
    value = f"measured {interval.estimate:.3g}"
    if worst_start_counts(left, bounds):
        value += f" (exact, the worst of {left.seeds} starts)"
    elif left.exact:
        value += " (exact)"
    else:
        value += f" [{interval.low:.3g}, {interval.high:.3g}] ({percent})"
    if left.unknown is None:
        return value
    return f"{value}, as far as it is known ({left.unknown}),"


def _rounding_decides(left: LeftHandSide) -> str:
    """Return the end of a sentence on why rounding leaves a comparison undecided."""
    if left.sizes.known:
        return " by no more than rounding may"
    return (
        ", but the sizes of the models, and so rounding errors, are unknown: measure"
        " model_sq, or state x0_sq, sigma_l and sigma_g"
    )


def _log_evidence(left: LeftHandSide, ratios: FloatArray) -> float:
    """Return the log of the e-value against "the left-hand side is within its bound".

    ``ratios`` are measured values over bounds, (S, k).
    """
    if left.is_maximum:
        return evidence.log_evidence_of_any(ratios)
    return evidence.log_evidence_of_all(ratios)


def _remedy(left: LeftHandSide, interval: Interval) -> str:
    """Return how to narrow an interval that contains the bound, in words."""
    if not math.isinf(interval.high):
        return "more seeds narrow it"
    if left.seeds > 1:
        return (
            "all seeds gave the same value, so the variance of this random run cannot"
            " be estimated"
        )
    return "one seed has no interval: use seeds >= 2"


def schedule_deviation(theorem: Theorem, values: Mapping[str, Number]) -> float:
    """Return the largest relative difference of step sizes from the scheduled ones.

    The largest is over step sizes and starts; 0 without a schedule.
    """
    fixed = [name for name in theorem.scheduled if name != "Q" and name in values]
    largest = 0.0
    for _, point in points_of_starts(values) if fixed else ():
        scheduled = theorem.step_sizes(**point)
        for name in fixed:
            if scheduled[name] > 0:
                largest = max(largest, abs(float(point[name]) / scheduled[name] - 1))
    return largest


__all__ = [
    "Bounds",
    "Decision",
    "bounds_within_rounding",
    "decide",
    "schedule_deviation",
    "without_grown_rounding",
    "without_missing_rounds",
    "worst_start_counts",
]
