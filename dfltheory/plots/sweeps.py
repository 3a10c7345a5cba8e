"""Figures of sweeps: measured / bound over a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds import registry
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.horizons import VerdictLike
from dfltheory.plots.labels import literal, mark_violated_region, with_range
from dfltheory.plots.layout import styled_axes
from dfltheory.plots.look import CurveStyle, looks
from dfltheory.plots.notation import in_symbols, setting_in_symbols, symbol
from dfltheory.plots.notes import more_reasons, reason_in_symbols

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
"""Axis labels by the last part of a dotted field such as ``algorithm.K``."""


def axis_name(field: str) -> str:
    """Return the axis label for a field of an experiment file."""
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
    verdicts: pd.DataFrame | Iterable[VerdictLike],
    ax: Axes | None = None,
    *,
    by: str = "variant",
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw measured / bound of the verdicts of a sweep over one of its parameters.

    Each point uses the step size of its own cell, so with a schedule the figure shows
    how tightness depends on T under that schedule. Verdicts without a positive finite
    ratio are marked at the edge of the axes; the legend states their number and the
    reasons.

    Parameters
    ----------
    parameter : str
        The horizontal axis: a column of the table, such as "algorithm.K" or
        "run.rounds", or for verdicts a quantity of the glossary, such as "K". The axis
        is logarithmic for numbers; other values have one tick each.
    verdicts : pandas.DataFrame or iterable of Verdict
        The tidy table of a sweep, with columns "ratio", "ratio_low" and "ratio_high",
        or verdicts with their runs.
    by : str
        Column whose values are drawn as separate lines.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UnknownNameError
        If the table does not have a column, or a run does not have the quantity.
    InputError
        If no verdict has a finite ratio.
    """
    frame = verdicts if _is_table(verdicts) else table_of(verdicts, parameter)
    for name in (parameter, by, "ratio", "ratio_low", "ratio_high"):
        if name not in frame.columns:
            known = set(map(str, frame.columns))
            raise UnknownNameError("column of the table", name, known)
    judged = frame[frame[by].notna() & frame[parameter].notna()]
    if not np.isfinite(judged["ratio"].astype(float)).any():
        raise InputError(
            "the column ratio has no finite value, because no theorem was applicable:"
            " there is nothing to draw"
        )
    categories = list(dict.fromkeys(judged[parameter]))
    is_numeric = all(isinstance(value, Number) for value in categories)
    groups = list(judged.groupby(by, sort=False))
    lowest = 1.0
    with styled_axes(ax, legend, columns, notes_on_left_out(judged)) as styled:
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
        _label_left_out(styled, judged)
    return styled


def _is_table(verdicts: object) -> TypeGuard[pd.DataFrame]:
    """Return whether the argument is a table, without importing pandas."""
    return hasattr(verdicts, "columns")


def table_of(verdicts: Iterable[VerdictLike], parameter: str) -> pd.DataFrame:
    """Return verdicts as a table like that of a sweep with one parameter.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts with their runs.
    parameter : str
        Glossary name of a quantity of every run.

    Raises
    ------
    UnknownNameError
        If a run does not have the quantity.
    """
    import pandas as pd

    rows = []
    for verdict in verdicts:
        known = verdict.values.known
        if parameter not in known:
            raise UnknownNameError("quantity of the run", parameter, set(known))
        low, high = verdict.ratio_ci
        rows.append(
            {
                parameter: float(np.mean(known[parameter])),
                "theorem.key": verdict.key,
                "variant": verdict.variant,
                "reason": verdict.reason,
                "suggestion": str(verdict.suggestions),
                "ratio": verdict.ratio,
                "ratio_low": low,
                "ratio_high": high,
            }
        )
    columns = (parameter, "variant", "ratio", "ratio_low", "ratio_high")
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


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
    # On a logarithmic axis, extend bars with a lower limit of 0 to the edge.
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
"""Kind of a ratio that is drawn."""
_LEFT_OUT = {
    "not applicable": ("x", 0.03),
    "measured 0": ("v", 0.03),
    "measured diverged": ("^", 0.97),
}
"""Marker, and its height in the axes, by the reason why a ratio is not drawn."""
_MOST_REASONS = 2
"""Maximum number of reasons in a legend."""


def _kinds(rows: pd.DataFrame) -> NDArray[np.str_]:
    """Return why the ratio of each row is not drawn; empty for drawn ratios."""
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
    """Add a legend entry for the markers of ratios that are not drawn."""
    kinds = _kinds(verdicts)
    for kind, (marker, _) in _LEFT_OUT.items():
        count = int(np.sum(kinds == kind))
        if count:
            label = f"{kind}: {count} of {len(verdicts)} verdicts"
            # an error bar, since matplotlib lists containers after lines
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
        listed.append(more_reasons(len(texts) - _MOST_REASONS))
    return listed


def _theorem_of(row: pd.Series) -> Theorem | None:
    """Return the registered statement of a row, for its notation."""
    key, variant = row.get("theorem.key"), row["variant"]
    if isinstance(key, str) and registry.known(key, variant):
        return registry.get(key, variant)
    return None
