"""Parts of generated Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dfltheory.errors import InputError


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers_from: int | None = None,
) -> str:
    """Return a Markdown table.

    Parameters
    ----------
    heads : the titles of the columns
    rows : the cells of each row
    numbers_from : index of the first column that is aligned right; None: no column is
    """
    first, *lines = ("| " + " | ".join(map(str, row)) + " |" for row in (heads, *rows))
    left = len(heads) if numbers_from is None else numbers_from
    rule = "|" + "---|" * left + "---:|" * (len(heads) - left)
    return "\n".join([first.replace("|  |", "| |"), rule, *lines])


def between(page: str, mark: str, text: str) -> str:
    """Return ``page`` with ``text`` between the two lines ``mark``."""
    parts = page.split(mark)
    if len(parts) != 3:
        raise InputError(
            f"the page has {len(parts) - 1} lines {mark}; it needs 2, which enclose the"
            " generated text"
        )
    return f"{parts[0]}{mark}\n\n{text}\n\n{mark}{parts[2]}"
