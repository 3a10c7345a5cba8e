"""Parts of generated Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dfltheory.errors import InputError


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    first, *lines = ("| " + " | ".join(map(str, row)) + " |" for row in (heads, *rows))
    return "\n".join([first.replace("|  |", "| |"), "|" + "---|" * len(heads), *lines])


def between(page: str, mark: str, text: str) -> str:
    """Return ``page`` with ``text`` between the two lines ``mark``."""
    parts = page.split(mark)
    if len(parts) != 3:
        raise InputError(
            f"the page has {len(parts) - 1} lines {mark}; it needs 2, which enclose the"
            " generated text"
        )
    return f"{parts[0]}{mark}\n\n{text}\n\n{mark}{parts[2]}"
