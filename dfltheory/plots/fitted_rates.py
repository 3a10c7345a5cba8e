"""Figures of fitted rates, with the exponents predicted by theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.errors import InputError
from dfltheory.plots.labels import label_points
from dfltheory.plots.layout import styled_axes
from dfltheory.plots.look import MEASURED, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rates(
    fits: Any,
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw fitted rates with the exponents predicted by the theorem.

    Parameters
    ----------
    fits : RateFit, sequence of RateFit, or mapping
        Results of :func:`dfltheory.rate_fit`, or a mapping from labels to them. A
        single fit is drawn at its own values, several relative to their first points.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no fit.
    """
    if isinstance(fits, Mapping):
        labeled = [(str(label), fit) for label, fit in fits.items()]
    else:
        listed = list(fits) if isinstance(fits, Sequence) else [fits]
        labeled = [(fit.label, fit) for fit in listed]
    if not labeled:
        raise InputError("there is no fit to draw: pass at least one")
    if len(labeled) == 1:
        return labeled[0][1].plot(ax, legend=legend, columns=columns)
    with styled_axes(ax, legend, columns) as styled:
        for (name, fit), line_style in zip(labeled, looks()):
            x, y = np.asarray(fit.x, float), np.asarray(fit.measured, float)
            label = f"{name}: slope {fit.exponent.estimate:.2f}"
            label += f" [{fit.exponent.low:.2f}, {fit.exponent.high:.2f}]"
            if fit.predicted is not None:
                label += f", predicted {fit.predicted:.2g}"
                slope = (x / x[0]) ** fit.predicted
                color = line_style["color"]
                styled.plot(x / x[0], slope, color=color, alpha=0.3, linewidth=3.5)
            styled.plot(x / x[0], y / y[0], label=label, **line_style)
        styled.set(xscale="log", yscale="log")
        styled.set(xlabel="quantity / first value", ylabel="measured / first value")
    return styled


def rate(
    x: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    interval: tuple[ArrayLike, ArrayLike] | None = None,
    fitted: tuple[float, float] | None = None,
    exponent_ci: tuple[float, float] | None = None,
    predicted: float | None = None,
    xlabel: str = "$T$",
    ylabel: str = "measured",
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw points, a fitted power law and a predicted slope on logarithmic axes.

    Parameters
    ----------
    x, y : (n,) array_like
        Positive coordinates of at least two points.
    interval : pair of (n,) array_like, optional
        Lower and upper limits of y.
    fitted : pair of float, optional
        Exponent and factor of the fit y = factor * x**exponent.
    exponent_ci : pair of float, optional
        Confidence interval of the fitted exponent.
    predicted : float, optional
        Exponent claimed by a corollary; its line starts at the first point.
    xlabel, ylabel : str
        Labels of the axes.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If x and y differ in length, have fewer than two points, or are not positive and
        finite.
    """
    x_values = np.asarray(x, dtype=float)
    y_values = np.asarray(y, dtype=float)
    if x_values.shape != y_values.shape or x_values.ndim != 1 or x_values.size < 2:
        raise InputError(
            f"x and y have shapes {x_values.shape} and {y_values.shape}; both must be"
            " (n,) with n >= 2"
        )
    numbers = np.concatenate([x_values, y_values])
    wrong = numbers[~(np.isfinite(numbers) & (numbers > 0))]
    if wrong.size:
        raise InputError(
            f"x and y contain {wrong[0]:g}; they must be positive and finite, because"
            " the axes are logarithmic"
        )
    with styled_axes(ax, legend, columns) as styled:
        bars = None
        if interval is not None:
            bars = np.abs(np.asarray(interval) - y_values)
        styled.errorbar(
            x_values,
            y_values,
            yerr=bars,
            capsize=2,
            zorder=3,
            label="measured",
            fmt="o",
            color="black",
            markersize=4,
            elinewidth=0.8,
        )
        grid = np.geomspace(x_values.min(), x_values.max(), 50)
        if fitted is not None:
            exponent, factor = fitted
            label = f"fit, slope {exponent:.2f}"
            if exponent_ci is not None:
                label += f" [{exponent_ci[0]:.2f}, {exponent_ci[1]:.2f}]"
            styled.plot(grid, factor * grid**exponent, label=label, **MEASURED)
        if predicted is not None:
            first = int(np.argmin(x_values))
            slope = y_values[first] * (grid / x_values[first]) ** predicted
            # wide and pale, so that a coinciding fit remains visible
            styled.plot(
                grid,
                slope,
                label=f"predicted, slope {predicted:.3g}",
                color="#E69F00",
                alpha=0.6,
                linewidth=4.0,
                zorder=1,
            )
        styled.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        if x_values.max() < 100 * x_values.min():
            label_points(styled, x_values)
    return styled
