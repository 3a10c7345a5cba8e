"""Style shared by all figures: colors by meaning, figure widths, labels, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from dfltheory.errors import InputError
from dfltheory.files import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ONE_COLUMN = 3.4
"""Width in inches of a figure that fits into one column of a paper."""
TWO_COLUMNS = 7.0
"""Width in inches of a figure that spans two columns of a paper."""

Dashes = str | tuple[int, tuple[float, ...]]
"""A line style of matplotlib."""


class LineStyle(TypedDict):
    """Keyword arguments of ``Axes.plot`` that distinguish lines."""

    color: str
    linestyle: Dashes


class WideStyle(LineStyle):
    """A line style with its width."""

    linewidth: float


class MarkedStyle(LineStyle):
    """A line style with markers."""

    marker: str


class BoundStyle(MarkedStyle):
    """The line style of a bound."""

    linewidth: float


class CurveStyle(MarkedStyle):
    """The line style of one of several curves."""

    markersize: float


MEANINGS: dict[str, BoundStyle] = {
    "printed": {
        "color": "#D55E00",
        "linestyle": (0, (6, 2)),
        "linewidth": 2.6,
        "marker": "s",
    },
    "appendix": {
        "color": "#CC79A7",
        "linestyle": (0, (1.2, 1.2)),
        "linewidth": 1.9,
        "marker": "^",
    },
    "corrected": {
        "color": "#009E73",
        "linestyle": "-.",
        "linewidth": 1.2,
        "marker": "D",
    },
}
"""Line style of a bound by the meaning of its variant.

The colors are those of Okabe and Ito; dashes and markers distinguish the lines in
grayscale. Each style is thinner than the one before it, so that lines that coincide
stay visible.
"""

MEASURED: WideStyle = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6}
"""Line style of measured values."""

_COLORS = (
    "#000000",
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
)
_DASHES: tuple[Dashes, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: dict[str, object] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # embeds TrueType fonts: publishers reject Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "dfltheory",  # makes SVG files reproducible
    "figure.dpi": 110,
    "savefig.dpi": 200,
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of this package's figures within a ``with`` block."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):  # pyright: ignore[reportArgumentType]
        yield


def looks() -> Iterator[CurveStyle]:
    """Yield line styles without end; seven in a row differ in color, dash and marker.

    Yields
    ------
    dict
        Keyword arguments of ``Axes.plot``.
    """
    for color, dashes, marker in zip(cycle(_COLORS), cycle(_DASHES), cycle(_MARKERS)):
        yield {
            "color": color,
            "linestyle": dashes,
            "marker": marker,
            "markersize": 3.5,
        }


def style_of(meaning: str) -> MarkedStyle:
    """Return the line style of a bound whose variant has this meaning."""
    return MEANINGS.get(meaning) or next(looks())


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

    if ax is not None:
        return ax
    if columns not in (1, 2):
        raise InputError(f"columns = {columns!r} must be 1 or 2, the columns of a page")
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    return plt.figure(figsize=(width, 2.9), layout="constrained").gca()


_CHARACTERS = {1: 62, 2: 130}
"""Characters of a row of the legend, by the columns of the page that a figure spans."""


def text_width(columns: int) -> int:
    """Return the characters of a wrapped line of the legend."""
    return 46 if columns == 1 else 104


def legend_below(
    ax: Axes,
    handles: Sequence[Artist],
    labels: Sequence[str],
    columns: int = 1,
    *,
    tick_lines: int = 1,
    resize: bool = False,
) -> None:
    """Place a legend below the label of the horizontal axis, clear of any title.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with their final label.
    handles, labels : sequences
        Entries of the legend.
    columns : {1, 2}
        Columns of a paper that the figure spans.
    tick_lines : int
        Lines of the labels of the ticks.
    resize : bool
        Whether the figure has these axes alone: then the legend is centered in it,
        and its height is chosen so that the axes keep theirs.
    """
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = ax.get_figure()
    if not labels or figure is None:
        return
    longest = max(len(line) for text in labels for line in text.split("\n"))
    room = _CHARACTERS.get(columns, _CHARACTERS[1])
    ncols = max(1, min(3, len(labels), room // (longest + 8)))
    line = 1.2 * float(ax.xaxis.label.get_fontsize())  # in points
    below = 7 + line * tick_lines + (4 + line if ax.get_xlabel() else 0)
    offset = ScaledTranslation(0, -below / 72, figure.dpi_scale_trans)
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=blended_transform_factory(
            figure.transFigure if resize else ax.transAxes, ax.transAxes + offset
        ),
        ncols=ncols,
        handlelength=3.0,
        columnspacing=1.2,
        borderaxespad=0.3,
    )
    if resize:
        lines = sum(1 + text.count("\n") for text in labels)
        height = 2.35 + 0.145 * -(-lines // ncols)
        figure.set_figheight(height)  # type: ignore[union-attr]


@contextmanager
def styled_axes(ax: Axes | None, legend: bool, columns: int = 1) -> Iterator[Axes]:
    """Yield axes in the package's style; at the end, place a legend below them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes to draw on; None makes a new figure.
    legend : bool
        Whether to draw a legend.
    columns : {1, 2}
        Columns of a paper that a new figure spans.

    Yields
    ------
    matplotlib.axes.Axes
        The axes.
    """
    with style():
        styled = axes(ax, columns)
        yield styled
        if legend:
            handles, labels = styled.get_legend_handles_labels()
            legend_below(styled, handles, labels, columns, resize=ax is None)


_DATE_FIELDS = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
"""Metadata field of each format that holds a date or version; it is left empty."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _exponent_in_superscripts(match: re.Match[str]) -> str:
    return match[1].translate(_SUPERSCRIPTS)


def _use_plain_powers(figure: Figure) -> None:
    """Format ticks of logarithmic axes as plain text such as 10⁻³.

    Typesetting a formula for each tick takes half of the time of writing a file.
    """
    from matplotlib.ticker import LogFormatterSciNotation

    class PlainPowers(LogFormatterSciNotation):
        def __call__(self, x: float, pos: int | None = None) -> str:
            text = super().__call__(x, pos)
            text = text.replace(r"$\mathdefault{", "").replace("}$", "")
            text = re.sub(r"\^\{(-?\d+)\}", _exponent_in_superscripts, text)
            return text.replace(r"\times", "×")

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
                axis.set_major_formatter(PlainPowers())
            if isinstance(axis.get_minor_formatter(), LogFormatterSciNotation):
                axis.set_minor_formatter(PlainPowers())


def write(figure: Figure, path: Path, dpi: int | None = None) -> None:
    """Write a figure atomically and close it.

    The suffix of the path gives the format. The file contains no date, so equal
    figures give equal files.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure to write.
    path : Path
        File with the suffix .png, .pdf or .svg.
    dpi : int, optional
        Resolution of a PNG file.
    """
    import matplotlib.pyplot as plt

    metadata = {_DATE_FIELDS[path.suffix.lower()]: None}
    with replacing(path) as temporary, style():
        figure.savefig(temporary, metadata=metadata, dpi=dpi)
    plt.close(figure)


def save(figure: Figure, path: str | Path) -> list[Path]:
    """Write a figure for a paper, and close it.

    Fonts are embedded as TrueType (Type 42) in PDF files, and PNG files have 300
    pixels an inch.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure to write.
    path : str or Path
        File with the suffix .png, .pdf or .svg. Without a suffix, all three are
        written.

    Returns
    -------
    list of Path
        The file; or the three files, in the order PNG, PDF, SVG.

    Raises
    ------
    InputError
        If the path has another suffix.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix and suffix not in _DATE_FIELDS:
        allowed = ", ".join(_DATE_FIELDS)
        raise InputError(
            f"path = {str(path)!r} has the suffix {suffix}: give one of {allowed}, or"
            " none for all three"
        )
    _use_plain_powers(figure)
    paths = [path]
    if not suffix:
        paths = [path.with_name(f"{path.name}{known}") for known in _DATE_FIELDS]
    for each in paths:
        if each.suffix.lower() == ".png":
            write(figure, each, dpi=300)
        else:
            write(figure, each)
    return paths
