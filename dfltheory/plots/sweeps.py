"""Figures of sweeps: ratios over a column of the table, and fitted rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.labels import (
    label_points,
    mark_violated_region,
    plain_number,
)
from dfltheory.plots.look import (
    MEASURED,
    CurveStyle,
    axes,
    looks,
    style,
    styled_axes,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


AXIS_NAMES = {
    "T": "horizon $T$ (rounds)",
    "rounds": "horizon $T$ (rounds)",
    "K": "local steps $K$",
    "Q": "gossip steps $Q$",
    "m": "clients $m$",
    "eta": r"step size $\eta$",
    "rho": r"SAM radius $\rho$",
    "alpha": r"momentum $\alpha$",
    "sigma": r"noise $\sigma$",
    "zeta": r"heterogeneity $\zeta$",
    "seeds": "seeds",
}
"""Label of an axis by the last part of a dotted field, as ``algorithm.K``."""


def axis_name(field: str) -> str:
    """Return the label of an axis for a field of an experiment file, as in a paper."""
    section, _, name = field.rpartition(".")
    if name == "name":
        return section or field
    return AXIS_NAMES.get(name, name.replace("_", " ") if name else field)


def ratio_over(
    parameter: str,
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    by: str = "variant",
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw measured / bound of the verdicts of a sweep over one of its parameters.

    Each point has the step size of its own cell, so with a schedule the figure shows
    how tightness depends on T under that schedule.

    Parameters
    ----------
    parameter : str
        Column of the horizontal axis, for example "algorithm.K" or "run.rounds".
        Numbers give a logarithmic axis, other values one tick each.
    frame : pandas.DataFrame
        The tidy table of a sweep, with columns "ratio", "ratio_low", "ratio_high".
    by : str
        Column whose values get a line each.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

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
    for name in (parameter, by, "ratio"):
        if name not in frame.columns:
            known = set(map(str, frame.columns))
            raise UnknownNameError("column of the table", name, known)
    rows_with_ratio = frame[np.isfinite(frame["ratio"].astype(float))]
    if rows_with_ratio.empty:
        raise InputError("column ratio has no finite value: no verdict was applicable")
    categories = list(dict.fromkeys(rows_with_ratio[parameter]))
    is_numeric = all(isinstance(value, Number) for value in categories)
    groups = list(rows_with_ratio.groupby(by, sort=False))
    lowest = 1.0
    with styled_axes(ax, legend, columns) as styled:
        for index, ((label, rows), line_style) in enumerate(zip(groups, looks())):
            shift = index - (len(groups) - 1) / 2  # keeps groups from overlapping
            if is_numeric:
                rows = rows.sort_values(parameter)
                positions = rows[parameter].to_numpy(float) * 1.03**shift
            else:
                places = [
                    categories.index(value) + 0.12 * shift for value in rows[parameter]
                ]
                positions = np.array(places)
                line_style["linestyle"] = "none"
            lowest_of_group = _draw_ratios(
                styled, positions, rows, _with_range(str(label), rows), line_style
            )
            lowest = min(lowest, lowest_of_group)
        mark_violated_region(styled)
        styled.set(yscale="log", ylabel="measured / bound", xlabel=axis_name(parameter))
        styled.set_ylim(bottom=lowest / 1.5 if lowest > 0 else None)
        if is_numeric:
            styled.set_xscale("log")
        else:
            styled.set_xticks(
                range(len(categories)), [str(value) for value in categories]
            )
    return styled


def _with_range(label: str, rows: pd.DataFrame) -> str:
    """Return a label with how far its bounds are above the measurements."""
    positive = rows["ratio"].to_numpy(float)
    positive = positive[positive > 0]
    if not positive.size:
        return label
    ends = [plain_number(1 / end) for end in (positive.max(), positive.min())]
    return f"{label}: {' to '.join(dict.fromkeys(ends))} × measured"


def _draw_ratios(
    ax: Axes,
    positions: NDArray[np.float64],
    rows: pd.DataFrame,
    label: str,
    line_style: CurveStyle,
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


def rates(
    fits: Any,
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw fitted rates with the exponents that the theorem predicts.

    Parameters
    ----------
    fits : RateFit, sequence of RateFit, or mapping
        Results of :func:`dfltheory.rate_fit`, or by their labels. One fit is drawn at
        its own values. Several are drawn relative to their first points.
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
        named = [(str(label), fit) for label, fit in fits.items()]
    else:
        listed = list(fits) if isinstance(fits, Sequence) else [fits]
        named = [(fit.vary, fit) for fit in listed]
    if not named:
        raise InputError("there is no fit to draw: give at least one")
    if len(named) == 1:
        with style():
            drawn = axes(ax, columns)
        return named[0][1].plot(drawn, legend=legend)
    with styled_axes(ax, legend, columns) as styled:
        for (name, fit), line_style in zip(named, looks()):
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
        Exponent that a corollary claims; its line starts at the first point.
    xlabel, ylabel : str
        Labels of the axes.
    ax, legend
        Axes and legend, as :mod:`dfltheory.plots` describes them.

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
