"""The atlas: a comparison of theorems about one problem class at given constants.

All statements about one left-hand side are compared with the trivial bound, which is
known without a theorem (2 L (f(x^0) - f*), or B^2). A statement is *informative* if
some step size satisfies its conditions and its bound is below the trivial one, and
*vacuous* if its bound is not below it; a lower bound is a *floor*. Each theorem uses
its own optimal step sizes, because only constants are given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dfltheory.best_bounds import (
    LARGEST_STEP,
    LEAST_STEP,
    best_bounds,
    check_constants,
    constants,
    missing_computed,
    own_values,
    with_network,
    yardstick,
)
from dfltheory.bounds import registry
from dfltheory.bounds.reference import load_all
from dfltheory.checks.vacuous import trivials
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.step_scales import step_scales
from dfltheory.typical_quadratics import expectation

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Condition, Theorem
    from dfltheory.training.instance import Instance
    from dfltheory.verdicts.verdict import VerdictKind

AtlasStatus = Literal[
    "informative",
    "no yardstick",
    "vacuous",
    "violated",
    "floor",
    "silent",
    "constant not given",
]
"""Status of a statement at given constants, in the order in which they are listed."""
STATUS_OF_VERDICT: Mapping[VerdictKind, AtlasStatus] = {
    "holds": "informative",
    "violated": "violated",
    "undecided": "informative",
    "vacuous": "vacuous",
    "not applicable": "silent",
}
"""Status of a statement that has this verdict on a run."""
COMPARED_KINDS = ("theorem", "corollary", "rate", "lower bound")
"""Kinds of registered statements that are compared by default."""


def competitors(
    measure: str, theorems: Sequence[Theorem | str] | None = None
) -> tuple[Theorem, ...]:
    """Return the statements on ``measure``: the given ones, or all registered ones.

    Registered statements are theorems, corollaries, rates and lower bounds.
    """
    if theorems is None:
        statements = [t for t in registry.statements() if t.kind in COMPARED_KINDS]
    elif theorems:
        statements = [t for reference in theorems for t in load_all(reference)]
    else:
        raise InputError("theorems is empty: name at least one, or leave it out")
    selected = tuple(t for t in statements if t.lhs.measure == measure)
    if not selected:
        raise UnknownNameError(
            "measure that these theorems bound",
            measure,
            {t.lhs.measure for t in statements},
        )
    sums = [str(t) for t in selected if t.lhs.aggregate == "sum"]
    if sums and len(sums) < len(selected):
        raise InputError(
            "bounds on a sum over rounds cannot be ranked with others:"
            f" {', '.join(sums)}"
        )
    return selected


# -- comparison of theorems


@dataclass(frozen=True)
class Entry:
    """The status, reason and bound of one theorem at its optimal step sizes.

    Attributes
    ----------
    theorem : Theorem
    status : str
        A value of ``Status``.
    reason : str
        Why the theorem has this status.
    bound : float
        Its bound; nan if it has none here.
    share : float
        The bound divided by the trivial one; nan if either is missing, or if the
        trivial bound is 0.
    steps : mapping of str to float
        The optimal step sizes.
    truth : float
        The left-hand side at these step sizes; nan if it was not computed.
    assumed : mapping of str to float
        Typical values of constants that were not given.
    """

    theorem: Theorem
    status: AtlasStatus
    reason: str
    bound: float = math.nan
    share: float = math.nan
    steps: Mapping[str, float] = field(default_factory=dict)
    truth: float = math.nan
    assumed: Mapping[str, float] = field(default_factory=dict)

    @property
    def refuted(self) -> str:
        """How the statement is refuted in general; empty if it is not."""
        return self.theorem.status.how if self.theorem.status.refuted else ""

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON."""
        document = {
            n: getattr(self, n)
            for n in ("status", "reason", "bound", "share", "truth", "refuted")
        }
        document |= {"steps": dict(self.steps), "assumed": dict(self.assumed)}
        document["statement"] = self.theorem.status.kind
        return {"key": self.theorem.key, "variant": self.theorem.variant, **document}

    def __str__(self) -> str:
        numbers = f" {self.bound:.4g}" if math.isfinite(self.bound) else ""
        if numbers and math.isfinite(self.share):
            numbers += f" ({self.share:.3g} of the trivial)"
        truth = (
            f", left-hand side {self.truth:.3g}" if math.isfinite(self.truth) else ""
        )
        label = self.theorem.status.label
        known = (
            f" (refuted in general: {self.refuted})"
            if self.refuted
            else f" (statement: {label})"
        )
        return f"{self.theorem}: {self.status}{known}{numbers}{truth}: {self.reason}"


@dataclass(frozen=True)
class Atlas:
    """Theorems about one left-hand side at given constants, smallest bound first."""

    measure: str
    values: Mapping[str, float]
    entries: tuple[Entry, ...]

    @property
    def best(self) -> Entry | None:
        """The smallest informative bound that is not refuted in general, or None."""
        for entry in self.entries:
            if entry.status == "informative" and not entry.refuted:
                return entry
        return None

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON."""
        best = None if self.best is None else str(self.best.theorem)
        rows = [e.to_dict() for e in self.entries]
        document = {
            "measure": self.measure,
            "values": dict(self.values),
            "assumed": self.assumed,
        }
        return {**document, "best": best, "theorems": rows}

    @property
    def assumed(self) -> dict[str, float]:
        """Typical values of constants that were not given, by glossary name."""
        values: dict[str, float] = {}
        for entry in self.entries:
            values.update(entry.assumed)
        return dict(sorted(values.items()))

    def __str__(self) -> str:
        lines = [str(entry) for entry in self.entries]
        if self.assumed:
            values = ", ".join(
                f"{name} = {value:g}" for name, value in self.assumed.items()
            )
            lines.append(f"assumed, since not given: {values}")
        return "\n".join(lines)


def atlas(
    instance: Instance | None = None,
    *,
    measure: str = "grad_norm_sq",
    theorems: Sequence[Theorem | str] | None = None,
    topology: object = None,
    truth: bool = False,
    **values: float,
) -> Atlas:
    """Compare all theorems about one left-hand side at given constants.

    Parameters
    ----------
    instance : Instance, optional
        A run with which every theorem is compared at the run's step sizes; constants
        are then those of the run. Expectations are exact if its rounds are affine.
    measure : str
        The left-hand side, as in :class:`~dfltheory.bounds.LeftSide`.
    theorems : sequence of Theorem or str, optional
        Theorems, or keys (all variants of each); by default all registered ones.
    topology : object, optional
        A network that determines the network constants, as for
        :func:`dfltheory.train`.
    truth : bool
        Whether to compute the exact expectation on quadratic clients
        (:func:`dfltheory.typical_quadratics.model`) at each theorem's optimal step
        sizes.
    **values
        Constants by glossary name. Missing ones have typical values, and missing
        mechanisms are absent.

    Returns
    -------
    Atlas
        One entry for each theorem, ordered by status and then by bound.

    Raises
    ------
    UnknownNameError, InputError
        If a measure or constant is unknown, or a value is out of range.
    """
    chosen = competitors(measure, theorems)
    check_constants(values, chosen)
    if instance is not None:
        entries: Iterator[Entry] = _on_run(instance, chosen, values)
    else:
        places = ((t, with_network(t, topology, own_values(t, values))) for t in chosen)
        entries = (
            replace(_entry(t, place, topology, truth), assumed=_assumed(t, place))
            for t, place in places
        )
    order = get_args(AtlasStatus)

    def rank(entry: Entry) -> tuple[int, float]:
        bound = np.nan_to_num(entry.bound, nan=math.inf)
        return order.index(entry.status), float(bound)

    return Atlas(measure, dict(values), tuple(sorted(entries, key=rank)))


def _assumed(theorem: Theorem, values: Mapping[str, object]) -> dict[str, float]:
    """Return the constants of a theorem that have typical values.

    The result is empty for statements that are not evaluated.
    """
    if theorem.order or missing_computed(theorem, values):
        return {}
    return {
        name: float(value)
        for name, value in constants(theorem, values).items()
        if name not in values
    }


def _status(bound: float, known: float) -> AtlasStatus:
    """Return the status of a bound, given the trivial bound."""
    if math.isnan(known):
        return "no yardstick"
    return "informative" if bound < known else "vacuous"


def _share(bound: float, known: float) -> float:
    """Return a bound divided by the trivial bound; nan if that is 0."""
    return bound / known if known else math.nan


def _entry(
    theorem: Theorem, values: Mapping[str, float], topology: object, truth: bool
) -> Entry:
    """Return the status of one theorem at its optimal step sizes."""
    if theorem.order:
        return Entry(theorem, "constant not given", "stated as O(.) only")
    missing = missing_computed(theorem, values)
    if missing:
        reason = f"{', '.join(missing)} must be given: no network is known here"
        return Entry(theorem, "constant not given", reason)
    bounds, steps = best_bounds(theorem, values)
    bound, known = float(bounds[0]), float(yardstick(theorem, values)[0])
    chosen = {n: float(v[0]) for n, v in steps.items()}
    if math.isnan(bound):
        return Entry(theorem, "silent", _why_silent(theorem, values))
    scales = step_scales(theorem, constants(theorem, values))
    ends = [
        n
        for n, v in chosen.items()
        if not LEAST_STEP < v / float(scales.get(n, 1.0)) < LARGEST_STEP
        and n not in values
    ]
    if ends:  # optimal at the end of the grid: no optimum, for example eta * gradient
        why = f"its bound has no minimum in {', '.join(ends)}: pass values"
        return Entry(theorem, "silent", why)
    if theorem.kind == "lower bound":
        return Entry(
            theorem,
            "floor",
            "some problem is so hard for every method",
            bound,
            _share(bound, known),
        )
    terms = theorem.evaluate_terms(
        where="ignore", **constants(theorem, values), **chosen
    )
    sizes = {name: float(term) for name, term in terms.items()}
    largest = max(sizes, key=sizes.__getitem__)
    reason = "its bound is 0"
    if bound:
        reason = f"mostly {largest} ({sizes[largest] / bound:.0%})"
    status = _status(bound, known)
    if trivials(theorem):
        reason += (
            "; known without it:"
            f" {' and '.join(words for words, _ in trivials(theorem))}"
        )
    entry = Entry(theorem, status, reason, bound, _share(bound, known), chosen)
    if not truth or theorem.scope.bounded_gradients:  # unbounded for quadratics
        return entry
    return replace(entry, truth=expectation(theorem, values, chosen, topology))


def _why_silent(theorem: Theorem, values: Mapping[str, object]) -> str:
    """Return the conditions that no step size satisfies individually."""

    def fails(*alone: Condition) -> bool:
        return bool(
            np.isnan(best_bounds(replace(theorem, conditions=alone), values)[0][0])
        )

    if fails():
        return "its bound is not a number here"
    unmet = [c.name for c in theorem.conditions if fails(c)]
    return (
        f"no step size meets {' and '.join(unmet)}"
        if unmet
        else "no step size meets all its conditions"
    )


def _on_run(
    instance: Instance, theorems: Sequence[Theorem], given: Mapping[str, object]
) -> Iterator[Entry]:
    """Yield the status of each theorem on one run, from its verdict."""
    from dfltheory.exact import exactly
    from dfltheory.verdicts.compare import compare

    try:
        run = exactly(instance)
    except InputError:
        run = instance.run(progress=False)
    for theorem in theorems:
        if theorem.order:
            yield Entry(theorem, "constant not given", "stated as O(.) only")
            continue
        verdict = compare(run, theorem, **own_values(theorem, given))
        status = STATUS_OF_VERDICT[verdict.kind]
        share = math.nan
        if verdict.at:
            share = _share(verdict.bound, float(yardstick(theorem, verdict.at)[0]))
        yield Entry(
            theorem,
            status,
            verdict.reason,
            verdict.bound,
            share,
            {},
            verdict.measured.estimate,
        )


__all__ = ["Atlas", "Entry", "COMPARED_KINDS", "atlas", "competitors"]
