"""The left-hand side of a statement of a theorem file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import sympy as sp

from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.file_reader import FileReader, KeyPath
from dfltheory.bounds.formulas import read_formula
from dfltheory.bounds.measures import BLOCK_FACTORS, KNOWN_MEASURES
from dfltheory.bounds.part_reader import PartReader
from dfltheory.bounds.unit_text import read_unit
from dfltheory.bounds.units import Expr

if TYPE_CHECKING:  # the data models are slow to import
    from dfltheory.bounds.theorem_models import LeftTable


class LeftSideReader(PartReader):
    """Reads the table ``left`` of one statement.

    Parameters
    ----------
    file : the file
    path : keys of the statement
    table : the table ``left``
    one_step : does every algorithm of the statement take one local step a round?
    symbols : quantities and the statement's definitions by name
    known : formulas of the definitions by symbol
    """

    def __init__(
        self,
        file: FileReader,
        path: KeyPath,
        table: LeftTable,
        one_step: bool,
        symbols: dict[str, Expr],
        known: Mapping[sp.Symbol, Expr],
    ):
        super().__init__(file, (*path, "left"), symbols)
        self._table = table
        self._one_step = one_step
        self._known = known

    def left_side(self) -> LeftSide:
        """Return the left-hand side."""
        table = self._table
        first, last, start = (
            self._round(name, getattr(table, name))
            for name in ("first", "last", "start")
        )
        if not start.is_Integer or start < 0:
            self._file.stop(
                (*self._path, "start"),
                f"start = {start} must be an integer >= 0",
            )
        unit = None
        if table.unit is not None:
            unit = self._reading(("unit",), None, read_unit, str(table.unit))
        measure = table.measure
        over = table.over
        if self._one_step:
            over = "rounds"
        if (table.at, over) != ("mean model", "rounds"):
            known = KNOWN_MEASURES.get(measure)
            unit = known.unit if known is not None and unit is None else unit
            measure = f"{measure} at {table.at}, over {table.over}"
        if table.parts is not None:
            self._check_blocks(table.measure, table.parts)
        return self._reading(
            (),
            None,
            LeftSide,
            measure=measure,
            latex=table.latex,
            aggregate=table.aggregate,
            first=first,
            last=last,
            start=int(start),
            unit=unit,  # type: ignore[arg-type]  # follows from the measure if it is None
            averaging=table.words,
            carries=tuple(table.constants),
        )

    def _round(self, name: str, text: str) -> Expr:
        """Return a round as a formula in T.

        Exponents that depend on T are rejected, since no memory holds their values.
        """
        expression = sp.sympify(self._formula((name,), text))
        powers = [power.exp for power in expression.atoms(sp.Pow)]
        plain = not expression.has(sp.exp, sp.log) and all(
            power.is_number for power in powers
        )
        if not plain or not expression.free_symbols <= {self._symbols["T"]}:
            message = (
                f"{name} = {text!r:.60} must be a formula in T only, such as T - 1,"
                " without exponentials and logarithms"
            )
            self._file.stop((*self._path, name), message)
        return expression

    def _check_blocks(self, measure: str, parts: list[str]) -> None:
        """Check that the factors of two blocks are those of the measure."""
        known = BLOCK_FACTORS.get(measure)
        if known is None:
            message = (
                f"{measure} has no parts: measures of two blocks are"
                f" {', '.join(BLOCK_FACTORS)}"
            )
            self._file.stop((*self._path, "parts"), message)
        expected = [read_formula(text, self._symbols) for text in known]
        given = [
            self._formula(("parts",), text).xreplace(self._known) for text in parts
        ]
        if given != expected:
            message = f"parts must be {' and '.join(known)}, the factors of {measure}"
            self._file.stop((*self._path, "parts"), message)


__all__ = ["LeftSideReader"]
