"""Verdicts on a group of runs: one panel per run and left-hand side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.plots import look
from dfltheory.plots.groups import (
    check_drawable,
    families,
    left_side_formula,
    refuted_note,
)
from dfltheory.plots.labels import formula, gap_label, horizon_label, label_points
from dfltheory.plots.layout import set_text_size, write_above
from dfltheory.plots.notation import (
    TEXT_SIZE,
    setting_in_symbols,
    symbol,
    text_width,
    wrapped,
)
from dfltheory.plots.notes import notes
from dfltheory.plots.verdicts import KNOWN, draw_run

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.experiments.cases import Outcome
    from dfltheory.verdicts.verdict import Verdict

_MOST_COLUMNS = 4
"""Maximum number of panels in a row if the cases do not form a grid."""
_LEFT_OF_PANEL = 0.45
"""Width of the tick labels to the left of a panel, in inches."""
_NOTE_LINE = 9.4
"""Height of a line of a note, in points."""

PanelOutcomes = Sequence[tuple["Outcome", Sequence["Verdict"]]]
"""Runs with their verdicts on one left-hand side."""

Handles = dict[str, "Artist"]
"""Artists of a legend by label."""


def panels(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the verdicts on a group of runs, with one common legend.

    There is one block of panels for each left-hand side, titled with its formula, which
    contains one panel for each case. The panels form a grid of ``case.row`` and
    ``case.column`` if there is a case for each pair; otherwise they are placed in
    order. The panels of a block share their axes. The text above each panel states how
    far its bounds are above the measurement, why other bounds do not apply, and what
    would make them apply.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Runs with their verdicts, at least one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        If there is no verdict, or a verdict was read without its run.
    """
    import matplotlib.pyplot as plt

    check_drawable([v for outcome in outcomes for v in outcome.verdicts])
    blocks = _blocks(outcomes)
    shapes = [_grid_shape(block) for block in blocks]
    columns = max(shape[1] for shape in shapes)
    blocks_per_row = min(len(blocks), 2 if columns == 1 else 1)
    block_width = max(look.ONE_COLUMN, 2.4 * columns)
    width = min(look.TWO_COLUMNS, block_width * blocks_per_row)
    panels_per_row = [shape[1] * blocks_per_row for shape in shapes]
    note_widths = [width / count - _LEFT_OF_PANEL for count in panels_per_row]
    lines = [_note_lines(block, room) for block, room in zip(blocks, note_widths)]
    heights = _block_heights(shapes, lines, blocks_per_row)
    last_round = max(2, *(outcome.run.rounds for outcome in outcomes))
    handles: Handles = {}
    with look.style():
        figure = plt.figure(figsize=(width, sum(heights)), layout="constrained")
        parts = figure.subfigures(
            len(heights), blocks_per_row, squeeze=False, height_ratios=heights
        )
        for part, block, shape, room in zip(parts.flat, blocks, shapes, note_widths):
            handles |= _draw_block(part, block, shape, room)
            part.axes[0].set_xlim(1, last_round)
        handles = _with_one_measured_entry(handles)
        labels = _legend_order(handles)
        longest = max(map(text_width, labels), default=0.0)
        labels_per_row = max(1, min(len(labels), int(width / (longest + 0.6))))
        legend_rows = -(-len(labels) // labels_per_row)
        figure.set_figheight(sum(heights) + 0.17 * (2 + legend_rows))
        figure.legend(
            [handles[label] for label in labels],
            labels,
            loc="outside lower center",
            ncols=labels_per_row,
            handlelength=3.2,
        )
    return figure


def _left_sides(outcomes: Sequence[Outcome]) -> list[LeftSide]:
    """Return the distinct left-hand sides in the order in which they occur."""
    sides: dict[LeftSide, None] = {}
    for outcome in outcomes:
        for verdict in outcome.verdicts:
            sides[left_side_formula(verdict)] = None
    return list(sides)


def _blocks(outcomes: Sequence[Outcome]) -> list[PanelOutcomes]:
    """Return the runs and their verdicts for each left-hand side."""
    blocks: list[PanelOutcomes] = []
    for side in _left_sides(outcomes):
        block: list[tuple[Outcome, list[Verdict]]] = []
        for outcome in outcomes:
            verdicts = [v for v in outcome.verdicts if left_side_formula(v) == side]
            if verdicts:
                block.append((outcome, verdicts))
        blocks.append(block)
    return blocks


def _block_heights(
    shapes: Sequence[tuple[int, int]], lines: Sequence[int], blocks_per_row: int
) -> list[float]:
    """Return the height in inches of each row of blocks."""
    heights = []
    for start in range(0, len(shapes), blocks_per_row):
        row = slice(start, start + blocks_per_row)
        in_row = zip(shapes[row], lines[row])
        heights.append(
            max(0.35 + (1.75 + 0.135 * above) * shape[0] for shape, above in in_row)
        )
    return heights


def _with_one_measured_entry(handles: Handles) -> Handles:
    """Return the entries, with one for measured curves that have the same style.

    The title of a block says which left-hand side is measured.
    """
    measured = [label for label in handles if label.startswith("measured, ")]
    if len(measured) < 2:
        return handles
    merged: Handles = {}
    for label, handle in handles.items():
        around = label.rpartition(" (")[2]
        merged.setdefault(f"measured ({around}" if label in measured else label, handle)
    return merged


def _legend_order(handles: Handles) -> list[str]:
    """Return the labels in order: measured values, bounds, known values."""

    def sort_key(label: str) -> tuple[bool, bool]:
        return label == KNOWN, not label.startswith("measured")

    return sorted(handles, key=sort_key)


def _legend_handles(ax: Axes) -> Handles:
    """Return the artists of an axes that have labels, by label."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles))


def along(outcomes: Sequence[Outcome]) -> Figure:
    """Draw measured values and bounds at the last horizon over a varied quantity.

    There is one panel for each varied quantity (``case.along``) and left-hand side.
    Verdicts that are not applicable are not drawn.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Runs with their verdicts; ``case.along`` is the quantity that varies.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        As for :func:`panels`.
    """
    import matplotlib.pyplot as plt

    check_drawable([v for outcome in outcomes for v in outcome.verdicts])
    names = list(dict.fromkeys(outcome.case.along for outcome in outcomes))
    sides = _left_sides(outcomes)
    handles: Handles = {}
    with look.style():
        figure, grid = plt.subplots(
            len(sides),
            len(names),
            figsize=(look.TWO_COLUMNS, 0.5 + 2.1 * len(sides)),
            squeeze=False,
            layout="constrained",
        )
        for (i, j), ax in np.ndenumerate(grid):
            name = names[j]
            theorem = _verdicts_on(sides[i], outcomes)[0].theorem
            label = symbol(name, theorem)
            if name == "lam":
                label = f"$1-{label[1:]}"
            ax.set(xscale="log", yscale="log", xlabel=label)
            if j == 0:
                ax.set_ylabel(formula(theorem))
            varied = [outcome for outcome in outcomes if outcome.case.along == name]
            verdicts = [
                verdict
                for verdict in _verdicts_on(sides[i], varied)
                if verdict.kind != "not applicable"
            ]
            if verdicts:
                _draw_points(ax, verdicts, name)
            handles |= _legend_handles(ax)
            set_text_size(ax)
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=len(handles),
        )
    return figure


def _verdicts_on(side: LeftSide, outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Return the verdicts of the outcomes on one left-hand side."""
    verdicts: list[Verdict] = []
    for outcome in outcomes:
        verdicts += [v for v in outcome.verdicts if left_side_formula(v) == side]
    return verdicts


def _draw_points(ax: Axes, verdicts: Sequence[Verdict], name: str) -> None:
    """Draw bounds and measured intervals over the quantity ``name`` (lam: 1 - lam)."""

    def position(verdict: Verdict) -> float:
        value = verdict.at[name]
        return 1 - value if name == "lam" else value

    for meaning, family in families(verdicts).items():
        points = sorted((position(v), v.bound) for v in family)
        label = f"bound, {family[0].variant}{refuted_note(family[0])}"
        x, y = zip(*points)
        line_style: dict[str, Any] = {"markersize": 3.5}
        line_style.update(look.MEANINGS.get(meaning, {}))
        ax.plot(x, y, label=label, **line_style)
    intervals = set()
    for verdict in verdicts:
        measured = verdict.measured
        interval = (measured.estimate, measured.low, measured.high)
        intervals.add((position(verdict), *interval))
    x, y, low, high = map(np.array, zip(*sorted(intervals)))
    # On a logarithmic axis, extend bars with a lower limit of 0 to the edge.
    bars = (y - np.maximum(low, 1e-9 * y), high - y)
    ax.errorbar(
        x,
        y,
        bars,
        label="measured",
        marker="o",
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
        **look.MEASURED,
    )
    label_points(ax, x)


def _grid_shape(block: PanelOutcomes) -> tuple[int, int]:
    """Return the numbers of rows and columns of panels.

    They are those of the cases if there is a case for each pair of a row and a column,
    and the columns fit. Otherwise the panels are placed in order.
    """
    rows = {outcome.case.row for outcome, _ in block}
    columns = {outcome.case.column for outcome, _ in block}
    complete = len(block) == len(rows) * len(columns)
    if complete and len(columns) <= _MOST_COLUMNS + 2:
        return len(rows), len(columns)
    per_row = min(_MOST_COLUMNS, len(block))
    return -(-len(block) // per_row), per_row


def _panel_places(
    block: PanelOutcomes, shape: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return the row and column of the panel of each run."""
    rows = list(dict.fromkeys(outcome.case.row for outcome, _ in block))
    columns = list(dict.fromkeys(outcome.case.column for outcome, _ in block))
    fits = shape == (len(rows), len(columns))
    if fits and len(block) == len(rows) * len(columns):
        return [
            (rows.index(outcome.case.row), columns.index(outcome.case.column))
            for outcome, _ in block
        ]
    return [divmod(index, shape[1]) for index in range(len(block))]


def _draw_block(
    part: SubFigure, block: PanelOutcomes, shape: tuple[int, int], width: float
) -> Handles:
    """Draw the panels of one left-hand side; return the legend's artists by label."""
    theorem = block[0][1][0].theorem
    part.suptitle(formula(theorem), fontsize=TEXT_SIZE)
    grid = part.subplots(*shape, squeeze=False, sharex=True, sharey=True)
    handles: Handles = {}
    used = np.zeros(shape, dtype=bool)
    places = _panel_places(block, shape)
    notes_above = [_wrapped_notes(verdicts, width) for _, verdicts in block]
    most_lines = [0] * shape[0]
    for (row, _), lines in zip(places, notes_above):
        most_lines[row] = max(most_lines[row], len(lines))
    for place, lines, (outcome, verdicts) in zip(places, notes_above, block):
        ax = grid[place]
        used[place] = True
        draw_run(ax, verdicts)
        most = most_lines[place[0]]
        write_above(ax, lines + [""] * (most - len(lines)))
        title = _title(outcome, width, theorem)
        pad = 4 + _NOTE_LINE * most
        ax.set_title(title, fontsize=TEXT_SIZE, pad=pad)
        ax.set_ylabel("")  # the title of the block shows the formula
        set_text_size(ax)
        handles |= _legend_handles(ax)
    _label_outer_axes(grid, used, horizon_label(theorem))
    return handles


def _wrapped_notes(verdicts: Sequence[Verdict], width: float) -> list[str]:
    """Return the lines above a panel."""
    lines: list[str] = []
    for note in notes(verdicts, with_ratios=True):
        lines += wrapped(note, width).split("\n")
    return lines


def _note_lines(block: PanelOutcomes, width: float) -> int:
    """Return the largest number of lines above a panel of a block."""
    return max(len(_wrapped_notes(verdicts, width)) for _, verdicts in block)


def _label_outer_axes(grid: np.ndarray, used: NDArray[np.bool_], horizon: str) -> None:
    """Label the axes at the left and lower edges and hide unused ones."""
    for (i, j), ax in np.ndenumerate(grid):
        ax.set_visible(used[i, j])
        is_lowest = not used[i + 1 :, j].any()
        ax.tick_params(labelbottom=is_lowest, labelleft=j == 0)
        ax.set_xlabel(horizon if is_lowest else "")


def _title(outcome: Outcome, width: float, theorem: Theorem) -> str:
    """Return the case and its lambda, in lines that fit into ``width`` inches."""
    case = outcome.case
    gap = gap_label(outcome.run.network.lam, theorem)
    place = _join_nonempty(", ", setting_in_symbols(case.place), gap) or "run"
    if text_width(place) <= width:
        return place
    row = _join_nonempty(", ", setting_in_symbols(case.row), gap)
    title = _join_nonempty("\n", setting_in_symbols(case.column), row)
    return wrapped(title, width)


def _join_nonempty(separator: str, *texts: str) -> str:
    return separator.join(filter(None, texts))


__all__ = ["along", "panels"]
