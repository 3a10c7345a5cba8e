"""The status line that a search displays."""

import sys

import pytest

from dfltheory import progress
from dfltheory.counterexamples import falsify


def test_search_status_shows_stage_best_ratio_and_count():
    status = progress.WorkStatus("search")
    assert str(status) == "search: 0 s"
    progress.search_progress(status.update)("confirming", 0.51234, 800)
    for part in ("search: ", "confirming", "0.512", "800"):
        assert part in str(status)


def test_searching_writes_nothing_where_stderr_is_no_terminal(capsys):
    with progress.reported("search") as update:
        update("searching")
    assert capsys.readouterr() == ("", "")


def test_searching_shows_the_best_ratio_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.reported("search") as update:
        progress.search_progress(update)("searching", 2.5, 10)
    assert "2.5" in capsys.readouterr().err


@pytest.mark.slow
def test_falsify_reports_that_it_searches_and_then_confirms():
    calls = []

    def record(stage, ratio, count):
        calls.append((stage, ratio, count))

    found = falsify(
        "dfedsam.theorem_4_5", "printed", candidates=1500, seed=0, progress=record
    )
    stages = [stage for stage, _, _ in calls]
    assert stages[0] == "searching"
    assert "confirming" in stages
    assert max(ratio for _, ratio, _ in calls) >= 0.99 * found.ratio
    assert max(count for _, _, count in calls) <= found.evaluations
