"""What a table or figure of a paper is: entries by row and column, printed numbers, orderings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from dfltheory.errors import InputError
from validation.reproduce.cells import TOPOLOGIES, Cell, Result

Entry = tuple[str, str]
"""(row, column)."""
Printed = float | str | None
"""A number as printed, text where the paper prints text (``>300``), None where it prints nothing."""


@dataclass(frozen=True)
class Measure:
    """What is read from a run: ``of`` the result, its unit, and whether more or less of it is better."""

    name: str
    of: Callable[[Result], float]
    better: Literal["more", "less"] = "more"
    unit: str = "%"


ACCURACY = Measure("test accuracy of the mean model", lambda r: r.last("accuracy"))
TRAIN = Measure("training accuracy of the mean model", lambda r: _final(r, "train_accuracy"))
GAP = Measure(
    "training less test accuracy", lambda r: _final(r, "train_accuracy") - r.last("accuracy"), "less"
)
PERSONAL = Measure(
    "mean over clients of a client's own model's accuracy on its own test images",
    lambda r: r.last("client_accuracy"),
)
SHARPNESS = Measure(
    "largest Hessian eigenvalue of f at the mean model", lambda r: _final(r, "sharpness"), "less", ""
)


def rounds_to(accuracy: float, personal: bool = False) -> Measure:
    """The first measured round with so many percent of accuracy; inf where it never came."""
    measure = "client_accuracy" if personal else "accuracy"
    return Measure(f"rounds to {accuracy:g} %", lambda r: r.rounds_to(accuracy, measure), "less", "rounds")


def _final(result: Result, name: str) -> float:
    return float(result.final.get(name, math.nan))


@dataclass(frozen=True)
class Line:
    """A row or a column: its label, what it sets of a :class:`.cells.Cell`, and a column's own measure."""

    label: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    measure: Measure | None = None


@dataclass(frozen=True)
class Order:
    """What the paper reads from its table: of each two rows (or columns) of ``beats`` the first is the
    better one, in every entry that they have in ``along`` (columns, or rows; empty: all)."""

    text: str
    beats: tuple[tuple[str, str], ...]
    along: tuple[str, ...] = ()
    of: Literal["rows", "columns"] = "rows"


@dataclass(frozen=True)
class Item:
    """One table or figure.

    ``key``: ``<paper>.table_<n>`` or ``<paper>.figure_<n>``; ``setting``: the paper's, in words; ``base``:
    what all entries have in common; ``printed``: row -> its printed numbers, in the order of the columns
    (empty where the paper only draws); ``form``: how it is drawn; ``unsaid``: what the paper leaves open, and
    what is taken for it; ``axis``: what curves are drawn over, so many a round (``per_round`` of a row; 1);
    ``panels``: rows that share one, where curves have a single column.
    """

    key: str
    title: str
    source: str
    setting: str
    base: Mapping[str, Any]
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    measure: Measure = ACCURACY
    printed: Mapping[str, Sequence[Printed]] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    form: Literal["bars", "curves", "surfaces"] = "bars"
    unsaid: str = ""
    axis: str = "round"
    per_round: Mapping[str, int] = field(default_factory=dict)
    panels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row, numbers in self.printed.items():
            if row not in self.row_labels or len(numbers) != len(self.columns):
                raise InputError(f"{self.key}: the printed row {row!r} does not fit the table")
        known = {(row, column) for row in self.row_labels for column in self.column_labels}
        for order in self.orders:
            for entry in (entry for pair in self.pairs(order) for entry in pair):
                if entry not in known:
                    raise InputError(f"{self.key}: {entry} in {order.text!r} is no entry")

    @property
    def row_labels(self) -> list[str]:
        return [line.label for line in self.rows]

    @property
    def column_labels(self) -> list[str]:
        return [line.label for line in self.columns]

    @property
    def papers_datasets(self) -> list[str]:
        """The image sets that its entries need, in their order."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells().values()))

    def cells(self) -> dict[Entry, Cell]:
        """What is run for each entry."""
        return {
            (row.label, column.label): Cell(**merged(self.base, row.sets, column.sets))
            for row in self.rows
            for column in self.columns
        }

    def measures(self, column: str) -> Measure:
        """What a column tells."""
        return self.columns[self.column_labels.index(column)].measure or self.measure

    def pairs(self, order: Order) -> list[tuple[Entry, Entry]]:
        """The entries that an order compares, the better one first."""
        if order.of == "rows":
            return [((a, c), (b, c)) for c in order.along or self.column_labels for a, b in order.beats]
        return [((r, a), (r, b)) for r in order.along or self.row_labels for a, b in order.beats]

    def number(self, entry: Entry) -> Printed:
        """What the paper prints there."""
        row, column = entry
        return self.printed[row][self.column_labels.index(column)] if row in self.printed else None


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Later settings win; letters and epochs are joined."""
    whole: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = isinstance(value, Mapping) and name in whole
            whole[name] = {**whole[name], **value} if both else value
    return whole


FIXED = tuple(Line(name.capitalize(), {"topology": name}) for name in TOPOLOGIES)
"""A column for each fixed topology, from sparse to dense."""
FIXED_NAMES = [line.label for line in FIXED]
DIVISIONS = {"Dir 0.3": "dirichlet 0.3", "Dir 0.6": "dirichlet 0.6", "IID": "iid"}
"""The divisions that three of the papers compare."""


def divided(datasets: Mapping[str, str]) -> tuple[Line, ...]:
    """A column for each image set (label -> name) and division."""
    return tuple(
        Line(f"{label} {division}", {"dataset": name, "partition": kind})
        for label, name in datasets.items()
        for division, kind in DIVISIONS.items()
    )


NAMES = {"DFedSAM-MGS": "dfedsam-mgs", "DFedSGPSM-S": "dfedsgpsm-s"}
"""Methods whose names in the set-ups are not their labels in lower case without hyphens."""


def methods(labels: str | Iterable[str]) -> tuple[Line, ...]:
    """A row for each method, by its label in the paper."""
    return tuple(Line(n, {"method": NAMES.get(n, n.lower().replace("-", ""))}) for n in listed(labels))


def varied(form: str, name: str, values: Iterable[Any], part: str = "") -> tuple[Line, ...]:
    """A line for each value of one setting (of ``part``, as letters or epochs); ``form`` makes its label."""
    return tuple(Line(form.format(v), {part: {name: v}} if part else {name: v}) for v in values)


def listed(labels: str | Iterable[str]) -> list[str]:
    """Labels in a text, with commas between them."""
    return labels.split(", ") if isinstance(labels, str) else list(labels)


def rows_of(text: str) -> dict[str, list[Printed]]:
    """The numbers of a printed table: one line a row, ``label | number number ...``; ``-`` is nothing. A row
    may go on in a later line with its label."""
    table: dict[str, list[Printed]] = {}
    for line in text.strip().splitlines():
        label, _, numbers = line.partition("|")
        table.setdefault(label.strip(), []).extend(map(_printed, numbers.split()))
    return table


def _printed(word: str) -> Printed:
    if word == "-":
        return None
    try:
        return float(word)
    except ValueError:
        return word


def best(
    better: str | Iterable[str], over: str | Iterable[str], text: str, columns: str | Iterable[str] = ()
) -> Order:
    """In every one of the columns (empty: all), each row of ``better`` is better than each of ``over``."""
    beats = tuple((a, b) for a in listed(better) for b in listed(over) if a != b)
    return Order(text, beats, tuple(listed(columns)))


def rising(columns: Iterable[str], text: str, rows: Iterable[str] = ()) -> Order:
    """In every row, each of the columns is better than the one before it."""
    return Order(text, tuple((b, a) for a, b in pairwise(columns)), tuple(rows), "columns")


@dataclass(frozen=True)
class Paper:
    """What the items of one paper have in common: ``source``, ``setting`` and ``unsaid`` in words, what all
    cells set, and the usual measure."""

    key: str
    source: str
    setting: str
    unsaid: str = ""
    base: Mapping[str, Any] = field(default_factory=dict)
    measure: Measure = ACCURACY

    def item(
        self,
        name: str,
        title: str,
        setting: str,
        columns: tuple[Line, ...],
        printed: str = "",
        *orders: Order,
        rows: str | tuple[Line, ...] = (),
        source: str = "",
        unsaid: str = "",
        base: Mapping[str, Any] | None = None,
        panels: Mapping[str, tuple[Line, ...]] | None = None,
        **more: Any,
    ) -> Item:
        """An item of this name, as ``table_2``. Rows are those printed, or those of all ``panels``, unless
        others are given; of a longer printed table the first columns count."""
        groups = panels or {}
        numbers = {row: values[: len(columns)] for row, values in rows_of(printed).items()}
        told = re.sub(r"(\d)([ab])$", r"\1(\2)", name.split(".")[0].replace("_", " "))
        return Item(
            f"{self.key}.{name}",
            title,
            f"{self.source}, {told}{source}",
            f"{self.setting}; {setting}",
            {"paper": self.key, **self.base, **(base or {})},
            methods(rows) if isinstance(rows, str) else rows or sum(groups.values(), ()) or methods(numbers),
            columns,
            printed=numbers,
            orders=orders,
            unsaid=f"{unsaid} {self.unsaid}".strip(),
            panels={title: [line.label for line in lines] for title, lines in groups.items()},
            **{"measure": self.measure, **more},
        )
