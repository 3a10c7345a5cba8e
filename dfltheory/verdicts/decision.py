"""The kind of a verdict, and its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import sympy as sp  # pyright: ignore[reportMissingTypeStubs]

from dfltheory.bounds.clauses import Number
from dfltheory.bounds.theorem import Theorem
from dfltheory.verdicts import evidence
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    per_start_columns,
    proved_ceiling,
)
from dfltheory.verdicts.measures import Array
from dfltheory.verdicts.rounding import LEAST
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.verdict import ASSUMED, Kind


class Bounds(NamedTuple):
    """The bound and its ends within rounding.

    They are numbers, or (S,) where the starts differ.
    """

    low: Array
    nominal: Array
    high: Array


class Decision(NamedTuple):
    """A kind, its reason, and about how many seeds would decide it, if known."""

    kind: Kind
    reason: str
    seeds: int | None = None


def without_missing_rounds(left: LeftHandSide, decision: Decision) -> Decision:
    """Withdraw a kind that rounds which were not measured could change."""
    one_round_holds = decision.kind == "holds" and left.is_minimum
    one_round_violates = decision.kind == "violated" and left.is_maximum
    decided = decision.kind in ("holds", "violated")
    if left.complete or one_round_holds or one_round_violates or not decided:
        return decision
    measured, planned = left.rounds.size, len(left.theorem.lhs.rounds(left.run.rounds))
    reason = (
        f"only {measured} of {planned} rounds were measured (there: {decision.reason})"
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
    limits, percent = (
        f"[{interval.low:.3g}, {interval.high:.3g}]",
        f"{100 * confidence:g} %",
    )
    measured = f"measured {interval.estimate:.3g} {limits} ({percent})"
    if left.exact:
        starts = (
            f"(exact, the worst of {left.seeds} starts)"
            if bounds.high.ndim
            else "(exact)"
        )
        measured = f"measured {interval.estimate:.3g} {starts}"
    least, tail = float(bounds.low.mean()), (1 - confidence) / 2
    per_start = (
        per_start_columns(left, left.columns) if bounds.high.ndim else left.columns
    )
    ratios = evidence.in_bounds(left.lowered(per_start), bounds.high)
    log_e, seeds = -math.inf, None
    if left.exact:  # given the starts, each seed is an expectation
        above = bool((left.over_columns(ratios) > 1).any())
        within = bool((left.raised(left.over_columns(per_start)) <= bounds.low).all())
    else:
        log_e = _log_evidence(left, ratios)
        above = log_e >= -math.log(tail)
        within = float(left.raised(interval.high)) <= least
        seeds = evidence.seeds_for(ratios, tail, left.is_maximum)
    if above:
        return Decision("violated", f"{measured} exceeds the bound {bound:.3g}")
    if least >= trivial:
        reason = (
            f"the bound {least:.3g} is no less than {trivial:.3g}, which is known"
            " without any theorem"
        )
        return Decision("vacuous", reason)
    if within:
        assumption = ASSUMED[method].format(most=proved_ceiling(left))
        return Decision(
            "holds", f"{measured} is within the bound {bound:.3g} ({assumption})"
        )
    if interval.low > bound or interval.high <= bound < math.inf:
        side = "exceeds" if interval.low > bound else "is within"
        reason = f"{measured} {side} the bound {bound:.3g} by no more than rounding may"
        if not left.sizes.known:
            reason = (
                f"{measured} {side} the bound {bound:.3g}, but the sizes of the models,"
                " and so rounding errors, are unknown: measure model_sq, or state"
                " x0_sq, sigma_l and sigma_g"
            )
        return Decision("undecided", reason)
    if seeds is not None:
        few = f"{left.seeds} seeds are too few to say so whatever their law"
        strength = f"(evidence {math.exp(min(log_e, 700.0)):.3g} of {1 / tail:.3g})"
        reason = f"{measured} exceeds the bound {bound:.3g}, but {few} {strength}"
        return Decision("undecided", reason, seeds)
    contains = f"the interval {limits} ({percent}) straddles the bound {bound:.3g}"
    return Decision("undecided", f"{contains}: {_remedy(left, interval)}")


def _log_evidence(left: LeftHandSide, ratios: Array) -> float:
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


def underflows(theorem: Theorem, values: Mapping[str, Number], bound: Number) -> bool:
    """Return whether a bound is too small to keep its digits, but not 0.

    Whether 0 is exact is decided by the formula, in numbers without a least exponent.
    """
    small = np.abs(np.asarray(bound, dtype=float)) < LEAST
    if not small.any():
        return False
    columns = [np.asarray(values[name], dtype=float) for name in theorem.needs]
    small, *columns = np.broadcast_arrays(small, *columns)
    for k in np.flatnonzero(small.reshape(-1)):
        point = {}
        for name, column in zip(theorem.needs, columns, strict=True):
            point[theorem.symbols[name]] = sp.Float(float(column.reshape(-1)[k]), 30)
        if theorem.bound.xreplace(point).evalf(30) != 0:
            return True
    return False


__all__ = ["Bounds", "decide", "without_missing_rounds"]
