"""Measured values and bounds of one experiment on several networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.plots import layout, look
from dfltheory.plots.groups import (
    bound_label,
    families,
    left_side_formula,
    left_sides_label,
    refuse_empty,
    side_names,
)
from dfltheory.plots.horizons import VerdictLike, mean_band
from dfltheory.plots.labels import gap_label, literal, times_measured, with_range
from dfltheory.plots.notation import TEXT_SIZE, text_width
from dfltheory.plots.notes import notes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from dfltheory.bounds.clauses import LeftSide

_MEASURED_MARKERS = ("o", "*", "h")
"""Markers of the measured values of several left-hand sides."""
_OTHER_MARKERS = ("v", "P", "X", "<", ">")
"""Unfilled markers of further variants with the same meaning."""
_FACTOR_WIDTH = 0.45
"""Width of a factor next to a point, in inches."""
_TICKS_AND_FRACTION = 0.3
"""Additional width for wide ticks and a label with a fraction, in inches."""
_TICK_LINE = 9.4
"""Height of a line of a tick label, in points."""


def networks(
    verdicts: Mapping[str, VerdictLike | Sequence[VerdictLike]],
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw the measured left-hand side and the bounds on several networks.

    The networks are sorted by spectral gap, the best connected first. Each bound is
    annotated with its multiple of the measured value, or the legend states it if there
    is too little room. All variants differ in their markers, even if they have the same
    meaning. The legend lists bounds that do not apply, and what would make them apply.

    Parameters
    ----------
    verdicts : mapping
        Maps names of networks to one or several verdicts on the run on that network.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If a network has no verdict, a verdict was read without its run, or the
        left-hand sides have different units.
    """
    by_network: dict[str, list[VerdictLike]] = {}
    for name, members in verdicts.items():
        listed = list(members) if isinstance(members, Sequence) else [members]
        by_network[str(name)] = listed
    refuse_empty(by_network)
    names = side_names([v for members in by_network.values() for v in members])
    contractions = {name: _lam(members[0]) for name, members in by_network.items()}
    ordered = sorted(by_network, key=contractions.__getitem__)
    groups = [by_network[name] for name in ordered]
    theorem = groups[0][0].theorem
    with look.style():
        axes = layout.axes(ax, columns)
        series = _series(groups, names)
        _draw_measured(axes, groups, names)
        _draw_bounds(axes, series, len(ordered))
        gaps = [gap_label(contractions[name], theorem) for name in ordered]
        ticks = [f"{literal(name)}\n{gap}" for name, gap in zip(ordered, gaps)]
        axes.set_xticks(range(len(ordered)), ticks)
        axes.set_xlim(-0.5, len(ordered) - 0.5)
        all_verdicts = [verdict for members in groups for verdict in members]
        axes.set(yscale="log", ylabel=left_sides_label(all_verdicts))
        below = _place_ticks(axes, ticks)
        entries: layout.Entries = []
        if legend:
            handles, labels = axes.get_legend_handles_labels()
            # matplotlib lists containers, such as error bars, after lines
            named_entries = sorted(zip(handles, labels), key=_is_bound)
            texts = _not_applicable({name: by_network[name] for name in ordered})
            entries = [*named_entries, *layout.notes_as_entries(texts)]
        layout.finish(axes, entries, is_new=ax is None, below_ticks=below)
    return axes


@dataclass(frozen=True)
class _Series:
    """The bounds of one variant on several networks.

    Attributes
    ----------
    label : str
        The variant, and its left-hand side if there are several.
    style : dict
        Marker and color; no two series have the same marker and fill.
    points : list of (int, Verdict)
        Position of the network, and the verdict.
    """

    label: str
    style: dict[str, Any]
    points: list[tuple[int, VerdictLike]]


def _is_bound(entry: tuple[Artist, str]) -> bool:
    """Return whether an entry of the legend is a bound, as a key for sorting."""
    return entry[1].startswith("bound")


def _lam(verdict: VerdictLike) -> float:
    """Return lambda of the network of a verdict's run; 1 if it is unknown."""
    lam = verdict.left_hand_side.run.network.lam
    return 1.0 if lam is None else float(lam)


def _place_ticks(ax: Axes, ticks: Sequence[str]) -> float:
    """Rotate names that are too wide; return the height of the labels in points."""
    widest = max(map(text_width, ticks))
    if widest < (layout.axes_width(ax) - _TICKS_AND_FRACTION) / len(ticks):
        return 2 * _TICK_LINE
    for label in ax.get_xticklabels():
        label.set(rotation=30, ha="right", rotation_mode="anchor")
    return 36 * widest + 2 * _TICK_LINE


def _draw_measured(
    ax: Axes, groups: Sequence[Sequence[VerdictLike]], names: Mapping[LeftSide, str]
) -> None:
    """Draw the measured values of each left-hand side with their intervals."""
    level = f"{100 * groups[0][0].confidence:g} % interval"
    for index, (side, name) in enumerate(names.items()):
        places, values = [], []
        for place, members in enumerate(groups):
            of_side = [
                verdict for verdict in members if left_side_formula(verdict) == side
            ]
            if not of_side:
                continue
            limits = mean_band(of_side[0].left_hand_side, of_side[0].confidence)
            places.append(place)
            values.append([part[-1] for part in limits])
        y, low, high = np.array(values).T
        # on a logarithmic axis, extend bars with a lower limit of 0 to the edge
        bars = np.array([y - np.maximum(low, 1e-9 * y), high - y])
        which = f"measured, {name}" if len(names) > 1 else "measured"
        ax.errorbar(
            places,
            y,
            np.maximum(bars, 0.0),
            label=f"{which} ({level})",
            linestyle="none",
            marker=_MEASURED_MARKERS[index % len(_MEASURED_MARKERS)],
            color=look.measured_style(index)["color"],
            markersize=4,
            elinewidth=0.8,
            capsize=2,
        )


def _series(
    groups: Sequence[Sequence[VerdictLike]], names: Mapping[LeftSide, str]
) -> list[_Series]:
    """Return the bounds of each variant, grouped by the meaning of the variant."""
    by_variant: dict[tuple[str, str, str], _Series] = {}
    applicable = [
        [verdict for verdict in members if verdict.kind != "not applicable"]
        for members in groups
    ]
    all_verdicts = [verdict for members in applicable for verdict in members]
    places = {id(v): place for place, members in enumerate(applicable) for v in members}
    for meaning, family in families(all_verdicts).items():
        base = look.style_of(meaning)
        of_meaning = 0
        for verdict in family:
            side = names[left_side_formula(verdict)] if len(names) > 1 else ""
            key = (verdict.key, verdict.variant, side)
            if key not in by_variant:
                marker = base["marker"]
                filling = base["color"]
                if of_meaning:
                    marker = _OTHER_MARKERS[(of_meaning - 1) % len(_OTHER_MARKERS)]
                    filling = "none"
                marks = {"color": base["color"], "marker": marker}
                marks["markerfacecolor"] = filling
                label = bound_label(verdict, side)
                by_variant[key] = _Series(label, marks, [])
                of_meaning += 1
            by_variant[key].points.append((places[id(verdict)], verdict))
    return list(by_variant.values())


def _draw_bounds(ax: Axes, series: Sequence[_Series], networks_count: int) -> None:
    """Draw a marker for each bound, annotated with its multiple of the measurement.

    If the annotations would overlap, the legend contains them instead.
    """
    shifts = np.linspace(-0.2, 0.2, len(series)) if len(series) > 1 else [0.0]
    room = layout.axes_width(ax) / max(1, networks_count * len(series))
    written_at_points = room >= _FACTOR_WIDTH
    for bounds, shift in zip(series, shifts):
        points = sorted(bounds.points, key=itemgetter(0))
        label = bounds.label
        if not written_at_points:
            label = with_range(label, [verdict.ratio for _, verdict in points])
        ax.plot(
            [place + shift for place, _ in points],
            [verdict.bound for _, verdict in points],
            label=label,
            linestyle="none",
            markersize=4.5,
            **bounds.style,
        )
        if not written_at_points:
            continue
        alignment = {-1: "right", 0: "center", 1: "left"}[int(np.sign(shift))]
        for place, verdict in points:
            ax.annotate(
                times_measured(verdict.ratio).removesuffix(" measured"),
                (place + shift, verdict.bound),
                (-3 * np.sign(shift), 4),
                textcoords="offset points",
                ha=alignment,
                fontsize=TEXT_SIZE,
                color=bounds.style["color"],
            )
    ax.margins(y=0.15)


def _not_applicable(named: Mapping[str, Sequence[VerdictLike]]) -> list[str]:
    """Return a note for each bound that does not apply."""
    texts: list[str] = []
    for name, members in named.items():
        listed = notes(members, with_ratios=False)
        texts += [f"{literal(name)}: {note}" for note in listed]
    return texts


__all__ = ["networks"]
