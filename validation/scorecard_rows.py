"""The rows of the scorecard: each statement as printed, and corrected."""

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
"""The columns of the two sides, in order."""

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
    """A result in a few words, with the page of its evidence and its command."""

    says: str = "not examined"
    tone: Tone = "none"
    evidence: str = ""
    command: str = ""
    detail: str = ""

    @property
    def marked(self) -> str:
        """Mark and words."""
        return f"{MARKS[self.tone]} {self.says}".strip()

    def linked(self, pages: Mapping[str, str]) -> str:
        """Return mark and words, with a link to the page of the evidence."""
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
        """Is the printed statement false? One refuting search or run is enough."""
        return any(self.printed[name].tone == "bad" for name in ("search", "runs"))

    @property
    def correction_refuted(self) -> bool:
        """Whether a search or a run refutes the corrected statement."""
        return any(cell.tone == "bad" for cell in self.corrected.values())

    @property
    def cells(self) -> list[tuple[str, str, Cell]]:
        """(side, column, cell) of all."""
        sides = (
            ("printed", PRINTED, self.printed),
            ("corrected", CORRECTED, self.corrected),
        )
        return [
            (side, name, cells[name]) for side, names, cells in sides for name in names
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        document = asdict(self)
        for side, names in (("printed", PRINTED), ("corrected", CORRECTED)):
            document[side] = {name: document[side][name] for name in names}
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Row:
        """Read what ``to_dict`` wrote."""
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
    """Return the scorecard for a terminal of 80 columns.

    Each statement and its corrections have a line, with a mark for every cell and the
    words of the one that decides.
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
            # a search's instance says more than an audit's count
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
    """Return the place of a cell's tone in the order of the marks."""
    return list(MARKS).index(cell.tone)


def markdown(rows: Sequence[Row], link: Mapping[str, str]) -> str:
    """Return the scorecard as two Markdown tables.

    ``link`` is the page of a cell's evidence, by :attr:`Cell.evidence`.
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
