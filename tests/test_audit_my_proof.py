"""The guide "Audit my proof": its file, errors and corrections agree with the audit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dfltheory.cli import run
from dfltheory.proofs.step_notation import ALIASES, RULE_NAMES

DOCS = Path(__file__).parent.parent / "docs"
GUIDE = (DOCS / "guides" / "audit-my-proof.md").read_text(encoding="utf-8")
FILES = Path(__file__).parent / "bounds" / "proof_files"


def block(language):
    found = re.search(rf"^```{language}\n(.*?)^```", GUIDE, re.S | re.M)
    assert found is not None
    return found[1]


def slips():
    """Return step and claim of each row of the guide's table of errors."""
    return re.findall(r"^\| `(\w+)` \| `([^`]+)` \|$", GUIDE, re.MULTILINE)


def test_the_file_of_the_guide_is_the_one_that_is_tested():
    assert block("toml") == (FILES / "proof.toml").read_text(encoding="utf-8")


def test_the_slips_of_the_guide_are_those_of_the_second_file():
    text = block("toml")
    for name, claim in slips():
        found = re.subn(
            rf'(name = "{name}"\nclaim = )"[^"]+"', rf'\g<1>"{claim}"', text
        )
        text, count = found
        assert count == 1, name
    assert len(slips()) == 3
    assert text == (FILES / "three_slips.toml").read_text(encoding="utf-8")


@pytest.mark.slow  # quickly: in bounds/test_declared_steps.py
def test_the_corrections_of_the_guide_are_those_of_the_audit(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("slips.toml").write_text((FILES / "three_slips.toml").read_text())
    assert run(["audit", "slips.toml", "--check", "steps", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    errors = [f["evidence"] for f in findings if f["severity"] == "error"]
    assert [e["term"] for e in errors] == [name for name, _ in slips()]
    corrections = [text for e in errors for text in e["corrections"]]
    assert corrections == block("text").splitlines()
    assert errors[-1]["point"] == {"m": "3", "sigma_l": "2"}
    assert errors[-1]["moments"] == {"V": "4/3", "sq(n)": "4"}


@pytest.mark.parametrize("name", RULE_NAMES)
def test_each_rule_is_documented(name):
    text = (DOCS / "theorem-files.md").read_text(encoding="utf-8")
    names = [name, *(alias for alias, rule in ALIASES.items() if rule == name)]
    assert any(re.search(rf"`{known}[`(]", text) for known in names)
