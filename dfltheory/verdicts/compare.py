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
from typing import Any, Literal, NamedTuple

import numpy as np

from dfltheory.bounds.clauses import Number
from dfltheory.bounds.reference import Reference, load
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.verdicts import evidence
from dfltheory.verdicts.applicability import Obstacle, find_obstacle
from dfltheory.verdicts.decision import (
    Bounds,
    Decision,
    bounds_within_rounding,
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
from dfltheory.verdicts.measures import trivial_bound
from dfltheory.verdicts.network_scope import sampled_law
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
    """Return the verdict on a violated statement with the constants of a cited lemma.

    C and q of push-sum are the larger of the computed and the cited ones. A violation
    refutes the statement only if it remains one with these.
    """
    left = comparison.left
    source = RecordedRun(left.run, refutes=True)
    values = run_values(source, left.theorem, replaced)
    obstacle = _obstacle(left, values)
    if obstacle is not None:
        reason = (
            f"{verdict.reason} at the smallest C and q of this network; at those of the"
            f" lemma that it cites: {obstacle.reason}"
        )
        return replace(verdict, kind="undecided", reason=reason)
    cited = replace(comparison, values=values).verdict(method)
    return replace(
        cited, reason=f"{cited.reason}; C and q are those of the cited lemma"
    )


def _with_estimates(run: History, task: Task[Any] | None) -> History:
    """Return a copy of the run with unknown constants estimated along it."""
    from dfltheory.tasks.estimate import of_run

    task = run.problem if task is None else task
    if task is None:
        raise InputError(
            'constants = "estimate" needs the task, which a run from a file does not'
            " contain: pass estimate_on=task"
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
    """Return why the theorem is not applicable to the run, or None.

    If the left-hand side was not measured, this is the obstacle, unless the statement
    cannot be compared with any run, or is about another algorithm or other models.
    """
    obstacle = find_obstacle(left.run, left.theorem, values)
    if left.unmeasured is None:
        return obstacle
    if obstacle is not None and obstacle.kind in ("form", "algorithm", "blocks"):
        return obstacle
    return Obstacle("measurement", left.unmeasured, (left.theorem.lhs.measure,))


class _Sides(NamedTuple):
    """Both sides of an inequality: what was measured, and the bound at ``point``."""

    measured: Interval
    bound: float
    point: Mapping[str, float]
    assumed: str


@dataclass(frozen=True)
class _Comparison:
    """A run and a theorem, from which a verdict is made.

    ``assumed`` is what the upper end of the interval assumes, a key of ``ASSUMED``.
    """

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
        """Return the verdict "not applicable" with its reason."""
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
        """Return the verdict on a run to which the theorem applies."""
        left, theorem = self.left, self.left.theorem
        inputs = {name: self.values[name] for name in theorem.needs}
        bounds = bounds_within_rounding(self.values, inputs, left.run)
        sides = self._sides(inputs, bounds, method)
        measured, bound = sides.measured, sides.bound
        trivial = trivial_bound(self.values.at_upper_gap, left.run, theorem.lhs)
        decision = decide(
            left, measured, bound, bounds, trivial, self.confidence, sides.assumed
        )
        decision = without_missing_rounds(left, decision)
        needed = None
        if decision.kind == "undecided" and not left.exact:
            needed = decision.seeds or seeds_needed(measured, bound, left.seeds)
            if needed is not None and left.complete:
                reason = f"{decision.reason} (about {needed} seeds would decide it)"
                decision = decision._replace(reason=reason)
        if decision.kind == "violated":
            decision = self._unless_rounding_explains_it(decision, inputs, bounds)
        ratio = _ratio(measured, bound)
        terms = theorem.evaluate_terms(where="raise", **sides.point)
        return Verdict(
            kind=decision.kind,
            reason=decision.reason,
            measured=measured,
            bound=bound,
            trivial=trivial,
            ratio=ratio.estimate,
            ratio_ci=(ratio.low, ratio.high),
            terms={name: float(term) for name, term in terms.items()},
            at={name: _plain(value) for name, value in sides.point.items()},
            method=sides.assumed,
            seeds_needed=needed,
            **self.fields(),
        )

    def _sides(
        self, inputs: Mapping[str, Number], bounds: Bounds, method: Method
    ) -> _Sides:
        """Return both sides of the inequality, at the worst start if each counts."""
        left = self.left
        if worst_start_counts(left, bounds):
            measured = left.over_columns(left.known_columns)
            own_bounds = np.broadcast_to(bounds.nominal, measured.shape)
            worst = int(evidence.in_bounds(measured[:, None], own_bounds).argmax())
            point = {n: float(of_start(v, worst)) for n, v in inputs.items()}
            interval = _interval_of_start(left, worst)
            return _Sides(interval, float(own_bounds[worst]), point, self.assumed)
        interval = measured_interval(left, self.confidence, bounds.nominal, method)
        assumed = self.assumed
        if not (left.exact or bounds.nominal.ndim):
            high = distribution_free_upper_end(left, self.confidence)
            if float(left.raised(high)) <= bounds.low:
                interval, assumed = replace(interval, high=high), "bounded"
        bound = float(bounds.nominal.mean())
        return _Sides(interval, bound, self.values.needed, assumed)

    def _unless_rounding_explains_it(
        self, decision: Decision, inputs: Mapping[str, Number], bounds: Bounds
    ) -> Decision:
        """Return a violation, or "undecided" if rounding may explain it.

        Digits of the bound may be lost, or the run may have enlarged rounding errors.
        """
        left = self.left
        reason = lost_digits(left.theorem, inputs, bounds.nominal, bounds.high)
        if reason is not None:
            return decision._replace(kind="undecided", reason=reason)
        decision = without_grown_rounding(
            decision, grown_disagreement(left.run, self.values)
        )
        law = sampled_law(left.run.network_facts)
        if decision.kind == "violated" and law:
            decision = decision._replace(reason=f"{decision.reason}, {law}")
        return decision


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
    """Return the left-hand side of one start in a run without randomness.

    Its ends differ only if the measure is unknown in some round.
    """
    parts = (left.known_columns, left.least_columns, left.columns)
    return Interval(*(float(left.over_columns(part[start])) for part in parts))


def _slack(values: RunValues) -> dict[str, float]:
    """Return right minus left side of each condition, the smallest of all starts.

    Empty if a needed value is unknown or out of its range.
    """
    theorem = values.theorem
    known = {name: values[name] for name in theorem.needs if name in values}
    if set(known) != set(theorem.needs) or not all(
        np.all(np.isfinite(v)) for v in known.values()
    ):
        return {}
    try:
        checked = theorem.check_conditions(**known)
    except InputError:  # for example lam = 1
        return {}
    return {c.name: float(np.min(slack)) for c, slack, _ in checked}


__all__ = ["compare"]
