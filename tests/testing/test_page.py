"""The examples of docs/property-testing.md fail and pass as the page states."""

import re
from pathlib import Path

import pytest

from dfltheory.errors import GraphError

PAGE = Path(__file__).parents[2] / "docs" / "property-testing.md"
BLOCKS = re.findall(
    r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)
PRINTED = re.findall(
    r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)


OWN_MATRIX, OWN_LAW, OWN_RULE, OWN_CHECK, OWN_DIRECTED_RULE = BLOCKS[:5]
REPORT_ON_MATRIX, REPORT_ON_LAW, REPORT_ON_RULE = PRINTED[:3]


def names_after(*blocks):
    names: dict = {"__name__": "test_my_weights"}
    for block in blocks:
        exec(compile(block, "test_my_weights.py", "exec"), names)
    return names


def test_page_begins_with_an_own_matrix_and_then_a_rule(capsys):
    assert "W = np.array" in OWN_MATRIX
    assert "check_weight_rule" in OWN_RULE
    names_after(OWN_MATRIX)
    assert capsys.readouterr().out == REPORT_ON_MATRIX


def test_example_of_a_law_prints_the_stated_report(capsys):
    names_after(OWN_MATRIX, OWN_LAW)
    assert capsys.readouterr().out == REPORT_ON_MATRIX + REPORT_ON_LAW


@pytest.mark.slow
def test_example_of_a_rule_finds_the_error():
    with pytest.raises(AssertionError) as failed:
        names_after(OWN_RULE)["test_my_weights_satisfy_definition_1"]()
    assert str(failed.value).splitlines() == REPORT_ON_RULE.splitlines()


@pytest.mark.slow
def test_example_of_a_rule_passes_without_the_error():
    corrected = OWN_RULE.replace("min(d[i]", "max(d[i]")
    names_after(corrected)["test_my_weights_satisfy_definition_1"]()


def test_example_of_a_rule_has_at_most_ten_lines():
    body = OWN_RULE.split("def my_weights")[1]
    lines = [line for line in f"def my_weights{body}".splitlines() if line.strip()]
    assert len(lines) <= 10


def test_example_of_a_check_accepts_and_rejects():
    first = names_after(OWN_MATRIX, OWN_CHECK)
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


def test_example_of_a_directed_rule_passes_and_fails_for_rows():
    names_after(OWN_DIRECTED_RULE)["test_columns_sum_to_one"]()
    with_rows = OWN_DIRECTED_RULE.replace("keepdims=True)).T", "keepdims=True))")
    with pytest.raises(GraphError):
        names_after(with_rows)["test_columns_sum_to_one"]()
