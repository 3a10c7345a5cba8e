"""Comparison of the paper's numbers with ours, as a CSV file and as a page."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dfltheory.errors import DataError
from dfltheory.files import write_text
from dfltheory.markdown import table
from validation.reproduce.cells import Result
from validation.reproduce.items import Entry, Item, Order, printed_text
from validation.reproduce.scales import Scale

HEADER = ("row", "column", "seed", "paper", "ours")


@dataclass(frozen=True)
class Count:
    """For how many pairs of entries an order of the paper holds.

    Attributes
    ----------
    text : description of the order
    pairs : number of compared pairs
    said : number of pairs whose numbers are both printed
    printed : number of these for which the order holds in print; None if ``said`` is 0
    mean : number of pairs for which it holds in our means over seeds
    every : number of pairs for which it holds in every one of our seeds
    """

    text: str
    pairs: int
    said: int
    printed: int | None
    mean: int
    every: int


@dataclass(frozen=True)
class Outcome:
    """Measured values of an item: for each entry, one number per seed."""

    item: Item
    scale: Scale
    seeds: tuple[int, ...]
    values: Mapping[Entry, tuple[float, ...]]

    @classmethod
    def of(
        cls,
        item: Item,
        scale: Scale,
        seeds: Sequence[int],
        results: Mapping[tuple[Entry, int], Result],
    ) -> Outcome:
        """Evaluate the item's measures on the results of its cells."""
        values = {}
        for entry in item.cells():
            read = item.measures(entry[1]).of
            values[entry] = tuple(_kept(read(results[entry, seed])) for seed in seeds)
        return cls(item, scale, tuple(seeds), values)

    @property
    def name(self) -> str:
        """Name of the files, without suffix."""
        return f"{self.item.key}-{self.scale.name}"

    def counts(self) -> list[Count]:
        """Count the pairs for which each order of the paper holds."""
        return [self._count(order) for order in self.item.orders]

    def _count(self, order: Order) -> Count:
        in_print = in_means = in_every_seed = with_numbers = 0
        pairs = self.item.pairs(order)
        for a, b in pairs:
            printed_a, printed_b = self.item.number(a), self.item.number(b)
            if printed_a is not None and printed_b is not None:
                with_numbers += 1
                in_print += self._better(a, _number(printed_a), _number(printed_b))
            values_a, values_b = self.values[a], self.values[b]
            in_means += self._better(a, _mean(values_a), _mean(values_b))
            seeds = zip(values_a, values_b, strict=True)
            in_every_seed += all(self._better(a, x, y) for x, y in seeds)
        return Count(
            text=order.text,
            pairs=len(pairs),
            said=with_numbers,
            printed=in_print if with_numbers else None,
            mean=in_means,
            every=in_every_seed,
        )

    def _better(self, entry: Entry, a: float, b: float) -> bool:
        """Return whether a is better than b; a diverged run (nan) is worst."""
        if math.isnan(a) or math.isnan(b):
            return math.isnan(b) and not math.isnan(a)
        return a < b if self.item.measures(entry[1]).better == "less" else a > b

    # -- files

    def to_csv(self) -> str:
        """Return a CSV text with one line per entry and seed."""
        out = io.StringIO()
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(HEADER)
        for entry, numbers in self.values.items():
            printed = self.item.number(entry)
            for seed, value in zip(self.seeds, numbers):
                lines.writerow(
                    [*entry, seed, "" if printed is None else printed, f"{value:.6g}"]
                )
        return out.getvalue()

    @classmethod
    def from_csv(cls, item: Item, scale: Scale, text: str) -> Outcome:
        """Return the outcome of a text by :meth:`to_csv`.

        Raises
        ------
        DataError
            If the text does not fit the item.
        """
        values: dict[Entry, dict[int, float]] = {}
        for line in csv.DictReader(io.StringIO(text)):
            by_seed = values.setdefault((line["row"], line["column"]), {})
            by_seed[int(line["seed"])] = float(line["ours"])
        seeds = sorted(next(iter(values.values()), {}))
        complete = all(sorted(by_seed) == seeds for by_seed in values.values())
        if set(values) != set(item.cells()) or not complete:
            raise DataError(
                f"the table of {item.key} does not have its entries: run it again"
            )
        ours = {}
        for entry in item.cells():
            ours[entry] = tuple(values[entry][seed] for seed in seeds)
        return cls(item, scale, tuple(seeds), ours)

    def save(self, folder: Path) -> list[Path]:
        """Write the table as CSV and as a page."""
        paths = [folder / f"{self.name}.csv", folder / f"{self.name}.md"]
        write_text(paths[0], self.to_csv())
        write_text(paths[1], self.page())
        return paths

    # -- the page

    def page(self) -> str:
        """Return the page: setting, reductions, paper's and our numbers, orders."""
        item = self.item
        command = f"python -m validation.reproduce {item.key} --scale {self.scale.name}"
        seeds = ", ".join(map(str, self.seeds))
        parts = [
            f"# {item.title}",
            f"Source: {item.source}. Command: `{command} --seeds {len(self.seeds)}`",
            f"**The paper's setting.** {item.setting} {item.unsaid}".strip(),
            f"**Here** ({self.scale.name} scale, seeds {seeds}). {self._reductions()}",
            self._legend(),
            self.table(),
            *self._orders(),
        ]
        if item.form:
            parts.append(f"![{item.title}]({self.name}.svg)")
        if self.scale.data:
            parts.append(
                "At a reduced scale these numbers say nothing of the paper's own: only"
                " which of its comparisons appear under the reductions above."
            )
        return "\n\n".join(part for part in parts if part) + "\n"

    def _reductions(self) -> str:
        """Return how the runs on each data set differ from the paper's."""
        lines = []
        for name in self.item.papers_datasets:
            cell = next(c for c in self.item.cells().values() if c.dataset == name)
            rounds = cell.setup().rounds
            reductions = self.scale.reductions(
                name, rounds, cell.papers_model, cell.clients
            )
            lines.append(f"{name}: {'; '.join(reductions) or 'as in the paper'}.")
        return " ".join(lines)

    def _legend(self) -> str:
        columns = self.item.column_labels
        measures = dict.fromkeys(self.item.measures(name).name for name in columns)
        spread = " ± the standard deviation over seeds" if len(self.seeds) > 1 else ""
        paper = "The paper's number, then ours in bold" if self.item.printed else "Ours"
        return f"{paper}{spread}: {'; '.join(measures)}."

    def table(self) -> str:
        """Return a Markdown table, rows and columns as in the paper."""
        columns = self.item.column_labels
        rows = []
        for row in self.item.row_labels:
            entries = [self._entry((row, column)) for column in columns]
            rows.append((row, *entries))
        return table(("", *columns), rows)

    def _entry(self, entry: Entry) -> str:
        numbers, printed = self.values[entry], self.item.number(entry)
        mean = _mean(numbers)
        whole = self.item.measures(entry[1]).unit == "rounds"
        if not math.isfinite(mean):
            text = "never" if whole else "diverged"
        else:
            text = f"{mean:.0g}" if whole else f"{mean:.1f}"
        if math.isfinite(mean) and len(numbers) > 1:
            text += f" ± {statistics.stdev(numbers):.1f}"
        paper = f"{printed_text(printed)} " if self.item.printed else ""
        return f"{paper}**{text}**"

    def _orders(self) -> list[str]:
        counts = self.counts()
        if not counts:
            return []
        seeds = (
            f"in each of the {len(self.seeds)} seeds"
            if len(self.seeds) > 1
            else "in the one seed"
        )
        rows = []
        for c in counts:
            printed = "not printed" if c.printed is None else str(c.printed)
            some = f" of {c.said}" if 0 < c.said < c.pairs else ""
            rows.append((c.text, c.pairs, printed + some, c.mean, c.every))
        heads = (
            "what the paper reads from it",
            "pairs",
            "in its numbers",
            "in our means",
            seeds,
        )
        text = (
            "**Which of the paper's orderings appear** (pairs of entries, the first the"
            " better one)"
        )
        return [text, table(heads, rows)]


def _kept(value: float) -> float:
    """Round a value as in the CSV file, so that the file yields the same page."""
    return float(f"{value:.6g}")


def _mean(numbers: Sequence[float]) -> float:
    return statistics.fmean(numbers) if all(map(math.isfinite, numbers)) else math.nan


def _number(printed: float | str) -> float:
    """Return a printed number; text such as ``>300`` means never reached, infinity."""
    return printed if isinstance(printed, float) else math.inf
