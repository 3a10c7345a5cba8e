"""Quantities that a theorem file adds to the glossary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dfltheory.bounds.computed import in_order, read_computation
from dfltheory.bounds.file_reader import CODE, FileReader
from dfltheory.bounds.formula_writer import name_in_latex
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.symbols import checked_new
from dfltheory.bounds.unit_text import read_range, read_unit
from dfltheory.problems import Problems

if TYPE_CHECKING:
    from dfltheory.bounds.theorem_models import (
        QuantityTable,
    )


def read_quantities(
    file: FileReader, tables: Mapping[str, QuantityTable]
) -> tuple[Quantity, ...]:
    """Return the quantities that a file adds to the glossary."""
    added_names = frozenset(tables)
    quantities: list[Quantity] = []
    problems = Problems()
    for name, table in tables.items():
        with problems.collecting():
            quantities.append(_read_quantity(file, name, table, added_names))
    problems.raise_any()
    file.reading(("quantities",), None, in_order, tuple(quantities))
    return tuple(quantities)


def _read_quantity(
    file: FileReader, name: str, table: QuantityTable, added_names: frozenset[str]
) -> Quantity:
    path = ("quantities", name)
    unit = file.reading((*path, "unit"), table.unit, read_unit, table.unit)
    interval = file.reading((*path, "range"), table.range, read_range, table.range)
    names_code = table.of is not None and CODE.fullmatch(table.of) is not None
    of = file.code((*path, "of"), str(table.of)) if names_code else table.of
    if table.of is not None and not names_code:
        text = str(table.of)
        file.reading((*path, "of"), text, read_computation, text, added_names)
    neutral = None if table.neutral is None else float(table.neutral)
    quantity = Quantity(
        name=name,
        latex=table.latex or name_in_latex(name),
        unit=unit,
        meaning=table.meaning,
        low=interval.low,
        high=interval.high,
        open_low=interval.open_low,
        open_high=interval.open_high,
        integer=table.integer,
        neutral=neutral,
        step=table.step,
        of=of,
        point=table.point,
    )
    file.reading(path, None, checked_new, quantity)
    return quantity


__all__ = ["read_quantities"]
