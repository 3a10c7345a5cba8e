"""The rows of a table of measurements, validated as they are read."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from dfltheory.errors import InputError, shown

ROWS = 2 * 10**6
"""Largest number of rows."""
COLUMNS = 100
"""Largest number of columns."""
LONGEST_COLUMN_NAME = 100
"""Largest number of characters of a column's name."""
INDEX = ("seed", "round")
RESERVED = frozenset(
    {
        "algorithm",
        "constants",
        "hyperparameters",
        "network",
        "precision",
        "rounds",
        "start",
        "task",
    }
)
"""Names that measures must not have, because they describe a run."""


@dataclass
class RowTable:
    """The columns of a file while it is read.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Names of the columns.
    columns : list of array
        The values of each column so far.
    lines : array
        Line in the file of each row.
    """

    path: Path
    names: tuple[str, ...]
    columns: list[array[float]] = field(init=False)
    lines: array[int] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = [array("d") for _ in self.names]
        self.lines = array("q")

    def refuse(self, line: int, column: str, reason: str) -> NoReturn:
        """Raise InputError with file, line and column."""
        refuse_place(self.path, line, reason, column)

    def append(self, line: int, cells: Sequence[object]) -> None:
        """Validate and append one row."""
        if len(self.lines) >= ROWS:
            refuse_place(
                self.path, line, f"more than {ROWS:,} rows: write fewer rounds"
            )
        for name, column, cell in zip(self.names, self.columns, cells, strict=True):
            read = _parse_whole if name in INDEX else _parse_number
            try:
                column.append(read(cell))
            except ValueError as wrong:
                self.refuse(line, name, str(wrong))
        self.lines.append(line)


def refuse_place(path: Path, line: int, reason: str, column: str = "") -> NoReturn:
    """Raise InputError for a place in a file.

    Parameters
    ----------
    path : Path
    line : int
        Number of the line, from 1.
    reason : str
        What is wrong.
    column : str
        Name of the column; empty if the whole line is wrong.
    """
    place = f", column {shown(column, LONGEST_COLUMN_NAME)}" if column else ""
    raise InputError(f"{path}, line {line}{place}: {reason}") from None


def checked_names(path: Path, line: int, names: list[str]) -> tuple[str, ...]:
    """Return the column names; raise InputError if they are invalid."""
    if len(names) > COLUMNS:
        refuse_place(path, line, f"{len(names)} columns: at most {COLUMNS} are read")
    for name in names:
        if not 0 < len(name) <= LONGEST_COLUMN_NAME or not name.isprintable():
            refuse_place(
                path,
                line,
                f"a name must have 1 to {LONGEST_COLUMN_NAME} characters",
                name,
            )
        if name in RESERVED:
            refuse_place(
                path, line, "this name describes a run: rename the measure", name
            )
        if names.count(name) > 1:
            refuse_place(path, line, "the column occurs twice", name)
    for name in INDEX:
        if name not in names:
            reason = f"the column is missing; there are {', '.join(names)}"
            refuse_place(path, line, shown(reason, 300), name)
    if len(names) == len(INDEX):
        refuse_place(path, line, "there is no column of a measure such as grad_norm_sq")
    return tuple(names)


def _parse_number(cell: object) -> float:
    """Return a finite number, or raise ValueError."""
    if isinstance(cell, bool) or not isinstance(cell, (str, int, float)):
        raise ValueError(f"{_quoted(cell)} is not a number")
    try:
        if isinstance(cell, str) and not (cell.isascii() and "_" not in cell):
            raise ValueError
        value = float(cell)
    except (ValueError, OverflowError):
        raise ValueError(f"{_quoted(cell)} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(
            f"{_quoted(cell)} is not finite: end a diverged run before that round"
        )
    return value


def _parse_whole(cell: object) -> float:
    """Return an integer >= 0 as a float, or raise ValueError."""
    value = _parse_number(cell)
    if not value.is_integer() or not 0 <= value <= 2**53:
        raise ValueError(f"{_quoted(cell)} must be an integer >= 0")
    return value


def _quoted(cell: object) -> str:
    if isinstance(cell, str) and not cell.strip():
        return "an empty cell"
    return shown(repr(cell)[:60])


__all__ = [
    "COLUMNS",
    "INDEX",
    "LONGEST_COLUMN_NAME",
    "RESERVED",
    "ROWS",
    "RowTable",
    "checked_names",
    "refuse_place",
]
