"""The command that lists the slowest audits."""

from __future__ import annotations

from itertools import count

from dfltheory import bounds
from dfltheory.bounds.registry import REGISTRY
from dfltheory.checks.run import CHECKS
from validation import audit_times


def test_seconds_of_a_check_are_those_between_its_start_and_its_end():
    ticks = count()
    theorem = bounds.get("wang_joshi2021.corollary_3", "printed")
    found = audit_times.audit_time(theorem, clock=lambda: next(ticks) ** 2)
    assert list(found.seconds) == list(CHECKS)
    assert list(found.seconds.values()) == [4 * i + 1 for i in range(len(CHECKS))]
    assert found.total == sum(4 * i + 1 for i in range(len(CHECKS)))
    assert f"of which {list(CHECKS)[-1]}" in str(found)


def test_slowest_audits_come_first_and_no_others(monkeypatch):
    names = iter("abcdefg")

    def timed(seconds):
        return audit_times.AuditTime(next(names), {"units": seconds, "floors": 0.5})

    monkeypatch.setattr(audit_times, "audit_time", timed)
    found = audit_times.slowest([3.0, 1.0, 7.0, 2.0, 6.0, 5.0])
    assert [audited.total for audited in found] == [7.5, 6.5, 5.5, 3.5, 2.5]


def test_statements_are_selected_by_paper_or_key(capsys):
    assert {t.key for t in audit_times.selected(["li2020.theorem_1"])} == {
        "li2020.theorem_1"
    }
    papers = {t.key.partition(".")[0] for t in audit_times.selected(["li2020"])}
    assert papers == {"li2020"}
    assert len(audit_times.selected([])) == len(REGISTRY.statements())
    assert audit_times.main(["no_paper"]) == 2
    assert "no_paper" in capsys.readouterr().err
