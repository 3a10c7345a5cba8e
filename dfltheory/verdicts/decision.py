"""The kind of a verdict, and its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from dfltheory.arrays import FloatArray
from dfltheory.bounds.clauses import Number
from dfltheory.bounds.theorem import Theorem
from dfltheory.verdicts import evidence
from dfltheory.verdicts.applicability import points_of_starts
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    per_start_columns,
    proved_ceiling,
)
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.verdict import ASSUMED, VerdictKind


class Bounds(NamedTuple):
    """The bound and its ends within rounding.

    They are numbers, or (S,) where the starts differ.
    """

    low: FloatArray
    nominal: FloatArray
    high: FloatArray


class Decision(NamedTuple):
    """A kind, its reason, and about how many seeds would decide it, if known."""

    kind: VerdictKind
    reason: str
    seeds: int | None = None


def without_missing_rounds(left: LeftHandSide, decision: Decision) -> Decision:
    """Withdraw a kind that rounds which the run left out could change."""
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
    """Withdraw a violation by clients that would agree in exact arithmetic."""
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
    """Return the kind, its reason, and how many seeds would decide it."""
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
    if left.exact:  # given the starts, each seed is an expectation
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
    """Return the decision on a bound that says no more than is known without it."""
    if bound == math.inf:
        return Decision("vacuous", "the bound is infinite")
    reason = (
        f"the bound {bound:.3g} is no less than {trivial:.3g}, which is known without"
        " any theorem"
    )
    return Decision("vacuous", reason)


def worst_start_counts(left: LeftHandSide, bounds: Bounds) -> bool:
    """Return whether each start has an expectation, or a bound, of its own.

    A statement without randomness is then about each start, and the worst one counts.
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
    """Return the end of a sentence that says how close a value is to the bound."""
    if left.sizes.known:
        return " by no more than rounding may"
    return (
        ", but the sizes of the models, and so rounding errors, are unknown: measure"
        " model_sq, or state x0_sq, sigma_l and sigma_g"
    )


def _log_evidence(left: LeftHandSide, ratios: FloatArray) -> float:
    """Return the log of the e-value against the claim.

    The claim is that the left-hand side is within its bound.
    """
    if left.is_maximum:
        return evidence.log_evidence_of_any(ratios)
    return evidence.log_evidence_of_all(ratios)


def _remedy(left: LeftHandSide, interval: Interval) -> str:
    """How to narrow an interval that contains the bound."""
    if not math.isinf(interval.high):
        return "more seeds narrow it"
    if left.seeds > 1:
        return (
            "all seeds gave the same value, so the variance of this random run cannot"
            " be estimated"
        )
    return "one seed has no interval: use seeds >= 2"


def schedule_deviation(theorem: Theorem, values: Mapping[str, Number]) -> float:
    """Return the relative difference of a run's step sizes and the schedule's.

    It is the largest over hyperparameters and starts; 0 without a schedule.
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
    "decide",
    "schedule_deviation",
    "without_grown_rounding",
    "without_missing_rounds",
    "worst_start_counts",
]
