"""Figures of sweeps: ratios over a column of the table, and fitted rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.bounds import registry
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.labels import (
    label_points,
    literal,
    mark_violated_region,
    with_range,
)
from dfltheory.plots.layout import styled_axes
from dfltheory.plots.look import MEASURED, CurveStyle, looks
from dfltheory.plots.notation import in_symbols, setting_in_symbols, symbol
from dfltheory.plots.notes import reason_in_symbols

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem


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
    if name in AXIS_NAMES:
        return AXIS_NAMES[name]
    if name in GLOSSARY:
        return symbol(name)
    return literal(name.replace("_", " ") if name else field)


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
    how tightness depends on T under that schedule. Verdicts without a positive finite
    ratio are marked at the edge of the axes, and the legend counts them and says why.

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
    verdicts = frame[frame[by].notna() & frame[parameter].notna()]
    if not np.isfinite(verdicts["ratio"].astype(float)).any():
        raise InputError("column ratio has no finite value: no verdict was applicable")
    categories = list(dict.fromkeys(verdicts[parameter]))
    is_numeric = all(isinstance(value, Number) for value in categories)
    groups = list(verdicts.groupby(by, sort=False))
    lowest = 1.0
    with styled_axes(ax, legend, columns, notes_on_left_out(verdicts)) as styled:
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
            name = with_range(setting_in_symbols(str(label)), rows["ratio"])
            lowest = min(
                lowest, _draw_ratios(styled, positions, rows, name, line_style)
            )
            _mark_left_out(styled, positions, rows, line_style["color"])
        styled.set(yscale="log", ylabel="measured / bound", xlabel=axis_name(parameter))
        styled.set_ylim(bottom=lowest / 1.5 if lowest > 0 else None)
        mark_violated_region(styled)
        if is_numeric:
            styled.set_xscale("log")
        else:
            styled.set_xticks(
                range(len(categories)), [str(value) for value in categories]
            )
        _label_left_out(styled, verdicts)
    return styled


def _draw_ratios(
    ax: Axes,
    positions: NDArray[np.float64],
    rows: pd.DataFrame,
    label: str,
    line_style: CurveStyle,
) -> float:
    """Draw ratios with their intervals; return the lowest value to be visible."""
    drawn = _kinds(rows) == _DRAWN
    mean = np.where(drawn, rows["ratio"].to_numpy(float), np.nan)
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
    visible = np.where(low > 0, np.minimum(low, mean), mean / 4)
    return float(np.min(visible[drawn], initial=1.0))


_DRAWN = ""
_LEFT_OUT = {
    "not applicable": ("x", 0.03),
    "measured 0": ("v", 0.03),
    "measured diverged": ("^", 0.97),
}
"""Why a ratio is not drawn: its marker, and the marker's height in the axes."""
_MOST_REASONS = 2
"""Largest number of reasons that a legend gives."""


def _kinds(rows: pd.DataFrame) -> NDArray[np.str_]:
    """Return why the ratio of each row is not drawn; empty if it is."""
    ratio = rows["ratio"].to_numpy(float)
    conditions = [np.isnan(ratio), ratio <= 0, np.isinf(ratio)]
    return np.select(conditions, list(_LEFT_OUT), default=_DRAWN)


def _mark_left_out(
    ax: Axes, positions: NDArray[np.float64], rows: pd.DataFrame, color: str
) -> None:
    """Draw a marker at the edge of the axes for each ratio that is not drawn."""
    kinds = _kinds(rows)
    for kind, (marker, height) in _LEFT_OUT.items():
        places = positions[kinds == kind]
        ax.plot(
            places,
            np.full(places.shape, height),
            marker=marker,
            color=color,
            linestyle="none",
            markersize=5,
            transform=ax.get_xaxis_transform(),
        )


def _label_left_out(ax: Axes, verdicts: pd.DataFrame) -> None:
    """Give the markers of ratios that are not drawn an entry in the legend."""
    kinds = _kinds(verdicts)
    for kind, (marker, _) in _LEFT_OUT.items():
        count = int(np.sum(kinds == kind))
        if count:
            label = f"{kind}: {count} of {len(verdicts)} verdicts"
            # containers are listed in their order, after all lines
            ax.errorbar([], [], fmt=marker, color="0.3", markersize=5, label=label)


def notes_on_left_out(verdicts: pd.DataFrame) -> list[str]:
    """Return why theorems do not apply to cells of a sweep, and what would change that.

    Parameters
    ----------
    verdicts : pandas.DataFrame
        Rows of the table of a sweep; without columns "reason" and "suggestion" there
        are no notes.
    """
    if not {"variant", "reason", "suggestion"} <= set(verdicts.columns):
        return []
    texts: dict[str, int] = {}
    for _, row in verdicts[np.isnan(verdicts["ratio"].astype(float))].iterrows():
        if row["reason"] and isinstance(row["reason"], str):
            theorem = _theorem_of(row)
            text = reason_in_symbols(row["reason"], theorem)
            if row["suggestion"]:
                text += f"; {in_symbols(str(row['suggestion']), theorem)}"
            text = f"{row['variant']}, not applicable: {text}"
            texts[text] = texts.get(text, 0) + 1
    listed = list(texts)[:_MOST_REASONS]
    if len(texts) > _MOST_REASONS:
        listed.append(f"not applicable: {len(texts) - _MOST_REASONS} more reasons")
    return listed


def _theorem_of(row: pd.Series) -> Theorem | None:
    """Return the registered statement of a row, whose notation is used."""
    key, variant = row.get("theorem.key"), row["variant"]
    if isinstance(key, str) and registry.known(key, variant):
        return registry.get(key, variant)
    return None


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
        named = [(fit.label, fit) for fit in listed]
    if not named:
        raise InputError("there is no fit to draw: give at least one")
    if len(named) == 1:
        return named[0][1].plot(ax, legend=legend, columns=columns)
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
        Exponent that a corollary claims; its line starts at the first point.
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
