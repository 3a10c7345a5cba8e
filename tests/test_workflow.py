"""The public repository's workflow only calls targets of the Makefile."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"


def targets_of_the_workflow():
    """Return the make targets, with the values of the job's matrix inserted."""
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        matrix = job.get("strategy", {}).get("matrix", {})
        rows = matrix.get("include") or [
            {name: value} for name, values in matrix.items() for value in values
        ]
        for step in job["steps"]:
            command = step.get("run")
            for row in rows or [{}]:
                if command:
                    yield filled_in(command, row)


def filled_in(command, row):
    for name, value in row.items():
        command = command.replace(f"${{{{ matrix.{name} }}}}", value)
    return command.removeprefix("make ")


def test_targets_of_the_workflow_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE))
    matrix = re.search(r"^MATRIX \?= (.*)$", makefile, flags=re.MULTILINE)
    targets |= {f"test-matrix-{row}" for row in matrix[1].split()}
    called = set(targets_of_the_workflow())
    assert called >= {"lint", "test", "docs", "test-all", "nightly", "chaos"}
    assert called <= targets


def test_lowest_and_newest_packages_are_tested():
    called = set(targets_of_the_workflow())
    assert {"test-matrix-3.11-lowest", "test-matrix-3.13-newest"} <= called
