"""Sweeps: all cells of an experiment file's grid, on local processes or a cluster.

Only the parent process writes. A finished cell consists of a history and a record, each
written atomically, the record last; a cell without a record counts as not run. A sweep
that is killed can be resumed: finished cells are neither lost nor repeated. The result
of a cell depends only on its configuration and on the format of random numbers, both of
which determine its key. So an interrupted sweep yields the same numbers as an
uninterrupted one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.errors import InputError
from dfltheory.experiments.cell import Cell
from dfltheory.experiments.experiment_file import Experiment
from dfltheory.experiments.results import (
    CELLS,
    MANIFEST,
    Results,
    load_results,
    read_record,
    write_results,
)
from dfltheory.experiments.sweep_workers import CellRecord, Job, cell_results, connected
from dfltheory.files import filling, remove_halves, replacing, write_json
from dfltheory.progress import counted

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Sweep:
    """The outcome of a call of :func:`sweep`.

    Attributes
    ----------
    results : Results
        All cells of the sweep.
    ran : int
        Number of cells that this call ran, including failed ones.
    kept : int
        Number of cells that earlier calls had finished.
    """

    results: Results
    ran: int
    kept: int

    def count(self, status: str) -> int:
        """Return the number of cells that are ``done``, ``failed`` or ``missing``."""
        return sum(cell.status == status for cell in self.results.cells)


def sweep(
    experiment: Experiment,
    out: str | Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: bool = False,
) -> Sweep:
    """Run the cells of an experiment that a folder lacks, then write its tables.

    If a cell's worker process dies, the cell is run once more; if the worker dies
    again, the cell is recorded as failed. Tables and report of an earlier call remain
    until all cells have been run.

    Parameters
    ----------
    experiment : Experiment
        As returned by :func:`dfltheory.experiments.experiment_file.load_experiment`.
    out : path
        Folder of the results (see :mod:`dfltheory.experiments.results`); it is created
        if missing.
    jobs : int, optional
        Number of local processes with one thread each; by default one per core.
    cluster : str, optional
        Address of a dask scheduler, such as tcp://10.0.0.1:8786, to use instead of
        local processes.
    retry_failed : bool
        Run failed cells again. By default their errors are kept.
    progress : bool
        Show a progress bar on stderr.

    Raises
    ------
    InputError
        jobs < 1, two cells have the same configuration, or another process is writing
        to ``out``.
    ClusterError
        No scheduler responds, the connection is lost, or ``distributed`` is not
        installed. Finished cells are kept.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs} must be an integer >= 1")
    work = _keyed(experiment)
    folder = Path(out)
    unfinished = any(_is_waiting(folder, key, retry_failed) for key, _ in work)
    # connect before creating the folder, so that a failure leaves no folder
    connection = contextlib.nullcontext()
    if cluster is not None and unfinished:
        connection = connected(cluster)
    with connection as client:
        return _swept(experiment, work, folder, jobs, client, retry_failed, progress)


def _swept(
    experiment: Experiment,
    work: list[Job],
    folder: Path,
    jobs: int | None,
    client: Client | None,
    retry_failed: bool,
    progress: bool,
) -> Sweep:
    """Run the cells that the folder lacks, see :func:`sweep`."""
    (folder / CELLS).mkdir(parents=True, exist_ok=True)
    manifest = {
        "title": experiment.title,
        "source": Path(experiment.source).name,
        "axes": [list(axis.fields) for axis in experiment.axes],
        "cells": [{"key": key, "settings": dict(cell.settings)} for key, cell in work],
    }
    with filling(folder) as new:
        unfinished = [
            folder / CELLS / f"*{suffix}" for suffix in (".json", ".safetensors")
        ]
        remove_halves(folder / MANIFEST, *unfinished)
        write_json(folder / MANIFEST, manifest)  # cells can be read from now on
        waiting = [job for job in work if _is_waiting(folder, job[0], retry_failed)]
        finished = len(work) - len(waiting)
        with (
            counted(len(work), progress, finished) as report,
            contextlib.closing(cell_results(waiting, jobs, client)) as stream,
        ):
            failures = 0
            for key, record, history in stream:
                _store(folder, key, record, history)
                failures += record["status"] == "failed"
                report(_progress_text(record["settings"], failures), 1)
        results = load_results(folder)
        write_results(results, new)
        write_json(new / MANIFEST, manifest)
    return Sweep(results, ran=len(waiting), kept=finished)


def _is_waiting(folder: Path, key: str, retry_failed: bool) -> bool:
    """Return whether a cell has yet to be run."""
    record = read_record(folder, key) or {}
    status = record.get("status")
    return status is None or (retry_failed and status == "failed")


def _progress_text(settings: Mapping[str, object], failures: int) -> str:
    text = ", ".join(
        f"{name.split('.')[-1]} {value}" for name, value in settings.items()
    )
    return f"{text}  ({failures} failed)" if failures else text


def _keyed(experiment: Experiment) -> list[Job]:
    """Return all cells with their keys."""
    work: dict[str, Cell] = {}
    for cell in experiment.cells:
        key = cell.key
        if key in work:
            raise InputError(
                f"{experiment.source}: two cells are the same experiment:"
                f" {work[key].label}, and {cell.label}"
            )
        work[key] = cell
    return list(work.items())


def _store(folder: Path, key: str, record: CellRecord, history: bytes | None) -> None:
    """Write a cell: the history first, since a record marks its cell as complete."""
    path = folder / CELLS / key
    if history is not None:
        with replacing(path.with_suffix(".safetensors")) as temporary:
            temporary.write_bytes(history)
    write_json(path.with_suffix(".json"), record)
