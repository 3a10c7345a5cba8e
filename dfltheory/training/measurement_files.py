"""Readers of measurements by other code: CSV, JSON lines and Parquet.

A table has the columns ``seed`` and ``round`` and one column for each measure. Sizes
are checked before anything is read, and every error names the file, line and column.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError, MissingExtraError, shown
from dfltheory.training.measurement_rows import (
    COLUMNS,
    LONGEST_COLUMN_NAME,
    RESERVED,
    ROWS,
    RowTable,
    checked_names,
    refuse_place,
)

LARGEST_MEASUREMENT_FILE = 2**28
"""Largest size of a text file, and of the unpacked content of a Parquet file."""
NUMBER_TYPES = frozenset(
    {
        "double",
        "float",
        "halffloat",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
"""Supported types of Parquet columns."""


@dataclass(frozen=True, eq=False)
class MeasurementTable:
    """Measures of a run that were read from a file.

    Attributes
    ----------
    measures : mapping of str to (S, R) array
        The measures by name.
    rounds : tuple of R ints
        The round of each column, increasing.
    seeds : tuple of S ints
        The seed of each row, increasing.
    """

    measures: Mapping[str, NDArray[np.float64]]
    rounds: tuple[int, ...]
    seeds: tuple[int, ...]


def read_measurements(path: str | Path) -> MeasurementTable:
    """Read a table of measurements.

    The suffix selects the format:

    - ``.csv``: a header and one row per line, separated by commas.
    - ``.jsonl``, ``.ndjson``: one object per line.
    - ``.parquet``: with the extra [parquet].

    Rows may be in any order. All seeds must have the same rounds, and every cell must
    be a finite number.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MeasurementTable
        Seeds and rounds in increasing order.

    Raises
    ------
    InputError
        If the file is too large, a column is missing, a cell is not a finite number, a
        pair of seed and round occurs twice, or seeds have different rounds.
    MissingExtraError
        For Parquet without pyarrow.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise InputError(f"{path}: unknown format {path.suffix!r}; known: {known}")
    _check_file(path)
    try:
        table = reader(path)
    except UnicodeDecodeError as wrong:
        raise InputError(f"{path}: not a text file (UTF-8): {wrong.reason}") from None
    return _sorted_table(table)


def _check_file(path: Path) -> None:
    """Raise InputError unless a path is a regular file of at most BYTES bytes."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file")
    size = path.stat().st_size
    if size > LARGEST_MEASUREMENT_FILE:
        raise InputError(
            f"{path} has {size:,} bytes: at most {LARGEST_MEASUREMENT_FILE:,} are read"
        )


# -- formats ---------------------------------------------------------------------------


def _read_csv(path: Path) -> RowTable:
    """Read a header and rows of comma-separated values."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(_reject_long_lines(path, lines), strict=True)
        try:
            header = next(rows, None)
            if header is None:
                raise InputError(
                    f"{path} is empty: write a header and one row per line"
                )
            names = checked_names(path, rows.line_num, [n.strip() for n in header])
            table = RowTable(path, names)
            for row in rows:
                if not row:  # a blank line
                    continue
                if len(row) != len(names):
                    refuse_place(
                        path,
                        rows.line_num,
                        f"{len(row)} cells, but the header has {len(names)}",
                    )
                table.append(rows.line_num, row)
        except csv.Error as wrong:
            refuse_place(path, rows.line_num, f"not a line of CSV: {wrong}")
    return table


def _reject_long_lines(path: Path, lines: TextIO) -> Iterator[str]:
    """Yield lines, and reject lines that are too long to be held in memory."""
    longest = COLUMNS * (LONGEST_COLUMN_NAME + 100)
    number = 0
    while line := lines.readline(longest + 1):
        number += 1
        if len(line) > longest:
            refuse_place(path, number, f"a line of more than {longest:,} characters")
        yield line


def _read_json_lines(path: Path) -> RowTable:
    """Read one object per line; all have the fields of the first one."""
    table: RowTable | None = None
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(_reject_long_lines(path, lines), start=1):
            if not line.strip():
                continue
            record = _json_record(path, number, line)
            if table is None:
                table = RowTable(path, checked_names(path, number, list(record)))
            for name in table.names:
                if name not in record:
                    refuse_place(path, number, "the field is missing", name)
            for name in record:
                if name not in table.names:
                    refuse_place(path, number, "earlier lines lack this field", name)
            table.append(number, [record[name] for name in table.names])
    if table is None:
        raise InputError(f"{path} is empty: write one JSON object per line")
    return table


def _json_record(path: Path, number: int, line: str) -> dict[str, object]:
    """Return the object of one line; raise InputError with its number if it is none."""
    try:
        record = json.loads(line, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as wrong:
        reason = shown(" ".join(str(wrong).split()), 100)
        refuse_place(path, number, f"not a JSON object: {reason}")
    if not isinstance(record, dict):
        refuse_place(
            path, number, 'not a JSON object like {"seed": 0, "round": 0, ...}'
        )
    return record


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of an object; raise ValueError if a name occurs twice."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a field occurs twice")
    return record


def _read_parquet(path: Path) -> RowTable:
    """Read a Parquet file; convert pyarrow's errors to InputError."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("a .parquet file", "parquet") from None
    try:
        return _parquet_table(path, parquet.ParquetFile(path))
    except InputError:
        raise
    except Exception as wrong:  # pyarrow raises errors of many classes
        reason = shown(" ".join(str(wrong).split()), 100)
        raise InputError(f"{path}: not a readable Parquet file: {reason}") from wrong


def _parquet_table(path: Path, file: Any) -> RowTable:
    """Read a Parquet file after checking its declared sizes; rows count from 1."""
    metadata = file.metadata
    if metadata.num_rows > ROWS:
        raise InputError(f"{path} has {metadata.num_rows:,} rows: at most {ROWS:,}")
    groups = range(metadata.num_row_groups)
    size = sum(metadata.row_group(k).total_byte_size for k in groups)
    if size > LARGEST_MEASUREMENT_FILE:
        raise InputError(
            f"{path} unpacks to {size:,} bytes: at most {LARGEST_MEASUREMENT_FILE:,}"
            " are read"
        )
    names = checked_names(path, 1, list(file.schema_arrow.names))
    for name, kind in zip(names, file.schema_arrow.types, strict=True):
        if str(kind) not in NUMBER_TYPES:
            refuse_place(path, 1, f"the type {kind} is not a number", name)
    table = RowTable(path, names)
    count = 0
    for batch in file.iter_batches(batch_size=2**14):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            count += 1
            table.append(count, row)
    return table


READERS: dict[str, Callable[[Path], RowTable]] = {
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
"""Formats by suffix."""


# -- the arrays ------------------------------------------------------------------------


def _sorted_table(table: RowTable) -> MeasurementTable:
    """Sort the rows by seed and round, and return them as arrays."""
    if not table.lines:
        raise InputError(f"{table.path} has no rows")
    lines = np.frombuffer(table.lines, dtype=np.int64)
    by_name = {
        name: np.frombuffer(column, dtype=np.float64)
        for name, column in zip(table.names, table.columns, strict=True)
    }
    seed, t = by_name.pop("seed"), by_name.pop("round")
    order = np.lexsort((t, seed))
    seed, t, lines = seed[order], t[order], lines[order]
    repeated = np.flatnonzero((np.diff(seed) == 0) & (np.diff(t) == 0))
    if repeated.size:
        k = int(repeated[0])
        earlier, later = sorted((int(lines[k]), int(lines[k + 1])))
        table.refuse(
            later,
            "round",
            f"seed {seed[k]:.0f} already has round {t[k]:.0f} in line {earlier}",
        )
    seeds, first = np.unique(seed, return_index=True)
    rounds = t[: first[1] if len(first) > 1 else None]
    _check_rounds(table, seeds, [*first, len(seed)], t, lines)
    shape = (len(seeds), len(rounds))
    return MeasurementTable(
        measures={name: v[order].reshape(shape) for name, v in by_name.items()},
        rounds=tuple(int(r) for r in rounds),
        seeds=tuple(int(s) for s in seeds),
    )


def _check_rounds(
    table: RowTable,
    seeds: NDArray[np.float64],
    ends: Iterable[int],
    t: NDArray[np.float64],
    lines: NDArray[np.int64],
) -> None:
    """Raise InputError for the first round that some seed lacks."""
    starts = [int(end) for end in ends]
    expected = t[: starts[1]]
    for s, begin, end in zip(seeds[1:], starts[1:], islice(starts, 2, None)):
        seed_rounds = t[begin:end]
        if np.array_equal(seed_rounds, expected):
            continue
        surplus = np.setdiff1d(seed_rounds, expected)
        lacking = np.setdiff1d(expected, seed_rounds)
        if lacking.size:
            table.refuse(
                int(lines[begin:end].max()),
                "round",
                f"seed {s:.0f} lacks round {lacking[0]:.0f}, which seed {seeds[0]:.0f}"
                " has: all seeds must have the same rounds",
            )
        place = begin + int(np.flatnonzero(seed_rounds == surplus[0])[0])
        table.refuse(
            int(lines[place]),
            "round",
            f"seed {s:.0f} has round {surplus[0]:.0f}, which seed {seeds[0]:.0f} lacks:"
            " all seeds must have the same rounds",
        )


__all__ = [
    "LARGEST_MEASUREMENT_FILE",
    "COLUMNS",
    "RESERVED",
    "ROWS",
    "MeasurementTable",
    "read_measurements",
]
