"""Texts in figures: multiples of measurements, spectral gaps, formulas, tick labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.plots.notation import TEXT_SIZE, is_formula, symbol, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.statement import Statement


_ABOVE_ONE = 0.13
"""Fraction of a logarithmic axis that the label of the region above 1 occupies."""


def times_measured(ratio: float) -> str:
    """Return a bound as a multiple of the measurement, such as "12 × measured".

    Parameters
    ----------
    ratio : float
        measured / bound; the text is empty if it is not positive and finite.
    """
    if not (np.isfinite(ratio) and ratio > 0):
        return ""
    return f"{plain_number(1 / ratio)} × measured"


def plain_number(value: float) -> str:
    """Return a number with two digits, such as 0.031, 12, 18000 or 1.8e6."""
    text = f"{value:.2g}"
    if 100 <= abs(value) < 99_500:
        return f"{float(text):.0f}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def with_range(label: str, ratios: ArrayLike) -> str:
    """Return a label followed by the range of bound / measured."""
    positive = np.asarray(ratios, dtype=float)
    positive = positive[np.isfinite(positive) & (positive > 0)]
    if not positive.size:
        return label
    ends = [plain_number(1 / end) for end in (positive.max(), positive.min())]
    return f"{label}: {' to '.join(dict.fromkeys(ends))} × measured"


def literal(text: str) -> str:
    """Return text with escaped dollar signs, so that it contains no formulas."""
    return text.replace("$", r"\$")


def gap_label(lam: float | None, theorem: Statement | None = None) -> str:
    r"""Return a label such as ``$\lambda$ = 0.67``.

    Values below 1e-12 are rounding errors and shown as 0. The label is empty if
    ``lam`` is None. The symbol is that of the theorem, if one is given.
    """
    if lam is None:
        return ""
    value = 0.0 if lam < 1e-12 else lam
    return f"{symbol('lam', theorem)} = {value:.2g}"


def horizon_label(theorem: Statement | None = None) -> str:
    """Return the label of an axis of horizons, in the notation of the theorem."""
    return f"horizon {symbol('T', theorem)} (rounds)"


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
    text = typeset(thm.lhs.latex).replace(r"\frac", r"\dfrac")
    if is_formula(text):
        return f"${text}$"
    return literal(thm.lhs.measure.replace("_", " "))


def label_points(ax: Axes, x: NDArray[np.float64]) -> None:
    """Label up to six points on an axis that is too short for powers of ten.

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
    """Draw a line at ratio 1 and label the region above it.

    It must be called after the scale and the data of the axes are set.
    """
    ax.axhline(1.0, color="0.4", linewidth=0.8)
    low, high = ax.get_ylim()
    ax.set_ylim(top=max(high, min(low, 1.0) ** -_ABOVE_ONE))
    ax.annotate(
        "violated above",
        (1, 1),
        (-2, 2),
        fontsize=TEXT_SIZE,
        color="0.4",
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
    )


__all__ = [
    "formula",
    "gap_label",
    "horizon_label",
    "label_points",
    "literal",
    "mark_violated_region",
    "plain_number",
    "times_measured",
    "with_range",
]
