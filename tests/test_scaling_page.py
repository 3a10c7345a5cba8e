"""The table of docs/scaling.md, as benchmarks/scaling.py writes it."""

from benchmarks import scaling
from benchmarks.scaling import Case, Measurement


def test_table_has_a_row_for_each_number_of_clients_and_names_what_does_not_fit():
    found = {Case(64, 10**6): Measurement(0.25, 3, 10**9, 2 * 10**9)}
    lines = scaling.table(found, limit=4e9).splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines[:7]]
    assert [row[0] for row in rows[2:]] == ["64", "256", "1,024", "4,096", "16,384"]
    assert rows[2][1:] == [
        "not measured",
        "not measured",
        "not measured",
        "250 ms, 2 GB",
        "needs 9 GB",
    ]
    assert lines[-1].startswith("Where")
    assert "3.91 to 3.91 copies" in lines[-1]


def test_page_is_written_between_its_marks_only(tmp_path, monkeypatch):
    page = tmp_path / "scaling.md"
    page.write_text(f"before\n{scaling.BEGIN}\nold\n{scaling.END}\nafter\n")
    monkeypatch.setattr(scaling, "PAGE", page)
    scaling.write("new")
    assert page.read_text() == (f"before\n{scaling.BEGIN}\nnew\n{scaling.END}\nafter\n")


def test_rounds_are_enough_after_three_or_after_the_longest_time():
    assert not scaling.enough([1.0, 1.0])
    assert scaling.enough([1.0, 1.0, 1.0])
    assert scaling.enough([20.0])
