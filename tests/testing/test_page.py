"""The examples of docs/property-testing.md fail and pass as the page states."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "property-testing.md"
BLOCKS = re.findall(
    r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)
PRINTED = re.findall(
    r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.fixture(scope="module")
def first():
    names: dict = {"__name__": "test_my_weights"}
    exec(compile(BLOCKS[0], "test_my_weights.py", "exec"), names)
    return names


@pytest.mark.slow
def test_first_example_finds_the_error(first):
    with pytest.raises(AssertionError) as failed:
        first["test_my_weights_satisfy_definition_1"]()
    assert str(failed.value).splitlines()[1:] == PRINTED[0].splitlines()[1:]


def test_example_of_a_law_prints_the_stated_report(first, capsys):
    exec(compile(BLOCKS[1], "my_law.py", "exec"), first)
    assert capsys.readouterr().out == PRINTED[1]


def test_first_example_passes_without_the_error():
    names: dict = {"__name__": "test_my_weights"}
    exec(
        compile(
            BLOCKS[0].replace("min(d[i]", "max(d[i]"), "test_my_weights.py", "exec"
        ),
        names,
    )
    names["test_my_weights_satisfy_definition_1"]()


def test_first_example_has_at_most_ten_lines(first):
    body = BLOCKS[0].split("def my_weights")[1]
    lines = [line for line in f"def my_weights{body}".splitlines() if line.strip()]
    assert len(lines) <= 10


def test_second_example_accepts_and_rejects(first):
    exec(compile(BLOCKS[2], "test_my_check.py", "exec"), first)
    first["test_good_ones_are_accepted"]()
    first["test_bad_ones_are_refused"]()


def test_table_lists_every_strategy():
    from dfltheory import testing

    listed = set(
        re.findall(
            r"^\| `(\w+)\(", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    modules = {
        f"dfltheory.testing.{name}"
        for name in ("broken_matrices", "networks", "sequences")
    }
    networks = {n for n in testing.__all__ if getattr(testing, n).__module__ in modules}
    assert listed == networks - {"NearMiss"}
