"""Sweeps: every cell of an experiment file's grid, over local processes or a cluster, safe against kills.

The parent is the only writer. A finished cell is one record and one history, each written atomically, the
record last; a cell without a record has not happened. So a sweep that is killed anywhere goes on where it
was: finished cells are neither lost nor repeated. What a cell computes depends on its configuration alone,
so that an interrupted sweep ends with the numbers of an uninterrupted one.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfltheory.errors import InputError
from dfltheory.experiments.config import Experiment, Plan
from dfltheory.experiments.results import CELLS, MANIFEST, Results, load_results, read_record, write_table
from dfltheory.experiments.sweep_workers import Job, found_by
from dfltheory.files import filling, remove_halves, replacing, write_json
from dfltheory.identity import value_digest
from dfltheory.progress import counted


@dataclass(frozen=True)
class Sweep:
    """What a call of :func:`sweep` did."""

    results: Results
    ran: int
    """Cells that this call ran, failed ones included."""
    kept: int
    """Cells that earlier calls had finished."""

    def count(self, status: str) -> int:
        """How many cells are ``done``, ``failed`` or ``missing``."""
        return sum(cell.status == status for cell in self.results.cells)


def sweep(
    plan: Plan,
    out: str | Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: bool = False,
) -> Sweep:
    """Run the cells of ``plan`` that ``out`` does not hold yet, then assemble the tables there.

    Parameters
    ----------
    plan : what :func:`dfltheory.experiments.config.load_plan` read
    out : folder of the results (see :mod:`dfltheory.experiments.results`); made where there is none
    jobs : local processes, one thread each; ``None``: one for each core
    cluster : address of a dask scheduler, as in tcp://10.0.0.1:8786, in place of local processes
    retry_failed : run failed cells again (they are kept with their errors otherwise)
    progress : show a bar on stderr

    Raises
    ------
    InputError
        jobs < 1, two cells of the same configuration, or another process is writing into ``out``.
    ClusterError
        No scheduler answers, it went away, or ``distributed`` is not installed. Finished cells are kept.

    A cell whose worker process dies is tried again, and kept as failed where it dies again. Cells are whole
    one by one; tables and report of an earlier call stay until all cells have been run.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs} must be an integer >= 1")
    work = _keyed(plan)
    folder = Path(out)
    (folder / CELLS).mkdir(parents=True, exist_ok=True)
    manifest = {
        "title": plan.title,
        "source": Path(plan.source).name,
        "axes": [list(axis.fields) for axis in plan.axes],
        "cells": [{"key": key, "settings": dict(cell.settings)} for key, cell in work],
    }
    with filling(folder) as new:
        remove_halves(folder / MANIFEST, *(folder / CELLS / f"*{end}" for end in (".json", ".safetensors")))
        write_json(folder / MANIFEST, manifest)  # cells can be read from now on
        known = {key: (read_record(folder, key) or {}).get("status") for key, _ in work}
        again = (None, "failed") if retry_failed else (None,)
        waiting = [job for job in work if known[job[0]] in again]
        failures = 0
        with (
            counted(len(work), progress, len(work) - len(waiting)) as tell,
            contextlib.closing(found_by(waiting, jobs, cluster)) as found,
        ):
            for key, record, history in found:
                _store(folder, key, record, history)
                failures += record["status"] == "failed"
                told = ", ".join(f"{n.split('.')[-1]} {v}" for n, v in record["settings"].items())
                tell(f"{told}{f'  ({failures} failed)' if failures else ''}", 1)
        results = load_results(folder)
        write_table(results, new)
        write_json(new / MANIFEST, manifest)
    return Sweep(results, ran=len(waiting), kept=len(work) - len(waiting))


def _keyed(plan: Plan) -> list[Job]:
    """Every cell with its key, the hash of its full configuration."""
    work: dict[str, Experiment] = {}
    for cell in plan.cells:
        key = value_digest(cell.document())
        if key in work:
            raise InputError(
                f"{plan.source}: two cells are the same experiment: {work[key].label}, and {cell.label}"
            )
        work[key] = cell
    return list(work.items())


def _store(folder: Path, key: str, record: dict[str, Any], history: bytes | None) -> None:
    """The history first: a record says that its cell is complete."""
    path = folder / CELLS / key
    if history is not None:
        with replacing(path.with_suffix(".safetensors")) as temporary:
            temporary.write_bytes(history)
    write_json(path.with_suffix(".json"), record)
