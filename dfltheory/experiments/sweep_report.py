"""The report and the figures at the end of a sweep: verdicts, panels, ratios over each axis, rates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dfltheory import plots
from dfltheory.experiments.experiment import Case, Outcome
from dfltheory.experiments.report import Study, render
from dfltheory.experiments.results import CELLS, MANIFEST, TABLE, CellResult, Results
from dfltheory.files import filling, write_text
from dfltheory.rates import fit_points
from dfltheory.training.document import short

if TYPE_CHECKING:
    import pandas as pd

REPORT, FIGURES = "report.html", "figures"
"""The names of the page and of the folder of figures in a sweep's folder."""

_MOST_PANELS = 6
_MOST_CURVES = 6


def write_report(results: Results, axes: tuple[tuple[str, ...], ...] = ()) -> Path:
    """Write ``figures/*.png``, ``figures/*.pdf`` and ``report.html`` into a sweep's folder; returns the last.

    ``axes`` are the fields of each line of ``[sweep]``; columns of panels run along the first.
    """
    done = [cell for cell in results.cells if cell.status == "done"]
    study = Study(
        title=results.title,
        outcomes=[_outcome(cell, results.title, axes) for cell in done],
        not_tested=[
            *(f"{_settings(cell)}: {cell.error}" for cell in results.cells if cell.status == "failed"),
            *(f"{_settings(cell)}: not finished" for cell in results.cells if cell.status == "missing"),
            "Other horizons, problems and networks than those of the cells; the limits of the theorem.",
        ],
        command="dfltheory sweep",
    )
    with filling(results.folder) as new:
        groups, more = _overview(study, results, done, new / FIGURES)
        more |= _over_axes(results, axes, new / FIGURES) if done else {}
        page = render(study, groups, more, files=(MANIFEST, f"{CELLS}/", TABLE), folder=new)
        write_text(new / REPORT, page)
    return results.folder / REPORT


def _settings(cell: CellResult) -> str:
    return ", ".join(f"{name} = {short(value)}" for name, value in cell.settings.items()) or cell.key


def _brief(name: str, value: Any) -> str:
    """A setting that fits above a panel: names speak for themselves, numbers say what they are."""
    return short(value) if isinstance(value, (str, dict)) else f"{name.split('.')[-1]} = {short(value)}"


def _outcome(cell: CellResult, title: str, axes: tuple[tuple[str, ...], ...]) -> Outcome:
    """The cell as an outcome. The task is not built again: pages and figures need its name alone."""
    run, verdicts = cell.history, cell.verdicts
    across = axes[0] if axes else ()
    return Outcome(
        Case(
            group=title,
            row=", ".join(_brief(n, v) for n, v in cell.settings.items() if n not in across),
            column=", ".join(_brief(n, cell.settings[n]) for n in across),
            task=cast(Any, None),
            algorithm=run.algorithm,
            rounds=run.rounds,
            seeds=run.seeds,
            key=verdicts[0].key if verdicts else "",
            variants=tuple(v.variant for v in verdicts),
            seed=run.seed,
        ),
        run,
        verdicts,
    )


def _overview(
    study: Study, results: Results, done: list[CellResult], folder: Path
) -> tuple[dict[str, Path | None], dict[str, Path]]:
    """The group's figure, panels under the bounds, where they fit; else the first runs beside each other, by
    a caption that says which."""
    from matplotlib.figure import Figure

    if not done:
        return {}, {}
    columns = {o.case.column for o in study.outcomes}
    rows = {o.case.row for o in study.outcomes}
    if study.verdicts and max(len(columns), len(rows)) <= _MOST_PANELS:
        return {results.title: plots.save(plots.panels(study.outcomes), folder, "runs")[2]}, {}
    figure, shown = Figure(figsize=(10.2, 3.4), layout="constrained"), done[:_MOST_PANELS]
    for ax, measure in zip(figure.subplots(1, 3), ("grad_norm_sq", "loss", "consensus")):
        plots.comparison(results.runs(shown), measure, ax, legend=measure == "loss")
    which = f"The first {len(shown)} of {len(done)} runs" if len(shown) < len(done) else "The runs"
    path = plots.save(figure, folder, "runs")[2]
    return {results.title: None}, {f"{which}, with bands over their seeds; no bound is drawn.": path}


def _over_axes(results: Results, axes: tuple[tuple[str, ...], ...], folder: Path) -> dict[str, Path]:
    """Caption -> figure: measured / bound over each axis, and the fitted rate along numeric ones."""
    from matplotlib.figure import Figure

    made: dict[str, Path] = {}
    frame = results.frame
    judged = "ratio" in frame.columns and bool(np.isfinite(frame["ratio"].astype(float)).any())
    fields = [name for axis in axes for name in axis]
    for (field,) in (axis for axis in axes if len(axis) == 1):
        name = field.replace(".", "-")
        if judged and frame[field].notna().all():
            figure = Figure(figsize=(4.6, 3.2), layout="constrained")
            curves, held = _curves(frame, field, fields)
            ax = plots.ratios(curves, field, figure.gca(), by="curve")
            _ticks_at(ax, frame[field])
            made[f"Measured / bound over {field}{held}."] = plots.save(figure, folder, f"ratio-{name}")[2]
        points, held = rate_points(frame, field, fields)
        if points is not None:
            figure = Figure(figsize=(4.6, 3.2), layout="constrained")
            caption = _draw_rate(points, field, held, figure.gca())
            made[caption] = plots.save(figure, folder, f"rate-{name}")[2]
    return made


def _curves(frame: pd.DataFrame, field: str, swept: list[str]) -> tuple[pd.DataFrame, str]:
    """The table with a column ``curve``: the variant and the other swept settings, so that no line joins
    points of different ones. Where these are too many, the others are held; also how."""
    judged = frame[np.isfinite(frame["ratio"].astype(float))]
    others = [n for n in swept if n != field and judged[n].nunique() > 1]
    held = ""
    if len(judged[["variant", *others]].drop_duplicates()) > _MOST_CURVES:
        first = judged.iloc[0]
        held = " at " * bool(others) + ", ".join(f"{n} = {short(first[n])}" for n in others)
        for n in others:
            judged = judged[judged[n] == first[n]]
        others = []
    names = [", ".join([row["variant"], *(short(row[n]) for n in others)]) for _, row in judged.iterrows()]
    return judged.assign(curve=names), held


def _ticks_at(ax: Any, values: pd.Series) -> None:
    """One tick for each number that was swept."""
    from matplotlib.ticker import NullLocator

    if _numeric(values):
        ticks = sorted(set(values))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticks(ticks, [short(v) for v in ticks])


def _numeric(values: pd.Series) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def rate_points(frame: pd.DataFrame, field: str, swept: list[str]) -> tuple[pd.DataFrame | None, str]:
    """x, measured and bound of one variant along a numeric field, the other swept fields held at their
    first values, and how; None where there are fewer than 3 positive points."""
    if not {"measured", "bound", "variant"} <= set(frame.columns):
        return None, ""
    rows, held = frame[frame["status"] == "done"], []
    for other in swept:
        if other != field and len(rows):
            held += [f"{other} = {short(rows[other].iloc[0])}"] if rows[other].nunique() > 1 else []
            rows = rows[rows[other] == rows[other].iloc[0]]
    for _, one in rows.groupby("variant", sort=False):
        table = one[[field, "measured", "measured_low", "measured_high", "bound", "variant"]].copy()
        if not _numeric(table[field]):
            return None, ""
        table = table.rename(columns={field: "x"})
        table = table[(table["x"] > 0) & np.isfinite(table["measured"]) & (table["measured"] > 0)]
        if table["x"].nunique() >= 3:
            return table.sort_values("x"), " at " + ", ".join(held) if held else ""
    return None, ""


def _draw_rate(points: pd.DataFrame, field: str, held: str, ax: Any) -> str:
    """Draw the fitted rate, and its caption."""
    y, low, high = (points[n].to_numpy(float) for n in ("measured", "measured_low", "measured_high"))
    found = fit_points(field, list(points["x"]), list(y), list(points["bound"].astype(float)))
    whole = bool(np.isfinite(low).all() and np.isfinite(high).all())
    found.plot(ax, interval=(np.maximum(low, 1e-9 * y), high) if whole else None)
    # a lower limit of zero leaves through the lower edge
    ax.set_ylim(bottom=float(np.min(np.where(whole & (low > 0), low, y / 4))) / 1.5)
    _ticks_at(ax, points["x"])
    fitted = found.exponent
    told = f"Fitted exponent in {field}{held}: {fitted.estimate:.3f} [{fitted.low:.3f}, {fitted.high:.3f}]"
    if found.predicted is None:
        return f"{told}."
    variant = points["variant"].iloc[0]
    return f"{told}; the {variant} bound's: {found.predicted:.3f}: {found.verdict}."
