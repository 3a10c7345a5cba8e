"""Axes of new figures, their text sizes, and legends below the axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dfltheory.errors import InputError
from dfltheory.plots.look import GRID_STYLE, ONE_COLUMN, TWO_COLUMNS, style
from dfltheory.plots.notation import TEXT_SIZE, text_width, wrapped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Entries = list[tuple["Artist", str]]
"""Artists of a legend with their labels."""

_HANDLE = 3.0
"""Length of the line in a legend entry, in multiples of the text size."""
_BESIDE_TEXT = (_HANDLE + 1.4) * TEXT_SIZE / 72
"""Width of an entry's line and of the space around it, in inches."""
_LEFT_OF_AXES = 0.6
"""Width of the labels to the left of the axes, in inches."""
_BETWEEN_COLUMNS = 1.2
"""Space between two columns of a legend, in multiples of the text size."""
_LINE = 9.4
"""Height of a line of text, in points."""
_BETWEEN_ENTRIES = 4.0
"""Space between two entries, in points."""
_AXES_HEIGHT = 2.05
"""Height of the axes of a new figure, excluding the labels below, in inches."""

_LEAST_HEIGHT = 1.6
"""Minimum height of given axes with their title, above a legend, in inches."""


@contextmanager
def styled_axes(
    ax: Axes | None, legend: bool, columns: int = 1, notes: Sequence[str] = ()
) -> Iterator[Axes]:
    """Yield axes in the package's style; at the end, place a legend below them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes to draw on; None makes a new figure.
    legend : bool
        Whether to draw a legend.
    columns : {1, 2}
        Columns of a paper that a new figure spans.
    notes : sequence of str
        Texts at the end of the legend.

    Yields
    ------
    matplotlib.axes.Axes
        The axes.
    """
    with style():
        styled = axes(ax, columns)
        yield styled
        handles, labels = styled.get_legend_handles_labels()
        entries: Entries = []
        if legend:
            entries = [*zip(handles, labels), *notes_as_entries(notes)]
        finish(styled, entries, is_new=ax is None)


def axes(ax: Axes | None, columns: int = 1) -> Axes:
    """Return ``ax``, or if it is None the axes of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes to draw on.
    columns : {1, 2}
        Columns of a paper that a new figure spans.
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None:
        if not isinstance(ax, Axes):
            raise InputError(
                f"ax = {ax!r} must be matplotlib axes; to write a file, pass the"
                " figure of the returned axes to dfl.plots.save"
            )
        return ax
    if columns not in (1, 2):
        raise InputError(f"columns = {columns!r} must be 1 or 2, the columns of a page")
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    new = plt.figure(figsize=(width, 2.9), layout="constrained").gca()
    new.grid(True, **GRID_STYLE)  # also for ticks created outside of the style context
    return new


def notes_as_entries(texts: Sequence[str]) -> Entries:
    """Return legend entries that consist of text without a line."""
    from matplotlib.lines import Line2D

    return [(Line2D([], [], linestyle="none"), text) for text in texts]


def finish(
    ax: Axes, entries: Entries, *, is_new: bool, below_ticks: float | None = None
) -> None:
    """Set the text size of axes, and place a legend below them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with their final labels and title.
    entries : list of (Artist, str)
        Entries of the legend; if empty, there is no legend.
    is_new : bool
        Whether the figure was created for these axes. Its height is then chosen such
        that the axes keep their height.
    below_ticks : float, optional
        Height of the tick labels of the horizontal axis in points; by default one line.
    """
    set_text_size(ax)
    figure = ax.get_figure()
    root = ax.get_figure(root=True)
    if figure is None or root is None:
        return
    below = _LINE if below_ticks is None else below_ticks
    below += 8 + (_LINE + 3 if ax.get_xlabel() else 0)
    height = 0.0
    if entries:
        height = _legend_below(ax, entries, below)
    if is_new:
        root.set_figheight(_AXES_HEIGHT + (below + height) / 72)
    elif height and root is figure:
        _keep_height(ax, root, (below + height) / 72)


def _keep_height(ax: Axes, figure: Figure, below: float) -> None:
    """Make a figure taller if the legend would leave too little room for its axes."""
    grid = ax.get_subplotspec()
    if grid is None or grid.get_topmost_subplotspec() is not grid:
        return
    rows = grid.get_gridspec().nrows / len(grid.rowspan)
    needed = rows * (_LEAST_HEIGHT + below)
    if figure.get_figheight() < needed:
        figure.set_figheight(needed)


def set_text_size(ax: Axes) -> None:
    """Set the size of labels and ticks, including ticks that are added later."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_fontsize(TEXT_SIZE)
        axis.get_offset_text().set_fontsize(TEXT_SIZE)
    ax.tick_params(which="both", labelsize=TEXT_SIZE)


def _legend_below(ax: Axes, entries: Entries, below: float) -> float:
    """Draw a legend ``below`` points under the axes; return its height in points."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = ax.get_figure()
    root = ax.get_figure(root=True)
    assert figure is not None
    assert root is not None
    grid = ax.get_subplotspec()
    if grid is None:
        return _legend_inside(ax, entries)
    if root.get_layout_engine() is None:
        root.set_layout_engine("constrained")  # makes room for the legend
    is_alone = grid.get_gridspec().ncols == len(grid.colspan)
    width = axes_width(ax)
    if is_alone:
        width = figure.bbox.width / figure.dpi - 0.1
    labels = [wrapped(label, width - _BESIDE_TEXT) for _, label in entries]
    count = _legend_columns(labels, width)
    offset = ScaledTranslation(0, -below / 72, figure.dpi_scale_trans)
    across = figure.transSubfigure if is_alone else ax.transAxes
    ax.legend(
        [handle for handle, _ in entries],
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=blended_transform_factory(across, ax.transAxes + offset),
        ncols=count,
        fontsize=TEXT_SIZE,
        handlelength=_HANDLE,
        columnspacing=_BETWEEN_COLUMNS,
        borderaxespad=0.3,
        frameon=False,
    )
    return _legend_height(labels, count)


def _legend_inside(ax: Axes, entries: Entries) -> float:
    """Draw a legend inside axes that belong to no layout; return 0."""
    width = 0.9 * ax.get_window_extent().width / ax.figure.dpi
    labels = [wrapped(label, width - _BESIDE_TEXT) for _, label in entries]
    ax.legend(
        [handle for handle, _ in entries],
        labels,
        loc="best",
        fontsize=TEXT_SIZE,
        handlelength=_HANDLE,
        framealpha=0.8,
    )
    return 0.0


def axes_width(ax: Axes) -> float:
    """Return the approximate width of axes in inches, without labels to their left."""
    figure = ax.get_figure()
    grid = ax.get_subplotspec()
    if figure is None or grid is None:
        return ax.bbox.width / ax.figure.dpi
    share = len(grid.colspan) / grid.get_gridspec().ncols
    return figure.bbox.width / figure.dpi * share - _LEFT_OF_AXES


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return the number of columns of entries that fit."""
    space = _BETWEEN_COLUMNS * TEXT_SIZE / 72
    for count in range(min(3, len(labels)), 1, -1):
        needed = (count - 1) * space
        for column in _columns(labels, count):
            needed += max(map(text_width, column)) + _BESIDE_TEXT
        if needed <= width:
            return count
    return 1


def _columns(labels: Sequence[str], count: int) -> list[Sequence[str]]:
    """Return the labels of each column of a legend, as matplotlib places them."""
    rows, longer = divmod(len(labels), count)
    columns: list[Sequence[str]] = []
    start = 0
    for column in range(count):
        end = start + rows + (column < longer)
        columns.append(labels[start:end])
        start = end
    return columns


def _legend_height(labels: Sequence[str], count: int) -> float:
    """Return the height in points of a legend with ``count`` columns."""
    heights = []
    for column in _columns(labels, count):
        lines = sum(1 + label.count("\n") for label in column)
        heights.append(lines * _LINE + len(column) * _BETWEEN_ENTRIES)
    return max(heights) + 8


def write_above(ax: Axes, lines: Sequence[str]) -> None:
    """Write lines between the title of a panel and its axes."""
    if not lines:
        return
    ax.annotate(
        "\n".join(lines),
        (0, 1),
        (0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=TEXT_SIZE,
        linespacing=1.05,
        color="0.25",
        va="bottom",
    )


__all__ = [
    "Entries",
    "axes",
    "axes_width",
    "finish",
    "notes_as_entries",
    "set_text_size",
    "styled_axes",
    "write_above",
]
