"""``dfltheory sweep``: run the grid of an experiment file, resumable after a kill.

It runs locally or on a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import (
    AsJson,
    ChangeOption,
    Force,
    TrustOption,
    assignments,
    console,
    emit,
    exit_unless,
)
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.experiments.experiment_file import Experiment
    from dfltheory.experiments.results import CellResult
    from dfltheory.experiments.sweep import Sweep


SHOWN_MEASURES = {
    "grad_norm_sq": "gradient norm²",
    "loss": "loss",
    "accuracy": "test accuracy",
    "client_accuracy": "test accuracy of clients",
}
"""Final measurements in the table, with the titles of their columns."""
ALWAYS_SHOWN = ("grad_norm_sq", "loss")


def sweep(
    file: Annotated[
        Path | None,
        typer.Argument(help="The experiment file (TOML).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the results. Default: results/FILE's name."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Number of local processes. Default: one for each core."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=(
                "A dask scheduler, such as tcp://10.0.0.1:8786, instead of local"
                " processes."
            ),
        ),
    ] = None,
    change: ChangeOption = None,
    trust: TrustOption = False,
    force: Force = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again.")
    ] = False,
    list_cells: Annotated[
        bool,
        typer.Option(
            "--list", help="Check the file and list its cells; run and import nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run all cells of the grid that an experiment file defines.

    To resume a sweep that was stopped or killed, run the same command again; finished
    cells are kept. If a cell fails, its error is recorded and the others continue. Exit
    status 1 if a cell failed or a bound is violated.

    Examples:

        dfltheory sweep topologies.toml --jobs 4

        dfltheory sweep topologies.toml --list --set run.rounds=100

        dfltheory sweep topologies.toml --out results/a --retry-failed --json
    """
    from dfltheory.experiments.experiment_file import load_experiment

    if cluster is not None and re.fullmatch(r"\w+://.+:\d+", cluster) is None:
        raise InputError(
            f"--cluster {cluster} must be the address of a scheduler such as"
            " tcp://10.0.0.1:8786"
        )
    if file is None:
        raise InputError(
            "the experiment file is missing: pass its path; `dfltheory schema"
            " experiment` prints what it may contain"
        )
    experiment = load_experiment(
        file,
        changes=assignments(change),
        trust=trust,
        imports=not list_cells,
        force=force,
    )
    if list_cells:
        _list(experiment, as_json)
        return
    from dfltheory.experiments import sweep as sweeps

    folder = out if out is not None else Path("results") / file.stem
    check_writable(folder, folder=True)
    with keeping(
        f"finished cells are kept in {folder}: the same command continues from there"
    ):
        done = sweeps.sweep(
            experiment,
            folder,
            jobs=jobs,
            cluster=cluster,
            retry_failed=retry_failed,
            progress=not as_json,
        )
    from dfltheory.experiments.sweep_report import REPORT, write_report

    document = {
        "folder": done.results.folder,
        "ran": done.ran,
        "kept": done.kept,
        "cells": [_cell_document(cell) for cell in done.results.cells],
        "report": folder / REPORT,
    }
    emit(document, partial(_print, done), as_json)
    report = write_report(done.results, tuple(axis.fields for axis in experiment.axes))
    if not as_json:
        print(f"report: {report}")
    exit_unless(
        not done.count("failed") and not any(map(_has_violation, done.results.cells))
    )


def _cell_document(cell: CellResult) -> dict[str, object]:
    """Return the entry of a cell in the output of ``--json``."""
    return {
        "hash": cell.key,
        "settings": dict(cell.settings),
        "status": cell.status,
        "error": cell.error,
        "verdicts": list(cell.record.get("verdicts", ())),
        "final": cell.record.get("final"),
    }


def _has_violation(cell: CellResult) -> bool:
    return any(
        verdict["kind"] == "violated" for verdict in cell.record.get("verdicts", ())
    )


def _list(experiment: Experiment, as_json: bool) -> None:
    """Print the cells with their hashes.

    A cell that refers to code has no hash, since listing imports nothing.
    """
    cells, lines = [], []
    for cell in experiment.cells:
        code = list(cell.references.values())
        key = None if code else cell.key
        cells.append({"hash": key, "settings": dict(cell.settings), "code": code})
        name = f"names {', '.join(code)}" if key is None else key
        lines.append(f"{name}  {cell.label}")
    emit({"title": experiment.title, "cells": cells}, "\n".join(lines), as_json)


def _print(done: Sweep) -> None:
    """Print a table with the settings, final measurements and verdicts of each cell."""
    from rich.table import Table
    from rich.text import Text

    from dfltheory.training.document import short_label

    cells = done.results.cells
    table = Table(
        title=Text(done.results.title), title_justify="left", header_style="bold"
    )
    measures = _measures(cells)
    columns = [*cells[0].settings, *measures.values()]
    if any(cell.record.get("verdicts") for cell in cells):
        columns += ["variant", "verdict", "measured / bound"]
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    for cell in cells:
        style = "dim" if cell.status != "done" else ""
        rows = _table_rows(cell, measures, len(columns))
        for number, row in enumerate(rows, start=1):
            table.add_row(*map(Text, row), style=style, end_section=number == len(rows))
    console(130).print(table)
    for cell in cells:
        if cell.error:
            which = ", ".join(
                f"{name} = {short_label(value)}"
                for name, value in cell.settings.items()
            )
            print(f"failed: {which}: {cell.error}")
    counts = (
        f"{done.ran} cells run, {done.kept} kept from before, {done.count('failed')}"
        " failed"
    )
    print(f"{counts}: {done.results.folder}")


def _measures(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return the measures in the table and their column titles.

    Measures of test examples are among them if a cell has them.
    """
    recorded = {name for cell in cells for name in cell.record.get("final", {})}
    return {
        name: title
        for name, title in SHOWN_MEASURES.items()
        if name in recorded or name in ALWAYS_SHOWN
    }


def _table_rows(
    cell: CellResult, measures: Iterable[str], width: int
) -> list[list[str]]:
    """Return the rows of a cell, one for each variant.

    The first row contains the settings.
    """
    from dfltheory.experiments.page_parts import MARKS, verdict_text
    from dfltheory.experiments.verdict_documents import verdict_from_dict
    from dfltheory.number_format import format_number
    from dfltheory.training.document import short_label

    final = cell.record.get("final", {})
    measured = [format_number(float(final.get(name, "nan"))) for name in measures]
    begin = [*(short_label(value) for value in cell.settings.values()), *measured]
    rows = []
    for document in cell.record.get("verdicts", ()):
        verdict = verdict_from_dict(document)
        kind = f"{MARKS[verdict.kind]} {verdict_text(verdict)}"
        if verdict.suggestions:
            kind += f": {verdict.suggestions}"
        rows.append(
            [*begin, verdict.variant, kind, format_number(verdict.ratio, nothing="")]
        )
        begin = [""] * len(begin)
    return rows or [[*begin, *[""] * (width - len(begin))]]
