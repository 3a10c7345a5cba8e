"""Reading one theorem file: text, errors with places, and code it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

from dfltheory.bounds.file_positions import FilePositions
from dfltheory.bounds.formula_tokens import FormulaError
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.own import Trust, own, require_trust

P = ParamSpec("P")
R = TypeVar("R")
KeyPath = tuple[str | int, ...]
"""Keys of TOML from the top of the file, as ``("statement", 0, "terms", "noise")``."""


class FileReader:
    """One file that is being read.

    Parameters
    ----------
    text, name : its text, and what messages call it
    folder : what the paths of code in it are relative to
    trust : what it may import
    """

    def __init__(self, text: str, name: str, folder: Path, trust: Trust):
        self.text = text
        self.name = name
        self._folder = folder
        self._trust = trust
        self._positions = FilePositions(text)

    def stop(
        self, path: KeyPath, message: object, value: object = None, offset: int = 0
    ) -> NoReturn:
        """Raise an error of this file, with its place."""
        raise self.problem(path, message, value, offset) from None

    def problem(
        self, path: KeyPath, message: object, value: object = None, offset: int = 0
    ) -> InputError:
        """Return an error of this file, with its place."""
        position = self._positions.of(path, value, offset)
        field = ".".join(str(part) for part in path if not isinstance(part, int))
        return InputError(f"{self.name}, {position}: {field or 'file'}: {message}")

    def reading(
        self,
        path: KeyPath,
        value: object,
        read: Callable[P, R],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> R:
        """Return ``read(*arguments, **named)``; its errors get their place."""
        try:
            return read(*arguments, **named)
        except FormulaError as wrong:
            character = (
                value[wrong.offset : wrong.offset + 1] if isinstance(value, str) else ""
            )
            place_text = f" at {character!r}" if character else ""
            self.stop(path, f"{wrong}{place_text}", value, wrong.offset)
        except DFLTheoryError as wrong:
            self.stop(path, wrong, value)

    def code(self, path: KeyPath, reference: str) -> Any:
        """Return the object ``FILE.py:NAME``, relative to a trusted file."""
        self.reading(
            path, reference, require_trust, reference, self._trust, str(path[-1])
        )
        return self.reading(path, reference, own, str(self._folder / reference))


CODE = re.compile(r".+\.py:[A-Za-z_][\w.]*")
"""What names code in a theorem file."""


__all__ = ["CODE", "FileReader", "KeyPath"]
