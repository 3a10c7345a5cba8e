"""Two sides in one run, turn by turn, and a table of their ratios at the end."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

ROWS = pytest.StashKey[list[tuple[str, float, float, float, str]]]()


@pytest.fixture
def versus(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., float]:
    """``versus(ours, baseline, goal)``: median CPU seconds of both, alternating, and
    their ratio.

    CPU time of this one-threaded process, so that other work on the machine disturbs
    less. The ratio is the median over turns of ours / baseline. Nothing is asserted: a
    goal that is missed is shown as missed.
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
