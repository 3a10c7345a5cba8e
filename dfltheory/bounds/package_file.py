"""The package's own theorem files, read one by one without data models."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from dfltheory.bounds.file_reader import FileReader
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.plain_tables import plain_file
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.quantity_reader import read_quantities
from dfltheory.bounds.statement_reader import StatementReader, parent_of
from dfltheory.bounds.theorem import Theorem


class PackageFile:
    """A theorem file of the package.

    Its format is not checked here: a test reads every file with the data models.

    Parameters
    ----------
    path : the file
    """

    def __init__(self, path: Path):
        text = path.read_text(encoding="utf-8")
        self._reader = FileReader(text, str(path), path.parent, False)
        self._tables = plain_file(tomllib.loads(text))
        self._read: dict[tuple[str, str], Theorem] = {}

    @cached_property
    def paper(self) -> Paper:
        """Title, citation and provenance."""
        source = self._tables.source
        return Paper(source.title, source.citation, source.notation, source.provenance)

    @cached_property
    def numbers(self) -> Mapping[tuple[str, str], int]:
        """The place of each statement in the file, by key and variant."""
        return {
            (table.key, table.variant): n
            for n, table in enumerate(self._tables.statement)
        }

    def find(self, key: str, variant: str) -> Theorem | None:
        """Return one statement; None if the file does not have it."""
        name = (key, variant)
        if name not in self._read and name in self.numbers:
            self._read[name] = self._statement(self.numbers[name])
        return self._read.get(name)

    def theorems(self) -> tuple[Theorem, ...]:
        """Return all statements, in the order of the file."""
        statements = (self.find(*name) for name in self.numbers)
        return tuple(theorem for theorem in statements if theorem is not None)

    @cached_property
    def _quantities(self) -> tuple[Quantity, ...]:
        return read_quantities(self._reader, self._tables.quantities)

    def _statement(self, number: int) -> Theorem:
        table = self._tables.statement[number]
        reader = StatementReader(
            self._reader, number, table, self._quantities, self.paper
        )
        return reader.theorem(parent_of(table, self._tables.statement))


__all__ = ["PackageFile"]
