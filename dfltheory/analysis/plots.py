"""Figures: matplotlib Axes in, Axes out; told apart by dashes as well as colours; made to be printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.compare import known_values, rounds_of
from dfltheory.analysis.statistics import half_widths
from dfltheory.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dfltheory.analysis.experiment import Outcome
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

# Okabe and Ito's colours, which most colour-blind readers tell apart; each variant has its own dashes too.
_BOUND_STYLES = {
    "printed": {"color": "#D55E00", "linestyle": "--"},
    "appendix": {"color": "#CC79A7", "linestyle": ":"},
    "corrected": {"color": "#009E73", "linestyle": "-."},
}
_MEASURED = "#0072B2"

_STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text in vector output
    "svg.fonttype": "none",
    "figure.dpi": 110,
    "savefig.dpi": 200,
}


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure of this package, for the time of a ``with`` block."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def bound_versus_empirical(
    run: History,
    theorems: Sequence[Theorem],
    ax: Axes | None = None,
    *,
    confidence: float = 0.95,
    legend: bool = True,
) -> Axes:
    """The left-hand side up to each horizon, with its band, and each theorem's bound at that horizon.

    The step size is held fixed, so every horizon h <= T is an instance of the theorem with T = h.  A bound
    whose conditions fail is not drawn, and the legend says so.
    """
    import matplotlib.pyplot as plt

    with style():
        ax = ax if ax is not None else plt.figure(figsize=(3.4, 2.5), layout="constrained").gca()
        estimate, low, high = running_left_hand_side(run, theorems[0], confidence)
        horizons = np.arange(1, estimate.size + 1)
        ax.fill_between(horizons, low, high, color=_MEASURED, alpha=0.25, linewidth=0)
        ax.plot(horizons, estimate, color=_MEASURED, label=f"measured ({100 * confidence:g} % band)")
        floor = float(np.min(estimate[np.isfinite(estimate)], initial=np.inf))
        for thm in theorems:
            values = _bound_over(run, thm, horizons)
            look = _BOUND_STYLES.get(thm.variant, {"color": "0.3", "linestyle": (0, (5, 1))})
            if np.isfinite(values).any():
                ax.plot(horizons, values, label=f"bound, {thm.variant}", **look)
            else:
                ax.plot([], [], label=f"bound, {thm.variant}: not applicable", **look)
        ax.set(xscale="log", yscale="log", xlim=(1, horizons[-1]))
        ax.set(xlabel="horizon $T$ (rounds)", ylabel=_label(theorems[0]))
        if np.isfinite(floor) and floor > 0:
            ax.set_ylim(bottom=floor / 3)
        if legend:
            ax.legend(loc="best")
    return ax


def panels(outcomes: Sequence[Outcome]) -> Figure:
    """One panel for each case of a group, rows by ``case.row`` and columns by ``case.column``, one legend."""
    import matplotlib.pyplot as plt

    from dfltheory import bounds

    rows = list(dict.fromkeys(o.case.row for o in outcomes))
    columns = list(dict.fromkeys(o.case.column for o in outcomes))
    with style():
        size = (max(3.4, 1.85 * len(columns)), 0.55 + max(2.2, 1.75 * len(rows)))
        figure, grid = plt.subplots(
            len(rows),
            len(columns),
            figsize=size,
            squeeze=False,
            sharex=True,
            sharey=True,
            layout="constrained",
        )
        for outcome in outcomes:
            case = outcome.case
            ax = grid[rows.index(case.row)][columns.index(case.column)]
            theorems = [bounds.get(case.key, variant=v) for v in case.variants]
            bound_versus_empirical(outcome.run, theorems, ax=ax, legend=False)
            ax.set_title(_panel_title(outcome))
            ax.label_outer()
        handles: dict[str, Any] = {}
        for ax in grid.flat:
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels())))
            ax.set_visible(ax.has_data())
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(4, len(handles))
        )
    return figure


def _panel_title(outcome: Outcome) -> str:
    case, lam = outcome.case, outcome.run.network.lam
    gap = "" if lam is None else rf"  ($\lambda$ = {lam:.3f})"
    return f"{case.column}, {case.row}{gap}" if case.row else f"{case.column}{gap}"


def running_left_hand_side(
    run: History, thm: Theorem, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate, lower and upper limit of the left-hand side at each horizon 1..T."""
    samples = rounds_of(run, thm)
    tail = (1 - confidence) / 2
    deterministic = samples.shape[0] == 1
    if thm.lhs.aggregate == "min":
        means = samples.mean(axis=0)
        below = 0.0 if deterministic else half_widths(samples, tail)
        above = 0.0 if deterministic else half_widths(samples, tail / samples.shape[1])
        limits = (means, means - below, means + above)
        return tuple(np.minimum.accumulate(np.maximum(part, 0.0)) for part in limits)  # type: ignore[return-value]
    totals = np.cumsum(samples, axis=1) / np.arange(1, samples.shape[1] + 1)
    means = totals.mean(axis=0)
    half = 0.0 if deterministic else half_widths(totals, tail)
    return means, np.maximum(means - half, 0.0), means + half


def _bound_over(run: History, thm: Theorem, horizons: NDArray[np.int64]) -> NDArray[np.float64]:
    values = known_values(run, thm)
    if any(name not in values for name in thm.needs):
        return np.full(horizons.shape, np.nan)
    given = {name: float(np.mean(values[name])) for name in thm.needs if name != "T"}
    given |= {name: int(values[name]) for name in ("m", "K", "Q") if name in given}
    return np.asarray(thm.evaluate(**given, T=horizons, where="nan"), dtype=float) * np.ones(horizons.shape)


def _label(thm: Theorem) -> str:
    measure = {"grad_norm_sq": r"\|\nabla f(\bar x^t)\|^2", "grad_norm_sq_w": r"\|\nabla f(w^t)\|^2"}
    inside = measure.get(thm.lhs.measure)
    if inside is None:
        return thm.lhs.measure.replace("_", " ")
    return (
        rf"$\min_t\,\mathrm{{E}}{inside}$"
        if thm.lhs.aggregate == "min"
        else rf"mean$_t\,\mathrm{{E}}{inside}$"
    )


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.pdf`` (vector), each atomically, and close the figure."""
    import matplotlib.pyplot as plt

    paths = []
    for suffix, extra in ((".png", {}), (".pdf", {"metadata": {"CreationDate": None}})):
        path = Path(folder) / f"{name}{suffix}"
        with replacing(path) as temporary, style():
            figure.savefig(temporary, **extra)
        paths.append(path)
    plt.close(figure)
    return paths


__all__ = ["bound_versus_empirical", "panels", "running_left_hand_side", "save", "style"]
