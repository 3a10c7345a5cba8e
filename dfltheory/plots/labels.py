"""Texts in figures: multiples of measurements, spectral gaps, formulas, points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.statement import Statement


def times_measured(ratio: float) -> str:
    """Return a bound as a multiple of the measurement, as "12 × measured".

    Parameters
    ----------
    ratio : float
        measured / bound; the text is empty where it is not a positive number.
    """
    if not (np.isfinite(ratio) and ratio > 0):
        return ""
    return f"{plain_number(1 / ratio)} × measured"


def plain_number(value: float) -> str:
    """Return a number with two digits, as 0.031, 12, 18000 or 1.8e6."""
    text = f"{value:.2g}"
    if 100 <= abs(value) < 99_500:
        return f"{float(text):.0f}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


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

    # matplotlib does not support TeX's \frac1T, \Big, \le and \operatorname*
    text = re.sub(r"\\frac ?(\w)(\w|\\[a-z]+)", r"\\frac{\1}{\2}", thm.lhs.latex)
    text = re.sub(r"\\le(?![a-z])", r"\\leq", text)
    text = re.sub(r"\\[Bb]ig(?![a-z])", "", text)
    text = re.sub(r"\\operatorname\*?\{(\w+)\}", r"\\mathrm{\1}", text)
    try:
        MathTextParser("path").parse(f"${text}$")
    except ValueError:
        return literal(thm.lhs.measure.replace("_", " "))
    return f"${text}$"


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


__all__ = [
    "formula",
    "gap_label",
    "label_points",
    "literal",
    "mark_violated_region",
    "plain_number",
    "times_measured",
]
