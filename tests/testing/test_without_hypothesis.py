"""The extra that the strategies need."""

import subprocess
import sys
import tomllib
from pathlib import Path

import dfltheory

HIDDEN = """
import sys
sys.modules["hypothesis"] = None
from dfltheory.testing import check_algorithm  # needs none
from dfltheory.testing import near_misses
"""


def test_one_line_says_what_is_missing():
    told = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert told.returncode == 1
    last = told.stderr.strip().splitlines()[-1]
    assert last == "ImportError: dfltheory.testing.near_misses needs hypothesis: pip install '.[testing]'"


def test_the_extra_is_there():
    file = Path(dfltheory.__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    assert extras["testing"] == [name for name in extras["dev"] if name.startswith("hypothesis")]
