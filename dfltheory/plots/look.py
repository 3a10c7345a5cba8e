"""Style shared by all figures: colors by meaning, figure widths, labels, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from dfltheory.errors import InputError
from dfltheory.files import replacing
from dfltheory.plots.notation import TEXT_SIZE

if TYPE_CHECKING:
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

The colors are from Okabe and Ito; dashes and markers distinguish the lines in
grayscale. Each style is thinner than the preceding one, so that coinciding lines remain
visible.
"""

MEASURED: WideStyle = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6}
"""Line style of measured values."""

_OTHER_MEASURED: tuple[WideStyle, ...] = (
    {"color": "#56B4E9", "linestyle": (0, (3, 1)), "linewidth": 1.6},
    {"color": "#000000", "linestyle": (0, (5, 1, 1, 1)), "linewidth": 1.6},
    {"color": "#0072B2", "linestyle": (0, (1, 1)), "linewidth": 1.6},
)
"""Line styles of measured values for additional left-hand sides on the same axes."""

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

GRID_STYLE = {"color": "0.9", "linewidth": 0.5}
"""Style of the grid lines of new axes."""
TRUETYPE = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""matplotlib settings that embed TrueType fonts; publishers reject Type 3."""

_STYLE: dict[str, object] = {
    **dict.fromkeys(
        (
            "font.size",
            "axes.titlesize",
            "axes.labelsize",
            "legend.fontsize",
            "xtick.labelsize",
            "ytick.labelsize",
            "figure.titlesize",
        ),
        TEXT_SIZE,
    ),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    **{f"grid.{name}": value for name, value in GRID_STYLE.items()},
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    **TRUETYPE,
    "svg.hashsalt": "dfltheory",  # makes SVG files reproducible
    "figure.dpi": 110,
    "savefig.dpi": 200,
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of this package's figures within a ``with`` block.

    The setting of TrueType fonts persists afterwards, because matplotlib reads it when
    a file is written; so ``figure.savefig`` embeds them, too.
    """
    import matplotlib as mpl

    mpl.rcParams["pdf.fonttype"] = TRUETYPE["pdf.fonttype"]
    mpl.rcParams["ps.fonttype"] = TRUETYPE["ps.fonttype"]
    with mpl.rc_context(_STYLE):  # pyright: ignore[reportArgumentType]
        yield


def looks() -> Iterator[CurveStyle]:
    """Yield line styles forever; any seven in a row differ in color, dash and marker.

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


def measured_style(index: int = 0) -> WideStyle:
    """Return the line style of measured values of one of several left-hand sides."""
    styles = (MEASURED, *_OTHER_MEASURED)
    return styles[index % len(styles)].copy()


def style_of(meaning: str) -> MarkedStyle:
    """Return the line style of a bound by the meaning of its variant."""
    return MEANINGS.get(meaning) or next(looks())


_DATE_FIELDS = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
"""Metadata field of each format that contains a date or version; it is left empty."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _exponent_in_superscripts(match: re.Match[str]) -> str:
    """Return the first group of a match in superscript digits."""
    return match[1].translate(_SUPERSCRIPTS)


def _use_plain_powers(figure: Figure) -> None:
    """Format ticks of logarithmic axes as plain text such as 10⁻³.

    Typesetting a formula for each tick would take half of the time to write a file.
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


def write_figure(figure: Figure, path: Path, dpi: int | None = None) -> None:
    """Write a figure atomically and close it.

    The suffix of the path determines the format. The file contains no date, so equal
    figures yield equal files.

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
    pixels per inch.

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
    with _layout_solved_once(figure):
        for file in paths:
            if file.suffix.lower() == ".png":
                write_figure(figure, file, dpi=300)
            else:
                write_figure(figure, file)
    return paths


@contextmanager
def _layout_solved_once(figure: Figure) -> Iterator[None]:
    """Compute the layout of a figure, and freeze it within a ``with`` block.

    Otherwise matplotlib computes it again for every format, which takes as long as
    drawing.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        yield
        return
    with style():
        engine.execute(figure)
    figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
