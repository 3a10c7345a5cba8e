"""A checked claim: what a source says, how it was tested, and the result.

Every experiment of this folder returns claims; ``run_all`` puts them into one table.
The checks:

``bound against runs``
    verdicts of :func:`dfltheory.compare`, gathered for one variant over the runs of a
    group;
``growth under O(.)``
    for a statement in O(.): does measured over expression grow along a family of
    growing horizons?
``ordering``
    what a source ranks, ranked by measured values whose intervals do not touch;
``stated value``, ``limit``
    a number or a limit that a source states, next to the computed one;
``tightness``
    does every panel of the figures have a point at which a corrected bound says
    something of the size?
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
from dfltheory.plots.groups import left_side
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.verdict import Kind

if TYPE_CHECKING:
    from dfltheory.bounds import Theorem
    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.experiments.cases import Outcome
    from dfltheory.training.history import History
    from dfltheory.verdicts.verdict import Verdict

Growth = Literal["bounded", "growing", "undecided"]
"""What measured over the expression of an O(.) does along a family of growing
horizons.
"""

SEVERITY: tuple[Kind, ...] = (
    "violated",
    "undecided",
    "holds",
    "vacuous",
    "not applicable",
)
"""A group of verdicts is summarized by its first kind in this order."""


@dataclass(frozen=True)
class Claim:
    """One row of the table.

    ``ratio`` is measured over claimed (at most 1 where an upper bound holds).

    ``refuted`` states by what a search has refuted the statement, if one has: the
    verdict is then one of these runs alone. ``growth`` is the interval of p where
    measured over expression goes as T^p.
    """

    claim: str
    source: str
    check: str
    verdict: Kind | Growth
    ratio: float | None
    detail: str
    not_tested: str = ""
    refuted: str = ""
    growth: tuple[float, float] | None = None

    @property
    def said(self) -> str:
        """The verdict as the table has it: never a mere "holds" for what is refuted."""
        alone = " here" if self.refuted or self.growth is not None else ""
        growth_text = ""
        if self.growth is not None:
            growth_text = ", as T^[{:.2g}, {:.2g}]".format(*self.growth)
        known = f" (refuted in general: {self.refuted})" if self.refuted else ""
        return f"{self.verdict}{alone}{growth_text}{known}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def bound_claims(outcomes: Sequence[Outcome], not_tested: str = "") -> list[Claim]:
    """Return a claim for each variant and group of runs.

    Its verdict is the gravest one of the group, its ratio the largest.
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


def gravest(kinds: Container[Kind]) -> Kind:
    """Return the first of the kinds in the order of severity."""
    return next(kind for kind in SEVERITY if kind in kinds)


def _name(theorem: Theorem) -> str:
    return f"{theorem.key} [{theorem.variant}]"


def _refuted_by(theorem: Theorem) -> str:
    """Return what refutes a statement; empty if nothing does."""
    return theorem.status.how if theorem.status.refuted else ""


def growth_claim(
    key: str, variant: str, runs: Sequence[History], not_tested: str, **given: float
) -> Claim:
    """Return whether the constant that an O(.) needs grows with the horizon.

    With measured / expression ~ T^p: ``bounded`` where the interval of p lies at or
    below 0, ``growing`` where it lies above, else ``undecided``. An O(.) has no
    constant that a ratio could be held against: ``ratio``, the largest, decides
    nothing. Growth over a finite span may be a transient and contradicts no O(.);
    ``dfltheory falsify`` looks for families along which the ratio grows.
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
    """Return a growth claim for each variant that is stated in O(.)."""
    stated = [v for v in bounds.variants(key) if bounds.get(key, variant=v).order]
    return [growth_claim(key, variant, runs, not_tested) for variant in stated]


def _student(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's interval for a mean; a single value is taken as exact."""
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
    """Return whether ``samples`` (values over seeds) fall from the first to the last.

    ``holds``: each neighbor's paired difference is surely positive; ``violated``: one
    is surely negative. The ratio is the largest of later over earlier.
    """
    names = list(samples)
    kinds: list[Kind] = []
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
    """Return whether a corrected bound is informative in every panel of the figures.

    A panel is a run, or the runs along an axis, and a left-hand side. Some bound must
    be at most ``within`` times the measurement at a point; the ratio is that of the
    loosest panel's nearest bound to ``within``.
    """
    nearest: dict[tuple[str, str, LeftSide], float] = {}
    for outcome in outcomes:
        case = outcome.case
        for verdict in outcome.verdicts:
            if verdict.variant.startswith("corrected") and not verdict.estimated:
                panel = (case.group, case.along or case.place, left_side(verdict))
                ratio = 0.0 if verdict.kind == "not applicable" else verdict.ratio
                nearest[panel] = max(nearest.get(panel, 0.0), ratio)
    loosest = min(nearest, key=nearest.__getitem__)
    factor = 1 / nearest[loosest] if nearest[loosest] else math.inf
    text = (
        f"{factor:.3g} times in the loosest of {len(nearest)} panels:"
        f" {', '.join(loosest[:2])}"
    )
    claim = (
        f"in every panel a corrected bound comes within {within:g} times what is"
        " measured"
    )
    kind: Kind = "holds" if factor <= within else "violated"
    aside = "panels at constants that were estimated along the run"
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
    """Return whether a stated number is the true one, to a relative ``tolerance``."""
    kind: Kind = "holds" if abs(stated - true) <= tolerance * abs(true) else "violated"
    detail = f"stated {stated:.4g}, computed {true:.4g}"
    ratio = stated / true if true else None
    return Claim(claim, source, check, kind, ratio, detail, not_tested)
