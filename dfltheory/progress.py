"""Progress bars on stderr, shown on terminals for work longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

_PATIENCE = 1.0
"""Seconds before a bar is shown."""


reached: list[str] = []
"""Description of the current round; empty after a complete run."""


def watch(steps: range, progress: bool | None, label: str) -> Iterator[int]:
    """Yield the numbers of rounds, and show a bar on stderr.

    Parameters
    ----------
    steps : range
        Numbers of the rounds.
    progress : bool, optional
        True shows a bar immediately, False never; by default it appears after a second.
        Without a terminal there is no bar.
    label : str
        Description of the work.
    """
    wanted = progress is not False
    started = time.monotonic()
    update = None
    with contextlib.ExitStack() as shown:
        for t in steps:
            waited = progress or time.monotonic() - started > _PATIENCE
            if wanted and waited and update is None:
                update = shown.enter_context(counted(len(steps)))
                update(label, t - steps.start)
            reached[:] = [f"round {t + 1} of {steps.stop} of {label}"]
            yield t
            if update is not None:
                update(label, 1)
        reached.clear()


@contextlib.contextmanager
def counted(
    total: int, shown: bool = True, done: int = 0
) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr that counts to ``total``.

    Parameters
    ----------
    total : int
        Number of steps.
    shown : bool
        Whether the bar is shown, if stderr is a terminal.
    done : int
        Number of steps completed at the start.

    Yields
    ------
    callable
        ``update(text, steps)``: shows the text, and counts further steps.
    """
    # some versions of rich write an empty line without a terminal, disabled or not
    if not (shown and sys.stderr.isatty()):
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("", total=total, completed=done)

        def update(text: str, steps: int = 0) -> None:
            bar.update(job, description=text, advance=steps)

        yield update


def silent(text: str, steps: int = 0) -> None:
    """Report nothing."""


class WorkStatus:
    """The status line of long work: its description, elapsed time and state."""

    def __init__(self, work: str) -> None:
        self.work = work
        self.state = ""
        self._started = time.monotonic()

    def update(self, state: str) -> None:
        """Set the state for the next status line."""
        self.state = state

    def __str__(self) -> str:
        elapsed = f"{self.work}: {time.monotonic() - self._started:.0f} s"
        return f"{elapsed}, {self.state}" if self.state else elapsed

    def __rich__(self) -> str:
        return str(self)


def search_progress(
    update: Callable[[str], None],
) -> Callable[[str, float, int], None]:
    """Return a function of (stage, best ratio, candidates) that a search can call."""

    def progress(stage: str, ratio: float, candidates: int) -> None:
        update(f"{stage}, best measured/bound {ratio:.3g} of {candidates} candidates")

    return progress


@contextlib.contextmanager
def reported(
    work: str, say: Callable[[str], None] | None = None, every: float = 5.0
) -> Iterator[Callable[[str], None]]:
    """Report long work.

    Parameters
    ----------
    work : str
        What is done.
    say : callable, optional
        Called with a line at the start and then every ``every`` seconds, from a thread.
        By default one line on stderr is updated, if it is a terminal.

    Yields
    ------
    callable
        ``update(state)`` sets the text shown next.
    """
    status = WorkStatus(work)
    if say is not None:
        shown = _lines(status, say, every)
    elif sys.stderr.isatty():
        shown = _live_line(status)
    else:
        shown = contextlib.nullcontext()
    with shown:
        yield status.update


def _live_line(status: WorkStatus) -> contextlib.AbstractContextManager[object]:
    """Show the status on one line of stderr that is updated."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    return Live(status, console=console, transient=True, refresh_per_second=2)


@contextlib.contextmanager
def _lines(
    status: WorkStatus, say: Callable[[str], None], every: float
) -> Iterator[None]:
    """Pass the status to ``say`` at the start and then every ``every`` seconds."""
    say(status.work)
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(every):
            say(str(status))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


__all__ = ["counted", "reached", "reported", "search_progress", "silent", "watch"]
