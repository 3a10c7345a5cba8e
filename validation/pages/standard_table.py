"""Tables of docs/standard.md, some of which docs/atlas.md repeats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

from dfltheory import bounds
from dfltheory.markdown import table
from dfltheory.number_format import format_number

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


class Row(TypedDict):
    """One statement in one setting, without a bound if no step size is admissible.

    ``start`` is the initial value of the measure. From ``informative_from`` rounds on,
    the bound at its best step size is below it.
    """

    key: str
    variant: str
    setting: str
    start: float
    informative_from: int | None
    kind: str
    eta: NotRequired[float]
    bound: NotRequired[float]
    measured: NotRequired[float]


class Search(TypedDict):
    """The sharpest instance of a search, and the terms that the bound needs."""

    ratio: float
    candidates: int
    families: int
    refuted: bool
    instance: str
    T: NotRequired[int]
    needed: NotRequired[list[str]]
    seconds: NotRequired[float]
    processor: NotRequired[int]


Name = tuple[str, str]
USER = "DPSGD"
"""The algorithm for whose users the bounds are summarized."""


def place_of(theorem: Theorem) -> str:
    """Return the place in the paper without the paper's name."""
    return theorem.source.split(", ", 2)[2]


def ratio_of(entry: Row) -> float:
    """Return bound / measured; inf if there is no bound."""
    if "bound" not in entry or "measured" not in entry:
        return math.inf
    return float(entry["bound"]) / float(entry["measured"])


def overview(
    measured: Iterable[Name],
    others: Mapping[Name, str],
    entries: Sequence[Row],
    searches: Mapping[str, Search],
    settings: Sequence[str],
) -> str:
    """Return the table of all statements, one row each."""
    entry_of = {(e["key"], e["variant"], e["setting"]): e for e in entries}
    rows = []
    for name in measured:
        statement_entries = [entry_of[(*name, setting)] for setting in settings]
        searched = search_cells(searches[":".join(name)])
        rows.append(
            [
                *identity(name),
                *searched,
                vacuous(statement_entries),
                ratios(statement_entries),
            ]
        )
    for name, reason in others.items():
        rows.append([*identity(name), reason, "", "", "", ""])
    head = (
        "statement",
        "place",
        "measure",
        "sharpest instance found",
        "ratio",
        "terms needed",
        "vacuous below T =",
        "bound/measured",
    )
    return table(head, rows)


def identity(name: Name) -> list[str]:
    """Return the cells that identify a statement: name, place and left-hand side."""
    theorem = bounds.get(*name)
    measure = f"`{theorem.lhs.measure}`, {theorem.lhs.aggregate}"
    return [f"`{name[0]}` {name[1]}", place_of(theorem), measure]


def search_cells(search: Search) -> list[str]:
    """Return the cells of a search: sharpest instance, ratio and needed terms."""
    kind = "of processor" if "processor" in search else "by the clock"
    effort = f"{search.get('seconds')} s {kind}, {search['candidates']} candidates"
    needed = ""
    if "needed" in search:
        needed = ", ".join(search["needed"]) or "none"
    return [f"{search['instance']} ({effort})", format_number(search["ratio"]), needed]


def vacuous(entries: Iterable[Row]) -> str:
    """Return the first informative T in each setting."""
    cells = []
    for entry in entries:
        first = entry["informative_from"]
        cells.append("always" if first is None else str(first))
        if not entry["start"]:
            cells[-1] = "–"
    return " / ".join(cells)


def ratios(entries: Iterable[Row]) -> str:
    """Return bound/measured in each setting."""
    return " / ".join(_ratio(entry) for entry in entries)


def _ratio(entry: Row) -> str:
    return format_number(ratio_of(entry)) if "bound" in entry else "–"


def comparison(entries: Iterable[Row]) -> str:
    """Return the table of the statements in one setting, the tightest first."""
    rows = []
    for entry in sorted(entries, key=ratio_of):
        first = "never" if entry["informative_from"] is None else "T = "
        first += str(entry["informative_from"] or "")
        cells = ["", "", "", ""]
        if "bound" in entry:
            values = (entry.get(name) for name in ("eta", "bound", "measured"))
            cells = [*map(format_number, values), format_number(ratio_of(entry))]
        rows.append(
            [
                f"`{entry['key']}` {entry['variant']}",
                entry["kind"],
                *cells,
                format_number(entry["start"]) if entry["start"] else "0",
                first if entry["start"] else "",
            ]
        )
    head = (
        "statement",
        "verdict",
        "eta",
        "bound",
        "measured",
        "bound/measured",
        "start",
        "informative from",
    )
    return table(head, rows)


def tightest(entries: Iterable[Row]) -> str:
    """Return a sentence with the smallest bound for D-PSGD on each measure."""
    words: dict[str, str] = {}
    for entry in sorted(entries, key=_bound):
        theorem = bounds.get(entry["key"], entry["variant"])
        measure = theorem.lhs.measure
        least = theorem.scope.algorithms == (USER,) and measure not in words
        if "bound" in entry and least:
            words[measure] = (
                f"of `{measure}` {format_number(entry['bound'])} by `{entry['key']}`,"
                f" {format_number(ratio_of(entry))} times the measured value"
            )
    return f"The smallest bounds for D-PSGD: {'; '.join(words.values())}."


def _bound(entry: Row) -> float:
    return entry.get("bound", math.inf)


def in_short(entries: Sequence[Row], settings: Iterable[str]) -> str:
    """Return the smallest bounds for D-PSGD users, one line for each setting."""
    lines = []
    for setting in settings:
        setting_entries = [entry for entry in entries if entry["setting"] == setting]
        lines.append(
            f"* {setting[:1].upper()}{setting[1:]}. {tightest(setting_entries)}"
        )
    return "\n".join(lines)
