"""Files that are either whole or absent: written beside their place, flushed, then renamed into it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, of the same suffix, that takes its place when the block ends well.

    A reader sees the old file or the new one, never a half; when the block raises, the old one stays.

    >>> with replacing("table.parquet") as temporary:  # doctest: +SKIP
    ...     frame.to_parquet(temporary)
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file (UTF-8) atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], document: Any) -> None:
    """Write one JSON document atomically, numbers and arrays of any library included."""
    write_text(path, json_text(document) + "\n")


def json_text(document: Any) -> str:
    """The document as JSON, indented; valid JSON even where numbers are infinite (see :func:`plain`)."""
    return json.dumps(plain(document), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """The value in JSON's own types. JSON knows no infinity and no nan: they become the strings
    "Infinity", "-Infinity" and "NaN", which ``float`` reads back."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy and torch, scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask


__all__ = ["json_text", "plain", "replacing", "write_json", "write_text"]
