"""Tables of measurements are read exactly, or rejected with file, line and column."""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pytest

from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.training import measurement_files, measurement_rows
from dfltheory.training.measurement_files import (
    LARGEST_MEASUREMENT_FILE,
    read_measurements,
)

ROWS = [
    (seed, t, 1.0 / (1 + t) + seed, 1e-300 * (t + 1) / 3)
    for seed in (0, 3)
    for t in (0, 5, 10)
]
NAMES = ("seed", "round", "grad_norm_sq", "loss")


def as_csv(rows=ROWS, names=NAMES):
    lines = [",".join(names), *(",".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def as_json_lines(rows=ROWS, names=NAMES):
    return "".join(
        json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows
    )


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.csv", as_csv()),
        ("run.csv", "\ufeff" + as_csv().replace("\n", "\r\n")),
        ("shuffled.csv", as_csv(ROWS[::-1])),
        ("run.jsonl", as_json_lines()),
        ("run.ndjson", as_json_lines(ROWS[::-1])),
    ],
)
def test_table_is_read_bit_for_bit(tmp_path, name, text):
    table = read_measurements(written(tmp_path, name, text))
    assert (table.seeds, table.rounds) == ((0, 3), (0, 5, 10))
    expected = np.array(ROWS).reshape(2, 3, 4)
    np.testing.assert_array_equal(table.measures["grad_norm_sq"], expected[..., 2])
    np.testing.assert_array_equal(table.measures["loss"], expected[..., 3])


def test_parquet_is_read_bit_for_bit(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    path = tmp_path / "run.parquet"
    pandas.DataFrame(ROWS, columns=list(NAMES)).to_parquet(path, index=False)
    table = read_measurements(path)
    expected = np.array(ROWS).reshape(2, 3, 4)
    np.testing.assert_array_equal(table.measures["loss"], expected[..., 3])


def with_cell(row, column, cell):
    rows = [list(map(repr, one)) for one in ROWS]
    rows[row][column] = cell
    lines = [",".join(NAMES), *map(",".join, rows)]
    return "\n".join(lines) + "\n"


BAD_CSV = {
    "text in a number": (with_cell(2, 2, "abc"), 4, "grad_norm_sq"),
    "empty cell": (with_cell(0, 3, ""), 2, "loss"),
    "nan": (with_cell(1, 2, "nan"), 3, "grad_norm_sq"),
    "infinite": (with_cell(1, 3, "-inf"), 3, "loss"),
    "overflow": (with_cell(1, 3, "1e999"), 3, "loss"),
    "underscore": (with_cell(1, 3, "1_0"), 3, "loss"),
    "other digits": (with_cell(1, 3, "\u0661"), 3, "loss"),
    "round is a fraction": (with_cell(1, 1, "0.5"), 3, "round"),
    "seed is negative": (with_cell(1, 0, "-1"), 3, "seed"),
    "pair occurs twice": (as_csv([*ROWS, ROWS[1]]), 8, "round"),
    "seed lacks a round": (as_csv(ROWS[:-1]), 6, "round"),
    "seed has a further round": (as_csv([*ROWS, (3, 11, 1.0, 1.0)]), 8, "round"),
    "column is missing": ("seed,loss\n0,1\n", 1, "round"),
    "column occurs twice": ("seed,round,loss,loss\n0,0,1,1\n", 1, "loss"),
    "name of a description": ("seed,round,start\n0,0,1\n", 1, "start"),
    "no measure": ("seed,round\n0,0\n", 1, ""),
    "row too short": (as_csv() + "3,15,1.0\n", 8, ""),
    "row too long": (as_csv() + "3,15,1.0,1.0,1.0\n", 8, ""),
    "quote that never ends": (as_csv() + '3,15,"1.0,1.0\n', 8, ""),
    "long line": (as_csv() + "1" * 10**6 + "\n", 8, ""),
    "many columns": ("seed,round," + ",".join(f"c{k}" for k in range(500)), 1, ""),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv_is_refused_with_file_line_and_column(tmp_path, case):
    text, line, column = BAD_CSV[case]
    path = written(tmp_path, "run.csv", text)
    with pytest.raises(InputError) as refused:
        read_measurements(path)
    message = str(refused.value)
    assert f"{path}, line {line}" in message
    assert not column or f"column {column}" in message
    assert "\n" not in message
    assert len(message) < 800


GOOD_LINE = '{"seed": 0, "round": 0, "loss": 1.0}\n'
BAD_JSON = {
    "no JSON": "{seed: 0}\n",
    "a list": "[1, 2]\n",
    "deep": "[" * 15000 + "\n",
    "nan": '{"seed": 0, "round": 1, "loss": NaN}\n',
    "text": '{"seed": 0, "round": 1, "loss": "low"}\n',
    "truth": '{"seed": 0, "round": 1, "loss": true}\n',
    "null": '{"seed": 0, "round": 1, "loss": null}\n',
    "huge whole number": '{"seed": 0, "round": 1, "loss": ' + "9" * 6000 + "}\n",
    "field missing": '{"seed": 0, "round": 1}\n',
    "further field": '{"seed": 0, "round": 1, "loss": 1.0, "acc": 1}\n',
    "field twice": '{"seed": 0, "round": 1, "loss": 1.0, "loss": 2.0}\n',
    "pair occurs twice": GOOD_LINE,
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_line_is_refused_with_file_and_line(tmp_path, case):
    path = written(tmp_path, "run.jsonl", GOOD_LINE + BAD_JSON[case])
    with pytest.raises(InputError) as refused:
        read_measurements(path)
    assert f"{path}, line 2" in str(refused.value)
    assert len(str(refused.value)) < 800


@pytest.mark.parametrize("name", ["run.csv", "run.jsonl", "run.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\n\n\n", b"PAR1"])
def test_file_without_rows_is_refused(tmp_path, name, content):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name):
        read_measurements(path)


def test_large_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "run.csv"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 200 * 10**9)  # sparse: appears to have 10^9 rows
    began = time.monotonic()
    with pytest.raises(InputError, match="bytes"):
        read_measurements(path)
    assert time.monotonic() - began < 1
    assert path.stat().st_size > LARGEST_MEASUREMENT_FILE


def test_more_rows_than_the_limit_are_refused_at_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(measurement_rows, "ROWS", 5)
    with pytest.raises(InputError, match="line 7"):
        read_measurements(written(tmp_path, "run.csv", as_csv()))
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    path = tmp_path / "run.parquet"
    pandas.DataFrame(ROWS, columns=list(NAMES)).to_parquet(path, index=False)
    with pytest.raises(InputError, match="rows"):
        read_measurements(path)


@pytest.mark.parametrize("more", [0, 1])
def test_parquet_with_as_many_rows_as_allowed_is_read(tmp_path, monkeypatch, more):
    """One more is refused from the sizes that the file declares."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    path = tmp_path / "run.parquet"
    pandas.DataFrame(ROWS, columns=list(NAMES)).to_parquet(path, index=False)
    monkeypatch.setattr(measurement_files, "ROWS", len(ROWS) - more)
    if more:
        with pytest.raises(InputError, match="rows"):
            read_measurements(path)
    else:
        read_measurements(path)


@pytest.mark.parametrize("name", ["absent.csv", "run.xlsx", "run", ".", "/dev/zero"])
def test_what_is_no_table_is_refused(tmp_path, name):
    (tmp_path / "run.xlsx").write_text("x")
    with pytest.raises(DFLTheoryError):
        read_measurements(tmp_path / name)
