"""Style shared by all figures: colors by meaning, figure widths, labels, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dfltheory.bounds.clauses import Statement

ONE_COLUMN = 3.4
"""Width in inches of a figure that fits into one column of a paper."""
TWO_COLUMNS = 7.0
"""Width in inches of a figure that spans two columns of a paper."""

MEANINGS: dict[str, dict[str, Any]] = {
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

MEASURED: dict[str, Any] = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6}
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
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: dict[str, Any] = {
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
    "pdf.fonttype": 42,  # embeds fonts, so that text stays text
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


def looks() -> Iterator[dict[str, Any]]:
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


def axes(ax: Axes | None) -> Axes:
    """Return ``ax``, or the axes of a new one-column figure if it is None."""
    import matplotlib.pyplot as plt

    if ax is not None:
        return ax
    return plt.figure(figsize=(ONE_COLUMN, 2.6), layout="constrained").gca()


def label_points(ax: Axes, x: NDArray[np.float64]) -> None:
    """Label up to six of the points on an axis that is too short for powers of ten.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with a logarithmic horizontal axis.
    x : (n,) array
        Horizontal coordinates of the points.
    """
    from matplotlib.ticker import NullLocator

    places = np.unique(x)
    step = -(-len(places) // 6)
    places = places[::step]
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.xaxis.set_minor_locator(NullLocator())


@contextmanager
def styled_axes(ax: Axes | None, legend: bool) -> Iterator[Axes]:
    """Yield axes in the package's style; at the end, place a legend above them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes to draw on; None makes a new figure.
    legend : bool
        Whether to draw a legend.

    Yields
    ------
    matplotlib.axes.Axes
        The axes.
    """
    with style():
        styled = axes(ax)
        yield styled
        if legend:
            labels = styled.get_legend_handles_labels()[1]
            styled.legend(
                loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
                ncols=3 if len(labels) > 4 else 2,
                handlelength=3.2,
                columnspacing=1.2,
            )


def mark_violated_region(ax: Axes) -> None:
    """Draw a line at ratio 1 and label the region above it."""
    ax.axhline(1.0, color="0.4", linewidth=0.8)
    ax.annotate(
        "violated above",
        (1, 1),
        (-2, 2),
        fontsize=6,
        color="0.4",
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
    )


def literal(text: str) -> str:
    """Return text with dollar signs escaped, so that none starts a formula."""
    return text.replace("$", r"\$")


def gap_label(lam: float | None) -> str:
    r"""Return a label such as ``$\lambda$ = 0.67``.

    Values below 1e-12 are rounding errors and shown as 0. The label is empty if
    ``lam`` is None.
    """
    if lam is None:
        return ""
    value = 0.0 if lam < 1e-12 else lam
    return rf"$\lambda$ = {value:.2g}"


def formula(thm: Statement) -> str:
    """Return the label of a statement's left-hand side.

    Parameters
    ----------
    thm : Statement
        A registered or loaded statement.

    Returns
    -------
    str
        The formula, or the name of the measure if matplotlib cannot typeset it.
    """
    from matplotlib.mathtext import MathTextParser

    # matplotlib does not support TeX's \frac1T, \Big and \le
    text = re.sub(r"\\frac ?(\w)(\w|\\[a-z]+)", r"\\frac{\1}{\2}", thm.lhs.latex)
    text = re.sub(r"\\le(?![a-z])", r"\\leq", text)
    text = re.sub(r"\\[Bb]ig(?![a-z])", "", text)
    try:
        MathTextParser("path").parse(f"${text}$")
    except ValueError:
        return literal(thm.lhs.measure.replace("_", " "))
    return f"${text}$"


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


def write(figure: Figure, path: Path) -> None:
    """Write a figure atomically and close it.

    The suffix of the path gives the format. The file contains no date, so equal
    figures give equal files.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure to write.
    path : Path
        File with the suffix .png, .pdf or .svg.
    """
    import matplotlib.pyplot as plt

    metadata = {_DATE_FIELDS[path.suffix.lower()]: None}
    with replacing(path) as temporary, style():
        figure.savefig(temporary, metadata=metadata)
    plt.close(figure)


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write a figure as PNG, PDF and SVG, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure to write.
    folder : str or Path
        Folder of the files.
    name : str
        File name without suffix.

    Returns
    -------
    list of Path
        The three files, in the order PNG, PDF, SVG.
    """
    _use_plain_powers(figure)
    paths = [Path(folder) / f"{name}{suffix}" for suffix in _DATE_FIELDS]
    for path in paths:
        write(figure, path)
    return paths
