"""Whether a theorem's bound holds on a run: a verdict with a kind.

The kinds, in the order in which they are tested:

``not applicable``
    a condition or an assumption of the theorem fails, or a constant is unknown;
``violated``
    the whole confidence interval of the left-hand side lies above the bound. Its lower
    end assumes nothing of the seeds' distribution (:mod:`dfltheory.verdicts.evidence`);
``vacuous``
    not violated, but the bound is at least what is known of this left-hand side without
    any theorem (:func:`~dfltheory.verdicts.measures.trivial_bound`);
``holds``
    the whole interval lies at or below the bound; ``method`` names what its upper end
    assumes of the seeds (:data:`~dfltheory.verdicts.verdict.ASSUMED`);
``undecided``
    the interval contains the bound, or the run stopped before it could be decided.

Theorems bound expectations; :mod:`dfltheory.verdicts.statistics` makes intervals of
them. A kind is issued only if it survives the worst-case rounding error of the bound,
of f0_gap and of the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dfltheory.bounds.clauses import Number
from dfltheory.bounds.reference import Reference, load
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.verdicts import evidence
from dfltheory.verdicts.applicability import (
    Obstacle,
    find_obstacle,
)
from dfltheory.verdicts.decision import (
    Bounds,
    Decision,
    decide,
    schedule_deviation,
    without_grown_rounding,
    without_missing_rounds,
    worst_start_counts,
)
from dfltheory.verdicts.grown_rounding import grown_disagreement
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    distribution_free_upper_end,
    measured_interval,
)
from dfltheory.verdicts.lost_digits import lost_digits
from dfltheory.verdicts.measures import precision, stated_digits, trivial_bound
from dfltheory.verdicts.network_scope import sampled_law
from dfltheory.verdicts.rounding import bound_error
from dfltheory.verdicts.run_suggestions import suggestions_for
from dfltheory.verdicts.run_values import RecordedRun, RunValues, run_values
from dfltheory.verdicts.starts import of_start
from dfltheory.verdicts.statistics import (
    Interval,
    Method,
    checked_method,
    seeds_needed,
)
from dfltheory.verdicts.verdict import Verdict

_UNKNOWN = Interval(math.nan, math.nan, math.nan)


def compare(
    run: History,
    theorem: Reference,
    *,
    variant: str | None = None,
    confidence: float = 0.95,
    method: Method = "student",
    constants: Literal["known", "estimate"] = "known",
    estimate_on: Task[Any] | None = None,
    **replaced: float,
) -> Verdict:
    """Compare one run with one theorem.

    Parameters
    ----------
    run : History
        As :func:`dfltheory.train` returns it. More seeds make the interval narrower.
    theorem : Theorem or str
        A theorem, a key of the registry, or ``FILE.py:NAME``.
    variant : str, optional
        Which variant of a key; the first by default.
    confidence : float
        Of the two-sided interval, in (0, 1).
    method : {"student", "bootstrap"}
        How the upper confidence limit of a mean over rounds is computed if no proved
        bound on the samples is available. The bootstrap estimates the distribution of t
        from the seeds (8 or more), for measurements that a few large seeds dominate.
    constants : {"known", "estimate"}
        ``"estimate"``: constants that the task does not know are measured along the run
        (:func:`dfltheory.tasks.estimate.of_run`), and the verdict names them.
    estimate_on : Task, optional
        The task to measure them on, for a run that was read from a file. Implies
        ``constants="estimate"``.
    **replaced : float
        Constants of the problem by glossary name that replace or complete what the run
        knows, such as ``sigma_g=0.3``. The verdict lists them.

    Returns
    -------
    Verdict

    Raises
    ------
    UnknownNameError
        If a key or a constant is unknown.
    InputError
        If a value is out of its range, or contradicts what the run has fixed: T, m,
        hyperparameters, the start, constants of its network.
    """
    thm = (
        theorem
        if isinstance(theorem, Theorem) and variant is None
        else load(theorem, variant)
    )
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95"
        )
    if constants not in ("known", "estimate"):
        raise InputError(f'constants = {constants!r} must be "known" or "estimate"')
    if constants == "estimate" or estimate_on is not None:
        run = _with_estimates(run, estimate_on)
    left = LeftHandSide(run, thm)
    values = run_values(run, thm, replaced)
    checked_method(method, left.seeds)
    comparison = _Comparison(
        left, values, confidence, "exact" if left.exact else method
    )
    obstacle = _obstacle(left, values)
    if obstacle is not None:
        return comparison.not_applicable(obstacle, method)
    deviation = schedule_deviation(thm, values)
    comparison = replace(comparison, left=replace(left, step_error=deviation))
    verdict = comparison.verdict(method)
    if verdict.kind == "violated" and thm.scope.push_sum == "cited":
        return _with_cited_constants(comparison, verdict, replaced, method)
    return verdict


def _with_cited_constants(
    comparison: _Comparison,
    verdict: Verdict,
    replaced: Mapping[str, float],
    method: Method,
) -> Verdict:
    """Return the verdict of a violated statement at the constants that it cites.

    C and q of push-sum are the larger of the computed and the cited ones.
    """
    left = comparison.left
    source = RecordedRun(left.run, refutes=True)
    values = run_values(source, left.theorem, replaced)
    obstacle = _obstacle(left, values)
    if obstacle is not None:
        reason = (
            f"{verdict.reason} at the least C and q of this network; at those of the"
            f" lemma that it cites: {obstacle.reason}"
        )
        return replace(verdict, kind="undecided", reason=reason)
    cited = replace(comparison, values=values).verdict(method)
    return replace(
        cited, reason=f"{cited.reason}; C and q are those of the cited lemma"
    )


def _with_estimates(run: History, task: Task[Any] | None) -> History:
    """Return the run with constants that were measured along it."""
    from dfltheory.tasks.estimate import of_run

    task = run.problem if task is None else task
    if task is None:
        raise InputError(
            'constants = "estimate" needs the task, which a run from a file does not'
            " contain: give estimate_on=task"
        )
    if not run.x.shape[-1]:
        raise InputError(
            'constants = "estimate" needs the models of the run, which this record does'
            " not contain: pass the constants, for example sigma_g=..."
        )
    run = copy(run)  # dataclasses.replace would drop a file's data on the network
    run.constants = of_run(task, run).constants()
    return run


def _obstacle(left: LeftHandSide, values: RunValues) -> Obstacle | None:
    """Why the theorem is not applicable to the run, or None.

    The left-hand side of a theorem on another algorithm, or on models with two blocks,
    need not have been measured: then the algorithm or the model is the obstacle.
    """
    outside = find_obstacle(left.run, left.theorem, values)
    if left.unmeasured is None:
        return outside
    if outside is not None and outside.kind in ("form", "algorithm", "blocks"):
        return outside
    return Obstacle("measurement", left.unmeasured, (left.theorem.lhs.measure,))


@dataclass(frozen=True)
class _Comparison:
    """One run and one theorem, before the verdict."""

    left: LeftHandSide
    values: RunValues
    confidence: float
    assumed: str

    def fields(self) -> dict[str, Any]:
        """Return the fields of the verdict that do not depend on its kind."""
        left, theorem = self.left, self.left.theorem
        return {
            "key": theorem.key,
            "variant": theorem.variant,
            "seeds": left.seeds,
            "rounds": left.run.rounds,
            "confidence": self.confidence,
            "given": dict(self.values.given),
            "left_hand_side": left,
            "status": theorem.status,
            "estimated": self.values.estimated,
            "conditions": tuple(map(str, theorem.conditions)),
            "slack": _slack(self.values),
        }

    def not_applicable(self, obstacle: Obstacle, method: Method) -> Verdict:
        measured = _UNKNOWN
        if self.left.unmeasured is None:
            measured = measured_interval(self.left, self.confidence, method=method)
        return Verdict(
            kind="not applicable",
            reason=obstacle.reason,
            suggestions=partial(suggestions_for, self.left, self.values, obstacle),
            measured=measured,
            bound=math.nan,
            trivial=math.nan,
            ratio=math.nan,
            ratio_ci=(math.nan, math.nan),
            method=self.assumed,
            **self.fields(),
        )

    def verdict(self, method: Method) -> Verdict:
        left, theorem = self.left, self.left.theorem
        inputs = {name: self.values[name] for name in theorem.needs}
        bounds = _bounds(self.values, inputs, left.run)
        measured = measured_interval(left, self.confidence, bounds.nominal, method)
        bound = float(bounds.nominal.mean())
        point = self.values.needed
        assumed = self.assumed
        if worst_start_counts(left, bounds):
            each = left.over_columns(left.known_columns)
            own_bounds = np.broadcast_to(bounds.nominal, each.shape)
            worst = int(evidence.in_bounds(each[:, None], own_bounds).argmax())
            bound = float(own_bounds[worst])
            measured = _interval_of_start(left, worst)
            point = {n: float(of_start(v, worst)) for n, v in inputs.items()}
        if not (left.exact or bounds.nominal.ndim):
            free = distribution_free_upper_end(left, self.confidence)
            if float(left.raised(free)) <= bounds.low:
                measured, assumed = replace(measured, high=free), "bounded"
        trivial = trivial_bound(self.values.at_upper_gap, left.run, theorem.lhs)
        decision = decide(
            left, measured, bound, bounds, trivial, self.confidence, assumed
        )
        decision = without_missing_rounds(left, decision)
        needed = None
        if decision.kind == "undecided" and not left.exact:
            needed = decision.seeds or seeds_needed(measured, bound, left.seeds)
            if needed is not None and left.complete:
                reason = f"{decision.reason} (about {needed} seeds would decide it)"
                decision = decision._replace(reason=reason)
        if decision.kind == "violated":
            decision = _without_lost_digits(decision, theorem, inputs, bounds)
        if decision.kind == "violated":
            decision = without_grown_rounding(
                decision, grown_disagreement(left.run, self.values)
            )
        law = sampled_law(left.run.network_facts)
        if decision.kind == "violated" and law:
            decision = decision._replace(reason=f"{decision.reason}, {law}")
        ratio = _ratio(measured, bound)
        terms = theorem.evaluate_terms(where="raise", **point)
        return Verdict(
            kind=decision.kind,
            reason=decision.reason,
            measured=measured,
            bound=bound,
            trivial=trivial,
            ratio=ratio.estimate,
            ratio_ci=(ratio.low, ratio.high),
            terms={name: float(term) for name, term in terms.items()},
            at={name: _plain(value) for name, value in point.items()},
            method=assumed,
            seeds_needed=needed,
            **self.fields(),
        )


def _without_lost_digits(
    decision: Decision, theorem: Theorem, inputs: Mapping[str, Number], bounds: Bounds
) -> Decision:
    """Withdraw a violation that floating point does not show."""
    reason = lost_digits(theorem, inputs, bounds.nominal, bounds.high)
    if reason is None:
        return decision
    return decision._replace(kind="undecided", reason=reason)


def _ratio(measured: Interval, bound: float) -> Interval:
    """Return measured over bound; 1 where both are 0, infinite above a bound of 0."""
    if bound > 0:
        return measured / bound
    if measured.high == 0:
        return Interval(1.0, 1.0, 1.0)
    return Interval(math.inf, math.inf, math.inf)


def _plain(value: float) -> float:
    """Return a NumPy number as a number of Python, and other values unchanged."""
    return float(value) if isinstance(value, np.floating) else value


def _interval_of_start(left: LeftHandSide, start: int) -> Interval:
    """Return the left-hand side of one start, without randomness.

    It has a width only if the measure is unknown in some round.
    """
    parts = (left.known_columns, left.least_columns, left.columns)
    return Interval(*(float(left.over_columns(part[start])) for part in parts))


def _bounds(values: RunValues, inputs: Mapping[str, Number], run: History) -> Bounds:
    """Return the bound at f0_gap and at both ends of its rounding error.

    The ends contain the rounding error of the other constants. Starts are treated as
    distinct even if they differ only by their errors.
    """
    theorem = values.theorem
    gap, error = np.broadcast_arrays(inputs.get("f0_gap", 0.0), values.f0_gap_error)
    bounds: list[np.ndarray] = []
    for end in (np.maximum(gap - error, 0.0), gap, gap + error):
        point = dict(inputs)
        if "f0_gap" in inputs:  # its error may be infinite
            point["f0_gap"] = np.minimum(end, np.finfo(float).max)
        # conditions are judged at the values of each start, not at these ends
        value = theorem.evaluate(where="ignore", **point)
        bounds.append(np.asarray(value, dtype=float))
    starts = values.start_errors
    rounded = bound_error(theorem, inputs, precision(run), starts, stated_digits(run))
    # a bound may decrease in f0_gap
    least, largest = np.minimum(bounds[0], bounds[2]), np.maximum(bounds[0], bounds[2])
    return Bounds(least - rounded, bounds[1], largest + rounded)


def _slack(values: RunValues) -> dict[str, float]:
    """Right minus left side of each condition, the least of all starts.

    Empty if a needed value is unknown.
    """
    theorem = values.theorem
    known = {name: values[name] for name in theorem.needs if name in values}
    if set(known) != set(theorem.needs) or not all(
        np.all(np.isfinite(v)) for v in known.values()
    ):
        return {}
    try:
        checked = theorem.check_conditions(**known)
    except InputError:  # a value is out of its range, such as lam = 1
        return {}
    return {c.name: float(np.min(slack)) for c, slack, _ in checked}


__all__ = ["compare"]
