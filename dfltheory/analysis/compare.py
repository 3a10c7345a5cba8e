"""Is a bound held by what was measured?  A run and a theorem in, a verdict with a kind out.

The kinds, in the order in which they are asked:

``not applicable``
    a condition or an assumption of the theorem fails at these constants, or a constant is not known;
``violated``
    the whole confidence interval of the left-hand side lies above the bound;
``vacuous``
    not violated, but the bound exceeds what is trivially known: ||grad f(x^0)||^2 <= 2 L (f(x^0) - f*) for
    every L-smooth f, or B^2 where gradients are bounded by B;
``holds``
    the whole interval lies at or below the bound;
``undecided``
    the interval straddles the bound.

The theorems bound expectations.  How they become intervals, and why "the minimum over rounds is large"
needs every round while "it is small" needs one, is told in :mod:`dfltheory.analysis.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.schedule import SPEAKS_OF, network_values
from dfltheory.analysis.statistics import Interval, mean_interval, min_interval
from dfltheory.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

Kind = Literal["holds", "violated", "undecided", "vacuous", "not applicable"]


@dataclass(frozen=True)
class Verdict:
    """What one run says of one variant of one theorem.

    ``ratio`` = measured / bound, with its confidence interval ``ratio_ci``: below 1 the bound holds, and its
    reciprocal is how loose the bound is.  ``reason`` says in one line why the kind is what it is, with the
    numbers; ``estimated`` names the constants that were estimated rather than known: the verdict is then
    about the theorem *at these estimates*.
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
    estimated: tuple[str, ...] = ()
    seeds: int = 0
    rounds: int = 0
    confidence: float = 0.95
    _run: Any = field(default=None, repr=False, compare=False)
    _theorem: Any = field(default=None, repr=False, compare=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Measured left-hand side with its band, under (or over) the bound, as functions of the horizon."""
        from dfltheory.analysis.plots import bound_versus_empirical

        return bound_versus_empirical(self._run, [self._theorem], ax=ax, confidence=self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        names = ("kind", "key", "variant", "reason", "bound", "ratio", "ratio_ci", "trivial", "terms")
        more = ("conditions", "estimated", "seeds", "rounds", "confidence")
        values = {name: getattr(self, name) for name in names + more}
        values["measured"] = self.measured.estimate
        values["measured_ci"] = (self.measured.low, self.measured.high)
        return values

    def __str__(self) -> str:
        at = f" (at estimated {', '.join(self.estimated)})" if self.estimated else ""
        return f"{self.key} [{self.variant}]: {self.kind}{at}: {self.reason}"


def compare(
    run: History,
    theorem: Theorem | str,
    *,
    variant: str = "printed",
    confidence: float = 0.95,
    **constants: float,
) -> Verdict:
    """Hold one run against one theorem.

    Parameters
    ----------
    run : what :func:`dfltheory.train` returned, with as many seeds as the interval is wanted narrow
    theorem : a Theorem, or its key (then ``variant`` picks which)
    confidence : of the two-sided interval, in (0, 1)
    constants : glossary names that replace or complete what the run knows, as in ``sigma_g=0.3``

    Raises
    ------
    UnknownNameError for an unknown key or constant; InputError for values out of range.
    """
    from dfltheory import bounds

    thm = bounds.get(theorem, variant=variant) if isinstance(theorem, str) else theorem
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95")
    for name, value in constants.items():
        if name not in bounds.GLOSSARY:
            raise UnknownNameError("constant", name, set(bounds.GLOSSARY))
        bounds.GLOSSARY[name].check(value)
    values = known_values(run, thm, constants)
    values.setdefault("T", run.rounds)
    unknown = Interval(math.nan, math.nan, math.nan)
    left = left_hand_side(run, thm, confidence) if _unmeasured(run, thm) is None else unknown
    common: dict[str, Any] = {
        "key": thm.key,
        "variant": thm.variant,
        "seeds": run.grad_norm_sq.shape[0],
        "rounds": run.rounds,
        "confidence": confidence,
        "_run": run,
        "_theorem": thm,
        "estimated": _estimated(run, thm, constants),
    }
    obstacle = _unmeasured(run, thm) or _obstacle(run, thm, values)
    if obstacle is not None:
        common |= {"measured": left, "bound": math.nan, "trivial": math.nan}
        return Verdict(
            "not applicable", reason=obstacle, ratio=math.nan, ratio_ci=(math.nan, math.nan), **common
        )

    given: dict[str, Any] = {name: values[name] for name in thm.needs}
    gap = np.asarray(given.get("f0_gap", 0.0), dtype=float)
    per_seed = np.asarray(thm.evaluate(**given), dtype=float)
    bound = float(per_seed.mean())
    if gap.ndim and run.grad_norm_sq.shape[0] > 1:
        # The start is random too: every bound is affine in f0_gap, so E Y_t > E bound is a statement on the
        # mean of Y_t - bound, seed by seed.
        left = left_hand_side(run, thm, confidence, shift=per_seed - bound)
    scalars: dict[str, Any] = {name: (float(np.mean(v)) if np.ndim(v) else v) for name, v in given.items()}
    terms = {name: float(v) for name, v in thm.evaluate_terms(**scalars).items()}
    trivial = trivial_bound(values, run, thm.lhs.measure)
    kind, reason = _judge(left, bound, trivial, confidence)
    kind, reason = _with_gaps(run, thm, kind, reason)
    ratio = left / bound if bound > 0 else Interval(math.inf, math.inf, math.inf)
    conditions = tuple(str(condition) for condition, *_ in thm.check_conditions(**scalars))
    common |= {"measured": left, "bound": bound, "trivial": trivial, "terms": terms, "conditions": conditions}
    return Verdict(kind, reason=reason, ratio=ratio.estimate, ratio_ci=(ratio.low, ratio.high), **common)


def left_hand_side(
    run: History, thm: Theorem, confidence: float, shift: NDArray[np.float64] | None = None
) -> Interval:
    """The theorem's left-hand side, measured over its own rounds, with an interval over seeds."""
    _, samples = rounds_of(run, thm)
    if shift is not None:
        samples = samples - shift[:, None]
    interval = min_interval if thm.lhs.aggregate == "min" else mean_interval
    result = interval(samples, confidence)
    if samples.shape[0] == 1 and without_chance(run):
        return Interval(result.estimate, result.estimate, result.estimate)
    return result


def rounds_of(run: History, thm: Theorem) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The measured rounds that the theorem speaks of, and its measure there, (seeds, rounds).

    From the round at which a run was seen to diverge on, the measure counts as infinitely large.
    """
    span = thm.lhs.rounds(run.rounds)
    data = _measured(run, thm.lhs.measure)
    assert data is not None, "asked only of what was measured"
    data = data.astype(float)
    if run.diverged_at is not None:
        data = np.where(run.rounds_measured >= run.diverged_at, np.inf, data)
    inside = (run.rounds_measured >= span.start) & (run.rounds_measured < span.stop)
    return run.rounds_measured[inside], data[:, inside]


def _measured(run: History, measure: str) -> NDArray[np.float64] | None:
    """The measure at every measured round, (seeds, rounds); None where the run did not record it."""
    known = run.measures()
    if measure == "two_block_weighted" and {"grad_u_sq_next", "grad_v_sq"} <= set(known):
        # a/(4 L_u) = eta_u K_u/4 and b/(4 L_v) = eta_v K_v/4, with a = eta_u K_u L_u and b = eta_v K_v L_v
        letters = run.algorithm.theory_values()
        body, head = letters["eta_u"] * letters["K_u"], letters["eta_v"] * letters["K_v"]
        return (body * known["grad_u_sq_next"] + head * known["grad_v_sq"]) / 4
    return known.get(measure)


def without_chance(run: History) -> bool:
    """Is there nothing random in the run, so that one seed says everything?"""
    if not getattr(run, "chance", True):  # expectations that were computed, not sampled
        return True
    sure = run.constants.sigma_l == 0 and run.constants.standing_of("sigma_l") == "exact"
    return sure and not run.random_network


def known_values(run: History, thm: Theorem, given: Mapping[str, float] | None = None) -> dict[str, Any]:
    """What the run knows under the glossary's names, with f0_gap at the round where the theorem starts.

    ``given`` completes and replaces it.  From these follow rho0 (rho under the theorem's schedule) and, for
    bounded gradients without SAM, the second moment S2 <= B^2 + sigma_l^2.
    """
    values: dict[str, Any] = dict(run.values())
    if thm.lhs.measure.startswith("two_block"):  # F(ubar, V) - F*: each client keeps its own head
        F = run.measures().get("two_block_value")
        at, f_star = np.flatnonzero(run.rounds_measured == thm.lhs.start), run.constants.f_star
        values["f0_gap"] = F[:, at[0]] - f_star if F is not None and at.size and f_star is not None else None
    elif thm.lhs.start and values.get("f0_gap") is not None and run.constants.f_star is not None:
        at = np.flatnonzero(run.rounds_measured == thm.lhs.start)
        values["f0_gap"] = run.loss[:, at[0]] - run.constants.f_star if at.size else None
    values = {name: value for name, value in values.items() if value is not None}
    if run.topology is not None and {"delta", "C", "q"} & set(thm.needs) - set(values):
        # a doubly stochastic network has them too, where push-sum runs on it
        values = network_values(thm, run.topology) | values
    values |= dict(given or {})
    if "rho0" in thm.needs and "rho0" not in values and "rho" in values and "rho" in thm.schedule:
        unit = thm.step_sizes(**{**values, "rho0": 1.0})["rho"]
        values["rho0"] = values["rho"] / unit
    if (
        "S2" in thm.needs
        and "S2" not in values
        and {"B", "sigma_l"} <= set(values)
        and values.get("rho", 0.0) == 0
    ):
        # without SAM the point of a gradient does not depend on its sample: E||g||^2 = ||grad f_i||^2 + noise
        values["S2"] = values["B"] ** 2 + values["sigma_l"] ** 2
    return values


def trivial_bound(values: dict[str, Any], run: History | None = None, measure: str = "grad_norm_sq") -> float:
    """What every L-smooth f (with gradients bounded by B) satisfies at its start, whatever the algorithm.

    A bound B that was only estimated along the run is the run's own measurement, and not counted.  For the
    two-block measures each block gives 2 f0_gap: ||grad_u F||^2/L_u <= 2 f0_gap, and the same for v.
    """
    gap = float(np.mean(values["f0_gap"])) if "f0_gap" in values else math.inf
    if measure == "two_block_weighted":
        body, head = (values[f"eta_{b}"] * values[f"K_{b}"] * values[f"L_{b}"] for b in "uv")
        return (body + head) / 2 * gap
    if measure.startswith("two_block"):
        return 4 * gap
    known = [math.inf]
    if "L" in values and "f0_gap" in values:
        known.append(2 * values["L"] * gap)
    sure = run is None or run.constants.standing_of("B") != "estimate"
    if sure and "B" in values and math.isfinite(values["B"]):
        known.append(values["B"] ** 2)
    return min(known)


def _unmeasured(run: History, thm: Theorem) -> str | None:
    """Why the left-hand side was not measured at all, or None."""
    if thm.lhs.aggregate == "each" or _measured(run, thm.lhs.measure) is None:
        return f"its left-hand side ({thm.lhs.measure}, {thm.lhs.aggregate}) is not what this run measured"
    if run.stopped_at is not None:
        return f"the run was stopped by a callback after {run.stopped_at} of {run.rounds} rounds"
    return None if rounds_of(run, thm)[1].size else "none of the rounds that it speaks of was measured"


def _with_gaps(run: History, thm: Theorem, kind: Kind, reason: str) -> tuple[Kind, str]:
    """Take back what a run that measured only some rounds cannot say: the rest may be larger or smaller."""
    measured, planned = rounds_of(run, thm)[0].size, len(thm.lhs.rounds(run.rounds))
    one_round_is_enough = kind == "holds" and thm.lhs.aggregate == "min"
    if measured == planned or one_round_is_enough or kind not in ("holds", "violated"):
        return kind, reason
    return "undecided", f"only {measured} of {planned} rounds were measured (there: {reason})"


def _obstacle(run: History, thm: Theorem, values: dict[str, Any]) -> str | None:
    """Why the theorem says nothing of this run, or None."""
    if thm.order:
        return "it is stated as O(.) only, without the constant that a comparison needs"
    foreign = not_spoken_of(run.algorithm, thm)
    if foreign is not None:
        return foreign
    absent = _mechanism_obstacle(run, thm, values)
    if absent is not None:
        return absent
    network = _network_obstacle(run, thm)
    if network is not None:
        return network
    apart = float(np.max(run.x0_spread)) > 1e-10 * float(np.max(run.x0_sq))  # more than rounding in float32
    if apart and any(COMMON_START in words for words in thm.assumptions):
        return f"it assumes that {COMMON_START}, and mean ||x_i - xbar||^2 = {np.max(run.x0_spread):.3g} here"
    missing = [n for n in sorted(thm.needs) if n not in values or not np.all(np.isfinite(values[n]))]
    if missing:
        return f"{', '.join(missing)} not known (or not finite) for this problem: give {missing[0]}=..."
    scalars = {n: float(np.mean(values[n])) if np.ndim(values[n]) else values[n] for n in thm.needs}
    try:
        checked = thm.check_conditions(**scalars)
    except InputError as outside:  # as lam = 1 on a network that never agrees
        return str(outside)
    failing = [f"{c.name} fails, by {-float(slack):.3g}" for c, slack, ok in checked if not ok]
    return "; ".join(failing) or None


def _mechanism_obstacle(run: History, thm: Theorem, values: dict[str, Any]) -> str | None:
    """Does the run use SAM, momentum, gossip or step sizes that the theorem does not speak of?"""
    from dfltheory.bounds import NEUTRAL

    for name in ("rho", "alpha", "Q"):
        spoken = name in thm.needs or (name == "rho" and "rho0" in thm.needs)
        if values.get(name, NEUTRAL[name]) != NEUTRAL[name] and not spoken:
            return f"it speaks of {name} = {NEUTRAL[name]:g}, and this run has {name} = {values[name]:g}"
    sam = getattr(run.algorithm, "sam", "u")
    if values.get("rho", 0) > 0 and sam != "u":
        return f"it speaks of SAM on the body alone, and this run has sam = {sam!r}"
    if not getattr(run.algorithm, "fresh", True):
        return "it speaks of a fresh sample in every local step, and this run takes one a round"
    if "L_u" in thm.needs and float(np.max(run.x0_spread)) > 1e-10 * float(np.max(run.x0_sq)):
        return "f0_gap is known for a common start only, and here the clients start apart"
    # A corollary has put its schedule in: it is about no other step sizes.
    gone = [name for name in thm.schedule if name not in thm.needs and name != "Q"]
    if not gone or not any(name in values for name in gone):
        return None
    try:
        asked = thm.step_sizes(**values)
    except InputError as lacking:
        return str(lacking)
    for name in gone:
        if name in values and not math.isclose(asked[name], values[name], rel_tol=1e-6, abs_tol=1e-300):
            return f"it speaks of {name} = {asked[name]:.6g}, and this run has {name} = {values[name]:.6g}"
    return None


COMMON_START = "all clients start at the same model"
"""The words by which a theorem's assumptions ask for a common x^0."""


def _network_obstacle(run: History, thm: Theorem) -> str | None:
    """Why the theorem is not about this network, or None; a history from a file does not know its network."""
    paper, corrected = thm.key.split(".")[0], thm.variant.startswith("corrected")
    if run.topology is None or paper == "dfedsgpsm" or paper not in SPEAKS_OF:
        return None
    from dfltheory.graphs import Constant, check_mixing_matrix

    fixed = isinstance(run.topology, Constant)
    if not corrected and not fixed:
        return "it speaks of one fixed mixing matrix, and this network changes from round to round"
    # Of a given sequence W_t the corrected proofs use ||W_t - 11'/m|| <= lam alone; chance in it must not
    # depend on the samples.
    if getattr(run.topology, "needs_losses", False):
        return "it needs mixing matrices that do not depend on the samples, and these follow the losses"
    if fixed and not (corrected and paper == "dfedmdc"):  # Theorem M needs double stochasticity alone
        report = check_mixing_matrix(run.topology.matrix(0))
        return None if report.ok else f"the mixing matrix breaks Definition 1: {report.failures[0]}"
    return None


def not_spoken_of(algorithm: Any, thm: Theorem) -> str | None:
    """Why the theorem is not about this algorithm as it was run, or None."""
    name, paper = type(algorithm).__name__, thm.key.split(".")[0]
    if name not in SPEAKS_OF.get(paper, (name,)):  # a reader's own theorem may be about any algorithm
        return f"it speaks of {', '.join(SPEAKS_OF[paper])}, and this run is {name}"
    if getattr(algorithm, "order", "adapt-then-combine") != "adapt-then-combine":
        return (
            f"it speaks of x <- W(x - eta g) (order = adapt-then-combine), and this run has {algorithm.order}"
        )
    if algorithm.decay != 1.0 or algorithm.weight_decay != 0.0:
        return "it speaks of a constant step size without weight decay, and this run has one of the two"
    if paper == "dfedmdc":
        plain = {"alpha": 0.0, "fresh": True, "sam": "u"}  # no momentum, new samples, SAM on the shared part
        for letter, value in plain.items():
            if (own := getattr(algorithm, letter, value)) != value:
                return f"it speaks of {letter} = {value}, and this run has {own}"
    return None


def _estimated(run: History, thm: Theorem, given: dict[str, float]) -> tuple[str, ...]:
    sources = (run.constants, run.network)
    names = {n for s in sources for n in s.standing if s.standing_of(n) == "estimate"}
    if "f_star" in names:
        names.add("f0_gap")
    return tuple(sorted(n for n in names & set(thm.needs) if n not in given))


def _judge(left: Interval, bound: float, trivial: float, confidence: float) -> tuple[Kind, str]:
    interval = f"[{left.low:.3g}, {left.high:.3g}]"
    percent = f"{100 * confidence:g} %"
    if left.low > bound:
        return (
            "violated",
            f"measured {left.estimate:.3g} {interval} ({percent}) exceeds the bound {bound:.3g}",
        )
    if bound >= trivial:
        return "vacuous", f"the bound {bound:.3g} is above {trivial:.3g}, which is known without any theorem"
    if left.high <= bound:
        return "holds", f"measured {left.estimate:.3g} {interval} ({percent}) is within the bound {bound:.3g}"
    more = "more seeds narrow it" if math.isfinite(left.high) else "one seed has no interval: use seeds >= 2"
    return "undecided", f"the interval {interval} ({percent}) straddles the bound {bound:.3g}: {more}"


__all__ = ["Verdict", "compare", "known_values", "left_hand_side", "rounds_of", "trivial_bound"]
