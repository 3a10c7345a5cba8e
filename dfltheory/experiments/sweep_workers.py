"""How the cells of a sweep run, and where: here, in local processes (joblib's loky), or on a dask cluster.

Processes die: a system short of memory kills them, a machine of a cluster goes away. A cell that takes its
worker down with it is kept as failed, with what is known of its end, and costs the other cells nothing.
Where the sweep itself is killed, its local workers end too: nobody would store what they find.
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
from typing import Any

import numpy as np

from dfltheory.errors import DFLTheoryError
from dfltheory.experiments.config import Experiment
from dfltheory.experiments.experiment import installed_versions, perform
from dfltheory.files import plain
from dfltheory.randomness import one_order
from dfltheory.training.history import History

Job = tuple[str, Experiment]
"""A cell with its key."""
Found = tuple[str, dict[str, Any], bytes | None]
"""Key, record (JSON's types), and the history as a safetensors file (None where the cell failed)."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_WATCH = 0.5
"""Seconds between a worker's looks at its parent."""


class ClusterError(DFLTheoryError):
    """A cluster cannot be used."""


class WorkerDiedError(DFLTheoryError):
    """The process that ran a cell was killed, or crashed."""


def found_by(work: Sequence[Job], jobs: int | None, cluster: str | None) -> Generator[Found, None, None]:
    """What each cell found, in the order in which they finish."""
    processes = min(jobs or os.cpu_count() or 1, len(work))
    if cluster is not None and work:
        return _on_cluster(work, cluster)
    return _on_processes(work, processes) if processes > 1 else (run_cell(*job) for job in work)


# -- one cell: it tells in plain data what it found, and raises nothing ----------------------------------


def run_cell(key: str, cell: Experiment) -> Found:
    """Train and compare on one thread: so the numbers are the same wherever and beside whomever it runs.

    An error becomes a record with ``status`` "failed", its type, message and traceback.
    """
    record, data = {**_named(key, cell), "version": installed_versions()}, None
    began = time.perf_counter()
    try:
        with one_order():
            outcome = perform(cell.case())
        run = outcome.run
        found = _summary(run) | {"verdicts": [v.to_dict() for v in outcome.verdicts]}
        if not cell["run"]["keep_models"]:
            run = dataclasses.replace(run, x=run.x[..., :0])
        data = run.packed()  # no file: that a disk is full is not the cell's own failure
        record |= {"status": "done"} | found
    except Exception as error:  # whatever it is, the other cells go on and the record tells
        record |= _failure(error, traceback.format_exc())
    record["seconds"] = time.perf_counter() - began
    return key, plain(record), data


def _named(key: str, cell: Experiment) -> dict[str, Any]:
    return {"key": key, "settings": dict(cell.settings), "configuration": cell.document()}


def _failure(error: BaseException, trace: str = "") -> dict[str, Any]:
    """What a record tells of a cell without a result."""
    told = {"type": type(error).__name__, "message": " ".join(str(error).split()), "traceback": trace}
    return {"status": "failed", "error": told}


def _lost(key: str, cell: Experiment, error: BaseException) -> Found:
    """A cell without a result of its own: kept as failed, so that the others go on."""
    return key, _named(key, cell) | _failure(error), None


def _summary(run: History) -> dict[str, Any]:
    """What the tidy table shows of a run: constants and their standing, network, the last measures."""
    last = {name: array[:, -1] for name, array in run.measures().items()}
    return {
        "algorithm": dataclasses.asdict(run.algorithm),  # as run: what a schedule filled is there too
        "constant": run.constants.known(),
        "standing": {name: run.constants.standing_of(name) for name in run.constants.known()},
        "network": run.network.known(),
        "final": {name: float(np.mean(values)) for name, values in last.items()},
        "final_std": {n: float(np.std(values, ddof=1)) for n, values in last.items() if len(values) > 1},
        "diverged_at": run.diverged_at,
    }


# -- local processes -------------------------------------------------------------------------------------


def _on_processes(work: Sequence[Job], processes: int) -> Generator[Found, None, None]:
    """Every cell in one of ``processes`` workers, one thread each.

    When a worker dies, each of the cells that were running may be the reason. They run again one by one: so
    each of them finishes, or is the one that brings its worker down.
    """
    waiting = deque(work)
    while waiting:
        suspects, _ = yield from _until_a_death(waiting, processes)
        for job in suspects:
            guilty, how = yield from _until_a_death(deque([job]), 1)
            if guilty:
                message = f"its worker process died twice, exit codes {how} (out of memory?)"
                yield _lost(*job, WorkerDiedError(f"{message}: try --retry-failed with fewer --jobs"))


def _until_a_death(waiting: deque[Job], processes: int) -> Generator[Found, None, tuple[list[Job], str]]:
    """Run the cells of ``waiting``, which it empties, until a worker dies: then what ran, and how it died.

    Never more cells are handed out than there are workers, so that few are running then.
    """
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import get_reusable_executor

    # a new one after a death; idle workers wait a while, as importing torch takes seconds
    pool = get_reusable_executor(
        processes,
        timeout=60,
        env=dict.fromkeys(_THREADS, "1"),
        initializer=_end_with,
        initargs=(os.getpid(),),
    )
    running: dict[Any, Job] = {}
    try:
        while True:
            with suppress(BrokenProcessPool):  # of what runs, the futures tell; a worker may also die idle
                while waiting and len(running) < processes:
                    running[pool.submit(run_cell, *waiting[0])] = waiting[0]
                    waiting.popleft()
            if not running:
                return [], ""
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = any(isinstance(future.exception(), BrokenProcessPool) for future in done)
            died, how = [], ""
            for future in wait(running).done if broken else done:  # of a broken pool every future has ended
                job, error = running.pop(future), future.exception()
                if isinstance(error, BrokenProcessPool):
                    died.append(job)
                    how = "".join(re.findall(r"\{.*?\}", str(error))) or "unknown"
                else:
                    yield future.result() if error is None else _lost(*job, error)
            if broken:
                return died, how
    except BaseException:  # an interruption: do not wait for cells that nobody will store
        pool.shutdown(kill_workers=True)
        raise


def _end_with(parent: int) -> None:
    """In a worker: end it soon after its parent, which may have been killed without a word.

    A worker that is orphaned has another parent. (Linux could send a signal by itself, but at the end of the
    thread that started the worker, which need not be the end of the process.)
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, name="end with the sweep", daemon=True).start()


# -- a cluster -------------------------------------------------------------------------------------------


def _on_cluster(work: Sequence[Job], address: str) -> Generator[Found, None, None]:
    """Every cell on a worker of the cluster; dask itself runs it again, a few times, when that dies.

    Then dask blames all cells that the worker had been given, running or not. They run again one by one.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise ClusterError("--cluster needs dask.distributed: pip install '.[cluster]'") from None
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no dask scheduler at {address} ({type(error).__name__}): start one with "
            "`dask scheduler --host 127.0.0.1 --dashboard-address 127.0.0.1:0`, and workers likewise"
        ) from None
    with client:
        suspects: list[Job] = []
        for jobs in chain([work], ([suspect] for suspect in suspects)):
            for job, found in _gathered(client, jobs):
                if isinstance(found, KilledWorker) and jobs is work:
                    suspects.append(job)
                else:
                    yield _lost(*job, found) if isinstance(found, Exception) else found


def _gathered(client: Any, work: Sequence[Job]) -> Iterator[tuple[Job, Found | Exception]]:
    """Each cell with what it found, or with the error that kept it from that."""
    from distributed import as_completed
    from distributed.client import FutureCancelledError

    # pure=False: a cell that is retried must not be answered from the scheduler's memory
    futures = {client.submit(run_cell, *job, pure=False): job for job in work}
    for future in as_completed(list(futures), loop=client.loop):
        try:
            found = future.result()
        except FutureCancelledError as error:  # not the cell's failure: nothing is known of it
            raise ClusterError(
                f"the dask scheduler went away ({error.reason}): finished cells are kept; run the same again"
            ) from None
        except Exception as error:
            found = error
        yield futures[future], found
        future.release()
