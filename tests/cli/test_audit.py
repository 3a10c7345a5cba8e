"""``dfltheory audit``: findings, exit status, single checks, and the page in docs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from dfltheory.checks.run import audit
from dfltheory.cli import run
from validation.pages import audit as page


def test_errors_are_exit_status_1_and_json_is_one_document(capsys):
    words = ["audit", "dfedsam.theorem_4_5", "--variant", "printed", "--json"]
    assert run([*words, "--check", "units"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (
        found["counts"]["error"]
        == sum(f["severity"] == "error" for f in found["findings"])
        > 0
    )
    assert all(
        f["command"].startswith("dfltheory audit dfedsam.theorem_4_5")
        for f in found["findings"]
    )


def test_a_corrected_statement_is_exit_status_0(capsys):
    assert (
        run(["audit", "dfedsam.theorem_4_5", "--variant", "corrected", "--no-notes"])
        == 0
    )
    assert "0 errors" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_of_a_finding_shows_it_again(capsys):
    first = audit("dfedsam.rate_abstract", "printed")[0]
    assert run(first.command.split()[1:]) == 1
    assert str(first) in capsys.readouterr().out


def test_a_whole_paper_and_one_check(capsys):
    assert run(["audit", "dfedadmm", "--check", "units", "--no-notes", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {f["check"] for f in found} == {"units"}
    assert {f["key"].split(".")[0] for f in found} == {"dfedadmm"}


def test_audit_rejects_bad_input(capsys):
    assert run(["audit"]) == 2
    assert "--all" in capsys.readouterr().err
    assert run(["audit", "dfedsam.theorem_4_5", "--check", "unit"]) == 2
    assert "did you mean units" in capsys.readouterr().err
    assert run(["audit", "dfedsam.theorem"]) == 2
    assert "dfedsam.theorem_4_5" in capsys.readouterr().err


FALSE_STATEMENT = str(Path(__file__).parents[1] / "bounds" / "slips" / "gap_power.toml")


def test_a_theorem_file_is_not_searched_with_no_search(capsys):
    assert run(["audit", FALSE_STATEMENT, "--no-search", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "search" not in {f["check"] for f in findings}
    assert "floors" in {f["check"] for f in findings}


@pytest.mark.slow
def test_a_theorem_file_is_searched_without_no_search(capsys):
    file = FALSE_STATEMENT
    run(["audit", file, "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    searches = [f for f in findings if f["check"] == "search"]
    assert [f["key"] for f in searches] == ["dfedavg.theorem", "dfedavg.corollary"]
    assert {f["command"] for f in searches} == {f"dfltheory falsify {file}"}


def test_page_writer_needs_a_page():
    assert page.main([]) == 2


LONG = [
    pytest.param(key, None, marks=pytest.mark.slow)
    for key in (
        "dfedsam.rate_abstract",
        "dfedmdc.theorem_1",
        "dfedsam.corollary_4_8",
        "dfedadmm.corollary_1",
        "dfedmdc.theorem_2",
    )
]


@pytest.mark.parametrize(("key", "variant"), [("dfedmdc.theorem_1", "printed"), *LONG])
def test_every_finding_on_a_statement_is_shown_again_by_its_command(
    key, variant, capsys
):
    findings = audit(key, variant)
    assert findings
    for command in dict.fromkeys(f.command for f in findings):
        assert run(shlex.split(command)[1:]) in (0, 1)
        printed = capsys.readouterr().out.splitlines()
        for finding in findings:
            if finding.command == command:
                assert str(finding) in printed


@pytest.fixture(scope="module")
def whole():
    return audit()


@pytest.mark.slow
def test_every_finding_of_the_whole_audit_is_shown_again_by_its_command(whole, capsys):
    printed = {}
    for finding in whole:
        if finding.command not in printed:
            assert run(shlex.split(finding.command)[1:]) in (0, 1)
            printed[finding.command] = set(capsys.readouterr().out.splitlines())
        assert str(finding) in printed[finding.command], finding


@pytest.mark.slow
def test_every_number_at_a_dominated_horizon_is_shown_by_its_command(whole, capsys):
    shown = [f for f in whole if "shown_by" in f.evidence]
    assert len(shown) > 10
    for finding in shown:
        assert run(shlex.split(finding.evidence["shown_by"])[1:]) == 0, finding
        capsys.readouterr()


@pytest.mark.slow
def test_the_page_of_the_docs_is_what_the_audit_says_today(whole):
    path = Path(__file__).parents[2] / "docs" / "audit.md"
    assert path.read_text(encoding="utf-8") == page.markdown(whole), (
        "run python -m validation.pages.audit docs/audit.md"
    )
