"""What all figures share: look, colors by meaning, widths of a paper's columns, files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dfltheory.bounds.clauses import Statement

ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0
"""Widths [inches] of a figure that goes into one column of a paper, or across two."""

MEANINGS: dict[str, dict[str, Any]] = {
    "printed": {"color": "#D55E00", "linestyle": (0, (6, 2)), "linewidth": 2.6, "marker": "s"},
    "appendix": {"color": "#CC79A7", "linestyle": (0, (1.2, 1.2)), "linewidth": 1.9, "marker": "^"},
    "corrected": {"color": "#009E73", "linestyle": "-.", "linewidth": 1.2, "marker": "D"},
}
"""How a bound is drawn: by what its variant means, in Okabe and Ito's colors, with dashes and markers for
prints in gray. Variants often agree: each is thinner than the one before, so that all are seen."""

MEASURED: dict[str, Any] = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6}

_COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
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
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "dfltheory",  # the same figure is the same file
    "figure.dpi": 110,
    "savefig.dpi": 200,
}


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure of this package, for the time of a ``with`` block."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):  # pyright: ignore[reportArgumentType]
        yield


def looks() -> Iterator[dict[str, Any]]:
    """Endless line styles: color, dashes and marker all differ from one to the next."""
    for color, dashes, marker in zip(cycle(_COLORS), cycle(_DASHES), cycle(_MARKERS)):
        yield {"color": color, "linestyle": dashes, "marker": marker, "markersize": 3.5}


def axes(ax: Axes | None) -> Axes:
    """The axes that are given, or those of a new figure, one column wide."""
    import matplotlib.pyplot as plt

    return ax if ax is not None else plt.figure(figsize=(ONE_COLUMN, 2.6), layout="constrained").gca()


def literal(text: str) -> str:
    """Text that comes from outside, in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def gap_label(lam: float | None) -> str:
    r"""``$\lambda$ = 0.667``; rounding's zeros are zeros; nothing where there is no lambda."""
    return "" if lam is None else rf"$\lambda$ = {0.0 if lam < 1e-12 else lam:.2g}"


def formula(thm: Statement) -> str:
    """The statement's left-hand side as a label: its formula, or its measure's name where matplotlib's
    mathematics cannot set it."""
    from matplotlib.mathtext import MathTextParser

    text = re.sub(
        r"\\frac ?(\w)(\w|\\[a-z]+)", r"\\frac{\1}{\2}", thm.lhs.latex
    )  # which knows TeX's \frac1T not
    text = re.sub(r"\\[Bb]ig(?![a-z])", "", re.sub(r"\\le(?![a-z])", r"\\leq", text))
    try:
        MathTextParser("path").parse(f"${text}$")
    except ValueError:
        return literal(thm.lhs.measure.replace("_", " "))
    return f"${text}$"


_DATE = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
"""What each format says of when and by which release a file was made: nothing, here."""


def _powers(figure: Figure) -> None:
    """Print 10⁻³ on logarithmic axes in characters: a formula at each tick takes half of a file's time."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x: float, pos: int | None = None) -> str:
            text = super().__call__(x, pos).replace(r"$\mathdefault{", "").replace("}$", "")
            power = re.sub(r"\^\{(-?\d+)\}", lambda found: found[1].translate(_RAISED), text)
            return power.replace(r"\times", "×")

    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
            axis.set_major_formatter(Powers())
        if isinstance(axis.get_minor_formatter(), LogFormatterSciNotation):
            axis.set_minor_formatter(Powers())


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the path's suffix, atomically, without a trace of when; close it."""
    import matplotlib.pyplot as plt

    with replacing(path) as temporary, style():
        figure.savefig(temporary, metadata={_DATE[path.suffix.lower()]: None})
    plt.close(figure)


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write ``name.png``, and ``name.pdf`` and ``name.svg`` (vectors); close the figure."""
    _powers(figure)
    paths = [Path(folder) / f"{name}{suffix}" for suffix in _DATE]
    for path in paths:
        write(figure, path)
    return paths
