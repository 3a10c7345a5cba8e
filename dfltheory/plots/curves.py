"""Bound-versus-empirical curves of one or several runs, with one legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.plots.horizons import VerdictLike
from dfltheory.plots.labels import gap_label, times_measured
from dfltheory.plots.verdicts import (
    CONDITIONS_FAIL,
    KNOWN,
    LOWER_LIMIT,
    Band,
    draw_run,
    families,
    notes,
    refuted_note,
    require_one_left_side,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from dfltheory.training.history import History

Verdicts = (
    VerdictLike
    | Iterable[VerdictLike]
    | Mapping[str, VerdictLike | Iterable[VerdictLike]]
)
"""A verdict, a sequence of verdicts, or a mapping from labels to either."""
RUN_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colors of several runs. Their markers differ, too; dashes are those of the bounds."""
RUN_MARKERS = ("o", "s", "^", "D", "v", "P")
_MARKER_DISTANCE = 0.36
"""Distance of two markers of a line, as a share of the diagonal of the axes."""


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
    T = h. A corollary whose schedule depends on T is drawn at h = T only. The meaning
    of a variant (printed, appendix, corrected) sets dashes and marker of its line; the
    range of several variants with one meaning is drawn as a band. The legend says how
    far each bound is above the measurement at the last horizon, and of a verdict that
    is not applicable, why, and what would make the theorem apply.

    Around measured values lies Student's two-sided interval of the mean; nothing if
    the run is not random or has one seed. The thin dotted line is the lower limit on
    which verdicts rest: it assumes nothing of the distribution of the seeds.

    Parameters
    ----------
    verdicts : Verdict, sequence of Verdict, or mapping
        Verdicts that bound the same left-hand side, on one run or on several. A
        mapping from labels to a verdict or verdicts names the runs.
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
        If there is no verdict, the verdicts bound different left-hand sides, or one
        was read from a file without its run.
    """
    if band not in ("interval", "seeds"):
        raise InputError(f"band = {band!r} must be 'interval' or 'seeds'")
    runs = _by_run(verdicts)
    require_one_left_side([v for members in runs.values() for v in members])
    with look.style():
        drawn = look.axes(ax, columns)
        several = len(runs) > 1
        for index, members in enumerate(runs.values()):
            color = _run_color(index) if several else None
            earlier = len(drawn.lines)
            draw_run(
                drawn,
                members,
                band=band,
                show_inapplicable=show_inapplicable,
                color=color,
            )
            if several:
                _mark_run(drawn.lines[earlier:], index)
        last = max(members[0].rounds for members in runs.values())
        drawn.set_xlim(1, max(last, 2))
        if legend:
            width = look.text_width(columns)
            entries = _entries_of_runs(drawn, runs) if several else _entries(drawn)
            entries = _annotated(entries, runs)
            entries += _not_applicable(runs, width)
            handles = [handle for handle, _ in entries]
            labels = [label for _, label in entries]
            look.legend_below(drawn, handles, labels, columns, resize=ax is None)
    return drawn


Entries = list[tuple["Artist", str]]
"""Artists of a legend with their labels."""


def _by_run(verdicts: Verdicts) -> dict[str, list[VerdictLike]]:
    """Return the verdicts on each run, by the label of the run."""
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
            lam = _run(members[0]).network.lam if members[0].left_hand_side else None
            gap = gap_label(lam)
            runs[f"run {number}" + (f", {gap}" if gap else "")] = members
    if not any(runs.values()):
        raise InputError("there is no verdict to draw: give at least one")
    return runs


def _run(verdict: VerdictLike) -> History:
    return verdict.left_hand_side.run


def _listed(verdicts: Verdicts) -> list[VerdictLike]:
    return list(verdicts) if isinstance(verdicts, Iterable) else [verdicts]


def _entries(ax: Axes) -> Entries:
    """Return the legend's entries for one run: measured values first, limits last."""
    handles, labels = ax.get_legend_handles_labels()

    def order(entry: tuple[Artist, str]) -> int:
        label = entry[1]
        if label.startswith("measured"):
            return 0
        last = (LOWER_LIMIT, KNOWN, CONDITIONS_FAIL)
        return 2 + last.index(label) if label in last else 1

    return sorted(zip(handles, labels), key=order)


def _entries_of_runs(ax: Axes, runs: Mapping[str, Sequence[VerdictLike]]) -> Entries:
    """Return the entries for several runs: colors and markers, then line styles."""
    from matplotlib.lines import Line2D

    entries: Entries = []
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
    seen = set()
    for handle, label in _entries(ax):
        if label in seen:
            continue
        seen.add(label)
        if not isinstance(handle, Line2D):
            continue
        gray = Line2D([], [])
        gray.update_from(handle)
        if label not in (KNOWN, CONDITIONS_FAIL):
            gray.set_marker("None")
        if label not in (KNOWN, CONDITIONS_FAIL):
            gray.set_color("0.25")
        entries.append((gray, label))
    return entries


def _run_color(index: int) -> str:
    return RUN_COLORS[index % len(RUN_COLORS)]


def _mark_run(lines: Sequence[Line2D], index: int) -> None:
    """Give the lines of one of several runs its marker, at places of its own."""
    for line in lines:
        if str(line.get_label()) in (LOWER_LIMIT, KNOWN, CONDITIONS_FAIL):
            continue
        line.set_marker(RUN_MARKERS[index % len(RUN_MARKERS)])
        line.set_markersize(3.5)
        first_place = 0.05 + 0.06 * (index % len(RUN_MARKERS))
        line.set_markevery((first_place, _MARKER_DISTANCE))


def _annotated(entries: Entries, runs: Mapping[str, Sequence[VerdictLike]]) -> Entries:
    """Return the entries of one run, each bound as a multiple of the measurement."""
    if len(runs) > 1:
        return entries
    above = {}
    for verdict in next(iter(runs.values())):
        label = f"bound, {verdict.variant}{refuted_note(verdict)}"
        above[label] = times_measured(verdict.ratio)
    annotated = []
    for handle, label in entries:
        text = above.get(label, "")
        annotated.append((handle, f"{label}: {text}" if text else label))
    return annotated


def _not_applicable(runs: Mapping[str, Sequence[VerdictLike]], width: int) -> Entries:
    """Return wrapped texts without a line on verdicts that are not applicable."""
    from matplotlib.lines import Line2D

    nothing = Line2D([], [], linestyle="none")
    entries: Entries = []
    for label, members in runs.items():
        prefix = f"{label}: " if len(runs) > 1 else ""
        for line in notes(members, 10_000, with_ratios=False):
            entries.append((nothing, "\n".join(wrap(prefix + line, width))))
    return entries


__all__ = ["curves"]
