"""Figures of one or several runs: measurements, tightness and terms of bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.confidence import half_widths
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.horizons import bound_over, running_left_hand_side
from dfltheory.plots.look import gap_label, looks, mark_violated_region, styled_axes
from dfltheory.plots.verdicts import draw
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.left_hand_side import LeftHandSide

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

Labelled = Mapping[str, "History"]
"""Runs by their labels in the legend."""

Floats = NDArray[np.float64]

MEASURES = {
    "grad_norm_sq": r"$\mathrm{E}\,\|\nabla f(\bar x^t)\|^2$",
    "grad_norm_sq_w": r"$\mathrm{E}\,\|\nabla f(w^t)\|^2$",
    "consensus": r"$\mathrm{E}\,\frac{1}{m}\sum_i\|x_i^t-\bar x^t\|^2$",
    "loss": r"$\mathrm{E}\,f(\bar x^t)$",
    "accuracy": "test accuracy of the mean model",
    "client_accuracy": "test accuracy of the clients",
}
"""Axis label of each measure."""


def bound_versus_empirical(
    run: History,
    theorems: Sequence[Theorem],
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
    **constants: Any,
) -> Axes:
    """Compare a run with theorems and draw the verdicts.

    Parameters
    ----------
    run : History
        The run.
    theorems : sequence of Theorem
        Theorems with the same left-hand side.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    confidence : float
        Confidence level of the verdicts and the band.
    legend : bool
        Whether to draw a legend.
    **constants
        Values of quantities, as in :func:`dfltheory.compare`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    verdicts = [
        compare(run, thm, confidence=confidence, **constants) for thm in theorems
    ]
    return draw(verdicts, ax, legend=legend)


def comparison(
    runs: Labelled,
    measure: str = "grad_norm_sq",
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
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
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    confidence : float
        Confidence level of the bands.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no run.
    UnknownNameError
        If a run does not contain the measure.
    """
    if not runs:
        raise InputError("runs is empty: give a dictionary label -> History")
    for label, run in runs.items():
        if measure not in run.measures():
            known = set(run.measures())
            raise UnknownNameError(f"measure of the run {label}", measure, known)
    is_accuracy = "accuracy" in measure
    with styled_axes(ax, legend) as styled:
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
) -> Axes:
    """Draw the consensus error (1/m) sum_i ||x_i^t - xbar^t||^2 over the rounds.

    Parameters
    ----------
    runs : mapping of str to History
        Runs by label, at least one.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    confidence : float
        Confidence level of the bands.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    return comparison(runs, "consensus", ax, confidence=confidence, legend=legend)


def tightness(
    run: History,
    theorems: Sequence[Theorem],
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
    **constants: Any,
) -> Axes:
    """Draw measured / bound at each horizon T, with its confidence band.

    A ratio of 1 means a sharp bound, a ratio above 1 a violated one. The step size is
    fixed. Horizons at which a condition fails are omitted; the legend names variants
    that are not applicable.

    Parameters
    ----------
    run : History
        The run.
    theorems : sequence of Theorem
        Variants to compare with.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    confidence : float
        Confidence level of the bands.
    legend : bool
        Whether to draw a legend.
    **constants
        Values of quantities, as in :func:`dfltheory.compare`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    with styled_axes(ax, legend) as styled:
        for index, (thm, line_style) in enumerate(zip(theorems, looks())):
            verdict = compare(run, thm, confidence=confidence, **constants)
            if verdict.kind == "not applicable":
                styled.plot(
                    [], [], label=f"{thm.variant}: not applicable", **line_style
                )
                continue
            horizons, estimate, low, high = _measured_limits(run, thm, confidence)
            bound = bound_over(verdict, horizons)
            _fill_band(styled, horizons, low / bound, high / bound, line_style["color"])
            label = thm.variant + (" (refuted)" if thm.status.refuted else "")
            markers = _marker_positions(horizons, index)
            ratio = estimate / bound
            styled.plot(horizons, ratio, label=label, markevery=markers, **line_style)
        mark_violated_region(styled)
        styled.set(xscale="log", yscale="log")
        styled.set(xlabel="horizon $T$ (rounds)", ylabel="measured / bound")
    return styled


def terms(
    run: History,
    theorem: Theorem,
    ax: Axes | None = None,
    *,
    legend: bool = True,
    **constants: Any,
) -> Axes:
    """Draw a bound and its terms over the horizon T, with the measured values.

    The bound is evaluated at the step size and the constants of the run. If the
    theorem is not applicable, its terms are not drawn and the title says so.

    Parameters
    ----------
    run : History
        The run.
    theorem : Theorem
        The theorem.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    legend : bool
        Whether to draw a legend.
    **constants
        Values of quantities, as in :func:`dfltheory.compare`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    with styled_axes(ax, legend) as styled:
        horizons, estimate, low, high = _measured_limits(run, theorem, 0.95)
        styled.fill_between(horizons, low, high, color="0.5", alpha=0.3, linewidth=0)
        styled.plot(horizons, estimate, color="0.5", linewidth=2.0, label="measured")
        verdict = compare(run, theorem, **constants)
        terms_by_name = bound_over(verdict, horizons, by_term=True)
        bound = np.sum(list(terms_by_name.values()), axis=0)
        curves = {"bound": bound, **terms_by_name}
        for index, (name, line_style) in enumerate(zip(curves, looks())):
            values = curves[name]
            if name == "bound" or np.any(values > 0):
                markers = _marker_positions(horizons, index)
                styled.plot(
                    horizons, values, label=name, markevery=markers, **line_style
                )
        if verdict.kind == "not applicable":
            styled.set_title(f"{theorem.variant}: not applicable", fontsize=7)
        styled.set(xscale="log", yscale="log")
        styled.set(xlabel="horizon $T$ (rounds)", ylabel="terms of the bound")
    return styled


def band(
    run: History, measure: str, confidence: float = 0.95
) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
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
    """
    samples = run.measures()[measure]
    mean = samples.mean(axis=0)
    half = np.zeros_like(mean)
    if samples.shape[0] > 1:
        half = half_widths(samples, (1 - confidence) / 2)
    return run.rounds_measured, mean, np.maximum(mean - half, 0.0), mean + half


def _measured_limits(
    run: History, theorem: Theorem, confidence: float
) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    """Return horizons, and the left-hand side there with its confidence limits."""
    left = LeftHandSide(run, theorem)
    estimate, low, high = running_left_hand_side(left, confidence)
    return left.horizons, estimate, low, high


def _fill_band(
    ax: Axes, x: NDArray[Any], low: Floats, high: Floats, color: str
) -> None:
    ax.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


def _has_positive_values(ax: Axes) -> bool:
    """Return whether a line of the axes has a positive value."""
    return any(np.any(np.asarray(line.get_ydata()) > 0) for line in ax.get_lines())


def _marker_positions(x: NDArray[Any], index: int) -> list[int]:
    """Return the indices at which line number ``index`` has its markers.

    They are evenly spaced on a logarithmic axis and differ between successive lines.
    """
    count = len(x)
    if count <= 20:
        return list(range(count))
    wanted = np.geomspace(1, count, 9) * 1.25 ** (index % 4)
    return sorted({int(place) - 1 for place in wanted if place <= count})
