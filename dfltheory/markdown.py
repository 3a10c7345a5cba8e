"""What the pages that are written by commands are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dfltheory.errors import InputError


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: its heads, and the rows under them."""
    first, *lines = ("| " + " | ".join(map(str, row)) + " |" for row in (heads, *rows))
    return "\n".join([first.replace("|  |", "| |"), "|" + "---|" * len(heads), *lines])


def between(page: str, mark: str, told: str) -> str:
    """``page`` with ``told`` between the two lines ``mark``."""
    parts = page.split(mark)
    if len(parts) != 3:
        raise InputError(f"the page has {len(parts) - 1} lines {mark}: what is written stands between two")
    return f"{parts[0]}{mark}\n\n{told}\n\n{mark}{parts[2]}"
