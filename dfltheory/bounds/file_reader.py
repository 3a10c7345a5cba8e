"""Reading one theorem file: errors with positions, and the code that it names."""

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
    text : the text of the file
    name : its name in error messages
    folder : the folder to which paths of code in the file are relative
    trust : whether the file may import code, see :mod:`dfltheory.own`
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
        """Raise :meth:`problem`."""
        raise self.problem(path, message, value, offset) from None

    def problem(
        self, path: KeyPath, message: object, value: object = None, offset: int = 0
    ) -> InputError:
        """Return an error with the file's name, the line, the column and the field.

        For ``value`` and ``offset`` see :meth:`.FilePositions.of`.
        """
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
        """Return ``read(*arguments, **named)``, with the position added to its errors.

        ``path`` and ``value`` are the keys of the value that is read, and its text.
        """
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
        """Return the object ``FILE.py:NAME`` that the file names at ``path``.

        InputError unless the caller trusts the file.
        """
        self.reading(
            path, reference, require_trust, reference, self._trust, str(path[-1])
        )
        return self.reading(path, reference, own, str(self._folder / reference))


CODE = re.compile(r".+\.py:[A-Za-z_][\w.]*")
"""The form of a reference to code in a theorem file."""


__all__ = ["CODE", "FileReader", "KeyPath"]
