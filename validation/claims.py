"""Claims: a statement of a source, how it was tested, and the result.

Every experiment in this folder returns claims; ``run_all`` collects them in one table.
The checks are:

``bound against runs``
    The verdicts of :func:`dfltheory.compare` for one variant, summarized over the runs
    of a group.
``growth under O(.)``
    For a statement in O(.): whether the ratio of the measured value to the expression
    grows as the horizon grows.
``ordering``
    A ranking stated by a source, compared with the ranking of measured values whose
    confidence intervals do not overlap.
``stated value``, ``limit``
    A number or a limit stated by a source, next to the computed one.
``tightness``
    Whether every panel of the figures has a point at which a corrected bound is within
    a given factor of the measurement.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dfltheory import bounds
from dfltheory.confidence import half_widths
from dfltheory.plots.groups import left_side_formula
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.verdict import VerdictKind

if TYPE_CHECKING:
    from dfltheory.bounds import Theorem
    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.experiments.cases import Outcome
    from dfltheory.training.history import History
    from dfltheory.verdicts.verdict import Verdict

Growth = Literal["bounded", "growing", "undecided"]
"""How the ratio of the measured value to the expression in O(.) behaves as the horizon
grows.
"""

SEVERITY: tuple[VerdictKind, ...] = (
    "violated",
    "undecided",
    "holds",
    "vacuous",
    "not applicable",
)
"""Kinds of verdicts, most severe first; a group is summarized by its most severe."""


@dataclass(frozen=True)
class Claim:
    """One row of the table.

    ``ratio`` is the measured value divided by the claimed one (at most 1 where an upper
    bound holds).

    ``refuted`` says how a search refuted the statement, if one did; ``verdict`` then
    covers only these runs. ``growth`` is the confidence interval of the exponent p if
    the ratio of the measured value to the expression behaves like T^p.
    """

    claim: str
    source: str
    check: str
    verdict: VerdictKind | Growth
    ratio: float | None
    detail: str
    not_tested: str = ""
    refuted: str = ""
    growth: tuple[float, float] | None = None

    @property
    def said(self) -> str:
        """Verdict as text; for a refuted statement, it says that it is refuted."""
        alone = " here" if self.refuted or self.growth is not None else ""
        growth_text = ""
        if self.growth is not None:
            growth_text = ", as T^[{:.2g}, {:.2g}]".format(*self.growth)
        known = f" (refuted in general: {self.refuted})" if self.refuted else ""
        return f"{self.verdict}{alone}{growth_text}{known}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)


def bound_claims(outcomes: Sequence[Outcome], not_tested: str = "") -> list[Claim]:
    """Return a claim for each variant and group of runs.

    Its verdict is the most severe one in the group; its ratio is the largest among the
    verdicts of that kind.
    """
    grouped: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for outcome in outcomes:
        for verdict in outcome.verdicts:
            place = (verdict.key, verdict.variant, outcome.case.group)
            grouped[place].append(verdict)
    claims = []
    for (key, variant, group), verdicts in grouped.items():
        theorem = bounds.get(key, variant=variant)
        check = f"bound against runs: {group}"
        claims.append(_bound_claim(theorem, check, verdicts, not_tested))
    return claims


def _bound_claim(
    theorem: Theorem, check: str, verdicts: Sequence[Verdict], not_tested: str
) -> Claim:
    """Return the claim of one group of verdicts."""
    numbers = Counter(verdict.kind for verdict in verdicts)
    kind = gravest(numbers)
    shown = [verdict for verdict in verdicts if verdict.kind == kind]
    ratios = []
    if kind != "not applicable":
        ratios = [v.ratio for v in shown if math.isfinite(v.ratio)]
    counts = ", ".join(f"{numbers[k]} {k}" for k in SEVERITY if numbers[k])
    return Claim(
        _name(theorem),
        theorem.source,
        check,
        kind,
        max(ratios, default=None),
        f"{counts}; {shown[0].reason}",
        not_tested,
        refuted=_refuted_by(theorem),
    )


def gravest(kinds: Container[VerdictKind]) -> VerdictKind:
    """Return the most severe of the given kinds."""
    return next(kind for kind in SEVERITY if kind in kinds)


def _name(theorem: Theorem) -> str:
    return f"{theorem.key} [{theorem.variant}]"


def _refuted_by(theorem: Theorem) -> str:
    """Return how a statement was refuted; empty if it was not."""
    return theorem.status.how if theorem.status.refuted else ""


def growth_claim(
    key: str, variant: str, runs: Sequence[History], not_tested: str, **given: float
) -> Claim:
    """Return a claim about whether the constant required by O(.) grows with T.

    The exponent p of measured / expression ~ T^p is fitted. The verdict is ``bounded``
    if its confidence interval lies at or below 0, ``growing`` if it lies above 0, and
    ``undecided`` otherwise. The constant in O(.) is unspecified, so ``ratio``, the
    largest ratio, decides nothing. Growth over a finite range of horizons may be a
    transient and does not contradict O(.); ``dfltheory falsify`` looks for families
    along which the ratio grows.
    """
    theorem = bounds.get(key, variant=variant)
    horizons = np.array([run.rounds for run in runs], dtype=float)
    ratios = []
    for run in runs:
        left = LeftHandSide(run, theorem).columns.min(axis=1)
        values = run_values(run, theorem, given).needed
        ratios.append(left / theorem.evaluate(where="ignore", **values))
    table = np.array(ratios)  # (horizons, seeds)
    slopes = np.polyfit(np.log(horizons), np.log(table), 1)[0]
    sure = len(slopes) > 1 or all(is_deterministic(run) for run in runs)
    low, high = _student(slopes) if sure else (-math.inf, math.inf)
    largest = float(table.mean(axis=1).max())
    kind: Growth = "undecided"
    if high <= 0:
        kind = "bounded"
    elif low > 0:
        kind = "growing"
    span = f"T = {int(horizons.min())} to {int(horizons.max())}"
    text = f"measured/expression ~ T^p over {span}, p in [{low:.2f}, {high:.2f}] (95 %)"
    return Claim(
        _name(theorem),
        theorem.source,
        "growth under O(.)",
        kind,
        largest,
        text,
        not_tested,
        refuted=_refuted_by(theorem),
        growth=(low, high),
    )


def order_claims(key: str, runs: Sequence[History], not_tested: str) -> list[Claim]:
    """Return a growth claim for each variant in O(.)."""
    stated = [v for v in bounds.variants(key) if bounds.get(key, variant=v).order]
    return [growth_claim(key, variant, runs, not_tested) for variant in stated]


def _student(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's t interval of a mean; a single value is treated as exact."""
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, mean
    half = float(half_widths(values[:, None], (1 - confidence) / 2)[0])
    return mean - half, mean + half


def ordering_claim(
    claim: str,
    source: str,
    samples: Mapping[str, np.ndarray],
    not_tested: str,
    check: str = "ordering",
) -> Claim:
    """Return a claim that ``samples`` decrease from the first to the last.

    ``samples`` maps each name to its values over seeds. The verdict is ``holds`` if all
    paired differences of consecutive samples are significantly positive, and
    ``violated`` if one is significantly negative. The ratio is the largest mean of a
    sample divided by that of its predecessor.
    """
    names = list(samples)
    kinds: list[VerdictKind] = []
    factors = []
    for earlier, later in pairwise(names):
        low, high = _student(np.asarray(samples[earlier]) - np.asarray(samples[later]))
        if low > 0:
            kinds.append("holds")
        else:
            kinds.append("violated" if high < 0 else "undecided")
        factors.append(float(np.mean(samples[later]) / np.mean(samples[earlier])))
    means = ", ".join(f"{name} {np.mean(samples[name]):.3g}" for name in names)
    return Claim(claim, source, check, gravest(kinds), max(factors), means, not_tested)


def panels_claim(outcomes: Sequence[Outcome], within: float = 10.0) -> Claim:
    """Return a claim that every panel of the figures has a tight corrected bound.

    A panel is a left-hand side together with one run or the runs along an axis. At some
    point of each panel a corrected bound must be at most ``within`` times the
    measurement. For the loosest panel, the ratio of the claim is its tightest
    bound / measurement divided by ``within``.
    """
    nearest: dict[tuple[str, str, LeftSide], float] = {}
    for outcome in outcomes:
        case = outcome.case
        for verdict in outcome.verdicts:
            if verdict.variant.startswith("corrected") and not verdict.estimated:
                panel = (
                    case.group,
                    case.along or case.place,
                    left_side_formula(verdict),
                )
                ratio = 0.0 if verdict.kind == "not applicable" else verdict.ratio
                nearest[panel] = max(nearest.get(panel, 0.0), ratio)
    loosest = min(nearest, key=nearest.__getitem__)
    factor = 1 / nearest[loosest] if nearest[loosest] else math.inf
    text = (
        f"{factor:.3g} times in the loosest of {len(nearest)} panels:"
        f" {', '.join(loosest[:2])}"
    )
    claim = (
        f"in every panel a corrected bound is at most {within:g} times the measured"
        " value"
    )
    kind: VerdictKind = "holds" if factor <= within else "violated"
    aside = "panels whose constants were estimated along the run"
    return Claim(
        claim,
        "the choice of this suite's problems",
        "tightness",
        kind,
        factor / within,
        text,
        aside,
    )


def value_claim(
    claim: str,
    source: str,
    stated: float,
    true: float,
    tolerance: float,
    not_tested: str,
    check: str = "stated value",
) -> Claim:
    """Return a claim that a stated number is right to a relative ``tolerance``."""
    kind: VerdictKind = (
        "holds" if abs(stated - true) <= tolerance * abs(true) else "violated"
    )
    detail = f"stated {stated:.4g}, computed {true:.4g}"
    ratio = stated / true if true else None
    return Claim(claim, source, check, kind, ratio, detail, not_tested)
