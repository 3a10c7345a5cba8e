"""Tables and figures of the papers: entries, printed numbers and orderings.

They are stored in ``papers/<paper>.toml``; :func:`items` reads all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, product
from typing import Any, Literal

from dfltheory.errors import InputError
from validation.paper_setups import PAPERS, paper_file
from validation.reproduce.cells import Cell, Result

Settings = Mapping[str, Any]
"""Fields of a cell, or a table of a paper's file."""
Entry = tuple[str, str]
"""(row, column)."""
Printed = float | str | None
"""A printed number; text if the paper prints text (``>300``, ``-``); None if it cannot
be read.
"""


@dataclass(frozen=True)
class Measure:
    """A number computed from a result by ``of``, with its unit and direction."""

    name: str
    of: Callable[[Result], float]
    better: Literal["more", "less"] = "more"
    unit: str = "%"


def _final(result: Result, name: str) -> float:
    value = result.final.get(name, math.nan)
    assert isinstance(value, float)
    return value


def _accuracy(result: Result) -> float:
    return result.last("accuracy")


def _personal(result: Result) -> float:
    return result.last("client_accuracy")


def _train(result: Result) -> float:
    return _final(result, "train_accuracy")


def _gap(result: Result) -> float:
    return _train(result) - _accuracy(result)


def _sharpness(result: Result) -> float:
    return _final(result, "sharpness")


MEASURES = {
    "accuracy": Measure("test accuracy of the mean model", _accuracy),
    "train": Measure("training accuracy of the mean model", _train),
    "gap": Measure("training less test accuracy", _gap, "less"),
    "personal": Measure(
        "mean accuracy of the clients' own models on their own test images",
        _personal,
    ),
    "sharpness": Measure(
        "largest Hessian eigenvalue of f at the mean model", _sharpness, "less", ""
    ),
}


def rounds_to(accuracy: float, *, personal: bool = False) -> Measure:
    """Return the measure "first round with this accuracy"; inf if never reached."""
    measure = "client_accuracy" if personal else "accuracy"

    def rounds(result: Result) -> float:
        return result.rounds_to(accuracy, measure)

    return Measure(f"rounds to {accuracy:g} %", rounds, "less", "rounds")


@dataclass(frozen=True)
class Line:
    """A row or a column: its label, and the fields of :class:`.cells.Cell` it sets.

    A column may have its own measure, or a ``target``, the accuracy until which rounds
    are counted.
    """

    label: str
    sets: Settings = field(default_factory=dict)
    measure: str = ""
    target: float | None = None


@dataclass(frozen=True)
class Order:
    """An ordering that the paper states about its table.

    It states that each line of ``better`` is better than each line of ``over``, that
    each column of ``rising`` is better than the one before it, or that the first line
    of each of ``pairs`` is better than the second. This is claimed for all columns (or
    rows) in ``along``; for all of the table if ``along`` is empty.
    """

    text: str
    better: Sequence[str] = ()
    over: Sequence[str] = ()
    rising: Sequence[str] = ()
    pairs: Sequence[tuple[str, str]] = ()
    along: Sequence[str] = ()
    of: Literal["rows", "columns"] = "rows"

    @property
    def compares_columns(self) -> bool:
        """Whether the compared lines are columns."""
        return bool(self.rising) or self.of == "columns"

    @property
    def beats(self) -> list[tuple[str, str]]:
        """Pairs of lines, the better one first."""
        lines = [(a, b) for a, b in product(self.better, self.over) if a != b]
        rising = [(later, earlier) for earlier, later in pairwise(self.rising)]
        return [*lines, *rising, *self.pairs]


@dataclass(frozen=True)
class Panel:
    """Rows that share a panel, for curves with a single column."""

    title: str
    rows: Sequence[str]


@dataclass(frozen=True)
class Item:
    """One table or figure.

    Attributes
    ----------
    key : ``<paper>.table_<n>`` or ``<paper>.figure_<n>``
    setting : description of the paper's setting
    base : fields of a cell that all entries share
    printed : row -> its printed numbers, in the order of the columns; empty if the
        paper only shows a figure
    form : how the item is drawn
    unsaid : what the paper does not specify, and what is used instead
    axis : label of the axis over which curves are drawn
    per_round : row -> units of ``axis`` in a round; 1 by default
    """

    key: str
    title: str
    source: str
    setting: str
    base: Settings
    rows: Sequence[Line]
    columns: Sequence[Line]
    measure: str = "accuracy"
    printed: Mapping[str, Sequence[Printed]] = field(default_factory=dict)
    orders: Sequence[Order] = ()
    form: Literal["", "curves", "surfaces"] = ""
    unsaid: str = ""
    axis: str = "round"
    per_round: Mapping[str, int] = field(default_factory=dict)
    panels: Sequence[Panel] = ()

    def __post_init__(self) -> None:
        """Reject printed rows and orders that do not fit the table."""
        for row, numbers in self.printed.items():
            if row not in self.row_labels or len(numbers) != len(self.columns):
                raise InputError(
                    f"{self.key}: the printed row {row!r} does not fit the table"
                )
        known = set(product(self.row_labels, self.column_labels))
        for order in self.orders:
            for entry in chain.from_iterable(self.pairs(order)):
                if entry not in known:
                    raise InputError(
                        f"{self.key}: {entry} in {order.text!r} is not an entry"
                    )

    @property
    def row_labels(self) -> list[str]:
        """Labels of the rows."""
        return [line.label for line in self.rows]

    @property
    def column_labels(self) -> list[str]:
        """Labels of the columns."""
        return [line.label for line in self.columns]

    @property
    def papers_datasets(self) -> list[str]:
        """The image sets that the entries need, in order."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells().values()))

    def cells(self) -> dict[Entry, Cell]:
        """Return the cell of each entry."""
        cells = {}
        for row in self.rows:
            for column in self.columns:
                settings = merged(self.base, row.sets, column.sets)
                cells[row.label, column.label] = Cell(**settings)
        return cells

    def measures(self, column: str) -> Measure:
        """Return the measure that a column shows."""
        line = self.columns[self.column_labels.index(column)]
        if line.target is not None:
            return rounds_to(line.target, personal=self.measure == "personal")
        return MEASURES[line.measure or self.measure]

    def pairs(self, order: Order) -> list[tuple[Entry, Entry]]:
        """Return the pairs of entries that an order compares, the better one first."""
        if order.compares_columns:
            rows = product(order.along or self.row_labels, order.beats)
            return [((row, a), (row, b)) for row, (a, b) in rows]
        columns = product(order.along or self.column_labels, order.beats)
        return [((a, column), (b, column)) for column, (a, b) in columns]

    def number(self, entry: Entry) -> Printed:
        """Return the printed number of an entry."""
        row, column = entry
        if row not in self.printed:
            return None
        return self.printed[row][self.column_labels.index(column)]


def merged(*parts: Settings) -> dict[str, Any]:
    """Merge settings: later values override earlier ones, and tables are merged."""
    result: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = isinstance(value, Mapping) and name in result
            result[name] = {**result[name], **value} if both else value
    return result


def method_row(label: str) -> Line:
    """Return the row of a method with this label in the paper."""
    names = {"DFedSAM-MGS": "dfedsam-mgs", "DFedSGPSM-S": "dfedsgpsm-s"}
    return Line(label, {"method": names.get(label, label.lower().replace("-", ""))})


def rows_of(text: str) -> dict[str, list[Printed]]:
    """Parse a printed table with lines ``label | number number``."""
    table = {}
    for line in text.strip().splitlines():
        label, _, numbers = line.partition("|")
        table[label.strip()] = list(map(_printed, numbers.split()))
    return table


def printed_text(number: Printed) -> str:
    """Return a printed number as text; ``-`` if it cannot be read."""
    if number is None:
        return "-"
    return number if isinstance(number, str) else f"{number:g}"


def _printed(word: str) -> Printed:
    if word == "?":
        return None
    try:
        return float(word)
    except ValueError:
        return word


def items() -> dict[str, Item]:
    """Return all tables and figures that require training, by key."""
    by_key = {}
    for paper in PAPERS:
        for record in paper_file(paper)["item"]:
            item = _item(paper_file(paper), record)
            by_key[item.key] = item
    return by_key


def _row(row: str | Settings) -> Line:
    """Return a row, given by the label of a method or by its fields."""
    return method_row(row) if isinstance(row, str) else Line(**row)


def _item(paper: Settings, record: Settings) -> Item:
    """Build an item from a record of a paper's file."""
    fields = dict(record)
    name = fields.pop("name")
    label = name.split(".")[0].replace("_", " ")
    label = re.sub(r"(\d)([ab])$", r"\1(\2)", label)
    source = f"{paper['source']}, {label} {fields.pop('source', '')}"
    unsaid = f"{fields.pop('unsaid', '')} {paper.get('unsaid', '')}"
    base = {"paper": paper["key"]} | paper.get("base", {}) | fields.pop("base", {})
    printed = rows_of(fields.pop("printed", ""))
    rows = [_row(row) for row in fields.pop("rows", printed)]
    columns = [Line(**column) for column in fields.pop("columns")]
    orders = [Order(**order) for order in fields.pop("orders", ())]
    panels = [Panel(**panel) for panel in fields.pop("panels", ())]
    return Item(
        key=f"{paper['key']}.{name}",
        source=source.rstrip(),
        setting=f"{paper['setting']}; {fields.pop('setting')}",
        unsaid=unsaid.strip(),
        base=base,
        measure=fields.pop("measure", paper["measure"]),
        rows=rows,
        columns=columns,
        printed=printed,
        orders=orders,
        panels=panels,
        **fields,
    )
