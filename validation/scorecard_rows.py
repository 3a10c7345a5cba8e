"""The rows of the scorecard: each statement as printed and as corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from dfltheory import bounds
from dfltheory.markdown import table as markdown_table

if TYPE_CHECKING:
    from rich.table import Table

PRINTED = ("audit", "search", "runs", "growth")
CORRECTED = ("proof", "search", "runs", "tightness")
"""The columns of the two tables, in order."""

Tone = Literal["bad", "good", "open", "warned", "none"]
MARKS: dict[str, str] = {
    "bad": "✗",
    "good": "✓",
    "open": "?",
    "warned": "!",
    "none": "",
}
_COLORS = {
    "bad": "red",
    "good": "green",
    "open": "yellow",
    "warned": "yellow",
    "none": "dim",
}


@dataclass(frozen=True)
class Cell:
    """A result in a few words, with its evidence and the command that reproduces it."""

    says: str = "not examined"
    tone: Tone = "none"
    evidence: str = ""
    command: str = ""
    detail: str = ""

    @property
    def marked(self) -> str:
        """Mark and text."""
        return f"{MARKS[self.tone]} {self.says}".strip()

    def linked(self, pages: Mapping[str, str]) -> str:
        """Return mark and text, linked to the page of the evidence."""
        if self.evidence not in pages:
            return self.marked
        return f"[{self.marked}]({pages[self.evidence]})"


@dataclass(frozen=True)
class Row:
    """One statement: ``printed`` and ``corrected`` cells by the columns above."""

    key: str
    title: str
    printed: Mapping[str, Cell]
    corrected: Mapping[str, Cell]

    @property
    def refuted(self) -> bool:
        """Whether a search or a run refutes the printed statement."""
        return any(self.printed[name].tone == "bad" for name in ("search", "runs"))

    @property
    def correction_refuted(self) -> bool:
        """Whether a search or a run refutes the corrected statement."""
        return any(cell.tone == "bad" for cell in self.corrected.values())

    @property
    def cells(self) -> list[tuple[str, str, Cell]]:
        """All cells as (side, column, cell)."""
        sides = (
            ("printed", PRINTED, self.printed),
            ("corrected", CORRECTED, self.corrected),
        )
        return [
            (side, name, cells[name]) for side, names, cells in sides for name in names
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        document = asdict(self)
        for side, names in (("printed", PRINTED), ("corrected", CORRECTED)):
            document[side] = {name: document[side][name] for name in names}
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Row:
        """Return the row of a document that ``to_dict`` returned."""
        printed = {name: Cell(**cell) for name, cell in document["printed"].items()}
        corrected = {n: Cell(**cell) for n, cell in document["corrected"].items()}
        return cls(document["key"], document["title"], printed, corrected)


def summary(rows: Sequence[Row]) -> str:
    """Return the main finding in one sentence."""
    wrong = sum(row.refuted for row in rows)
    broken = [row.key for row in rows if row.correction_refuted]
    corrected = f"refuted: {', '.join(broken)}" if broken else "none is refuted"
    growing = sum(row.refuted and bounds.get(row.key).order for row in rows)
    return (
        f"{wrong} of {len(rows)} main statements are refuted as printed:"
        f" {wrong - growing} by a bound that is exceeded, {growing} in O(.) by a family"
        f" of problems in closed form. Of their corrections {corrected}."
    )


def table(rows: Sequence[Row]) -> Table:
    """Return the scorecard as a table for a terminal with 80 columns.

    A statement and its corrections have a line each, with a mark for every cell and the
    text of the most severe one.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = (
        "Scorecard (✗ false or in error, ! warnings alone, ✓ shown, ? open, - nothing)"
    )
    made = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for heading, width in (
        ("statement", 21),
        ("audit proof", 5),
        ("search", 6),
        ("runs", 4),
        ("says", None),
    ):
        made.add_column(heading, overflow="fold", width=width)
    for row in rows:
        for name, names, cells in (
            (row.key, PRINTED, row.printed),
            ("  corrected", CORRECTED, row.corrected),
        ):
            # among equals, the instance of a search before the counts of the audit
            first = [cells[n] for n in names[:3]]
            order = (first[1], first[2], first[0]) if names is PRINTED else first
            decides = min(order, key=_gravity)
            marks = (
                Text(MARKS[cell.tone] or "-", _COLORS[cell.tone]) for cell in first
            )
            made.add_row(
                Text(name), *marks, Text(decides.says), end_section=names is CORRECTED
            )
    return made


def _gravity(cell: Cell) -> int:
    """Return the rank of a cell's tone in ``MARKS``, most severe first."""
    return list(MARKS).index(cell.tone)


def markdown(rows: Sequence[Row], link: Mapping[str, str]) -> str:
    """Return the scorecard as two Markdown tables.

    ``link`` maps :attr:`Cell.evidence` to a page.
    """
    lines = [summary(rows), ""]
    for side, names in (("printed", PRINTED), ("corrected", CORRECTED)):
        made = []
        for row in rows:
            cells = getattr(row, side)
            made.append((f"`{row.key}`", *(cells[name].linked(link) for name in names)))
        title = "as printed" if side == "printed" else side
        lines += [markdown_table((title, *names), made), ""]
    return "\n".join(lines)
