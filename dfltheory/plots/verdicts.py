"""What verdicts say, drawn: the measured left-hand side over the horizon, and the bounds that apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.confidence import upper_limits
from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.verdicts.evidence import lower_limits
from dfltheory.verdicts.reading import Reading, without_chance
from dfltheory.verdicts.statistics import running_upper_limits, upper_of_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

KNOWN = "known without a theorem"
_AGGREGATES = {
    "min": "least over rounds",
    "max": "largest over rounds",
    "mean": "mean over rounds",
    "sum": "sum over rounds",
    "last": "at the last round",
}
_T = GLOSSARY["T"].symbol
_MOST_POINTS = 400
_MOST_NAMES = 3
"""How many variants that do not apply a panel names; of more it says how many, and the caption has them."""


Judged = Any
"""A :class:`~dfltheory.verdicts.compare.Verdict`: it draws itself with this module, and so lies above it."""


def draw(verdicts: Sequence[Judged], ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """What verdicts on one run say of one left-hand side: it, with its band, and the bounds that apply.

    Both run over the horizon: with the step size held fixed, every horizon h <= T is an instance of the
    theorem with T = h. A corollary that has put its schedule in is about this run at T alone, and is drawn
    there. What a variant means (printed, appendix, corrected) gives its line; the range of further variants
    of one meaning is a band. What is not applicable is not drawn, and the panel says so, with the reason
    where it has a legend.

    Raises
    ------
    InputError
        The verdicts bound different left-hand sides, or were read from a file without their run.
    """
    if any(v._run is None or v._theorem is None for v in verdicts):
        raise InputError("a verdict without its run cannot be drawn: give verdict_from_dict the run too")
    sides = by_left_side(verdicts)
    if len(sides) != 1:
        told = "; ".join(", ".join(v.variant for v in group) for group in sides)
        raise InputError(f"one axis shows one left-hand side, and these bound {len(sides)}: {told}")
    run, thm = verdicts[0]._run, verdicts[0]._theorem
    applicable = [v for v in verdicts if v.kind != "not applicable"]
    with look.style():
        ax = look.axes(ax)
        if not np.isnan(verdicts[0].measured.estimate):
            _draw_measured(ax, run, thm, verdicts[0].confidence)
        for family in families(applicable).values():
            _draw_family(ax, family)
        for known in sorted({v.trivial for v in applicable if np.isfinite(v.trivial)}):
            ax.plot(
                1, known, "<", color="0.4", markersize=5, clip_on=False, transform=ax.get_yaxis_transform()
            )
            ax.get_lines()[-1].set_label(KNOWN)
            ax.update_datalim([(1.0, known)], updatex=False)
        ax.set(xscale="log", yscale="log", xlabel="horizon $T$ (rounds)", ylabel=look.formula(thm))
        words = _silent(verdicts, legend)
        if words:
            ax.text(0.03, 0.03, "\n".join(words), transform=ax.transAxes, fontsize=6, in_layout=False)
        ax.autoscale_view()
        ax.set_xlim(1, max(run.rounds, 2))
        if legend and ax.get_legend_handles_labels()[1]:
            handles, labels = ax.get_legend_handles_labels()
            ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), handlelength=3.2)
    return ax


def _silent(verdicts: Sequence[Judged], reasons: bool) -> list[str]:
    """The lines that say which of the verdicts are not applicable."""
    silent = [v for v in verdicts if v.kind == "not applicable"]
    if reasons:
        lines = [f"{v.variant}{refuted_note(v)}, not applicable: {v.reason}" for v in silent]
    elif len(silent) > _MOST_NAMES:
        lines = [f"not applicable: {len(silent)} of {len(verdicts)} variants"]
    else:
        lines = [f"not applicable: {', '.join(v.variant for v in silent)}"] if silent else []
    return [part for line in lines for part in wrap(look.literal(line), 62 if reasons else 34)]


def refuted_note(verdict: Judged) -> str:
    """What follows a variant's name in a figure if the statement is refuted in general."""
    return " (refuted)" if verdict.status.refuted else ""


def families(verdicts: Iterable[Judged]) -> dict[str, list[Judged]]:
    """The verdicts by what their variants mean: printed, appendix..., corrected...; others by themselves.

    The first of each is the one that is drawn as a line: the one named by the meaning alone, if it is there.
    """
    found: dict[str, list[Judged]] = {}
    for verdict in verdicts:
        word = verdict.variant.split("_")[0]
        found.setdefault(word if word in look.MEANINGS else verdict.variant, []).append(verdict)
    for meaning, members in found.items():
        members.sort(key=lambda verdict: verdict.variant != meaning)
    ordered = [*(m for m in look.MEANINGS if m in found), *(m for m in found if m not in look.MEANINGS)]
    return {meaning: found[meaning] for meaning in ordered}


def by_left_side(verdicts: Iterable[Judged]) -> list[list[Any]]:
    """The verdicts in groups that bound one left-hand side: the same measure, aggregate and rounds."""
    groups: dict[Any, list[Any]] = {}
    for verdict in verdicts:
        groups.setdefault(left_side(verdict), []).append(verdict)
    return list(groups.values())


def _running_columns(reading: Reading) -> NDArray[np.float64]:
    """What the left-hand side at each horizon is made of, (seeds, horizons): each round of a minimum or a
    maximum, the mean or the sum of all rounds so far."""
    samples = reading.samples
    match reading.theorem.lhs.aggregate:
        case "min" | "max":
            return samples
        case "sum":
            return np.cumsum(samples, axis=1)
        case "mean" | "last":
            return np.cumsum(samples, axis=1) / np.arange(1, samples.shape[1] + 1)
    raise InputError(f"{reading.theorem}: the aggregate {reading.theorem.lhs.aggregate!r} is not drawn")


def _limits_of_running_maximum(
    reading: Reading, columns: NDArray[np.float64], estimate: NDArray[np.float64], tail: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate and limits of max_{t <= h} E Y_t: the lower limits hold for all rounds at once, since the
    round that has the largest is chosen after looking."""
    finite = np.isfinite(columns.mean(axis=0))
    low = columns.mean(axis=0)
    low[finite] = lower_limits(columns[:, finite], tail / columns.shape[1])
    high = upper_of_each(columns, tail, reading.sure_rounds)
    return estimate, np.maximum.accumulate(low), np.maximum.accumulate(high)


def left_side(verdict: Judged) -> Any:
    """What the verdict bounds, without the prose in which its paper says so."""
    return replace(verdict._theorem.lhs, averaging="")


def _draw_measured(ax: Axes, run: History, thm: Theorem, confidence: float) -> None:
    """Draw one aggregate of the measurement with its band."""
    reading = Reading(run, thm)
    many = reading.horizons.size
    kept = np.unique(np.geomspace(1, many, _MOST_POINTS).round().astype(int)) - 1  # more are not seen
    horizons = reading.horizons[kept]
    estimate, low, high = (values[kept] for values in running_left_hand_side(reading, confidence))
    told = f"{100 * confidence:g} % band"
    if run.grad_norm_sq.shape[0] == 1:
        told = "exact" if without_chance(run) else "one seed, no band"
    # a lower limit of zero is beyond every logarithmic axis, and must not stretch it
    floor = np.min(estimate[np.isfinite(estimate) & (estimate > 0)], initial=np.inf) / 5
    ax.fill_between(
        horizons,
        np.maximum(low, floor if np.isfinite(floor) else 0.0),
        np.where(np.isfinite(high), high, np.nan),
        color=look.MEASURED["color"],
        alpha=0.25,
        linewidth=0,
    )
    dot = {"marker": "o", "markersize": 4} if horizons.size == 1 else {}  # a line of one point is not seen
    label = f"measured, {_AGGREGATES[thm.lhs.aggregate]} ({told})"
    ax.plot(horizons, estimate, label=label, **look.MEASURED, **dot)


def _draw_family(ax: Axes, family: Sequence[Judged]) -> None:
    """Draw the line of the first, and the range of all; a run that is an instance at T alone, as a point."""
    first = family[0]
    horizons = np.unique(np.geomspace(1, first.rounds, 200).round())
    worn: dict[str, Any] = look.MEANINGS.get(first.variant.split("_")[0]) or next(look.looks())
    table = np.array([bound_over(verdict, horizons) for verdict in family])
    single = np.isfinite(table[0]).sum() == 1
    worn = {"markersize": 3.5, **worn, "markevery": None if single else _spread(horizons)}
    label = f"bound, {first.variant}{refuted_note(first)}"
    ax.plot(horizons, table[0], label=label, clip_on=not single, **worn)
    if len(family) == 1:
        return
    known = np.isfinite(table).any(axis=0)
    at, low, high = (horizons[known], np.nanmin(table[:, known], axis=0), np.nanmax(table[:, known], axis=0))
    label = f"range of the {first.variant.split('_')[0]} variants"
    if at.size == 1:
        ax.vlines(at, low, high, color=worn["color"], alpha=0.35, linewidth=4, label=label, clip_on=False)
    else:
        # no fill_between: before matplotlib 3.11 it cannot stand in the legend of several subfigures
        edge = np.concatenate([low, high[::-1]])
        ax.fill([*at, *at[::-1]], edge, color=worn["color"], alpha=0.18, linewidth=0, label=label)


def _spread(horizons: NDArray[Any]) -> list[int]:
    """Where a line has its markers: a few, evenly on a logarithmic axis."""
    wanted = np.geomspace(horizons[0], horizons[-1], 7)[1:-1]
    return sorted({int(np.searchsorted(horizons, at)) for at in wanted})


def bound_over(verdict: Judged, horizons: NDArray[Any], by_term: bool = False) -> Any:
    """The verdict's bound (or its terms by name) at each horizon h <= T of its run, nan where the theorem
    says nothing of it: where it is not applicable, where a condition fails, and at h < T if it has put a
    schedule in that depends on T, for the step sizes at h are then not this run's."""
    thm: Theorem = verdict._theorem
    nothing = np.full(horizons.shape, np.nan)
    if verdict.kind == "not applicable":
        return dict.fromkeys(thm.parts, nothing) if by_term else nothing
    if not verdict.at:  # read from a file that does not say where the bound was evaluated
        at_last = np.where(horizons == verdict.rounds, 1.0, np.nan)
        return {n: v * at_last for n, v in verdict.terms.items()} if by_term else verdict.bound * at_last
    given: Mapping[str, Any] = {name: value for name, value in verdict.at.items() if name != "T"}
    scheduled = any(_T in thm.schedule[name].free_symbols for name in thm.schedule if name not in thm.needs)
    inside = horizons == verdict.rounds if scheduled else np.ones(horizons.shape, dtype=bool)
    if by_term:
        terms = thm.evaluate_terms(**given, T=horizons, where="nan")
        return {name: np.where(inside, values, np.nan) for name, values in terms.items()}
    return np.where(inside, thm.evaluate(**given, T=horizons, where="nan"), np.nan)


def running_left_hand_side(
    reading: Reading, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate, lower and upper limit of the left-hand side at each horizon 1..T; one seed has no limits.

    The lower limits are of e-values, which stay below the estimate however alike the seeds are.
    """
    tail = (1 - confidence) / 2
    columns = _running_columns(reading)
    means = columns.mean(axis=0)
    estimate = means
    if reading.least:
        estimate = np.minimum.accumulate(means)
    elif reading.largest:
        estimate = np.maximum.accumulate(means)
    if reading.exact or columns.shape[0] == 1:
        return estimate, estimate, estimate
    if reading.largest:
        return _limits_of_running_maximum(reading, columns, estimate, tail)
    finite = np.isfinite(means)  # a run that diverged is infinitely large from there on
    low, high = means.copy(), np.full(means.shape, np.inf)
    low[finite] = lower_limits(columns[:, finite], tail)
    if not reading.least:
        high[finite] = upper_limits(columns[:, finite], tail)
        return estimate, low, high
    high[finite] = running_upper_limits(columns[:, finite], tail, reading.sure_rounds[finite])
    return estimate, np.minimum.accumulate(low), high
