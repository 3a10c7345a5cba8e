"""The line that a search shows."""

import sys

from dfltheory import progress
from dfltheory.counterexamples import falsify


def test_search_status_shows_stage_best_ratio_and_count():
    status = progress.SearchStatus()
    assert "no candidate" in status.__rich__()
    status.update("confirming", 0.51234, 800)
    assert status.__rich__().startswith("confirming")
    assert "0.512" in status.__rich__()
    assert "800" in status.__rich__()


def test_searching_writes_nothing_where_stderr_is_no_terminal(capsys):
    with progress.searching() as update:
        update("searching", 2.0, 10)
    assert capsys.readouterr() == ("", "")


def test_searching_shows_the_best_ratio_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.searching() as update:
        update("searching", 2.5, 10)
    assert "2.5" in capsys.readouterr().err


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
