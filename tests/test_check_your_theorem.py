"""The guide "Check your theorem" has at most 30 lines, and its commands work."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dfltheory import cli

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "check-your-theorem.md"


def block(language):
    found = re.search(rf"^```{language}\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    assert found is not None
    return found[1]


def test_guide_has_at_most_30_lines_and_no_python():
    lines = block("toml").splitlines() + block("sh").splitlines()
    assert len(lines) <= 30
    assert "```python" not in GUIDE.read_text()


@pytest.mark.slow
def test_commands_of_the_guide_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("wang.toml").write_text(block("toml"))
    for line in block("sh").splitlines():
        assert cli.run(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert list(Path("wang").glob("*.png"))
    verdicts = json.loads(Path("wang/verdicts.json").read_text())
    assert "not applicable" not in json.dumps(verdicts)
