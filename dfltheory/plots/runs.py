"""Runs beside each other and beside theorems: measures, tightness, terms, ratios of a sweep, rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.confidence import half_widths
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.look import MEASURED, axes, gap_label, looks, style
from dfltheory.plots.verdicts import bound_over, draw, running_left_hand_side
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.reading import Reading

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

Labelled = Mapping[str, "History"]
"""Runs by the label that the legend gives them."""

MEASURES = {
    "grad_norm_sq": r"$\mathrm{E}\,\|\nabla f(\bar x^t)\|^2$",
    "grad_norm_sq_w": r"$\mathrm{E}\,\|\nabla f(w^t)\|^2$",
    "consensus": r"$\mathrm{E}\,\frac{1}{m}\sum_i\|x_i^t-\bar x^t\|^2$",
    "loss": r"$\mathrm{E}\,f(\bar x^t)$",
    "accuracy": "test accuracy of the mean model",
    "client_accuracy": "test accuracy of the clients",
}
"""How the axes name what is measured."""


def bound_versus_empirical(
    run: History,
    theorems: Sequence[Theorem],
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
    **constants: Any,
) -> Axes:
    """Test the run against each theorem, at ``constants`` as in ``compare``, and draw the verdicts."""
    verdicts = [compare(run, thm, confidence=confidence, **constants) for thm in theorems]
    return draw(verdicts, ax, legend=legend)


def comparison(
    runs: Labelled,
    measure: str = "grad_norm_sq",
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
) -> Axes:
    """One measure of several runs over the rounds, each with its confidence band over seeds.

    With topologies as labels this is the papers' comparison of topologies; lambda is told where it is known.
    A run of one seed has no band.  Both axes are logarithmic, but for accuracies.
    """
    if not runs:
        raise InputError("there is no run to draw: give a dictionary label -> History")
    for label, run in runs.items():
        if measure not in run.measures():
            raise UnknownNameError(f"measure of the run {label}", measure, set(run.measures()))
    share = "accuracy" in measure
    with _canvas(ax, legend) as ax:
        for k, ((label, run), look) in enumerate(zip(runs.items(), looks())):
            rounds, mean, low, high = band(run, measure, confidence)
            ax.fill_between(rounds, low, high, color=look["color"], alpha=0.15, linewidth=0)
            unseen = not share and not np.any(mean > 0)
            gap = gap_label(run.network.lam)
            name = (f"{label} ({gap})" if gap else label) + (": zero" if unseen else "")
            ax.plot(rounds, mean, label=name, markevery=_every(rounds, k), **look)
        ax.set(xlabel="round $t$", ylabel=MEASURES.get(measure, measure.replace("_", " ")))
        if not share and any(np.any(np.asarray(line.get_ydata()) > 0) for line in ax.get_lines()):
            ax.set(xscale="log", yscale="log")
    return ax


def consensus(
    runs: Labelled, ax: Axes | None = None, *, confidence: float = 0.95, legend: bool = True
) -> Axes:
    """How far the clients are from their mean: (1/m) sum_i ||x_i^t - xbar^t||^2 over the rounds."""
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
    """Measured / bound at each horizon T, with its band: 1 is sharp, above 1 the bound is violated.

    The step size is held fixed.  Horizons at which a condition fails are left out, and a variant that
    ``compare`` calls not applicable (at these ``constants``) is named so in the legend.
    """
    with _canvas(ax, legend) as ax:
        for k, (thm, look) in enumerate(zip(theorems, looks())):
            verdict = compare(run, thm, confidence=confidence, **constants)
            if verdict.kind == "not applicable":
                ax.plot([], [], label=f"{thm.variant}: not applicable", **look)
                continue
            horizons, estimate, low, high = _running(run, thm, confidence)
            bound = bound_over(verdict, horizons)
            ax.fill_between(horizons, low / bound, high / bound, color=look["color"], alpha=0.15, linewidth=0)
            label = thm.variant + (" (refuted)" if thm.status.refuted else "")
            ax.plot(horizons, estimate / bound, label=label, markevery=_every(horizons, k), **look)
        _mark_one(ax)
        ax.set(xscale="log", yscale="log", xlabel="horizon $T$ (rounds)", ylabel="measured / bound")
    return ax


def terms(
    run: History, theorem: Theorem, ax: Axes | None = None, *, legend: bool = True, **constants: Any
) -> Axes:
    """The named terms of a bound and their sum over the horizon T: which of them rules where.

    Drawn at the run's constants (``constants`` as in ``compare``) and step size, below what was measured;
    a theorem that is not applicable has no terms here, and the title says so.
    """
    with _canvas(ax, legend) as ax:
        horizons, estimate, low, high = _running(run, theorem, 0.95)
        ax.fill_between(horizons, low, high, color="0.5", alpha=0.3, linewidth=0)
        ax.plot(horizons, estimate, color="0.5", linewidth=2.0, label="measured")
        verdict = compare(run, theorem, **constants)
        parts = bound_over(verdict, horizons, by_term=True)
        total = np.sum(list(parts.values()), axis=0)
        for k, ((name, values), look) in enumerate(zip({"bound": total, **parts}.items(), looks())):
            if np.any(values > 0) or name == "bound":
                ax.plot(horizons, values, label=name, markevery=_every(horizons, k), **look)
        if verdict.kind == "not applicable":
            ax.set_title(f"{theorem.variant}: not applicable", fontsize=7)
        ax.set(xscale="log", yscale="log", xlabel="horizon $T$ (rounds)", ylabel="terms of the bound")
    return ax


def ratios(
    frame: pd.DataFrame, x: str, ax: Axes | None = None, *, by: str = "variant", legend: bool = True
) -> Axes:
    """Measured / bound of a sweep's verdicts over one of its fields, with intervals; a line for each ``by``.

    ``frame`` is a sweep's tidy table, ``x`` one of its columns, as ``run.rounds``.  Each point has its cell's
    own step size, so that with a schedule this is how tightness moves with T under it.  Numbers make a
    logarithmic axis, names a row of places.
    """
    for name in (x, by, "ratio"):
        if name not in frame.columns:
            raise UnknownNameError("column of the table", name, set(map(str, frame.columns)))
    judged = frame[np.isfinite(frame["ratio"].astype(float))]
    if judged.empty:
        raise InputError("no verdict of this table has a ratio: the theorem was not applicable anywhere")
    numeric = all(isinstance(value, Number) for value in judged[x])
    places = list(dict.fromkeys(judged[x]))
    with _canvas(ax, legend) as ax:
        groups, floor = list(judged.groupby(by, sort=False)), 1.0
        for k, ((label, rows), look) in enumerate(zip(groups, looks())):
            shift = k - (len(groups) - 1) / 2  # neighbours must not hide each other
            if numeric:
                rows = rows.sort_values(x)
                at = rows[x].to_numpy(float) * 1.03**shift
            else:
                at = np.array([places.index(value) + 0.12 * shift for value in rows[x]])
                look["linestyle"] = "none"
            mean, low, high = (rows[n].to_numpy(float) for n in ("ratio", "ratio_low", "ratio_high"))
            # a limit of zero is beyond every logarithmic axis: its bar leaves through the lower edge
            bars = mean - np.maximum(low, 1e-9 * mean), np.where(np.isfinite(high), high, mean) - mean
            ax.errorbar(at, mean, yerr=bars, label=str(label), capsize=2, elinewidth=0.8, **look)
            floor = min(floor, *np.where(low > 0, np.minimum(low, mean), mean / 4))
        _mark_one(ax)
        ax.set(yscale="log", ylabel="measured / bound", xlabel=x)
        ax.set_ylim(bottom=floor / 1.5 if floor > 0 else None)
        if numeric:
            ax.set_xscale("log")
        else:
            ax.set_xticks(range(len(places)), [str(p) for p in places])
    return ax


def rate(
    x: Sequence[float] | NDArray[np.float64],
    y: Sequence[float] | NDArray[np.float64],
    ax: Axes | None = None,
    *,
    interval: tuple[Sequence[float] | NDArray[np.float64], Sequence[float] | NDArray[np.float64]]
    | None = None,
    fitted: tuple[float, float] | None = None,
    exponent_ci: tuple[float, float] | None = None,
    predicted: float | None = None,
    xlabel: str = "$T$",
    ylabel: str = "measured",
    legend: bool = True,
) -> Axes:
    """Points on logarithmic axes, the fitted power law through them, and the predicted slope beside it.

    Parameters
    ----------
    x, y : the points, positive;  ``interval``: lower and upper limits of y
    fitted : (exponent, factor) of y = factor x^exponent;  ``exponent_ci``: the exponent's interval
    predicted : the exponent that a corollary claims; its line leaves from the first point
    """
    at, value = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if at.shape != value.shape or at.ndim != 1 or at.size < 2:
        raise InputError(f"x {at.shape} and y {value.shape} must be two lists of equal length >= 2")
    if not (np.all(at > 0) and np.all(value > 0)):
        raise InputError("a power law is drawn on logarithmic axes: every x and y must be above 0")
    with _canvas(ax, legend) as ax:
        bars = None if interval is None else np.abs(np.asarray(interval) - value)
        worn: dict[str, Any] = {"fmt": "o", "color": "black", "markersize": 4, "elinewidth": 0.8}
        ax.errorbar(at, value, yerr=bars, capsize=2, zorder=3, label="measured", **worn)
        line = np.geomspace(at.min(), at.max(), 50)
        if fitted is not None:
            exponent, factor = fitted
            told = "" if exponent_ci is None else f" [{exponent_ci[0]:.2f}, {exponent_ci[1]:.2f}]"
            label = f"fit, slope {exponent:.2f}{told}"
            ax.plot(line, factor * line**exponent, label=label, **MEASURED)
        if predicted is not None:
            first = int(np.argmin(at))
            slope = value[first] * (line / at[first]) ** predicted
            # wide and pale below the fit, with which it may agree
            look: dict[str, Any] = {"color": "#E69F00", "alpha": 0.6, "linewidth": 4.0, "zorder": 1}
            ax.plot(line, slope, label=f"predicted, slope {predicted:.3g}", **look)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        if at.max() < 100 * at.min():
            tell_points(ax, at)
    return ax


# -- the numbers behind them ---------------------------------------------------------------------------


def band(
    run: History, measure: str, confidence: float = 0.95
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Measured rounds, mean over seeds, and Student's limits at each round; equal where there is one seed."""
    samples = run.measures()[measure]
    mean = samples.mean(axis=0)
    half = half_widths(samples, (1 - confidence) / 2) if samples.shape[0] > 1 else np.zeros_like(mean)
    return run.rounds_measured, mean, np.maximum(mean - half, 0.0), mean + half


def _running(run: History, theorem: Theorem, confidence: float) -> Any:
    reading = Reading(run, theorem)
    return (reading.horizons, *running_left_hand_side(reading, confidence))


def _every(x: NDArray[Any], k: int) -> list[int]:
    """Where line k wears its markers: evenly on a logarithmic axis, and not where its neighbours do."""
    n = len(x)
    wanted = np.geomspace(1, n, 9) * 1.25 ** (k % 4) if n > 20 else np.arange(1, n + 1)
    return sorted({int(i) - 1 for i in wanted if i <= n})


def tell_points(ax: Axes, at: NDArray[np.float64]) -> None:
    """Name the points themselves where an axis is too short for powers of ten, as many as find room."""
    from matplotlib.ticker import NullLocator

    places = np.unique(at)
    places = places[:: -(-len(places) // 6)]
    ax.set_xticks(places, [f"{p:g}" for p in places])
    ax.xaxis.set_minor_locator(NullLocator())


@contextmanager
def _canvas(ax: Axes | None, legend: bool) -> Iterator[Axes]:
    """Axes in the look of all figures, and what is drawn on them told above: inside it would hide curves."""
    with style():
        ax = axes(ax)
        yield ax
        if legend:
            columns = 3 if len(ax.get_legend_handles_labels()[1]) > 4 else 2
            placed: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
            ax.legend(**placed, ncols=columns, handlelength=3.2, columnspacing=1.2)


def _mark_one(ax: Axes) -> None:
    ax.axhline(1.0, color="0.4", linewidth=0.8)
    above = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right"}
    ax.annotate("violated above", (1, 1), (-2, 2), fontsize=6, color="0.4", **above)
