"""Figures of one or several runs: measurements, tightness and terms of bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray
from dfltheory.confidence import half_widths
from dfltheory.errors import InputError, UnknownNameError, checked_name
from dfltheory.plots.groups import check_drawable, refuted_note
from dfltheory.plots.horizons import VerdictLike, bound_over, mean_band
from dfltheory.plots.labels import (
    gap_label,
    horizon_label,
    mark_violated_region,
    times_measured,
)
from dfltheory.plots.layout import styled_axes
from dfltheory.plots.look import looks
from dfltheory.plots.notes import notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.training.history import History
    from dfltheory.verdicts.left_hand_side import LeftHandSide

Labelled = Mapping[str, "History"]
"""Runs by their labels in the legend."""


MEASURES = {
    "grad_norm_sq": r"$\mathrm{E}\,\|\nabla f(\bar x^t)\|^2$",
    "grad_norm_sq_w": r"$\mathrm{E}\,\|\nabla f(w^t)\|^2$",
    "consensus": r"$\mathrm{E}\,\dfrac{1}{m}\sum_i\|x_i^t-\bar x^t\|^2$",
    "loss": r"$\mathrm{E}\,f(\bar x^t)$",
    "accuracy": "test accuracy of the mean model",
    "client_accuracy": "test accuracy of the clients",
}
"""Axis label of each measure."""


def comparison(
    runs: Labelled,
    measure: str = "grad_norm_sq",
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw one measure of several runs over the rounds, with confidence bands.

    The labels contain lambda if it is known. A run with one seed has no band. The axes
    are logarithmic, except for accuracies.

    Parameters
    ----------
    runs : mapping of str to History
        Runs by label, at least one.
    measure : str
        A measure of every run, such as "grad_norm_sq" or "consensus".
    confidence : float
        Confidence level of the bands.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no run, or the confidence is not in (0, 1).
    UnknownNameError
        If a run does not contain the measure.
    """
    check_confidence(confidence)
    if not runs:
        raise InputError("runs is empty: pass a dictionary label -> History")
    for label, run in runs.items():
        if measure not in run.measures():
            known = set(run.measures())
            raise UnknownNameError(f"measure of the run {label}", measure, known)
    is_accuracy = "accuracy" in measure
    with styled_axes(ax, legend, columns) as styled:
        for index, ((label, run), line_style) in enumerate(zip(runs.items(), looks())):
            rounds, mean, low, high = band(run, measure, confidence)
            _fill_band(styled, rounds, low, high, line_style["color"])
            name = label
            gap = gap_label(run.network.lam)
            if gap:
                name += f" ({gap})"
            if not is_accuracy and not np.any(mean > 0):
                name += ": zero"  # invisible on a logarithmic axis
            markers = _marker_positions(rounds, index)
            styled.plot(rounds, mean, label=name, markevery=markers, **line_style)
        ylabel = MEASURES.get(measure, measure.replace("_", " "))
        styled.set(xlabel="round $t$", ylabel=ylabel)
        if not is_accuracy and _has_positive_values(styled):
            styled.set(xscale="log", yscale="log")
    return styled


def consensus(
    runs: Labelled,
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw the consensus error (1/m) sum_i ||x_i^t - xbar^t||^2 over the rounds.

    Parameters
    ----------
    runs : mapping of str to History
        Runs by label, at least one.
    confidence : float
        Confidence level of the bands.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    return comparison(
        runs, "consensus", ax, confidence=confidence, legend=legend, columns=columns
    )


def tightness(
    verdicts: VerdictLike | Sequence[VerdictLike],
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw measured / bound at each horizon T, with Student's interval.

    A ratio of 1 means that the bound is sharp, and a ratio above 1 that it is violated.
    The step size is fixed. Horizons at which a condition fails are omitted. The legend
    states how far each bound is above the measurement at the last horizon, and for
    variants that are not applicable, why, and what would make them apply.

    Parameters
    ----------
    verdicts : Verdict or sequence of Verdict
        Verdicts with their runs.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no verdict, or a verdict was read without its run.
    """
    listed = list(verdicts) if isinstance(verdicts, Sequence) else [verdicts]
    check_drawable(listed)
    applicable = [v for v in listed if v.kind != "not applicable"]
    reasons = notes(listed, with_ratios=False)
    with styled_axes(ax, legend, columns, reasons) as styled:
        for index, (verdict, line_style) in enumerate(zip(applicable, looks())):
            label = f"{verdict.variant}{refuted_note(verdict)}"
            left: LeftHandSide = verdict.left_hand_side
            estimate, low, high = mean_band(left, verdict.confidence)
            bound = bound_over(verdict, left.horizons)
            color = line_style["color"]
            _fill_band(styled, left.horizons, low / bound, high / bound, color)
            above = times_measured(verdict.ratio)
            styled.plot(
                left.horizons,
                estimate / bound,
                label=f"{label}: {above}" if above else label,
                markevery=_marker_positions(left.horizons, index),
                **line_style,
            )
        if applicable:
            styled.set(xscale="log", yscale="log")
            mark_violated_region(styled)
        label = horizon_label(listed[0].theorem)
        styled.set(xlabel=label, ylabel="measured / bound")
    return styled


def terms(
    verdict: VerdictLike,
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw a bound and its terms over the horizon T, with the measured values.

    The bound is evaluated at the step size and the constants of the run. If the
    theorem is not applicable, its terms are not drawn, and the legend states why, and
    what would make it apply.

    Parameters
    ----------
    verdict : Verdict
        A verdict with its run.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If the verdict was read without its run.
    """
    check_drawable([verdict])
    reasons = notes([verdict], with_ratios=False)
    with styled_axes(ax, legend, columns, reasons) as styled:
        left: LeftHandSide = verdict.left_hand_side
        horizons = left.horizons
        estimate, low, high = mean_band(left, verdict.confidence)
        styled.fill_between(horizons, low, high, color="0.5", alpha=0.3, linewidth=0)
        styled.plot(horizons, estimate, color="0.5", linewidth=2.0, label="measured")
        drawn = {}
        if verdict.kind != "not applicable":
            terms_by_name = bound_over(verdict, horizons, by_term=True)
            bound = np.sum(list(terms_by_name.values()), axis=0)
            drawn = {"bound": bound, **terms_by_name}
        above = times_measured(verdict.ratio)
        for index, (name, line_style) in enumerate(zip(drawn, looks())):
            values = drawn[name]
            if name != "bound" and not np.any(values > 0):
                continue
            label = f"bound: {above}" if name == "bound" and above else name
            styled.plot(
                horizons,
                values,
                label=label,
                markevery=_marker_positions(horizons, index),
                **line_style,
            )
        styled.set(xscale="log", yscale="log")
        styled.set(xlabel=horizon_label(verdict.theorem), ylabel="terms of the bound")
    return styled


def band(
    run: History, measure: str, confidence: float = 0.95
) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]:
    """Return the mean of a measure over seeds with Student confidence limits.

    Parameters
    ----------
    run : History
        The run.
    measure : str
        A measure of the run.
    confidence : float
        Confidence level.

    Returns
    -------
    tuple of four (n,) arrays
        Measured rounds, means, lower limits (at least 0) and upper limits. With one
        seed the limits equal the means.

    Raises
    ------
    UnknownNameError
        If the run does not contain the measure.
    InputError
        If the confidence is not in (0, 1).
    """
    checked_name("measure of the run", measure, run.measures())
    check_confidence(confidence)
    samples = run.measures()[measure]
    mean = samples.mean(axis=0)
    half = np.zeros_like(mean)
    if samples.shape[0] > 1:
        half = half_widths(samples, (1 - confidence) / 2)
    return run.rounds_measured, mean, np.maximum(mean - half, 0.0), mean + half


def check_confidence(confidence: float) -> None:
    """Raise InputError unless a confidence level is in (0, 1)."""
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95"
        )


def _fill_band(
    ax: Axes, x: np.ndarray, low: FloatArray, high: FloatArray, color: str
) -> None:
    """Shade the area between two curves."""
    ax.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


def _has_positive_values(ax: Axes) -> bool:
    """Return whether a line of the axes has a positive value."""
    return any(np.any(np.asarray(line.get_ydata()) > 0) for line in ax.get_lines())


def _marker_positions(x: np.ndarray, index: int) -> list[int]:
    """Return the indices of the markers of line number ``index``.

    They are evenly spaced on a logarithmic axis and differ between successive lines.
    """
    count = len(x)
    if count <= 20:
        return list(range(count))
    wanted = np.geomspace(1, count, 9) * 1.25 ** (index % 4)
    return sorted({int(place) - 1 for place in wanted if place <= count})
