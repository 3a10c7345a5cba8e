"""Behavior without the optional package hypothesis."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dfltheory

HIDDEN = """
import sys
sys.modules["hypothesis"] = None
from dfltheory.testing import check_algorithm  # does not need hypothesis
from dfltheory.testing import near_misses
"""


@pytest.mark.slow
def test_missing_hypothesis_raises_import_error_with_extra():
    process = subprocess.run(
        [sys.executable, "-c", HIDDEN], capture_output=True, text=True
    )
    assert process.returncode == 1
    last = process.stderr.strip().splitlines()[-1]
    assert (
        last
        == "ImportError: dfltheory.testing.near_misses needs hypothesis: pip install"
        " '.[testing]'"
    )


def test_extra_testing_equals_hypothesis_in_dev():
    file = Path(dfltheory.__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    assert extras["testing"] == [
        name for name in extras["dev"] if name.startswith("hypothesis")
    ]
