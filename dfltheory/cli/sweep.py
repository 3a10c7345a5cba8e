"""``dfltheory sweep``: run the grid of an experiment file, locally or on a cluster, safe against kills."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import AsJson, Change, Force, Trust, assignments, console, emit, leave
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.experiments.config import Plan
    from dfltheory.experiments.sweep import Sweep


def sweep(
    file: Annotated[
        Path | None, typer.Argument(help="The experiment file (TOML).", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results. Default: results/FILE's name.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Local processes. Default: one for each core.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="A dask scheduler, as tcp://10.0.0.1:8786, in place of local processes."
        ),
    ] = None,
    change: Change = None,
    trust: Trust = False,
    force: Force = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    list_cells: Annotated[
        bool, typer.Option("--list", help="Check the file and list its cells; run and import nothing.")
    ] = False,
    fields: Annotated[
        bool, typer.Option("--fields", help="Explain every field of experiment files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run every cell of the grid that an experiment file spans.

    A sweep that was stopped or killed resumes when the same command is given again: finished cells are kept.
    A cell that fails is kept with its error, and the others continue. Exit status 1 when a cell failed or a
    bound is violated.

    Examples:

        dfltheory sweep topologies.toml --jobs 4

        dfltheory sweep topologies.toml --list --set run.rounds=100

        dfltheory sweep topologies.toml --out results/a --retry-failed --json

        dfltheory sweep --fields
    """
    if fields:
        from dfltheory.experiments.config.fields_table import field_documents, fields_page

        emit({"fields": field_documents()}, fields_page(), as_json)
        return
    from dfltheory.experiments.config import load_plan

    if cluster is not None and re.fullmatch(r"\w+://.+:\d+", cluster) is None:
        raise InputError(f"--cluster {cluster}: write the scheduler's address as in tcp://10.0.0.1:8786")
    if file is None:
        raise InputError("give an experiment file, or --fields to see what one may hold")
    plan = load_plan(file, changes=assignments(change), trust=trust, imports=not list_cells, force=force)
    if list_cells:
        _list(plan, as_json)
        return
    from dfltheory.experiments import sweep as sweeps

    folder = out if out is not None else Path("results") / file.stem
    check_writable(folder, folder=True)
    with keeping(f"finished cells are kept in {folder}: the same command goes on from there"):
        done = sweeps.sweep(
            plan, folder, jobs=jobs, cluster=cluster, retry_failed=retry_failed, progress=not as_json
        )
    from dfltheory.experiments.sweep_report import REPORT, write_report

    kinds = [v["kind"] for cell in done.results.cells for v in cell.record.get("verdicts", ())]
    cells = [
        {"hash": cell.key, "settings": dict(cell.settings), "status": cell.status, "error": cell.error}
        | {"verdicts": list(cell.record.get("verdicts", ())), "final": cell.record.get("final")}
        for cell in done.results.cells
    ]
    document = {"folder": done.results.folder, "ran": done.ran, "kept": done.kept, "cells": cells}
    emit(document | {"report": folder / REPORT}, lambda: _print(done), as_json)
    report = write_report(done.results, tuple(axis.fields for axis in plan.axes))
    if not as_json:
        print(f"report: {report}")
    leave(not done.count("failed") and "violated" not in kinds)


def _list(plan: Plan, as_json: bool) -> None:
    """The cells with their hashes; a cell that names code has none, since nothing is imported for a list."""
    from dfltheory.identity import value_digest

    cells, lines = [], []
    for cell in plan.cells:
        code = list(cell.references.values())
        key = None if code else value_digest(cell.document())
        cells.append({"hash": key, "settings": dict(cell.settings), "code": code})
        settings = "  ".join(f"{name}={value}" for name, value in cell.settings.items())
        lines.append(f"{key or 'names ' + ', '.join(code)}  {settings}")
    emit({"title": plan.title, "cells": cells}, "\n".join(lines), as_json)


def _print(done: Sweep) -> None:
    """For each cell its settings and last measures, and a row for each variant that it was tested against."""
    from rich.table import Table
    from rich.text import Text

    from dfltheory.experiments.report import MARKS, told
    from dfltheory.experiments.results import verdict_from_dict
    from dfltheory.number_format import number
    from dfltheory.training.document import short

    cells = done.results.cells
    judged = {cell.key: [verdict_from_dict(d) for d in cell.record.get("verdicts", ())] for cell in cells}
    table = Table(title=Text(done.results.title), title_justify="left", header_style="bold")
    last = ("variant", "verdict", "measured / bound") if any(judged.values()) else ()
    for name in (*cells[0].settings, "gradient norm²", "loss", *last):
        table.add_column(Text(name), overflow="fold")
    for cell in cells:
        final = cell.record.get("final", {})
        row = [short(value) for value in cell.settings.values()]
        row += [number(float(final.get(n, "nan"))) for n in ("grad_norm_sq", "loss")]
        rows = [
            (v.variant, f"{MARKS[v.kind]} {told(v)}", number(v.ratio, nothing="")) for v in judged[cell.key]
        ]
        for k, found in enumerate(rows or [("",) * len(last)]):
            shown = map(Text, (*(row if k == 0 else [""] * len(row)), *found))
            table.add_row(
                *shown, style="dim" if cell.status != "done" else "", end_section=k + 1 >= len(rows)
            )
    console(130).print(table)
    for cell in cells:
        if cell.error:
            which = ", ".join(f"{n} = {short(v)}" for n, v in cell.settings.items())
            print(f"failed: {which}: {cell.error}")
    counts = f"{done.ran} cells run, {done.kept} kept from before, {done.count('failed')} failed"
    print(f"{counts}: {done.results.folder}")
