"""Progress bars on stderr, for work that takes longer than a second on a terminal."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator

_PATIENCE = 1.0
"""Seconds before a bar is shown."""


reached: list[str] = []
"""Description of the current round; empty after a complete run."""


def watch(steps: range, progress: bool | None, label: str) -> Iterator[int]:
    """Yield the steps; show a bar on stderr if ``progress``, or if it is None on a
    terminal.
    """
    may, started, advance = (
        progress or (progress is None and sys.stderr.isatty()),
        time.monotonic(),
        None,
    )
    with contextlib.ExitStack() as shown:
        for t in steps:
            if (
                may
                and advance is None
                and (progress or time.monotonic() - started > _PATIENCE)
            ):
                advance = shown.enter_context(_bar(label, steps))
            reached[:] = [f"round {t + 1} of {steps.stop} of {label}"]
            yield t
            if advance is not None:
                advance(completed=t + 1 - steps.start)
        reached.clear()


@contextlib.contextmanager
def _bar(label: str, steps: range) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import (
        MofNCompleteColumn,
        Progress,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with Progress(
        *columns, *times, console=Console(stderr=True), transient=True
    ) as bar:
        yield functools.partial(bar.update, bar.add_task(label, total=len(steps)))


@contextlib.contextmanager
def counted(
    total: int, shown: bool = True, done: int = 0
) -> Iterator[Callable[..., None]]:
    """Yield a function ``update(text, more=0)`` of a bar on stderr that counts to
    ``total``.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    words = TextColumn("{task.description}", markup=False)
    columns = (MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), words)
    if not (
        shown and sys.stderr.isatty()
    ):  # some versions of rich write an empty line there, disabled or not
        yield lambda words, more=0: None
        return
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("", total=total, completed=done)
        yield lambda words, more=0: bar.update(job, description=words, advance=more)


class SearchStatus:
    """Text of the line that a search shows: what it does, and its best candidate."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.stage = "searching"
        self.best = "no candidate measured yet"

    def update(self, stage: str, ratio: float, candidates: int) -> None:
        """Record what is done, the best ratio so far and the number of candidates."""
        self.stage = stage
        self.best = f"best measured/bound {ratio:.3g} of {candidates} candidates"

    def __rich__(self) -> str:
        elapsed = time.monotonic() - self.started
        return f"{self.stage}, {elapsed:.0f} s: {self.best}"


@contextlib.contextmanager
def searching() -> Iterator[Callable[[str, float, int], None]]:
    """Show a line on stderr, if that is a terminal, while a search works.

    Yields
    ------
    function
        ``update(stage, ratio, candidates)``, which the search calls now and then.
    """
    status = SearchStatus()
    if not sys.stderr.isatty():
        yield status.update
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        status, console=Console(stderr=True), transient=True, refresh_per_second=2
    ):
        yield status.update


@contextlib.contextmanager
def reported(
    work: str, say: Callable[[str], None], every: float = 5.0
) -> Iterator[Callable[[str], None]]:
    """Report long work in lines of text, for terminals and log files.

    Parameters
    ----------
    work : str
        What is done.
    say : callable
        Called with a line at the start and then every ``every`` seconds, from a thread.

    Yields
    ------
    callable
        ``update(state)``: the next lines contain this text.
    """
    say(work)
    started, ended, states = time.monotonic(), threading.Event(), [""]

    def report() -> None:
        while not ended.wait(every):
            state = f", {states[-1]}" if states[-1] else ""
            say(f"{work}: {time.monotonic() - started:.0f} s{state}")

    def update(state: str) -> None:
        states[:] = [state]

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield update
    finally:
        ended.set()
        thread.join()


__all__ = ["SearchStatus", "counted", "reached", "reported", "searching", "watch"]
