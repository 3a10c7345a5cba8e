"""Learning curves of several algorithms, and of the clients of a single run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.confidence import half_widths
from dfltheory.errors import InputError, UnknownNameError, checked_name
from dfltheory.plots.labels import literal
from dfltheory.plots.layout import styled_axes
from dfltheory.plots.look import MEASURED, WideStyle, looks
from dfltheory.plots.runs import MEASURES, Labelled, check_confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.training.history import History

Spread = Literal["interval", "seeds", "clients"]
Horizontal = Literal["rounds", "sent_models", "sent_scalars", "sent_bits"]

BAND_QUANTILES = (0.1, 0.9)
"""Lower and upper quantile over clients of a band."""
OF_CLIENTS = {
    "client_accuracy": "test accuracy",
    "client_loss": r"loss $f_i(x_i^t)$",
}
"""Axis labels of measures of individual clients."""
OVER_CLIENTS = {
    "min": "lowest client",
    "q10": "10 % quantile",
    "median": "median client",
    "q90": "90 % quantile",
    "max": "highest client",
}
"""Names of summaries over clients, by the suffix of a measure."""
OF_MEAN_MODEL = {
    "accuracy": "test accuracy, mean model",
    "loss": r"loss $f(\bar x^t)$, mean model",
}
"""Axis labels of measures of the mean model."""
WORST = {"client_accuracy": 0.0, "client_loss": 1.0}
"""Quantile level of the worst client, for measures with a known direction."""
X_LABELS: dict[str, str] = {
    "rounds": "round $t$",
    "sent_models": "models sent over all links",
    "sent_scalars": "numbers sent over all links",
    "sent_bits": "bits sent over all links",
}
"""Labels of the horizontal axis."""
_LOGARITHMIC = 30
"""Ratio of largest to smallest value above which an axis is logarithmic."""


def learning_curves(
    runs: Labelled,
    metric: str = "accuracy",
    ax: Axes | None = None,
    *,
    band: Spread = "interval",
    x: Horizontal = "rounds",
    confidence: float = 0.95,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw one measure of several runs over rounds, or over the amount sent.

    The legend states the last value of each run with the half-width of its interval,
    and whether a run diverged. The vertical axis is logarithmic if the values are
    positive, are not accuracies, and vary by more than a factor of 30.

    Parameters
    ----------
    runs : mapping of str to History
        Runs by label, at least one.
    metric : str
        A measure of every run, such as "accuracy", "loss" or "client_accuracy_min".
    band : {"interval", "seeds", "clients"}
        Student's interval of the mean over seeds, clipped to the range of the measure
        (at least 0, accuracies at most 1); or one thin line per seed; or, for measures
        of individual clients, the range between the 10 % and 90 % quantiles of the
        clients.
    x : {"rounds", "sent_models", "sent_scalars", "sent_bits"}
        Horizontal axis.
    confidence : float
        Confidence level of the intervals.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no run, a run lacks the data for ``band`` or ``x``, or the
        confidence is not in (0, 1).
    UnknownNameError
        If a run does not contain the metric.
    """
    _check(runs, metric, band, x)
    check_confidence(confidence)
    with styled_axes(ax, legend, columns) as styled:
        for index, ((label, run), style) in enumerate(zip(runs.items(), looks())):
            samples = run.measures()[metric]
            places = _places(label, run, x)
            mean, half = _mean(samples, confidence)
            name = literal(f"{label}{_last(run, mean, half)}")
            markers = _markers(len(mean), index)
            styled.plot(places, mean, label=name, markevery=markers, **style)
            color = style["color"]
            if band == "seeds":
                styled.plot(places, samples.T, color=color, linewidth=0.5, alpha=0.4)
            else:
                low, high = _limits(metric, samples, mean, half)
                if band == "clients":
                    low, high = _quantiles(run, metric, BAND_QUANTILES)
                styled.fill_between(
                    places, low, high, color=color, alpha=0.15, linewidth=0
                )
        styled.set(xlabel=X_LABELS[x], ylabel=metric_label(metric))
        _set_scale(styled, metric)
    return styled


def clients(
    run: History,
    metric: str = "client_accuracy",
    ax: Axes | None = None,
    *,
    each: bool = False,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw a measure of the clients of one run: mean, quantiles and extremes.

    Means, quantiles and extremes over clients are computed for each seed and averaged
    over seeds. Different clients may be the worst in different rounds.

    Parameters
    ----------
    run : History
        A run with ``metrics=["client_accuracy"]``, or another measure of individual
        clients.
    metric : str
        A measure of individual clients.
    each : bool
        Whether to draw a thin line for each client.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If the run does not contain this measure of individual clients.
    """
    values = run.of_clients(metric).mean(axis=0)
    t = run.rounds_measured
    with styled_axes(ax, legend, columns) as styled:
        if each:
            styled.plot(t, values, color="0.6", linewidth=0.5, zorder=1)
            styled.plot([], [], color="0.6", linewidth=0.5, label="each client")
        low, high = _quantiles(run, metric, BAND_QUANTILES)
        styled.fill_between(
            t,
            low,
            high,
            color=MEASURED["color"],
            alpha=0.2,
            linewidth=0,
            label="10 % to 90 % of clients",
        )
        mean = values.mean(axis=-1)
        name = f"mean of clients: {_number(mean[run.last_measured])}"
        styled.plot(t, mean, label=name, **MEASURED)
        for name, level, style in _extremes(metric):
            curve = _quantiles(run, metric, level)
            text = f"{name}: {_number(curve[run.last_measured])}"
            styled.plot(t, curve, label=text, **style)
        label = OF_CLIENTS.get(metric, metric.replace("_", " "))
        styled.set(xlabel=X_LABELS["rounds"], ylabel=label)
        _set_scale(styled, metric)
    return styled


def metric_label(metric: str) -> str:
    """Return the axis label of a measure or of a summary over clients."""
    for base, label in OF_CLIENTS.items():
        if metric == base:
            return f"{label}, mean of clients"
        suffix = metric.removeprefix(f"{base}_")
        if suffix in OVER_CLIENTS:
            return f"{label}, {OVER_CLIENTS[suffix]}"
    known = MEASURES | OF_MEAN_MODEL
    return known.get(metric, metric.replace("_", " "))


def _check(runs: object, metric: str, band: str, x: str) -> None:
    """Raise an error unless every run contains the data to draw."""
    checked_name("band", band, {"interval", "seeds", "clients"})
    checked_name("x", x, X_LABELS)
    if not isinstance(runs, Mapping) or not runs:
        raise InputError(
            "runs must be a dictionary label -> History with at least one run"
        )
    for label, run in runs.items():
        if metric not in run.measures():
            known = set(run.measures())
            raise UnknownNameError(f"measure of the run {label}", metric, known)
        if band == "clients":
            run.of_clients(metric)


def _places(label: str, run: History, x: str) -> FloatArray:
    """Return the horizontal coordinates of a run."""
    if x == "rounds":
        return run.rounds_measured
    sent = run.sent()
    if x not in sent:
        raise InputError(
            f"x = {x!r}: the run {label} did not count what was sent: use x = 'rounds'"
        )
    return sent[x].mean(axis=0)


def _mean(samples: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return means over seeds and half-widths of their intervals; 0 for one seed."""
    mean = samples.mean(axis=0)
    if len(samples) < 2:
        return mean, np.zeros_like(mean)
    return mean, half_widths(samples, (1 - confidence) / 2)


def _limits(
    metric: str, samples: FloatArray, mean: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the intervals, clipped to the range of the measure."""
    low, high = mean - half, mean + half
    if np.nanmin(samples) >= 0:
        low = np.maximum(low, 0.0)
    if _is_accuracy(metric):
        high = np.minimum(high, 1.0)
    return low, high


def _is_accuracy(metric: str) -> bool:
    """Return whether a measure is an accuracy, which is in [0, 1]."""
    return metric == "accuracy" or metric.startswith("client_accuracy")


def _quantiles(
    run: History, metric: str, level: float | tuple[float, ...]
) -> FloatArray:
    """Return quantiles over clients, averaged over seeds."""
    return run.client_quantiles(metric, level).mean(axis=-2)


def _extremes(metric: str) -> list[tuple[str, float, WideStyle]]:
    """Return label, quantile level and line style of the extreme clients."""
    dashed: WideStyle = {"color": "#D55E00", "linestyle": (0, (5, 2)), "linewidth": 1.3}
    dotted: WideStyle = {"color": "#009E73", "linestyle": ":", "linewidth": 1.3}
    if metric not in WORST:
        return [("lowest client", 0.0, dashed), ("highest client", 1.0, dotted)]
    worst = WORST[metric]
    return [("worst client", worst, dashed), ("best client", 1.0 - worst, dotted)]


def _last(run: History, mean: FloatArray, half: FloatArray) -> str:
    """Return the last value of a run for the legend."""
    last = run.last_measured
    text = f": {_number(mean[last])}"
    if half[last] > 0:
        text += f" ± {half[last]:.1g}"
    if run.diverged_at is not None:
        text += f", diverged by round {run.diverged_at}"
    return text


def _number(value: float) -> str:
    return f"{value:.3g}"


def _markers(count: int, index: int) -> list[int]:
    """Return about eight marker indices, offset from line to line."""
    step = max(1, count // 8)
    return list(range((index * step // 4) % step, count, step))


def _set_scale(ax: Axes, metric: str) -> None:
    """Set a logarithmic axis if positive values vary by more than ``_LOGARITHMIC``."""
    if _is_accuracy(metric):
        return
    drawn = np.concatenate([np.asarray(line.get_ydata()) for line in ax.get_lines()])
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size and drawn.min() > 0 and drawn.max() / drawn.min() > _LOGARITHMIC:
        ax.set_yscale("log")


__all__ = ["metric_label", "clients", "learning_curves"]
