"""Is a bound held by what was measured?  A run and a theorem in, a verdict with a kind out.

The kinds, in the order in which they are asked:

``not applicable``
    a condition or an assumption of the theorem fails at these constants, or a constant is not known;
``violated``
    the whole confidence interval of the left-hand side lies above the bound: its lower end assumes no law of
    the seeds (:mod:`dfltheory.verdicts.evidence`);
``vacuous``
    not violated, but the bound exceeds what is known of this left-hand side without any theorem
    (:func:`trivial_bound`);
``holds``
    the whole interval lies at or below the bound, and ``method`` names what its upper end assumes of the
    seeds (:data:`ASSUMED`): nothing, where what is proved bounds the left-hand side and the seeds are many;
``undecided``
    the interval straddles the bound.

The theorems bound expectations.  How they become intervals, and why "the minimum over rounds is large"
needs every round while "it is small" needs one, is told in :mod:`dfltheory.verdicts.statistics`.  The numbers
of a run are rounded: a kind is claimed only where it holds at that end of the errors of rounding, of f0_gap
and of the measurement, which speaks against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.reference import load
from dfltheory.bounds.status import NOT_EXAMINED, Status
from dfltheory.bounds.theorem import LeftSide, Theorem
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.verdicts import evidence
from dfltheory.verdicts.applicable import precision
from dfltheory.verdicts.reading import Reading, bound_error, underflows
from dfltheory.verdicts.statistics import (
    Interval,
    Method,
    averages,
    checked_method,
    seeds_needed,
    upper_of_maximum,
    upper_of_mean,
    upper_of_minimum,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["holds", "violated", "undecided", "vacuous", "not applicable"]

ASSUMED = {
    "exact": "exact: nothing is left to chance, and there is no interval",
    "bounded": "whatever the law of the seeds, none of which can exceed {most:.3g}",
    "student": "if the seeds are no more skewed than squared norms are",
    "bootstrap": "if the seeds show the tails of their law",
}
"""What each method of a verdict assumes of the seeds where it says that a bound holds."""


@dataclass(frozen=True)
class Verdict:
    """What one run says of one variant of one theorem.

    ``ratio`` = measured / bound, with its confidence interval ``ratio_ci``: below 1 the bound holds, and its
    reciprocal is how loose the bound is.  ``reason`` says in one line why the kind is what it is, with the
    numbers; ``slack`` is how far each condition is from failing (right - left side; negative: it fails);
    ``seeds_needed`` is about how many seeds would decide what these left open; ``estimated`` names the
    constants that were estimated rather than known: the verdict is then about the theorem *at these
    estimates*; ``given`` holds the constants that the caller gave; ``method`` is how the interval's upper end
    came about, a key of :data:`ASSUMED`.
    """

    kind: Kind
    key: str
    variant: str
    reason: str
    measured: Interval
    bound: float
    ratio: float
    ratio_ci: tuple[float, float]
    trivial: float
    terms: dict[str, float] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    slack: dict[str, float] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    seeds: int = 0
    rounds: int = 0
    confidence: float = 0.95
    seeds_needed: int | None = None
    method: str = "student"
    given: dict[str, float] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)
    """The constants at which the bound was evaluated; empty where the theorem is not applicable."""
    status: Status = NOT_EXAMINED
    """What is known about the statement in general: refuted, proved or not examined."""
    _run: Any = field(default=None, repr=False, compare=False)
    _theorem: Any = field(default=None, repr=False, compare=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Measured left-hand side with its band, under (or over) the bound, as functions of the horizon."""
        from dfltheory.plots.verdicts import draw

        return draw([self], ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.compare}
        values["status"] = self.status.to_dict()
        measured = values.pop("measured")
        return values | {"measured": measured.estimate, "measured_ci": (measured.low, measured.high)}

    def __str__(self) -> str:
        at = f" (at estimated {', '.join(self.estimated)})" if self.estimated else ""
        at += f" (given {', '.join(f'{n} = {v:g}' for n, v in self.given.items())})" if self.given else ""
        said = "within the bound here" if self.kind == "holds" and self.status.refuted else self.kind
        return f"{self.key} [{self.variant}]: {said}{at}: {self.reason}; {in_general(self.status)}"


def in_general(status: Status) -> str:
    """The status of a statement, to follow what one run shows of it."""
    if not status.refuted:
        return f"the statement is {status.kind}"
    return f"the statement is {str(status).replace('refuted', 'refuted in general', 1)}"


def compare(
    run: History,
    theorem: Theorem | str,
    *,
    variant: str | None = None,
    confidence: float = 0.95,
    method: Method = "student",
    constants: Literal["known", "estimate"] = "known",
    estimate_on: Task | None = None,
    **replaced: float,
) -> Verdict:
    """Hold one run against one theorem.

    Parameters
    ----------
    run : what :func:`dfltheory.train` returned, with as many seeds as the interval is wanted narrow
    theorem : a Theorem; a key of the registry (then ``variant`` picks which, the first where none is given);
        or ``FILE.py:NAME``, where one of your own stands
    confidence : of the two-sided interval, in (0, 1)
    method : of the upper end of a mean over rounds, where nothing proved bounds it: ``"student"``, or
        ``"bootstrap"``, which takes the law of t from the seeds themselves (8 or more), for measurements that
        a few large seeds rule; see :mod:`dfltheory.verdicts.statistics`
    constants : ``"estimate"``: those that the task does not know are measured where the run went
        (:func:`dfltheory.tasks.estimate.of_run`), and the verdict says so
    estimate_on : the task, for the same of a run that has forgotten it, as one read from a file has
    replaced : glossary names of constants of the problem that replace or complete what the run knows, as in
        ``sigma_g=0.3``; the verdict lists them

    Raises
    ------
    UnknownNameError for an unknown key or constant; InputError for values out of range, and for what the run
    itself has fixed (T, m, hyperparameters, start, constants of its network).
    """
    thm = load(theorem, variant)
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95")
    if constants not in ("known", "estimate"):
        raise InputError(f'constants = {constants!r} must be "known" or "estimate"')
    if constants == "estimate" or estimate_on is not None:
        from dfltheory.tasks.estimate import of_run

        task = run.problem if estimate_on is None else estimate_on
        if task is None:
            raise InputError("this run has forgotten its task: give estimate_on=task")
        run = copy(run)  # not dataclasses.replace, which forgets what a file tells of the network
        run.constants = of_run(task, run).constants()
    reading = Reading(run, thm, replaced)
    checked_method(method, reading.seeds)
    common: dict[str, Any] = {
        "key": thm.key,
        "variant": thm.variant,
        "seeds": reading.seeds,
        "rounds": run.rounds,
        "confidence": confidence,
        "method": "exact" if reading.exact else method,
        "given": dict(replaced),
        "_run": run,
        "_theorem": thm,
        "status": thm.status,
        "estimated": reading.estimated,
        "conditions": tuple(map(str, thm.conditions)),
        "slack": _slack(reading),
    }
    if reading.obstacle is not None:
        unknown = Interval(math.nan, math.nan, math.nan)
        left = unknown if reading.unmeasured else left_hand_side(reading, confidence, method=method)
        common |= {"measured": left, "bound": math.nan, "trivial": math.nan}
        nothing = (math.nan, math.nan)
        return Verdict("not applicable", reason=reading.obstacle, ratio=math.nan, ratio_ci=nothing, **common)

    given: dict[str, Any] = {name: reading.values[name] for name in thm.needs}
    # starts that differ count one by one, be it only their errors that tell them apart
    gap, error = np.broadcast_arrays(given.get("f0_gap", 0.0), reading.f0_gap_error)
    least, nominal, most = (
        np.asarray(thm.evaluate(**{**given, **({"f0_gap": g} if "f0_gap" in given else {})}), dtype=float)
        for g in (np.maximum(gap - error, 0.0), gap, gap + error)
    )
    rounded = bound_error(thm, given, precision(run), reading.start_errors)
    least, most = least - rounded, most + rounded
    bound = float(nominal.mean())
    at: dict[str, Any] = reading.scalars
    left = left_hand_side(reading, confidence, nominal, method)
    if reading.exact and nominal.ndim:  # each start has its own expectation and bound: those of the worst
        each = reading.over_columns(reading.columns)
        worst = int(evidence.in_bounds(each[:, None], nominal).argmax())
        bound, left = float(nominal[worst]), Interval(*[float(each[worst])] * 3)
        at = {name: float(value[worst]) if np.ndim(value) else value for name, value in given.items()}
    if not (reading.exact or nominal.ndim):
        free = distribution_free_upper_end(reading, confidence)
        if float(reading.raised(free)) <= least:
            left, common["method"] = replace(left, high=free), "bounded"
    terms = {name: float(v) for name, v in thm.evaluate_terms(**at).items()}
    upper = dict(reading.values)
    if "f0_gap" in upper:  # of the run, whether or not the theorem needs it
        upper["f0_gap"] = upper["f0_gap"] + error
    trivial = trivial_bound(upper, run, thm.lhs)
    kind, reason, needed = _judge(reading, left, bound, (least, most), trivial, confidence, common["method"])
    kind, reason = _with_gaps(reading, kind, reason)
    if kind == "violated" and underflows(thm, given, nominal):
        kind, reason = "undecided", f"the bound {bound:.3g} underflows: its digits are lost"
    ratio = left / bound if bound > 0 else Interval(math.inf, math.inf, math.inf)
    common |= {"measured": left, "bound": bound, "trivial": trivial, "terms": terms, "at": at}
    if kind == "undecided" and not reading.exact:
        common["seeds_needed"] = needed or seeds_needed(left, bound, reading.seeds)
        if common["seeds_needed"] is not None and reading.whole:
            reason += f" (about {common['seeds_needed']} seeds would decide it)"
    return Verdict(kind, reason=reason, ratio=ratio.estimate, ratio_ci=(ratio.low, ratio.high), **common)


def _slack(reading: Reading) -> dict[str, float]:
    """How far each condition is from failing; nothing where a value of the theorem is not known."""
    thm, values = reading.theorem, reading.scalars
    if set(values) != set(thm.needs) or not all(np.isfinite(v) for v in values.values()):
        return {}
    try:
        return {c.name: float(slack) for c, slack, _ in thm.check_conditions(**values)}
    except InputError:  # outside the range in which the theorem speaks at all, as lam = 1
        return {}


def left_hand_side(
    reading: Reading, confidence: float, bounds: NDArray[np.float64] | None = None, method: Method = "student"
) -> Interval:
    """The theorem's left-hand side, measured over its own rounds, with an interval over seeds.

    ``bounds`` (S,) are those of the seeds' own starts, where the start is random too: each seed is then held
    against its own one. Which round is the least may depend on the start: for the lower end
    E[min_t Y_t/b] <= 1 follows from min_t E[Y_t | start] <= b(start), and for the upper one E Y_t <= E b is
    a statement on the mean of Y_t - b.
    """
    columns = reading.columns
    estimate, tail = float(reading.over_columns(columns.mean(axis=0))), (1 - confidence) / 2
    if reading.exact or not math.isfinite(estimate):
        return Interval(estimate, estimate, estimate)
    own = np.zeros(()) if bounds is None else bounds
    shifted = columns - (own - own.mean())[:, None] if own.ndim else columns
    match reading.theorem.lhs.aggregate:
        case "min":
            high = upper_of_minimum(shifted, tail, reading.sure_rounds)
        case "max":
            high = upper_of_maximum(shifted, tail, reading.sure_rounds, method)
        case "mean" | "last" | "sum":
            high = upper_of_mean(shifted, tail, method)
        case other:
            raise InputError(f"{reading.theorem}: the aggregate {other!r} has no interval")
    if own.ndim:
        columns = evidence.in_bounds(_per_start(reading, columns), own) * own.mean()
    finite = columns[:, np.isfinite(columns).all(axis=0)]
    low = estimate
    if finite.size and reading.largest:
        low = evidence.largest_lower_limit(finite, tail)
    elif finite.size:
        low = evidence.least_lower_limit(finite, tail)
    return Interval(estimate, min(low, estimate), max(high, estimate))


def distribution_free_upper_end(reading: Reading, confidence: float) -> float:
    """The upper end that follows from what is proved to bound every sample (:func:`ceiling`), or infinity."""
    most = _proved(reading)
    if not math.isfinite(most):
        return math.inf
    tail = (1 - confidence) / 2
    if reading.largest:
        return evidence.upper_limit_of_largest(reading.columns, most, tail)
    columns = averages(reading.samples, few=True)[1] if reading.least else reading.columns
    return evidence.upper_limit(columns, most, tail)


def _per_start(reading: Reading, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns (S, k) that are held against each start's own bound. Which round is the least may depend on
    the start; every round is below the bound of a maximum."""
    return columns.min(axis=1, keepdims=True) if reading.least else columns


def _proved(reading: Reading) -> float:
    """The :func:`ceiling` that the problem itself proves: a B that the caller gave is the caller's word."""
    values = reading.run.constants.known() | {"T": reading.run.rounds}
    return ceiling(values, reading.run, reading.theorem.lhs)


def ceiling(values: Mapping[str, Any], run: History | None, lhs: LeftSide | None) -> float:
    """What is proved to bound the left-hand side at every point, whatever the algorithm; inf: nothing is.

    Gradients bounded by B are so at every point. A B that was only estimated along the run is the run's own
    measurement, and not counted.
    """
    measure = "grad_norm_sq" if lhs is None else lhs.measure
    sure = run is None or run.constants.standing_of("B") != "estimate"
    rounds = len(lhs.rounds(values["T"])) if lhs is not None and lhs.aggregate == "sum" else 1
    bounded = measure in ("grad_norm_sq", "grad_norm_sq_w") and sure
    return values.get("B", math.inf) ** 2 * rounds if bounded else math.inf


def trivial_bound(
    values: Mapping[str, Any], run: History | None = None, lhs: LeftSide | None = None
) -> float:
    """What is known of a left-hand side without any theorem, whatever the algorithm; inf: nothing is.

    - *Gradients bounded by B* (:func:`ceiling`): every minimum, mean and maximum over rounds of ||grad f||^2
      is at most B^2, and a sum at most B^2 times the number of rounds.
    - *A minimum over rounds among which is the start*, of which f0_gap tells: f* <= f(x - grad f(x)/L)
      <= f(x) - ||grad f(x)||^2/(2L) for every L-smooth f, so that the minimum is at most
      E||grad f(xbar^s)||^2 <= 2 L f0_gap. (DFedADMM's auxiliary point is the mean model at round 0.)

    Nothing of the kind is known of a mean over rounds, since noise can take a run to steeper places than its
    start; nor of the two-block measures, whose gradients lie at other points than F(ubar^0, V^0) - F* does.
    """
    known = [ceiling(values, run, lhs)]
    if lhs is None or lhs.aggregate != "min" or lhs.start not in lhs.rounds(values["T"]):
        return min(known)
    starts_there = lhs.measure == "grad_norm_sq" or (lhs.measure == "grad_norm_sq_w" and lhs.start == 0)
    if starts_there and {"L", "f0_gap"} <= set(values):
        known.append(2 * values["L"] * float(np.mean(values["f0_gap"])))
    return min(known)


def _with_gaps(reading: Reading, kind: Kind, reason: str) -> tuple[Kind, str]:
    """Take back what a run that measured only some rounds cannot say: the rest may be larger or smaller."""
    measured, planned = reading.rounds.size, len(reading.theorem.lhs.rounds(reading.run.rounds))
    one_round_is_enough = (kind == "holds" and reading.least) or (kind == "violated" and reading.largest)
    if reading.whole or one_round_is_enough or kind not in ("holds", "violated"):
        return kind, reason
    return "undecided", f"only {measured} of {planned} rounds were measured (there: {reason})"


def _judge(
    reading: Reading,
    left: Interval,
    bound: float,
    ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    trivial: float,
    confidence: float,
    method: str,
) -> tuple[Kind, str, int | None]:
    """The kind, why, and how many seeds would decide it where that is known.

    ``ends``: the bound at the least and at the largest f0_gap that rounding admits, (S,) or numbers.
    """
    interval, percent = f"[{left.low:.3g}, {left.high:.3g}]", f"{100 * confidence:g} %"
    exact = f"(exact, the worst of {reading.seeds} starts)" if ends[1].ndim else "(exact)"
    measured = f"measured {left.estimate:.3g} " + (exact if reading.exact else f"{interval} ({percent})")
    least, most, tail = float(ends[0].mean()), ends[1], (1 - confidence) / 2
    log_e, needed = -math.inf, None
    per_round = _per_start(reading, reading.columns) if most.ndim else reading.columns
    ratios = evidence.in_bounds(reading.lowered(per_round), most)
    if reading.exact:  # given the starts, each seed is an expectation
        above = bool((reading.over_columns(ratios) > 1).any())
        within = bool((reading.raised(reading.over_columns(per_round)) <= ends[0]).all())
    else:
        log_e = (
            evidence.log_evidence_of_any(ratios) if reading.largest else evidence.log_evidence_of_all(ratios)
        )
        above, within = log_e >= -math.log(tail), float(reading.raised(left.high)) <= least
        needed = evidence.seeds_for(ratios, tail, reading.largest)
    if above:
        return "violated", f"{measured} exceeds the bound {bound:.3g}", None
    if least >= trivial:
        known = f"the bound {least:.3g} is no less than {trivial:.3g}, which is known without any theorem"
        return "vacuous", known, None
    if within:
        told = ASSUMED[method].format(most=_proved(reading))
        return "holds", f"{measured} is within the bound {bound:.3g} ({told})", None
    if left.low > bound or left.high <= bound < math.inf:
        side = "exceeds" if left.low > bound else "is within"
        return "undecided", f"{measured} {side} the bound {bound:.3g} by no more than rounding may", None
    if needed is not None:
        few = f"{reading.seeds} seeds are too few to say so whatever their law"
        evident = f"(evidence {math.exp(min(log_e, 700.0)):.3g} of {1 / tail:.3g})"
        return "undecided", f"{measured} exceeds the bound {bound:.3g}, but {few} {evident}", needed
    more = "more seeds narrow it"
    if math.isinf(left.high):
        more = "one seed has no interval: use seeds >= 2"
        if reading.seeds > 1:
            more = "all seeds agree, which tells of no scatter though there is chance in the run"
    return "undecided", f"the interval {interval} ({percent}) straddles the bound {bound:.3g}: {more}", None
