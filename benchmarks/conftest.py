"""A fixture that compares two functions in alternation, and a table of the ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

ROWS = pytest.StashKey[list[tuple[str, float, float, float, str]]]()


@pytest.fixture
def versus(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., float]:
    """Return ``versus(ours, baseline, goal)``, which compares two functions.

    It calls both in alternation and measures the CPU time of this single-threaded
    process, which is less sensitive to other load than wall-clock time. The result is
    the median of ours / baseline over all turns. Goals are not asserted, only printed
    next to the ratio.
    """

    def run(
        ours: Callable[[], Any],
        baseline: Callable[[], Any],
        goal: str = "",
        turns: int = 11,
    ) -> float:
        ours(), baseline()
        pairs = [(_seconds(ours), _seconds(baseline)) for _ in range(turns)]
        benchmark.pedantic(ours, rounds=1)
        mine, theirs = (statistics.median(side) for side in zip(*pairs))
        ratio = statistics.median(a / b for a, b in pairs)
        benchmark.extra_info["ratio"] = round(ratio, 3)
        rows = request.config.stash.setdefault(ROWS, [])
        rows.append(
            (request.node.name.removeprefix("test_"), mine, theirs, ratio, goal)
        )
        return ratio

    return run


def _seconds(f: Callable[[], Any]) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    rows = config.stash.get(ROWS, [])
    if rows:
        terminalreporter.section(
            "ratios: median CPU time of ours / of the baseline, alternating in one run"
        )
        for name, mine, theirs, ratio, goal in rows:
            line = (
                f"{name:34s} {1e3 * mine:10.3f} ms {1e3 * theirs:10.3f} ms   ratio"
                f" {ratio:6.3f}   {goal}"
            )
            terminalreporter.write_line(line)
