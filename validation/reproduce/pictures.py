"""Figures in the papers' form: bars, curves over the rounds, loss surfaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle

from dfltheory.files import replacing
from dfltheory.plots import looks, style
from validation.reproduce.cells import Result
from validation.reproduce.items import Entry, Item
from validation.reproduce.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[tuple[Entry, int], Result]


def save(outcome: Outcome, results: Results, folder: Path) -> Path:
    """Write the item's figure as SVG."""
    path = folder / f"{outcome.name}.svg"
    with style():
        figure = {"bars": bars, "curves": curves, "surfaces": surfaces}[
            outcome.item.form
        ](outcome, results)
        with replacing(path) as temporary:
            figure.savefig(temporary, metadata={"Date": None}, bbox_inches="tight")
    return path


def bars(outcome: Outcome, results: Results) -> Figure:
    """Ours, and next to it the paper's: columns along the axis, a bar for each row."""
    from matplotlib.figure import Figure

    item = outcome.item
    ours = dict(outcome.values)
    panels: list[tuple[str, Mapping[Entry, Any]]] = [
        (f"here, {outcome.scale.name} scale", ours)
    ]
    if item.printed:
        printed = {entry: (_number(item.number(entry)),) for entry in ours}
        panels.insert(0, ("in the paper", printed))
    # many rows in few columns: the rows along the axis
    turned = len(item.rows) > 3 * len(item.columns)
    places = item.row_labels if turned else item.column_labels
    width = min(12.0, max(3.2, 0.16 * len(item.rows) * len(item.columns) + 1.5)) * len(
        panels
    )
    figure = Figure(figsize=(min(width, 14), 3.2), layout="constrained")
    for ax, (title, table) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels
    ):
        cut = _bars(ax, item, table, turned)
        ax.set_title(f"{title} (the axis does not begin at 0)" if cut else title)
        ax.set_xticks(
            range(len(places)),
            places,
            rotation=0 if _short(places) else 30,
            ha="center" if _short(places) else "right",
        )
    first = figure.axes[0]
    measure = item.measures(item.column_labels[0])
    first.set_ylabel(measure.unit or measure.name)
    if len(item.columns if turned else item.rows) > 1:
        figure.legend(
            *first.get_legend_handles_labels(), loc="outside lower center", ncols=6
        )
    return figure


def _bars(ax: Axes, item: Item, table: Mapping[Entry, Any], turned: bool) -> bool:
    """Draw the bars; return whether the axis is cut."""
    lines, places = (
        (item.column_labels, item.row_labels)
        if turned
        else (item.row_labels, item.column_labels)
    )
    width = 0.84 / len(lines)
    shades = [str(round(s, 2)) for s in np.linspace(0.25, 0.9, len(lines))]
    hatches = ["", "///", "", "...", "", "xxx", "", "\\\\\\", "", "++", "", "oo", ""]
    low = math.inf
    for k, line in enumerate(lines):
        if turned:
            numbers = [table[place, line] for place in places]
        else:
            numbers = [table[line, place] for place in places]
        means = [_mean(values) for values in numbers]
        errors = [_deviation(values) for values in numbers]
        at = np.arange(len(places)) + (k - (len(lines) - 1) / 2) * width
        ax.bar(
            at,
            means,
            width,
            yerr=errors if any(errors) else None,
            label=line,
            color=shades[k],
            edgecolor="black",
            linewidth=0.5,
            hatch=hatches[k % len(hatches)],
            error_kw={"linewidth": 0.7},
        )
        for x, mean in zip(at, means):
            if math.isnan(mean):
                ax.text(
                    x,
                    0.02,
                    "x",
                    ha="center",
                    transform=ax.get_xaxis_transform(),
                    fontsize=6,
                )
        low = min([low, *(m for m in means if not math.isnan(m))])
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    heights = [bar.get_height() for bar in bars]
    top = max((height for height in heights if np.isfinite(height)), default=1.0)
    # differences of a few percent are what is compared
    if math.isfinite(low) and low > 0.5 * top:
        room = 0.25 * (top - low) + 0.01 * top
        ax.set_ylim(low - room, top + room / 4)
        return True
    return False


def _mean(values: Any) -> float:
    """Return the mean; nan if a run diverged."""
    return float(np.mean(values)) if np.isfinite(values).all() else math.nan


def _deviation(values: Any) -> float:
    """Return the standard deviation; 0 for a single value or if a run diverged."""
    known = len(values) > 1 and np.isfinite(values).all()
    return float(np.std(values, ddof=1)) if known else 0.0


def curves(outcome: Outcome, results: Results) -> Figure:
    """Draw the measure over the rounds: a panel for each column, a line for each row.

    Lines are means over seeds, in a band of their standard deviation.
    """
    from matplotlib.figure import Figure

    item = outcome.item
    measure = "client_accuracy" if item.measure == "personal" else "accuracy"
    panels: dict[str, list[Entry]] = {}
    for panel in item.panels:
        panels[panel.title] = list(product(panel.rows, item.column_labels))
    for column in [] if item.panels else item.column_labels:
        panels[column] = [(row, column) for row in item.row_labels]
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(
        figsize=(3.1 * across + 0.4, 2.5 * down + 0.7), layout="constrained"
    )
    axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for ax, (title, entries) in zip(axes, panels.items()):
        for entry, look in zip(entries, looks()):
            row, runs = entry[0], [results[entry, seed] for seed in outcome.seeds]
            if any(run.diverged is not None for run in runs):
                continue
            over = np.array(runs[0].rounds) * item.per_round.get(row, 1)
            values = np.array([run.measures[measure] for run in runs], dtype=float)
            mean = values.mean(axis=0)
            spread = values.std(axis=0, ddof=min(1, len(runs) - 1))
            ax.fill_between(
                over,
                mean - spread,
                mean + spread,
                color=look["color"],
                alpha=0.2,
                linewidth=0,
            )
            ax.plot(over, mean, label=row, **look)
        ax.set(title=title, xlabel=item.axis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if item.panels:
            ax.legend(loc="lower right")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    axes[0].set_ylabel("test accuracy (%)")
    if item.panels:
        return figure
    handles = {}
    for ax in axes:
        shown, labels = ax.get_legend_handles_labels()
        handles.update(zip(labels, shown))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5)
    return figure


def surfaces(outcome: Outcome, results: Results) -> Figure:
    """Draw both rows' loss along the two directions, a panel for each column."""
    from matplotlib.figure import Figure

    item, seed = outcome.item, outcome.seeds[0]
    figure = Figure(figsize=(4.2 * len(item.columns), 4.0), layout="constrained")
    for k, column in enumerate(item.column_labels):
        ax: Any = figure.add_subplot(1, len(item.columns), k + 1, projection="3d")
        for row, look in zip(
            item.row_labels,
            (
                {"color": "0.15", "linewidth": 0.6},
                {"color": "#D55E00", "linewidth": 0.6},
            ),
        ):
            final = results[(row, column), seed].final
            if "landscape" not in final:
                continue
            along = np.array(final["along"], dtype=float)
            loss = np.array(final["landscape"], dtype=float)
            X, Y = np.meshgrid(along, along, indexing="ij")
            ax.plot_wireframe(X, Y, np.log10(loss), label=row, **look)
        ax.set(
            title=column,
            xlabel="first direction",
            ylabel="second direction",
            zlabel="log10 loss",
        )
        ax.legend(loc="upper left")
    return figure


def _number(printed: Any) -> float:
    return printed if isinstance(printed, float) else math.nan


def _short(labels: list[str]) -> bool:
    return max(map(len, labels)) * len(labels) < 40
