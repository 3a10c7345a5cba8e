"""Figures: matplotlib Axes in, Axes out; told apart by dashes as well as colours; made to be printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.compare import known_values, rounds_of, trivial_bound, without_chance
from dfltheory.analysis.statistics import running_upper_limits
from dfltheory.files import replacing
from dfltheory.limits import half_widths, upper_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dfltheory.analysis.experiment import Outcome
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

# Hues that most colour-blind readers tell apart. Variants often agree: each is thinner and darker than the
# one before, so that lines on top of each other are all seen, on a print in grey too.
_BOUND_STYLES: dict[str, dict[str, Any]] = {
    "printed": {"color": "#F6C667", "linestyle": "-", "linewidth": 4.0},
    "appendix": {"color": "#A8417E", "linestyle": "--", "linewidth": 2.0},
    "corrected": {"color": "#000000", "linestyle": "-.", "linewidth": 1.0},
}
_AGGREGATES: dict[str, tuple[str, dict[str, Any]]] = {
    "min": ("least over rounds", {"color": "#0072B2", "linestyle": "-"}),
    "mean": ("mean over rounds", {"color": "#0072B2", "linestyle": (0, (1.5, 0.8)), "linewidth": 0.9}),
}
_TRIVIAL = "known without a theorem"

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

    with mpl.rc_context(_STYLE):  # pyright: ignore[reportArgumentType]
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

    The step size is held fixed, so every horizon h <= T is an instance of the theorem with T = h. Variants
    may bound different aggregates (the least or the mean expectation over rounds): each that occurs is drawn.
    A bound whose conditions fail is not drawn, and the panel says so.
    """
    import matplotlib.pyplot as plt

    with style():
        ax = ax if ax is not None else plt.figure(figsize=(3.6, 2.9), layout="constrained").gca()
        for thm in {t.lhs.aggregate: t for t in reversed(theorems)}.values():
            _draw_measured(ax, run, thm, confidence)
        silent = [thm.variant for thm in theorems if not _draw_bound(ax, run, thm)]
        trivial = trivial_bound(known_values(run, theorems[0]), run)
        if np.isfinite(trivial):
            ax.axhline(trivial, color="0.55", linewidth=0.8, linestyle=(0, (1, 1)), label=_TRIVIAL)
        if silent:
            words = (
                "no bound applies"
                if len(silent) == len(theorems)
                else "\n".join(["not applicable:", *silent])
            )
            ax.text(0.03, 0.03, words, transform=ax.transAxes, fontsize=6, in_layout=False)
        ax.set(xscale="log", yscale="log", xlabel="horizon $T$ (rounds)", ylabel=_label(theorems[0]))
        ax.set_xlim(1, max(run.rounds, 2))
        if legend:
            ax.legend(loc="best")
    return ax


def _draw_measured(ax: Axes, run: History, thm: Theorem, confidence: float) -> None:
    """Draw one aggregate of the measurement with its band."""
    estimate, low, high = running_left_hand_side(run, thm, confidence)
    horizons = rounds_of(run, thm)[0] + 1 - thm.lhs.rounds(run.rounds).start
    name, look = _AGGREGATES[thm.lhs.aggregate]
    told = f"{100 * confidence:g} % band"
    if run.grad_norm_sq.shape[0] == 1:
        told = "exact" if without_chance(run) else "one seed, no band"
    # a lower limit of zero is beyond every logarithmic axis, and must not stretch it
    floor = np.min(estimate[np.isfinite(estimate) & (estimate > 0)], initial=np.inf) / 5
    ax.fill_between(
        horizons,
        np.maximum(low, floor if np.isfinite(floor) else 0.0),
        np.where(np.isfinite(high), high, np.nan),
        color=look["color"],
        alpha=0.25,
        linewidth=0,
    )
    dot = {"marker": "o", "markersize": 4} if horizons.size == 1 else {}  # a line of one point is not seen
    ax.plot(horizons, estimate, label=f"measured, {name} ({told})", **look, **dot)


def _draw_bound(ax: Axes, run: History, thm: Theorem) -> bool:
    """Draw the bound over all horizons; False where its conditions fail at each of them."""
    horizons = np.unique(np.geomspace(1, max(run.rounds, 2), 200).round())
    values = _bound_over(run, thm, horizons)
    if not np.isfinite(values).any():
        return False
    look: dict[str, Any] = _BOUND_STYLES.get(thm.variant, {"color": "0.3", "linestyle": (0, (5, 1))})
    ax.plot(horizons, values, label=f"bound, {thm.variant}", **look)
    return True


def panels(outcomes: Sequence[Outcome]) -> Figure:
    """One panel for each case of a group, rows by ``case.row`` and columns by ``case.column``, one legend."""
    import matplotlib.pyplot as plt

    from dfltheory import bounds

    rows = list(dict.fromkeys(o.case.row for o in outcomes))
    columns = list(dict.fromkeys(o.case.column for o in outcomes))
    with style():
        size = (max(4.4, 1.85 * len(columns)), 0.75 + max(2.2, 1.75 * len(rows)))
        figure, grid = plt.subplots(
            len(rows),
            len(columns),
            figsize=size,
            squeeze=False,
            sharex=True,
            sharey=True,
            layout="constrained",
        )
        handles: dict[str, Any] = {}
        for outcome in outcomes:
            case = outcome.case
            ax = grid[rows.index(case.row)][columns.index(case.column)]
            theorems = [bounds.get(case.key, variant=v) for v in case.variants]
            bound_versus_empirical(outcome.run, theorems, ax=ax, legend=False)
            ax.set_title(_panel_title(outcome), pad=3)
            ax.label_outer()
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels())))
        for ax in grid.flat:
            ax.set_visible(ax.has_data())
        grid[0, 0].set_xlim(1, max(2, *(o.run.rounds for o in outcomes)))
        order = sorted(handles, key=lambda name: (name == _TRIVIAL, not name.startswith("measured")))
        figure.legend(
            [handles[n] for n in order], order, loc="outside lower center", ncols=min(3, len(columns))
        )
    return figure


def _panel_title(outcome: Outcome) -> str:
    case, lam = outcome.case, outcome.run.network.lam
    gap = "" if lam is None else rf", $\lambda$={lam:.2g}"
    if not case.row:
        return f"{case.column}{gap}"
    one_line = len(f"{case.column}, {case.row}") + (7 if gap else 0) < 25  # what fits above a panel
    return f"{case.column}, {case.row}{gap}" if one_line else f"{case.column}\n{case.row}{gap}"


def running_left_hand_side(
    run: History, thm: Theorem, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate, lower and upper limit of the left-hand side at each horizon 1..T; one seed has no limits."""
    samples = rounds_of(run, thm)[1]
    tail = (1 - confidence) / 2
    deterministic = samples.shape[0] == 1
    if thm.lhs.aggregate == "min":
        means = samples.mean(axis=0)
        below = 0.0 if deterministic else half_widths(samples, tail)
        least, low = np.minimum.accumulate(means), np.minimum.accumulate(np.maximum(means - below, 0.0))
        finite = np.isfinite(means)  # a run that diverged is infinitely large from there on
        high = np.full(means.shape, np.inf)
        high[finite] = least[finite] if deterministic else running_upper_limits(samples[:, finite], tail)
        return least, low, high
    totals = np.cumsum(samples, axis=1) / np.arange(1, samples.shape[1] + 1)
    means = totals.mean(axis=0)
    if deterministic:
        return means, means, means
    return means, np.maximum(means - half_widths(totals, tail), 0.0), upper_limits(totals, tail)


def _bound_over(run: History, thm: Theorem, horizons: NDArray[np.float64]) -> NDArray[np.float64]:
    values = known_values(run, thm)
    if any(name not in values for name in thm.needs):
        return np.full(horizons.shape, np.nan)
    given = {name: float(np.mean(values[name])) for name in thm.needs if name != "T"}
    given |= {name: int(values[name]) for name in ("m", "K", "Q") if name in given}
    return np.asarray(thm.evaluate(**given, T=horizons, where="nan"), dtype=float) * np.ones(horizons.shape)


def _label(thm: Theorem) -> str:
    names = {"grad_norm_sq": r"\|\nabla f(\bar x^t)\|^2", "grad_norm_sq_w": r"\|\nabla f(w^t)\|^2"}
    inside = names.get(thm.lhs.measure)
    return thm.lhs.measure.replace("_", " ") if inside is None else rf"$\mathrm{{E}}\,{inside}$"


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.pdf`` (vector), each atomically, and close the figure."""
    import matplotlib.pyplot as plt

    paths = []
    undated: dict[str, Any] = {"metadata": {"CreationDate": None}}
    for suffix, extra in ((".png", {}), (".pdf", undated)):
        path = Path(folder) / f"{name}{suffix}"
        with replacing(path) as temporary, style():
            figure.savefig(temporary, **extra)
        paths.append(path)
    plt.close(figure)
    return paths


__all__ = ["bound_versus_empirical", "panels", "running_left_hand_side", "save", "style"]
