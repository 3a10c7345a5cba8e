"""Report and figures of a sweep: verdicts, panels, ratios over each axis, rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dfltheory import plots
from dfltheory.experiments.cases import Case, Outcome
from dfltheory.experiments.report import Study, render
from dfltheory.experiments.results import CELLS, MANIFEST, TABLE, CellResult, Results
from dfltheory.files import filling, write_text
from dfltheory.rates import fit_points
from dfltheory.training.document import short_label
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REPORT, FIGURES = "report.html", "figures"
"""Names of the page and of the folder of figures in a sweep's folder."""

_MOST_PANELS = 6
"""Largest number of rows or columns of panels in a figure."""
_MOST_CURVES = 6
"""Largest number of curves in a figure of ratios."""


def write_report(results: Results, axes: tuple[tuple[str, ...], ...] = ()) -> Path:
    """Write figures and ``report.html`` to a sweep's folder.

    Parameters
    ----------
    results : Results
        The sweep.
    axes : tuple
        The fields of each line of ``[sweep]``; the first axis runs along the columns of
        panels.

    Returns
    -------
    Path
        The page.
    """
    done = [cell for cell in results.cells if cell.status == "done"]
    failed = [
        f"{_settings(cell)}: {cell.error}"
        for cell in results.cells
        if cell.status == "failed"
    ]
    missing = [
        f"{_settings(cell)}: not finished"
        for cell in results.cells
        if cell.status == "missing"
    ]
    others = (
        "Other horizons, problems and networks than those of the cells; the limits of"
        " the theorem."
    )
    study = Study(
        title=results.title,
        outcomes=[_outcome(cell, results.title, axes) for cell in done],
        not_tested=[*failed, *missing, others],
        command="dfltheory sweep",
    )
    with filling(results.folder) as new:
        groups, more = _overview(study, results, done, axes, new / FIGURES)
        more |= _over_axes(results, axes, new / FIGURES) if done else {}
        page = render(
            study, groups, more, files=(MANIFEST, f"{CELLS}/", TABLE), folder=new
        )
        write_text(new / REPORT, page)
    return results.folder / REPORT


def _settings(cell: CellResult) -> str:
    """Return the settings of a cell as text, or its key without any."""
    return (
        ", ".join(
            f"{name} = {short_label(value)}" for name, value in cell.settings.items()
        )
        or cell.key
    )


def _title_text(name: str, value: object) -> str:
    """Return a setting as text that is short enough for the title of a panel.

    Numbers are preceded by their field, names are not.
    """
    if isinstance(value, (str, dict)):
        return short_label(value)
    return f"{name.split('.')[-1]} = {short_label(value)}"


def _outcome(
    cell: CellResult, title: str, axes: tuple[tuple[str, ...], ...]
) -> Outcome:
    """Return a cell as an outcome.

    The task is not rebuilt, since pages and figures do not need it.
    """
    run, verdicts = cell.history, cell.verdicts
    instance = Instance(
        task=cast(Any, None),
        algorithm=run.algorithm,
        rounds=run.rounds,
        seeds=run.seeds,
        seed=run.seed,
    )
    across = axes[0] if axes else ()
    return Outcome(
        Case(
            instance=instance,
            group=title,
            row=", ".join(
                _title_text(n, v) for n, v in cell.settings.items() if n not in across
            ),
            column=", ".join(_title_text(n, cell.settings[n]) for n in across),
            key=verdicts[0].key if verdicts else "",
            variants=tuple(v.variant for v in verdicts),
        ),
        run,
        verdicts,
    )


def _overview(
    study: Study,
    results: Results,
    done: list[CellResult],
    axes: tuple[tuple[str, ...], ...],
    folder: Path,
) -> tuple[dict[str, Path | None], dict[str, Path]]:
    """Return the figures of the runs, by group and by caption.

    There is one figure with a panel for each cell, or one figure per axis if there are
    too many cells. Without a statement, the first runs share one panel per measure.
    """
    from matplotlib.figure import Figure

    if not done:
        return {}, {}
    columns = {outcome.case.column for outcome in study.outcomes}
    rows = {outcome.case.row for outcome in study.outcomes}
    if study.verdicts and max(len(columns), len(rows)) <= _MOST_PANELS:
        return {
            results.title: plots.save(plots.panels(study.outcomes), folder / "runs")[2]
        }, {}
    if study.verdicts and axes:
        return {results.title: None}, _panels_along_axes(study, done, axes, folder)
    figure = Figure(figsize=(10.2, 3.4), layout="constrained")
    shown = done[:_MOST_PANELS]
    for ax, measure in zip(
        figure.subplots(1, 3), ("grad_norm_sq", "loss", "consensus")
    ):
        plots.comparison(results.runs(shown), measure, ax, legend=measure == "loss")
    which = "The runs"
    if len(shown) < len(done):
        which = f"The first {len(shown)} of {len(done)} runs"
    path = plots.save(figure, folder / "runs")[2]
    return {results.title: None}, {
        f"{which}, with bands over their seeds; no bound is drawn.": path
    }


def _panels_along_axes(
    study: Study,
    done: list[CellResult],
    axes: tuple[tuple[str, ...], ...],
    folder: Path,
) -> dict[str, Path]:
    """Return figures with panels along each axis, by caption.

    The other axes are fixed at their first values.
    """
    captions: dict[str, Path] = {}
    first = done[0].settings
    for axis in axes:
        shown: list[Outcome] = []
        for cell, outcome in zip(done, study.outcomes):
            others = [n for n in first if n not in axis]
            if all(cell.settings[n] == first[n] for n in others):
                column = ", ".join(_title_text(n, cell.settings[n]) for n in axis)
                case = replace(outcome.case, row="", column=column)
                shown.append(replace(outcome, case=case))
        if len(shown) < 2:
            continue
        name = "-".join(field.replace(".", "-") for field in axis)
        held = [f"{n} = {short_label(first[n])}" for n in first if n not in axis]
        figure = plots.panels(shown[:_MOST_PANELS])
        path = plots.save(figure, folder / f"runs-{name}")[2]
        which = "Runs"
        if len(shown) > _MOST_PANELS:
            which = f"The first {_MOST_PANELS} of {len(shown)} runs"
        captions[f"{which} over {', '.join(axis)}{_held_text(held)}."] = path
    return captions


def _over_axes(
    results: Results, axes: tuple[tuple[str, ...], ...], folder: Path
) -> dict[str, Path]:
    """Return figures of measured / bound over each axis, by caption.

    Numeric axes also have figures of the fitted rate.
    """
    captions: dict[str, Path] = {}
    frame = results.frame
    has_ratios = "ratio" in frame.columns and bool(
        np.isfinite(frame["ratio"].astype(float)).any()
    )
    fields = [name for axis in axes for name in axis]
    for (field,) in (axis for axis in axes if len(axis) == 1):
        name = field.replace(".", "-")
        if has_ratios and frame[field].notna().all():
            curves, held = _curves(frame, field, fields)
            ax = plots.ratio_over(field, curves, by="curve")
            _ticks_at(ax, frame[field])
            figure = cast("Figure", ax.get_figure())
            captions[f"Measured / bound over {field}{held}."] = plots.save(
                figure, folder / f"ratio-{name}"
            )[2]
        points, held = rate_points(frame, field, fields)
        if points is not None:
            caption, figure = _draw_rate(points, field, held)
            captions[caption] = plots.save(figure, folder / f"rate-{name}")[2]
    return captions


def _curves(
    frame: pd.DataFrame, field: str, swept: list[str]
) -> tuple[pd.DataFrame, str]:
    """Return the rows of verdicts, and a text with the settings that are fixed.

    The added column ``curve`` identifies curves: a variant at one value of each other
    swept field. If there are too many curves, the other fields are fixed at the first
    values with a ratio.
    """
    judged = frame[frame["variant"].notna()]
    others = [name for name in swept if name != field and judged[name].nunique() > 1]
    held = ""
    if len(judged[["variant", *others]].drop_duplicates()) > _MOST_CURVES:
        first = judged[np.isfinite(judged["ratio"].astype(float))].iloc[0]
        held = _held_text([f"{name} = {short_label(first[name])}" for name in others])
        for name in others:
            judged = judged[judged[name] == first[name]]
        others = []
    names = []
    for _, row in judged.iterrows():
        settings = [_title_text(name, row[name]) for name in others]
        names.append(", ".join([row["variant"], *settings]))
    return judged.assign(curve=names), held


def _held_text(settings: list[str]) -> str:
    """Return the settings as text, such as " at a = 1, b = 2"; empty without any."""
    return " at " + ", ".join(settings) if settings else ""


def _ticks_at(ax: Any, values: pd.Series) -> None:
    """Set one tick at each swept number."""
    from matplotlib.ticker import NullLocator

    if _numeric(values):
        ticks = sorted(set(values))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticks(ticks, [short_label(v) for v in ticks])


def _numeric(values: pd.Series) -> bool:
    """Return whether all values are numbers, and none is a boolean."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def rate_points(
    frame: pd.DataFrame, field: str, swept: list[str]
) -> tuple[pd.DataFrame | None, str]:
    """Return x, measured values and bounds of one variant along a numeric field.

    The second result is a text with the settings that are fixed: the other swept
    fields, at their first values. The table is None if there are fewer than 3 positive
    points.
    """
    if not {"measured", "bound", "variant"} <= set(frame.columns):
        return None, ""
    rows, held = frame[frame["status"] == "done"], []
    for other in swept:
        if other == field or not len(rows):
            continue
        first = rows[other].iloc[0]
        if rows[other].nunique() > 1:
            held.append(f"{other} = {short_label(first)}")
        rows = rows[rows[other] == first]
    for _, of_variant in rows.groupby("variant", sort=False):
        table = of_variant[
            [field, "measured", "measured_low", "measured_high", "bound", "variant"]
        ]
        if not _numeric(table[field]):
            return None, ""
        table = table.rename(columns={field: "x"})
        positive = (
            (table["x"] > 0) & np.isfinite(table["measured"]) & (table["measured"] > 0)
        )
        table = table[positive]
        if table["x"].nunique() >= 3:
            return table.sort_values("x"), _held_text(held)
    return None, ""


def _draw_rate(points: pd.DataFrame, field: str, held: str) -> tuple[str, Figure]:
    """Draw the fitted rate; return its caption and figure."""
    measured = points["measured"].to_numpy(float)
    low, high = (
        points["measured_low"].to_numpy(float),
        points["measured_high"].to_numpy(float),
    )
    fit = fit_points(
        field, list(points["x"]), list(measured), list(points["bound"].astype(float))
    )
    has_intervals = bool(np.isfinite(low).all() and np.isfinite(high).all())
    interval = (np.maximum(low, 1e-9 * measured), high) if has_intervals else None
    ax = fit.plot(interval=interval)
    ax.set_xlabel(plots.axis_name(field))
    figure = cast("Figure", ax.get_figure())
    # lower limits of zero extend beyond the lower edge of the plot
    lowest = np.where(low > 0, low, measured / 4) if has_intervals else measured / 4
    ax.set_ylim(bottom=float(np.min(lowest)) / 1.5)
    _ticks_at(ax, points["x"])
    fitted = fit.exponent
    caption = (
        f"Fitted exponent in {field}{held}: {fitted.estimate:.3f} [{fitted.low:.3f},"
        f" {fitted.high:.3f}]"
    )
    if fit.predicted is None:
        return f"{caption}.", figure
    variant = points["variant"].iloc[0]
    caption += f"; the {variant} bound's: {fit.predicted:.3f}: {fit.verdict}."
    return caption, figure
