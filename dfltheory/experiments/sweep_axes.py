"""The section [sweep] of experiment files: axes, and the cells of their grid."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dfltheory.documents import short_text as quoted
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.experiments.cell import Section
from dfltheory.experiments.schema import FILE_SECTIONS
from dfltheory.problems import Problems

MAX_CELLS = 10_000
"""Maximum number of cells of a grid."""


@dataclass(frozen=True)
class Axis:
    """One line of ``[sweep]``: fields that change together, and their values."""

    fields: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]


def read_axes(table: Mapping[str, object], problems: Problems) -> tuple[Axis, ...]:
    """Return the valid axes of a [sweep]."""
    axes = []
    seen: set[str] = set()
    for line, values in _flat(table):
        with problems.collecting(f"sweep.{quoted(line)}"):
            axis = _axis(line, values)
            _refuse_swept_twice(axis, seen)
            axes.append(axis)
    return tuple(axes)


def _axis(line: str, values: object) -> Axis:
    """Return the axis of one line of a [sweep]."""
    names = tuple(part.strip() for part in line.split(","))
    if not isinstance(values, list) or not values:
        raise InputError(f"must be a nonempty list of values, not {quoted(values)}")
    rows: list[list[object]] = values
    if len(names) == 1:
        rows = [[value] for value in values]
    _check_rows(rows, len(names))
    return Axis(names, tuple(tuple(row) for row in rows))


def _refuse_swept_twice(axis: Axis, seen: set[str]) -> None:
    """Raise InputError if an axis sets a field that was seen, and record its fields."""
    for position, name in enumerate(axis.fields):
        for moved in _moved_fields(name, [row[position] for row in axis.values]):
            if moved in seen:
                raise InputError(f"{moved} is swept twice")
            seen.add(moved)


def _check_rows(rows: Sequence[object], width: int) -> None:
    """Raise InputError for rows of another width, and for equal rows."""
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise InputError(
                f"sets {width} fields together, so {quoted(row)} must be a list of"
                f" {width} values"
            )
    seen = set()
    for row in rows:
        if repr(row) in seen:
            value = row[0] if width == 1 and isinstance(row, list) else row
            raise InputError(f"lists the value {quoted(value)} twice: remove one")
        seen.add(repr(row))


def _moved_fields(name: str, values: list[object]) -> set[str]:
    """Return the dotted fields that an entry of [sweep] sets; tables set several."""
    tables = [value for value in values if isinstance(value, dict)]
    return {name} | {f"{name}.{key}" for table in tables for key in table}


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the dotted names and lists of a nested table.

    Quoted ("run.rounds") and bare (run.rounds) keys are equivalent.
    """
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def set_field(document: Section, name: str, value: object) -> None:
    """Set the value of a dotted field.

    The value of a whole section is a table that updates the section.
    """
    section, *path = name.split(".")
    if section not in FILE_SECTIONS:
        raise UnknownNameError(
            "section that can be swept or set", section, set(FILE_SECTIONS)
        )
    node = document.setdefault(section, {})
    if not path:
        if not isinstance(value, dict):
            raise InputError(
                f"{name}: must be a table of fields, or name one ({name}.FIELD), not"
                f" {quoted(value)}"
            )
        document[section] = {**node, **copy.deepcopy(value)}
        return
    for part in path[:-1]:
        node = node.setdefault(part, {}) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        raise InputError(
            f"{name}: the part before the last dot is a value, not a table of fields"
        )
    node[path[-1]] = copy.deepcopy(value)


def cell_settings(axes: tuple[Axis, ...]) -> Iterator[dict[str, object]]:
    """Yield the settings of every cell, by dotted field."""
    for rows in itertools.product(*(axis.values for axis in axes)):
        settings: dict[str, object] = {}
        for axis, row in zip(axes, rows, strict=True):
            settings.update(zip(axis.fields, row, strict=True))
        yield settings


def refuse_many_cells(axes: tuple[Axis, ...], problems: Problems) -> None:
    """Raise all problems if a grid has more than :data:`MAX_CELLS` cells."""
    count = math.prod(len(axis.values) for axis in axes)
    if count > MAX_CELLS:
        sizes = " x ".join(str(len(axis.values)) for axis in axes)
        too_many = InputError(
            f"sweep: has {sizes} = {count} cells; at most {MAX_CELLS} are run: sweep"
            " fewer values, or write several files"
        )
        problems.add(too_many)
        problems.raise_any()


__all__ = ["Axis", "cell_settings", "read_axes", "refuse_many_cells", "set_field"]
