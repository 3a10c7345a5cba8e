"""``dfltheory audit``: findings, exit status, one check at a time, and the page of the docs."""

from __future__ import annotations

import json

from dfltheory.bounds import page
from dfltheory.bounds.checks.run import audit
from dfltheory.cli import run


def test_errors_are_exit_status_1_and_json_is_one_document(capsys):
    assert run(["audit", "dfedsam.theorem_4_5", "--variant", "printed", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["error"] == sum(f["severity"] == "error" for f in found["findings"]) > 0
    assert all(f["command"].startswith("dfltheory audit dfedsam.theorem_4_5") for f in found["findings"])


def test_a_corrected_statement_is_exit_status_0(capsys):
    assert run(["audit", "dfedsam.theorem_4_5", "--variant", "corrected", "--no-notes"]) == 0
    assert "0 errors" in capsys.readouterr().out


def test_the_command_of_a_finding_shows_it_again(capsys):
    first = audit("dfedmdc.eq_9", "printed")[0]
    assert run(first.command.split()[1:]) == 1
    assert str(first) in capsys.readouterr().out


def test_a_whole_paper_and_one_check(capsys):
    assert run(["audit", "dfedadmm", "--check", "derivation", "--no-notes", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {f["check"] for f in found} == {"derivation"}
    assert {f["key"].split(".")[0] for f in found} == {"dfedadmm"}


def test_bad_input(capsys):
    assert run(["audit"]) == 2
    assert "--all" in capsys.readouterr().err
    assert run(["audit", "dfedsam.theorem_4_5", "--check", "unit"]) == 2
    assert "did you mean units" in capsys.readouterr().err
    assert run(["audit", "dfedsam.theorem"]) == 2
    assert "dfedsam.theorem_4_5" in capsys.readouterr().err


def test_the_page_lists_every_error_once_for_equal_findings(tmp_path, capsys):
    findings = audit("dfedmdc.theorem_2")
    text = page.markdown(findings)
    assert text.startswith("# What the audit finds")
    assert "### `dfedmdc.theorem_2`" in text
    assert text.count("is defined (Theorem 2) and used nowhere") == 1
    assert page.main([]) == 2
