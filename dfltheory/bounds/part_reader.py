"""Reading one part of a theorem file, whose errors name their place in the file."""

from __future__ import annotations

from collections.abc import Callable

from dfltheory.bounds.file_reader import FileReader, KeyPath, P, R
from dfltheory.bounds.formulas import read_formula
from dfltheory.bounds.units import Expr


class PartReader:
    """Base class of readers of one table.

    Parameters
    ----------
    file : FileReader
        The file.
    path : tuple
        Keys of the table from the top of the file.
    symbols : dict
        Quantities and abbreviations by name; readers may add abbreviations.
    """

    def __init__(self, file: FileReader, path: KeyPath, symbols: dict[str, Expr]):
        self._file = file
        self._path = path
        self._symbols = symbols

    def _reading(
        self,
        path: KeyPath,
        value: object,
        read: Callable[P, R],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> R:
        """Return ``read(*arguments, **named)``; its errors get their place."""
        place = (*self._path, *path)
        return self._file.reading(place, value, read, *arguments, **named)

    def _formula(self, path: KeyPath, text: str) -> Expr:
        return self._reading(path, text, read_formula, text, self._symbols)


__all__ = ["PartReader"]
