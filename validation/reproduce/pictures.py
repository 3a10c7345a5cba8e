"""Figures as in the papers: curves over the rounds, and loss surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.files import replacing
from dfltheory.plots import look
from validation.reproduce.cells import Result
from validation.reproduce.items import Entry, Item
from validation.reproduce.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[tuple[Entry, int], Result]
SURFACE_COLORS = ("0.15", "#D55E00")


def save(outcome: Outcome, results: Results, folder: Path) -> list[Path]:
    """Write the item's figure as SVG, if it has one."""
    draw = {"curves": curves, "surfaces": surfaces}.get(outcome.item.form)
    if draw is None:
        return []
    path = folder / f"{outcome.name}.svg"
    with look.style(), replacing(path) as unfinished:
        figure = draw(outcome, results)
        figure.savefig(unfinished, metadata={"Date": None}, bbox_inches="tight")
    return [path]


def curves(outcome: Outcome, results: Results) -> Figure:
    """Draw the measure over the rounds: a panel for each column, a line for each row.

    Lines are means over seeds; bands are plus or minus one standard deviation.
    """
    from matplotlib.figure import Figure

    item = outcome.item
    panels = _panels(item)
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(
        figsize=(3.1 * across + 0.4, 2.5 * down + 0.7), layout="constrained"
    )
    axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for ax, (title, entries) in zip(axes, panels.items()):
        for entry, line_style in zip(entries, look.looks()):
            runs = [results[entry, seed] for seed in outcome.seeds]
            if all(run.diverged is None for run in runs):
                _draw_curve(ax, item, entry[0], runs, line_style)
        ax.set(title=title, xlabel=item.axis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if item.panels:
            ax.legend(loc="lower right")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    axes[0].set_ylabel("test accuracy (%)")
    if not item.panels:
        handles = {}
        for ax in axes:
            shown, labels = ax.get_legend_handles_labels()
            handles.update(zip(labels, shown))
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=5
        )
    return figure


def _panels(item: Item) -> dict[str, list[Entry]]:
    """Return the entries of each panel by its title."""
    if item.panels:
        return {
            panel.title: list(product(panel.rows, item.column_labels))
            for panel in item.panels
        }
    return {
        column: list(product(item.row_labels, [column]))
        for column in item.column_labels
    }


def _draw_curve(
    ax: Axes, item: Item, row: str, runs: list[Result], line_style: look.CurveStyle
) -> None:
    measure = "client_accuracy" if item.measure == "personal" else "accuracy"
    over = np.array(runs[0].rounds) * item.per_round.get(row, 1)
    values = np.array([run.measures[measure] for run in runs], dtype=float)
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=min(1, len(runs) - 1))
    ax.fill_between(
        over,
        mean - spread,
        mean + spread,
        color=line_style["color"],
        alpha=0.2,
        linewidth=0,
    )
    ax.plot(over, mean, label=row, **line_style)


def surfaces(outcome: Outcome, results: Results) -> Figure:
    """Draw the loss surfaces of all rows, with a panel for each column."""
    from matplotlib.figure import Figure

    item, seed = outcome.item, outcome.seeds[0]
    figure = Figure(figsize=(4.2 * len(item.columns), 4.0), layout="constrained")
    for k, column in enumerate(item.column_labels):
        ax: Any = figure.add_subplot(1, len(item.columns), k + 1, projection="3d")
        for row, color in zip(item.row_labels, SURFACE_COLORS):
            final = results[(row, column), seed].final
            if "landscape" not in final:
                continue
            along = np.array(final["along"], dtype=float)
            loss = np.array(final["landscape"], dtype=float)
            X, Y = np.meshgrid(along, along, indexing="ij")
            height = np.log10(loss)
            ax.plot_wireframe(X, Y, height, label=row, color=color, linewidth=0.6)
        ax.set(
            title=column,
            xlabel="first direction",
            ylabel="second direction",
            zlabel="log10 loss",
        )
        ax.legend(loc="upper left")
    return figure
