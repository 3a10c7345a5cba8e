"""Where a value is written in the text of a TOML file, for messages.

Keys and values are searched as text within the block of their statement. If a value is
not found, because it has escape sequences, the place of its table is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_STATEMENT = re.compile(r"^[ \t]*\[\[[ \t]*statement[ \t]*\]\]", re.MULTILINE)
_STEP = re.compile(
    r"^[ \t]*\[\[[ \t]*statement[ \t]*\.[ \t]*steps[ \t]*\]\]", re.MULTILINE
)
_QUOTES = ('"""', "'''", '"', "'")


class Position(NamedTuple):
    """Line and column, from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class FilePositions:
    """Places in one file.

    Parameters
    ----------
    text : the text of the file
    """

    def __init__(self, text: str):
        self._text = text
        self._starts = [match.start() for match in _STATEMENT.finditer(text)]

    def of(
        self, path: Sequence[str | int], value: object = None, offset: int = 0
    ) -> Position:
        """Return the position of the value at ``path``.

        Parameters
        ----------
        path : keys and indices from the top of the file, for example
            ``("statement", 0, "terms", "noise")``
        value : the value, if it is text
        offset : index of a character of ``value``, whose position is returned
        """
        start, end = self._block(path)
        place = start
        for before, name in zip(("", *path), path, strict=False):
            if before == "steps" and isinstance(name, int):
                place = self._step(name, start, end)
            elif isinstance(name, str) and name not in ("statement", "steps"):
                place = self._after_name(name, place, end)
        return self._position(self._in_value(place, value, offset))

    def _block(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Return start and end of the text that contains a path.

        It is the block of one statement, the text before the first one, or the file.
        """
        if len(path) < 2 or path[0] != "statement" or not isinstance(path[1], int):
            return 0, (
                self._starts[0]
                if path and path[0] != "statement" and self._starts
                else len(self._text)
            )
        number = path[1]
        if number >= len(self._starts):
            return 0, len(self._text)
        ends = [*self._starts[1:], len(self._text)]
        return self._starts[number], ends[number]

    def _step(self, number: int, start: int, end: int) -> int:
        """Return where a step begins, after its header; ``start`` without a header."""
        ends_of_headers = [
            match.end() for match in _STEP.finditer(self._text, start, end)
        ]
        return ends_of_headers[number] if number < len(ends_of_headers) else start

    def _after_name(self, name: str, start: int, end: int) -> int:
        """Return where the value of a name begins: after its ``=``, or its header.

        It is ``start`` if the name is missing.
        """
        bare = re.escape(name)
        key = rf"""(?:"{bare}"|'{bare}'|(?<![\w"']){bare})"""
        pattern = re.compile(
            rf"{key}[ \t]*(?:=[ \t]*|\.(?=[\w\"'])|\][ \t]*(?=[\r\n#]))"
        )
        match = pattern.search(self._text, start, end)
        return start if match is None else match.end()

    def _in_value(self, place: int, value: object, offset: int) -> int:
        """Return the index of a character of a text that begins at ``place``."""
        if not isinstance(value, str):
            return place
        for quote in _QUOTES:
            inside = place + len(quote)
            if self._text.startswith(quote, place):
                if len(quote) == 3 and self._text.startswith("\n", inside):
                    inside += 1
                return (
                    inside + offset if self._text.startswith(value, inside) else place
                )
        return place

    def _position(self, place: int) -> Position:
        line = self._text.count("\n", 0, place) + 1
        return Position(line, place - self._text.rfind("\n", 0, place))


__all__ = ["FilePositions", "Position"]
