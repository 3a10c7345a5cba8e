"""Workers of a sweep: this process, local processes (joblib's loky), or a dask cluster.

Worker processes may die: a system short of memory kills them, a machine of a cluster
goes away. A cell that kills its worker is kept as failed, with what is known of the
death, and the other cells go on. If the sweep itself is killed, its local workers end
too, since their results would not be stored.
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
from dfltheory.files import plain
from dfltheory.randomness import RANDOM_FORMAT, one_order
from dfltheory.training.history import History

if TYPE_CHECKING:
    from distributed import Client

Job = tuple[str, Cell]
"""A cell with its key."""
Record = dict[str, Any]
"""The record of a cell, in JSON's types."""
Finished = tuple[str, Record, bytes | None]
"""Key, record, and the history as a safetensors file (None if the cell failed)."""

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_WATCH_SECONDS = 0.5
"""Interval at which a worker checks that its parent lives."""


class ClusterError(DFLTheoryError):
    """A cluster cannot be used."""


class WorkerDiedError(DFLTheoryError):
    """The process that ran a cell was killed, or crashed."""


def cell_results(
    work: Sequence[Job], jobs: int | None, client: Client | None = None
) -> Generator[Finished, None, None]:
    """Run cells and yield their results in the order in which they finish.

    Parameters
    ----------
    work : sequence of jobs
        The cells with their keys.
    jobs : int, optional
        Local processes; None: one for each core.
    client : distributed.Client, optional
        Runs the cells on its cluster, in place of local processes.
    """
    processes = min(jobs or os.cpu_count() or 1, len(work))
    if client is not None and work:
        return _on_cluster(work, client)
    if processes > 1:
        return _on_processes(work, processes)
    return (run_cell(*job) for job in work)


# -- one cell


def run_cell(key: str, cell: Cell) -> Finished:
    """Train and compare on one thread.

    The numbers then do not depend on where the cell runs. Nothing is raised: an error
    becomes a record with ``status`` "failed", its type, message and traceback.
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
        history = run.packed()  # in memory: a full disk is not a failure of the cell
        record |= {"status": "done", **summary, "verdicts": verdicts}
    # of any kind: the record reports it and the other cells go on
    except Exception as error:
        record |= _failure(error, traceback.format_exc())
    record["seconds"] = time.perf_counter() - start
    return key, plain(record), history


def _identified(key: str, cell: Cell) -> Record:
    return {
        "key": key,
        "settings": dict(cell.settings),
        "configuration": cell.document(),
        "random_format": RANDOM_FORMAT,
    }


def _failure(error: BaseException, trace: str = "") -> Record:
    """Return the fields of a record of a cell without a result."""
    message = " ".join(str(error).split())
    details = {"type": type(error).__name__, "message": message, "traceback": trace}
    return {"status": "failed", "error": details}


def _lost(key: str, cell: Cell, error: BaseException) -> Finished:
    """Return the record of a cell that reported nothing itself."""
    return key, _identified(key, cell) | _failure(error), None


def _summary(run: History) -> Record:
    """Return what the tidy table contains of a run.

    It has the constants, the network and the last measurements.
    """
    last = {name: array[:, -1] for name, array in run.measures().items()}
    several = {name: values for name, values in last.items() if len(values) > 1}
    return {
        "algorithm": dataclasses.asdict(run.algorithm),  # with the values of a schedule
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
    """Run every cell in one of ``processes`` workers, one thread each.

    When a worker dies, each of the cells that were running may be the cause. They run
    again one by one, so that each of them finishes or is seen to kill its worker.
    """
    waiting = deque(work)
    while waiting:
        suspects, _ = yield from _until_a_death(waiting, processes)
        for job in suspects:
            guilty, how = yield from _until_a_death(deque([job]), 1)
            if guilty:
                message = (
                    f"its worker process died twice, exit codes {how} (out of memory?)"
                )
                yield _lost(
                    *job,
                    WorkerDiedError(f"{message}: try --retry-failed with fewer --jobs"),
                )


def _until_a_death(
    waiting: deque[Job], processes: int
) -> Generator[Finished, None, tuple[list[Job], str]]:
    """Run the cells of ``waiting`` until all are done or a worker dies.

    ``waiting`` is emptied. At most as many cells are handed out as there are workers,
    so that few are running at a death.

    Returns
    -------
    list of jobs, str
        The cells that were running when a worker died, and its exit code.
    """
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import get_reusable_executor

    # after a death the pool is a new one; idle workers stay for a while, since
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
            # the futures of running cells report it; idle workers die too
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
            # of a broken pool every future has ended
            for future in wait(running).done if broken else done:
                job, error = running.pop(future), future.exception()
                if isinstance(error, BrokenProcessPool):
                    died.append(job)
                    how = "".join(re.findall(r"\{.*?\}", str(error))) or "unknown"
                else:
                    yield future.result() if error is None else _lost(*job, error)
            if broken:
                return died, how
    # an interruption: do not wait for cells that will not be stored
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise


def _end_with(parent: int) -> None:
    """In a worker: end it soon after its parent, which may be killed at any time.

    A worker without its parent has another parent process. (Linux can send a signal,
    but at the end of the thread that started the worker, which need not be the end of
    the process.)
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end with the sweep", daemon=True).start()


# -- a cluster


def connected(address: str) -> Client:
    """Return a client of the dask scheduler at an address; the caller closes it.

    Raises
    ------
    ClusterError
        No scheduler answers, or ``distributed`` is not installed.
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
    """Run every cell on a worker of the cluster.

    Dask runs it again, a few times, when the worker dies.

    After that dask reports all cells that the worker had been given as failed. They run
    again one by one.
    """
    from distributed import KilledWorker

    suspects: list[Job] = []
    for jobs in chain([work], ([suspect] for suspect in suspects)):
        for job, result in _gathered(client, jobs):
            if isinstance(result, KilledWorker) and jobs is work:
                suspects.append(job)
            elif isinstance(result, Exception):
                yield _lost(*job, result)
            else:
                yield result


def _gathered(
    client: Client, work: Sequence[Job]
) -> Iterator[tuple[Job, Finished | Exception]]:
    """Yield each cell with its result, or with the error that it ended with."""
    from distributed import as_completed
    from distributed.client import FutureCancelledError

    # pure=False: a cell that is retried must not be answered from the scheduler's
    # memory
    futures = {client.submit(run_cell, *job, pure=False): job for job in work}
    for future in as_completed(list(futures), loop=client.loop):
        try:
            result = future.result()
        except FutureCancelledError as error:  # not a failure of the cell
            raise ClusterError(
                f"the dask scheduler went away ({error.reason}): finished cells are"
                " kept; run the same again"
            ) from None
        except Exception as error:
            result = error
        yield futures[future], result
        future.release()
