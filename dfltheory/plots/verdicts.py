"""Figures of verdicts: the measured left-hand side and the bounds, over the horizon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.plots.horizons import VerdictLike, bound_over, running_left_hand_side
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.training.history import History

KNOWN = "known without a theorem"
"""Label of the value that holds without any theorem."""
_AGGREGATES = {
    "min": "least over rounds",
    "max": "largest over rounds",
    "mean": "mean over rounds",
    "sum": "sum over rounds",
    "last": "at the last round",
}
_MOST_POINTS = 400
"""Largest number of points of a line; more cannot be distinguished."""
_MOST_NAMES = 3
"""Largest number of variants that a note names; if there are more, it counts them."""


def draw(
    verdicts: Sequence[VerdictLike], ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw verdicts on one run that bound the same left-hand side.

    The measured left-hand side, with its band, and the bounds are drawn over the
    horizon. With a fixed step size, each horizon h <= T is an instance of the theorem
    with T = h. A corollary whose schedule depends on T is drawn at h = T only. The
    meaning of a variant (printed, appendix, corrected) sets the style of its line; the
    range of several variants with one meaning is drawn as a band. Verdicts that are
    not applicable are listed in a note, with the reason if there is a legend.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Verdicts of one run, at least one.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If the verdicts bound different left-hand sides, or were read from a file
        without their run.
    """
    _require_one_left_side(verdicts)
    first = verdicts[0]
    left: LeftHandSide = first.left_hand_side
    applicable = [v for v in verdicts if v.kind != "not applicable"]
    with look.style():
        drawn = look.axes(ax)
        if not np.isnan(first.measured.estimate):
            _draw_measured(drawn, left, first.confidence)
        for family in families(applicable).values():
            _draw_family(drawn, family)
        _draw_known_values(drawn, applicable)
        ylabel = look.formula(left.theorem)
        drawn.set(xscale="log", yscale="log")
        drawn.set(xlabel="horizon $T$ (rounds)", ylabel=ylabel)
        lines = _not_applicable_lines(verdicts, with_reasons=legend)
        if lines:
            note = "\n".join(lines)
            place = drawn.transAxes
            drawn.text(0.03, 0.03, note, transform=place, fontsize=6, in_layout=False)
        drawn.autoscale_view()
        drawn.set_xlim(1, max(left.run.rounds, 2))
        handles, labels = drawn.get_legend_handles_labels()
        if legend and labels:
            drawn.legend(
                handles,
                labels,
                loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
                handlelength=3.2,
            )
    return drawn


def _require_one_left_side(verdicts: Sequence[VerdictLike]) -> None:
    """Raise InputError unless the verdicts have runs and one left-hand side."""
    for verdict in verdicts:
        if verdict.left_hand_side is None:
            raise InputError(
                f"the verdict on {verdict.key} ({verdict.variant}) has no run and"
                " cannot be drawn: pass the run to verdict_from_dict"
            )
    groups = by_left_side(verdicts)
    if len(groups) != 1:
        listed = "; ".join(", ".join(v.variant for v in group) for group in groups)
        raise InputError(
            f"verdicts bound {len(groups)} left-hand sides, draw one only: {listed}"
        )


def _draw_known_values(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    """Mark the values that are known without a theorem at the left edge."""
    values = {v.trivial for v in verdicts if np.isfinite(v.trivial)}
    for value in sorted(values):
        (marker,) = ax.plot(
            1,
            value,
            "<",
            color="0.4",
            markersize=5,
            clip_on=False,
            transform=ax.get_yaxis_transform(),
        )
        marker.set_label(KNOWN)
        ax.update_datalim([(1.0, value)], updatex=False)


def _not_applicable_lines(
    verdicts: Sequence[VerdictLike], *, with_reasons: bool
) -> list[str]:
    """Return the wrapped lines of the note on verdicts that are not applicable."""
    excluded = [v for v in verdicts if v.kind == "not applicable"]
    width = 62 if with_reasons else 34
    if with_reasons:
        notes = [
            f"{v.variant}{refuted_note(v)}, not applicable: {v.reason}"
            for v in excluded
        ]
    elif len(excluded) > _MOST_NAMES:
        notes = [f"not applicable: {len(excluded)} of {len(verdicts)} variants"]
    elif excluded:
        notes = [f"not applicable: {', '.join(v.variant for v in excluded)}"]
    else:
        notes = []
    lines: list[str] = []
    for note in notes:
        lines += wrap(look.literal(note), width)
    return lines


def refuted_note(verdict: VerdictLike) -> str:
    """Return the suffix of a variant's label: " (refuted)" if it is refuted."""
    return " (refuted)" if verdict.status.refuted else ""


def families(verdicts: Iterable[VerdictLike]) -> dict[str, list[VerdictLike]]:
    """Group verdicts by the meaning of their variants.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts on one left-hand side.

    Returns
    -------
    dict of str to list of Verdict
        The meanings of :data:`MEANINGS` in their order, then variants without such a
        meaning by their own name. In each group the variant whose name is the
        meaning, if present, comes first: it is drawn as a line.
    """
    groups: dict[str, list[VerdictLike]] = {}
    for verdict in verdicts:
        prefix = verdict.variant.split("_")[0]
        meaning = prefix if prefix in look.MEANINGS else verdict.variant
        groups.setdefault(meaning, []).append(verdict)
    others = [meaning for meaning in groups if meaning not in look.MEANINGS]
    ordered: dict[str, list[VerdictLike]] = {}
    for meaning in [*look.MEANINGS, *others]:
        if meaning in groups:
            exact = [v for v in groups[meaning] if v.variant == meaning]
            rest = [v for v in groups[meaning] if v.variant != meaning]
            ordered[meaning] = exact + rest
    return ordered


def by_left_side(verdicts: Iterable[VerdictLike]) -> list[list[VerdictLike]]:
    """Group verdicts that bound the same measure, aggregate and rounds.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts that have their theorems.

    Returns
    -------
    list of list of Verdict
        The groups, in the order of their first verdicts.
    """
    groups: dict[LeftSide, list[VerdictLike]] = {}
    for verdict in verdicts:
        groups.setdefault(left_side(verdict), []).append(verdict)
    return list(groups.values())


def left_side(verdict: VerdictLike) -> LeftSide:
    """Return the left-hand side of a verdict without its description in words."""
    return replace(verdict.theorem.lhs, averaging="")


def _draw_measured(ax: Axes, left: LeftHandSide, confidence: float) -> None:
    """Draw the measured left-hand side with its confidence band."""
    count = left.horizons.size
    kept = np.unique(np.geomspace(1, count, _MOST_POINTS).round().astype(int)) - 1
    horizons = left.horizons[kept]
    limits = running_left_hand_side(left, confidence)
    estimate, low, high = (values[kept] for values in limits)
    # Lower limits of 0 cannot be shown on a logarithmic axis and must not stretch it.
    positive = estimate[np.isfinite(estimate) & (estimate > 0)]
    floor = np.min(positive, initial=np.inf) / 5
    ax.fill_between(
        horizons,
        np.maximum(low, floor if np.isfinite(floor) else 0.0),
        np.where(np.isfinite(high), high, np.nan),
        color=look.MEASURED["color"],
        alpha=0.25,
        linewidth=0,
    )
    marker: dict[str, Any] = {}
    if horizons.size == 1:  # a line through one point is invisible
        marker = {"marker": "o", "markersize": 4}
    aggregate = _AGGREGATES[left.theorem.lhs.aggregate]
    label = f"measured, {aggregate} ({_band_description(left.run, confidence)})"
    ax.plot(horizons, estimate, label=label, **look.MEASURED, **marker)


def _band_description(run: History, confidence: float) -> str:
    if run.grad_norm_sq.shape[0] > 1:
        return f"{100 * confidence:g} % band"
    return "exact" if is_deterministic(run) else "one seed, no band"


@dataclass(frozen=True, eq=False)
class _BoundRange:
    """The smallest and largest bound of a family at each horizon."""

    horizons: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def draw(self, ax: Axes, color: str, label: str) -> None:
        """Draw a band, or a bar if there is one horizon."""
        if self.horizons.size == 1:
            ax.vlines(
                self.horizons,
                self.low,
                self.high,
                color=color,
                alpha=0.35,
                linewidth=4,
                label=label,
                clip_on=False,
            )
            return
        # Before matplotlib 3.11 a legend of subfigures rejects fill_between.
        x = np.concatenate([self.horizons, self.horizons[::-1]])
        y = np.concatenate([self.low, self.high[::-1]])
        ax.fill(x, y, color=color, alpha=0.18, linewidth=0, label=label)


def _draw_family(ax: Axes, family: Sequence[VerdictLike]) -> None:
    """Draw the first bound as a line (or point) and the range of all as a band."""
    first = family[0]
    meaning = first.variant.split("_")[0]
    horizons = np.unique(np.geomspace(1, first.rounds, 200).round())
    bounds = np.array([bound_over(verdict, horizons) for verdict in family])
    at_one_horizon = np.isfinite(bounds[0]).sum() == 1
    line_style: dict[str, Any] = {"markersize": 3.5}
    line_style.update(look.MEANINGS.get(meaning) or next(look.looks()))
    line_style["markevery"] = None if at_one_horizon else _marker_positions(horizons)
    label = f"bound, {first.variant}{refuted_note(first)}"
    ax.plot(horizons, bounds[0], label=label, clip_on=not at_one_horizon, **line_style)
    if len(family) == 1:
        return
    finite = np.isfinite(bounds).any(axis=0)
    bound_range = _BoundRange(
        horizons[finite],
        np.nanmin(bounds[:, finite], axis=0),
        np.nanmax(bounds[:, finite], axis=0),
    )
    bound_range.draw(ax, line_style["color"], f"range of the {meaning} variants")


def _marker_positions(horizons: NDArray[Any]) -> list[int]:
    """Return indices of five markers, evenly spaced on a logarithmic axis."""
    wanted = np.geomspace(horizons[0], horizons[-1], 7)[1:-1]
    return sorted({int(np.searchsorted(horizons, horizon)) for horizon in wanted})
