"""Measured left-hand sides and bounds of one or several runs, with one legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dfltheory.errors import InputError
from dfltheory.plots import layout, look
from dfltheory.plots.groups import (
    bound_label,
    by_left_side,
    families,
    left_side_formula,
    left_sides_label,
    refuse_empty,
    side_names,
)
from dfltheory.plots.horizons import VerdictLike
from dfltheory.plots.labels import gap_label, times_measured
from dfltheory.plots.notes import notes
from dfltheory.plots.verdicts import (
    CONDITIONS_FAIL,
    KNOWN,
    LOWER_LIMIT,
    Band,
    Side,
    draw_run,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.training.history import History

Verdicts = (
    VerdictLike
    | Iterable[VerdictLike]
    | Mapping[str, VerdictLike | Iterable[VerdictLike]]
)
"""A verdict, a sequence of verdicts, or a mapping from labels to either."""
RUN_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colors of several runs, which also differ in markers. Dashes distinguish bounds."""
RUN_MARKERS = ("o", "s", "^", "D", "v", "P")
_MARKER_DISTANCE = 0.36
"""Distance between markers of a line, relative to the diagonal of the axes."""


def curves(
    verdicts: Verdicts,
    ax: Axes | None = None,
    *,
    band: Band = "interval",
    show_inapplicable: bool = False,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw measured left-hand sides and bounds over the horizon.

    With a fixed step size, each horizon h <= T is an instance of the theorem with
    T = h. A corollary whose schedule depends on T is drawn only at h = T. The meaning
    of a variant (printed, appendix, corrected) determines the dashes and the marker of
    its line; several variants with one meaning are drawn as a band. The legend states
    how far each bound is above the measurement at the last horizon, and for a verdict
    that is not applicable, why, and what would make the theorem apply. Verdicts may
    bound different left-hand sides of the same unit, such as the minimum and the mean
    over rounds. Then all of them are drawn, and the label of a bound states which one
    it bounds.

    Measured values are surrounded by Student's two-sided interval of the mean, unless
    the run is deterministic or has one seed. The thin dotted line is the lower limit
    that verdicts are based on; it makes no assumption about the distribution over
    seeds.

    Parameters
    ----------
    verdicts : Verdict, sequence of Verdict, or mapping
        Verdicts on one run or on several. A mapping from labels to a verdict or
        verdicts names the runs.
    band : {"interval", "seeds"}
        What is drawn around the mean: its interval, or the curve of each seed.
    show_inapplicable : bool
        Whether a bound is drawn in gray where its conditions fail.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no verdict, or none on one of the runs, if the left-hand sides have
        different units, or if a verdict was read from a file without its run.
    """
    if band not in ("interval", "seeds"):
        raise InputError(f"band = {band!r} must be 'interval' or 'seeds'")
    runs = _by_run(verdicts)
    all_verdicts = [verdict for members in runs.values() for verdict in members]
    names = side_names(all_verdicts)
    several = len(runs) > 1
    with look.style():
        axes = layout.axes(ax, columns)
        for index, members in enumerate(runs.values()):
            first_line = len(axes.lines)
            for group in by_left_side(members):
                draw_run(
                    axes,
                    group,
                    band=band,
                    show_inapplicable=show_inapplicable,
                    color=_run_color(index) if several else None,
                    side=_side(group, names),
                )
            if several:
                _mark_run(axes.lines[first_line:], index)
        last = max(members[0].rounds for members in runs.values())
        axes.set_xlim(1, max(last, 2))
        axes.set_ylabel(left_sides_label(all_verdicts))
        entries: layout.Entries = []
        if legend:
            entries = _entries_of_runs(axes, runs) if several else _entries(axes)
            entries = _annotated(entries, runs, names)
            entries += layout.notes_as_entries(_not_applicable(runs))
        layout.finish(axes, entries, is_new=ax is None)
    return axes


def _side(group: Sequence[VerdictLike], names: Mapping[LeftSide, str]) -> Side | None:
    """Return the left-hand side of a group of verdicts; None if it is the only one."""
    if len(names) == 1:
        return None
    side = left_side_formula(group[0])
    return Side(names[side], list(names).index(side))


def _by_run(verdicts: Verdicts) -> dict[str, list[VerdictLike]]:
    """Return the verdicts on each run, by label of the run."""
    runs: dict[str, list[VerdictLike]] = {}
    if isinstance(verdicts, Mapping):
        for label, members in verdicts.items():
            runs[str(label)] = _listed(members)
    else:
        groups: dict[int, list[VerdictLike]] = {}
        for verdict in _listed(verdicts):
            groups.setdefault(id(verdict.left_hand_side and _run(verdict)), []).append(
                verdict
            )
        for number, members in enumerate(groups.values(), start=1):
            first = members[0]
            gap = ""
            if first.left_hand_side:
                gap = gap_label(_run(first).network.lam, first.theorem)
            runs[f"run {number}" + (f", {gap}" if gap else "")] = members
    if not runs:
        raise InputError("there is no verdict to draw: pass at least one")
    refuse_empty(runs)
    return runs


def _run(verdict: VerdictLike) -> History:
    return verdict.left_hand_side.run


def _listed(verdicts: Verdicts) -> list[VerdictLike]:
    return list(verdicts) if isinstance(verdicts, Iterable) else [verdicts]


def _entries(ax: Axes) -> layout.Entries:
    """Return the legend's entries for one run: measured values first, limits last."""
    handles, labels = ax.get_legend_handles_labels()
    first_of_label: dict[str, Artist] = {}
    for handle, label in zip(handles, labels):
        first_of_label.setdefault(label, handle)

    def order(entry: tuple[Artist, str]) -> int:
        label = entry[1]
        if label.startswith("measured"):
            return 0
        last = (LOWER_LIMIT, KNOWN, CONDITIONS_FAIL)
        return 2 + last.index(label) if label in last else 1

    entries = [(handle, label) for label, handle in first_of_label.items()]
    return sorted(entries, key=order)


def _entries_of_runs(
    ax: Axes, runs: Mapping[str, Sequence[VerdictLike]]
) -> layout.Entries:
    """Return the entries for several runs: colors and markers, then line styles."""
    from matplotlib.lines import Line2D

    entries: layout.Entries = []
    for index, (label, members) in enumerate(runs.items()):
        ratios = []
        for family in families(
            v for v in members if v.kind != "not applicable"
        ).values():
            above = times_measured(family[0].ratio)
            if above:
                ratios.append(f"{family[0].variant} {above}")
        text = ": ".join(filter(None, (label, ", ".join(ratios))))
        line = Line2D([], [], color=_run_color(index), linewidth=2.5)
        _mark_run([line], index)
        line.set_markevery(None)
        entries.append((line, text))
    for handle, label in _entries(ax):
        if not isinstance(handle, Line2D):
            continue
        gray = Line2D([], [])
        gray.update_from(handle)
        if label not in (KNOWN, CONDITIONS_FAIL):
            gray.set_marker("None")
            gray.set_color("0.25")
        entries.append((gray, label))
    return entries


def _run_color(index: int) -> str:
    return RUN_COLORS[index % len(RUN_COLORS)]


def _mark_run(lines: Sequence[Line2D], index: int) -> None:
    """Add the marker of one of several runs to its lines, at offset positions."""
    for line in lines:
        if str(line.get_label()) in (LOWER_LIMIT, KNOWN, CONDITIONS_FAIL):
            continue
        line.set_marker(RUN_MARKERS[index % len(RUN_MARKERS)])
        line.set_markersize(3.5)
        # markers of different runs are at different places
        first_place = 0.05 + 0.06 * (index % len(RUN_MARKERS))
        line.set_markevery((first_place, _MARKER_DISTANCE))


def _annotated(
    entries: layout.Entries,
    runs: Mapping[str, Sequence[VerdictLike]],
    names: Mapping[LeftSide, str],
) -> layout.Entries:
    """Return the entries of one run, with bounds as multiples of the measurement."""
    if len(runs) > 1:
        return entries
    above = {}
    for verdict in next(iter(runs.values())):
        side = _side([verdict], names)
        label = bound_label(verdict, side.name if side else "")
        above[label] = times_measured(verdict.ratio)
    annotated: layout.Entries = []
    for handle, label in entries:
        text = above.get(label, "")
        annotated.append((handle, f"{label}: {text}" if text else label))
    return annotated


def _not_applicable(runs: Mapping[str, Sequence[VerdictLike]]) -> list[str]:
    """Return notes on verdicts that are not applicable."""
    texts = []
    for label, members in runs.items():
        prefix = f"{label}: " if len(runs) > 1 else ""
        texts += [prefix + note for note in notes(members, with_ratios=False)]
    return texts


__all__ = ["curves"]
