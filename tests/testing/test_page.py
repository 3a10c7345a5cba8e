"""The page on property-testing says what happens: its code is run, and fails and passes as it tells."""

import re
from pathlib import Path

import pytest

from dfltheory.errors import GraphError

PAGE = Path(__file__).parents[2] / "docs" / "property-testing.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def first():
    names: dict = {"__name__": "test_my_weights"}
    exec(compile(BLOCKS[0], "test_my_weights.py", "exec"), names)
    return names


def test_the_example_finds_the_mistake(first):
    with pytest.raises(GraphError, match=r"weights lie in \[0, 1\]|the diagonal must be > 0"):
        first["test_my_weights_satisfy_definition_1"]()


def test_the_example_passes_without_it():
    names: dict = {"__name__": "test_my_weights"}
    exec(compile(BLOCKS[0].replace("min(d[i]", "max(d[i]"), "test_my_weights.py", "exec"), names)
    names["test_my_weights_satisfy_definition_1"]()


def test_the_example_has_ten_lines_of_its_own(first):
    body = BLOCKS[0].split("def my_weights")[1]
    lines = [line for line in f"def my_weights{body}".splitlines() if line.strip()]
    assert len(lines) <= 10


def test_the_second_example_accepts_and_refuses(first):
    exec(compile(BLOCKS[1], "test_my_check.py", "exec"), first)
    first["test_good_ones_are_accepted"]()
    first["test_bad_ones_are_refused"]()


def test_the_table_lists_every_strategy():
    from dfltheory import testing

    listed = set(re.findall(r"^\| `(\w+)\(", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    networks = {n for n in testing.__all__ if getattr(testing, n).__module__ == "dfltheory.testing.networks"}
    assert listed == networks - {"NearMiss"}
