"""Figures of sweeps: ratios over a column of the table, and fitted rates."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.look import (
    MEASURED,
    label_points,
    looks,
    mark_violated_region,
    styled_axes,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def ratios(
    frame: pd.DataFrame,
    x: str,
    ax: Axes | None = None,
    *,
    by: str = "variant",
    legend: bool = True,
) -> Axes:
    """Draw measured / bound of the verdicts of a sweep over one of its columns.

    Each point has the step size of its own cell, so with a schedule the figure shows
    how tightness depends on T under that schedule.

    Parameters
    ----------
    frame : pandas.DataFrame
        The tidy table of a sweep, with columns "ratio", "ratio_low", "ratio_high".
    x : str
        Column of the horizontal axis, for example "run.rounds". Numbers give a
        logarithmic axis, other values one tick each.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    by : str
        Column whose values get a line each.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UnknownNameError
        If the table does not have a column.
    InputError
        If no verdict in the table has a finite ratio.
    """
    for name in (x, by, "ratio"):
        if name not in frame.columns:
            known = set(map(str, frame.columns))
            raise UnknownNameError("column of the table", name, known)
    rows_with_ratio = frame[np.isfinite(frame["ratio"].astype(float))]
    if rows_with_ratio.empty:
        raise InputError("column ratio has no finite value: no verdict was applicable")
    categories = list(dict.fromkeys(rows_with_ratio[x]))
    is_numeric = all(isinstance(value, Number) for value in categories)
    groups = list(rows_with_ratio.groupby(by, sort=False))
    lowest = 1.0
    with styled_axes(ax, legend) as styled:
        for index, ((label, rows), line_style) in enumerate(zip(groups, looks())):
            shift = index - (len(groups) - 1) / 2  # keeps groups from overlapping
            if is_numeric:
                rows = rows.sort_values(x)
                positions = rows[x].to_numpy(float) * 1.03**shift
            else:
                places = [categories.index(value) + 0.12 * shift for value in rows[x]]
                positions = np.array(places)
                line_style["linestyle"] = "none"
            lowest_of_group = _draw_ratios(
                styled, positions, rows, str(label), line_style
            )
            lowest = min(lowest, lowest_of_group)
        mark_violated_region(styled)
        styled.set(yscale="log", ylabel="measured / bound", xlabel=x)
        styled.set_ylim(bottom=lowest / 1.5 if lowest > 0 else None)
        if is_numeric:
            styled.set_xscale("log")
        else:
            styled.set_xticks(
                range(len(categories)), [str(value) for value in categories]
            )
    return styled


def _draw_ratios(
    ax: Axes,
    positions: NDArray[np.float64],
    rows: pd.DataFrame,
    label: str,
    line_style: Mapping[str, Any],
) -> float:
    """Draw ratios with their intervals; return the lowest value to be visible."""
    mean = rows["ratio"].to_numpy(float)
    low = rows["ratio_low"].to_numpy(float)
    high = rows["ratio_high"].to_numpy(float)
    # On a logarithmic axis a lower limit of 0 becomes a bar to the lower edge.
    down = mean - np.maximum(low, 1e-9 * mean)
    up = np.where(np.isfinite(high), high, mean) - mean
    ax.errorbar(
        positions,
        mean,
        yerr=(down, up),
        label=label,
        capsize=2,
        elinewidth=0.8,
        **line_style,
    )
    return min(np.where(low > 0, np.minimum(low, mean), mean / 4))


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
) -> Axes:
    """Draw points, a fitted power law and a predicted slope on logarithmic axes.

    Parameters
    ----------
    x, y : (n,) array_like
        Positive coordinates of at least two points.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    interval : pair of (n,) array_like, optional
        Lower and upper limits of y.
    fitted : pair of float, optional
        Exponent and factor of the fit y = factor * x**exponent.
    exponent_ci : pair of float, optional
        Confidence interval of the fitted exponent.
    predicted : float, optional
        Exponent that a corollary claims; its line starts at the first point.
    xlabel, ylabel : str
        Labels of the axes.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If x and y differ in length, have fewer than two points, or are not positive.
    """
    x_values = np.asarray(x, dtype=float)
    y_values = np.asarray(y, dtype=float)
    if x_values.shape != y_values.shape or x_values.ndim != 1 or x_values.size < 2:
        raise InputError(
            f"x and y have shapes {x_values.shape} and {y_values.shape}, not (n,)"
        )
    if not (np.all(x_values > 0) and np.all(y_values > 0)):
        raise InputError("x and y must be positive: the axes are logarithmic")
    with styled_axes(ax, legend) as styled:
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
            # wide and pale, so that a fit that coincides stays visible
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
