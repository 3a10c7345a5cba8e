"""Workers of a sweep: this process, local processes (joblib's loky), or a dask cluster.

Worker processes may die: the operating system kills them if memory is short, or a
machine of a cluster fails. A cell that kills its worker is recorded as failed, with the
known cause, and the other cells continue. If the sweep itself is killed, its local
workers also end, since their results would not be stored.
"""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.errors import DFLTheoryError
from dfltheory.experiments.cases import installed_versions, perform
from dfltheory.experiments.cell import Cell
from dfltheory.files import json_value
from dfltheory.randomness import RANDOM_FORMAT, one_order
from dfltheory.training.history import History

if TYPE_CHECKING:
    from distributed import Client

Job = tuple[str, Cell]
"""A cell with its key."""
CellRecord = dict[str, Any]
"""The record of a cell, in JSON's types."""
Finished = tuple[str, CellRecord, bytes | None]
"""Key, record, and the history as a safetensors file (None if the cell failed)."""

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_WATCH_SECONDS = 0.5
"""Interval at which a worker checks that its parent is alive."""


class ClusterError(DFLTheoryError):
    """A cluster cannot be used."""


class WorkerDiedError(DFLTheoryError):
    """The process that ran a cell was killed or crashed."""


def cell_results(
    work: Sequence[Job], jobs: int | None, client: Client | None = None
) -> Generator[Finished, None, None]:
    """Run cells and yield their results in order of completion.

    Parameters
    ----------
    work : sequence of jobs
        The cells with their keys.
    jobs : int, optional
        Number of local processes; by default one per core.
    client : distributed.Client, optional
        Runs the cells on its cluster instead of local processes.
    """
    processes = min(jobs or os.cpu_count() or 1, len(work))
    if client is not None and work:
        return _on_cluster(work, client)
    if processes > 1:
        return _on_processes(work, processes)
    return (run_cell(*job) for job in work)


# -- one cell


def run_cell(key: str, cell: Cell) -> Finished:
    """Run one cell on a single thread, and compare it with its statements.

    A single thread makes the numbers independent of the machine. Nothing is raised: an
    error yields a record with ``status`` "failed", and its type, message and traceback.
    """
    record = {**_identified(key, cell), "version": installed_versions()}
    history = None
    start = time.perf_counter()
    try:
        with one_order():
            outcome = perform(cell.case())
        run = outcome.run
        summary = _summary(run)
        verdicts = [verdict.to_dict() for verdict in outcome.verdicts]
        if not cell["run"]["keep_models"]:
            run = dataclasses.replace(run, x=run.x[..., :0])
        history = run.packed()  # in memory, so that a full disk does not fail the cell
        record |= {"status": "done", **summary, "verdicts": verdicts}
    # the record reports any error, and the other cells continue
    except Exception as error:
        record |= _failure(error, traceback.format_exc())
    record["seconds"] = time.perf_counter() - start
    return key, json_value(record), history


def _identified(key: str, cell: Cell) -> CellRecord:
    """Return the fields of a record that identify its cell."""
    return {
        "key": key,
        "settings": dict(cell.settings),
        "configuration": cell.document(),
        "random_format": RANDOM_FORMAT,
    }


def _failure(error: BaseException, trace: str = "") -> CellRecord:
    """Return the fields of a failed cell's record."""
    message = " ".join(str(error).split())
    details = {"type": type(error).__name__, "message": message, "traceback": trace}
    return {"status": "failed", "error": details}


def _result_of_lost_worker(key: str, cell: Cell, error: BaseException) -> Finished:
    """Return the result of a cell whose worker reported nothing."""
    return key, _identified(key, cell) | _failure(error), None


def _summary(run: History) -> CellRecord:
    """Return what the tidy table contains of a run.

    These are the constants, the network and the final measurements.
    """
    last = {name: array[:, -1] for name, array in run.measures().items()}
    several = {name: values for name, values in last.items() if len(values) > 1}
    return {
        "algorithm": dataclasses.asdict(run.algorithm),  # includes scheduled values
        "constant": run.constants.known(),
        "standing": {
            name: run.constants.standing_of(name) for name in run.constants.known()
        },
        "network": run.network.known(),
        "final": {name: float(np.mean(values)) for name, values in last.items()},
        "final_std": {
            name: float(np.std(values, ddof=1)) for name, values in several.items()
        },
        "diverged_at": run.diverged_at,
    }


# -- local processes


def _on_processes(
    work: Sequence[Job], processes: int
) -> Generator[Finished, None, None]:
    """Run the cells on ``processes`` workers with one thread each.

    If a worker dies, any of the running cells may be the cause. They are run again one
    at a time, so that each of them either finishes or is identified as the cause.
    """
    waiting = deque(work)
    while waiting:
        suspects, _ = yield from _run_until_worker_dies(waiting, processes)
        for job in suspects:
            died_again, exit_codes = yield from _run_until_worker_dies(deque([job]), 1)
            if died_again:
                message = (
                    f"its worker process died twice, exit codes {exit_codes} (out of"
                    " memory?)"
                )
                yield _result_of_lost_worker(
                    *job,
                    WorkerDiedError(f"{message}: try --retry-failed with fewer --jobs"),
                )


def _run_until_worker_dies(
    waiting: deque[Job], processes: int
) -> Generator[Finished, None, tuple[list[Job], str]]:
    """Run the cells of ``waiting`` until all are done or a worker dies.

    ``waiting`` is emptied. No more cells are submitted than there are workers, so that
    few cells are affected by a death.

    Returns
    -------
    list of jobs, str
        The cells that were running when a worker died, and its exit code.
    """
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import get_reusable_executor

    # a new pool is created after a death; idle workers are kept for a while, since
    # importing torch takes seconds
    pool = get_reusable_executor(
        processes,
        timeout=60,
        env=dict.fromkeys(_THREADS, "1"),
        initializer=_end_with,
        initargs=(os.getpid(),),
    )
    running: dict[Future[Finished], Job] = {}
    try:
        while True:
            # if idle workers died, the futures of running cells report it
            with suppress(BrokenProcessPool):
                while waiting and len(running) < processes:
                    running[pool.submit(run_cell, *waiting[0])] = waiting[0]
                    waiting.popleft()
            if not running:
                return [], ""
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = any(
                isinstance(future.exception(), BrokenProcessPool) for future in done
            )
            died, how = [], ""
            # all futures of a broken pool are done
            for future in wait(running).done if broken else done:
                job, error = running.pop(future), future.exception()
                if isinstance(error, BrokenProcessPool):
                    died.append(job)
                    how = "".join(re.findall(r"\{.*?\}", str(error))) or "unknown"
                else:
                    yield (
                        future.result()
                        if error is None
                        else _result_of_lost_worker(*job, error)
                    )
            if broken:
                return died, how
    # after an interruption, do not wait for results that will not be stored
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise


def _end_with(parent: int) -> None:
    """End this worker soon after its parent, which may be killed at any time.

    If the parent dies, the worker gets another parent process. (Linux can send a signal
    instead, but it is sent at the end of the thread that started the worker, which need
    not be the end of the process.)
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end with the sweep", daemon=True).start()


# -- a cluster


def connected(address: str) -> Client:
    """Return a client of the dask scheduler at an address, which the caller closes.

    Raises
    ------
    ClusterError
        No scheduler responds, or ``distributed`` is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "--cluster needs dask.distributed: pip install '.[cluster]'"
        ) from None
    try:
        return Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no dask scheduler at {address} ({type(error).__name__}): start one with"
            " `dask scheduler --host 127.0.0.1 --dashboard-address 127.0.0.1:0`, and"
            " workers likewise"
        ) from None


def _on_cluster(work: Sequence[Job], client: Client) -> Generator[Finished, None, None]:
    """Run the cells on the workers of a cluster.

    If a worker dies, dask runs its cell again, a few times. Then it reports all cells
    that the worker had received as failed. These are run again one at a time.
    """
    from distributed import KilledWorker

    suspects: list[Job] = []
    for jobs in chain([work], ([suspect] for suspect in suspects)):
        for job, result in _gathered(client, jobs):
            if isinstance(result, KilledWorker) and jobs is work:
                suspects.append(job)
            elif isinstance(result, Exception):
                yield _result_of_lost_worker(*job, result)
            else:
                yield result


def _gathered(
    client: Client, work: Sequence[Job]
) -> Iterator[tuple[Job, Finished | Exception]]:
    """Yield each cell with its result, or with its error."""
    from distributed import as_completed
    from distributed.client import FutureCancelledError

    # pure=False: the scheduler must not reuse the stored result of a retried cell
    futures = {client.submit(run_cell, *job, pure=False): job for job in work}
    for future in as_completed(list(futures), loop=client.loop):
        try:
            result = future.result()
        except FutureCancelledError as error:  # the cell did not fail
            raise ClusterError(
                f"the connection to the dask scheduler was lost ({error.reason}):"
                " finished cells are kept; run the same command again"
            ) from None
        except Exception as error:
            result = error
        yield futures[future], result
        future.release()
