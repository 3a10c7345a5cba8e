"""Readers of results: verdicts, histories, and the table of a sweep.

Verdicts are read from JSON, histories from safetensors. The folder of a sweep contains
``sweep.json`` (the list of cells), ``cells/KEY.json`` and ``cells/KEY.safetensors``
(record and history of each cell; KEY is a hash of its configuration and of the format
of random numbers), and ``results.csv`` (one row per cell and variant).

>>> results = load_results("results/topologies")        # doctest: +SKIP
>>> results.frame[["topology.name", "variant", "kind", "ratio"]]
>>> results.cells[0].history.grad_norm_sq, results.cells[0].verdicts
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.bounds.status import status_from_dict
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.documents import (
    Read,
    anything,
    line,
    mapping,
    maybe,
    named,
    rows,
    text,
)
from dfltheory.errors import (
    DataError,
    DFLTheoryError,
    InputError,
    UnknownNameError,
    shown,
)
from dfltheory.experiments.verdict_documents import DEFAULT_FIELDS, verdict_from_dict
from dfltheory.files import read_json, reading, replacing
from dfltheory.training.document import short_label
from dfltheory.verdicts.suggestions import suggestions_from_dict
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from dfltheory.plots.runs import Labelled
    from dfltheory.training.history import History

MANIFEST, TABLE, CELLS = "sweep.json", "results.csv", "cells"
"""Names of the files in a sweep's folder, and of its subfolder of cells."""

_ANY_TABLE = mapping(anything, 10**5, text)
_TABLES = (
    "settings",
    "configuration",
    "algorithm",
    "constant",
    "standing",
    "network",
    "final",
    "final_std",
    "version",
)


def _verdict_of_record(place: str, value: object) -> object:
    """Check the names in a verdict of a record; other fields are read later."""
    fields = named(place, value, ("kind", "key"), None)
    text(f"{place}.kind", fields["kind"])
    text(f"{place}.key", fields["key"])
    return fields


_RECORD: dict[str, Read] = {
    "status": text,
    "error": maybe(_ANY_TABLE),
    "verdicts": rows(_verdict_of_record, 10**4),
    **dict.fromkeys(_TABLES, _ANY_TABLE),
}
"""Readers of the fields of a cell's record, all of which are optional."""
_KEY = line(64, "[0-9a-z]{1,64}", "a hash")  # it is the name of a file


# -- the results of a sweep


@dataclass(frozen=True)
class CellResult:
    """The result of one cell.

    Attributes
    ----------
    key : str
        Hash of the configuration and of the format of random numbers.
    settings : mapping
        Values that ``[sweep]`` sets in this cell, by dotted field.
    folder : Path
        Folder of the sweep.
    record : mapping
        Content of the cell's JSON file; empty if the cell has not finished.
    """

    key: str
    settings: Mapping[str, object]
    folder: Path
    record: Mapping[str, Any]

    @property
    def status(self) -> str:
        """``done``, ``failed`` (see ``error``) or ``missing`` (not finished)."""
        return self.record.get("status", "missing")

    @property
    def file(self) -> Path:
        """The JSON file of the cell."""
        return self.folder / CELLS / f"{self.key}.json"

    @property
    def configuration(self) -> Mapping[str, object]:
        """The full configuration."""
        return self.record.get("configuration", {})

    @property
    def error(self) -> str | None:
        """Type and message of the error, if the cell failed."""
        error = self.record.get("error")
        return (
            None
            if error is None
            else shown(f"{error.get('type')}: {error.get('message')}")
        )

    @cached_property
    def history(self) -> History:
        """The run.

        Its final models are empty, (seeds, m, 0), unless ``run.keep_models`` was set.
        InputError if the cell has not finished, or failed.
        """
        from dfltheory.training.history import History

        if self.status != "done":
            raise InputError(
                f"cell {self.key} has no history, because its status is {self.status}"
            )
        return History.load(self.folder / CELLS / f"{self.key}.safetensors")

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One verdict for each variant; empty if the cell has not finished."""
        documents = self.record.get("verdicts", ())
        with reading(self.file, "the record of a cell"):
            return tuple(
                verdict_from_dict(document, self.history) for document in documents
            )


@dataclass(frozen=True)
class Results:
    """The results in a sweep's folder."""

    folder: Path
    title: str
    cells: tuple[CellResult, ...]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Table with a row per cell and variant; one row for cells without theorem."""
        return frame_of(self.cells)

    def where(self, **settings: object) -> list[CellResult]:
        """Return finished cells with these settings; ``__`` replaces the dot.

        >>> results.where(topology__name="ring")    # doctest: +SKIP
        """
        wanted = {name.replace("__", "."): value for name, value in settings.items()}
        known = {name for cell in self.cells for name in cell.settings}
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise UnknownNameError("swept field", unknown[0], known)
        return [
            cell
            for cell in self.cells
            if cell.status == "done" and wanted.items() <= dict(cell.settings).items()
        ]

    def runs(self, cells: Sequence[CellResult] | None = None) -> Labelled:
        """Return the histories of finished cells, labeled by the settings that differ.

        The result can be passed to plots of several runs.
        """
        if cells is None:
            cells = [cell for cell in self.cells if cell.status == "done"]
        names = cells[0].settings if cells else ()
        varying = []
        for name in names:
            values = {repr(cell.settings[name]) for cell in cells}
            if len(values) > 1:
                varying.append(name)
        histories = {}
        for cell in cells:
            label = ", ".join(short_label(cell.settings[name]) for name in varying)
            histories[label or cell.key] = cell.history
        return histories


def load_results(folder: str | Path) -> Results:
    """Read the folder of a sweep, which need not be complete.

    Cells that have not finished have the status ``missing``.

    Raises
    ------
    InputError
        The folder contains no sweep.
    DataError
        The list of cells is damaged. A damaged record counts as missing.
    """
    root = Path(folder)
    if not (root / MANIFEST).is_file():
        raise InputError(
            f"{folder} has no {MANIFEST}: give a folder that `dfltheory sweep --out`"
            " wrote"
        )
    document = read_json(root / MANIFEST)
    with reading(root / MANIFEST, "the cells of a sweep"):
        manifest = named("sweep", document, ("title", "cells"), None)
        title = text("title", manifest["title"])
        cells = tuple(rows(_listed_cell(root), 10**6)("cells", manifest["cells"]))
        if len({cell.key for cell in cells}) < len(cells):
            raise DataError(f"{root / MANIFEST} lists a cell twice")
        return Results(root, title, cells)


def _listed_cell(root: Path) -> Read:
    """Return the reader of an entry in a sweep's list of cells."""

    def read(place: str, value: object) -> CellResult:
        entry = named(place, value, ("key", "settings"), None)
        key = _KEY(f"{place}.key", entry["key"])
        settings = _ANY_TABLE(f"{place}.settings", entry["settings"])
        return CellResult(key, settings, root, read_record(root, key) or {})

    return read


def read_record(folder: Path, key: str) -> dict[str, object] | None:
    """Return the record of a finished cell.

    None if the record is missing or damaged, or its history is missing.
    """
    path = folder / CELLS / f"{key}.json"
    try:
        record = named("record", read_json(path), (), None)
        for name, read in _RECORD.items():
            if name in record:
                read(f"record.{name}", record[name])
    except (FileNotFoundError, DFLTheoryError):
        return None
    if (
        record.get("status") == "done"
        and not path.with_suffix(".safetensors").is_file()
    ):
        return None
    return record


# -- tidy tables


def frame_of(cells: Sequence[CellResult]) -> pd.DataFrame:
    """Return a table with one row per cell and variant.

    The columns are the configuration by dotted field, followed by constants, final
    measurements and the verdict. A theorem's own quantities, such as computed ones of
    the network, have columns ``at.NAME``, over which :func:`dfltheory.plots.ratio_over`
    can plot.
    """
    import pandas as pd

    table_rows: list[dict[str, object]] = []
    for cell in cells:
        with reading(cell.file, "the record of a cell"):
            table_rows.extend(_rows(cell))
    return pd.DataFrame(table_rows).apply(_one_type)


def _rows(cell: CellResult) -> Iterator[dict[str, object]]:
    """Yield the rows of a cell in the table, one for each variant."""
    record = cell.record
    row: dict[str, object] = {
        "hash": cell.key,
        "status": cell.status,
        "error": cell.error,
    }
    row |= dict(_leaves(cell.configuration))
    row |= cell.settings if cell.status == "missing" else {}
    for group in (
        "algorithm",
        "constant",
        "standing",
        "network",
        "final",
        "final_std",
        "version",
    ):
        row |= {
            f"{group}.{name}": _finite(value)
            for name, value in record.get(group, {}).items()
        }
    row |= {name: record.get(name) for name in ("diverged_at", "seconds")}
    if not record.get("verdicts"):
        yield row
    for verdict in record.get("verdicts", ()):
        yield row | _verdict_columns(verdict)


def _verdict_columns(verdict: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of one saved verdict."""
    columns: dict[str, object] = {}
    for name in ("variant", "kind", "reason"):
        columns[name] = verdict[name]
    columns["suggestion"] = ""
    if "suggestions" in verdict:
        columns["suggestion"] = str(suggestions_from_dict(verdict["suggestions"]))
    for name in ("ratio", "bound", "measured", "trivial"):
        columns[name] = float(verdict[name])
    for name in ("ratio", "measured"):
        low, high = verdict[f"{name}_ci"]
        columns[f"{name}_low"] = float(low)
        columns[f"{name}_high"] = float(high)
    for name, value in verdict.get("at", {}).items():
        if name not in GLOSSARY:
            columns[f"at.{name}"] = float(value)
    columns["estimated"] = ", ".join(verdict["estimated"])
    status = verdict.get("status", DEFAULT_FIELDS["status"])
    columns["theorem_status"] = status_from_dict(status).kind
    for name, value in verdict["terms"].items():
        columns[f"term.{name}"] = float(value)
    return columns


def _leaves(
    document: Mapping[str, object], above: str = ""
) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _leaves(value, name)
        else:
            yield name, _as_text(value) if isinstance(value, list) else _finite(value)


def _finite(value: object) -> object:
    """Return numbers for the texts that represent infinity and nan in JSON.

    Other values are unchanged.

    Raises
    ------
    OverflowError
        An integer exceeds the range of floats.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        float(value)
    if isinstance(value, str) and value in ("Infinity", "-Infinity", "NaN"):
        return float(value)
    return value


def _one_type(column: pd.Series) -> pd.Series:
    """Return a column with values of one type, as required by Parquet.

    Numbers are converted to text if the column also contains text.
    """
    if column.dtype != object:
        return column
    present = column[column.notna()]
    kinds = {type(value) for value in present}
    if kinds and kinds <= {int, float}:
        with contextlib.suppress(OverflowError):  # whole numbers beyond 1e308
            return column.astype(float)
    if len(kinds) <= 1 and int not in kinds:
        return column
    return present.map(_as_text).reindex(column.index)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def write_results(results: Results, folder: Path) -> None:
    """Write ``results.csv``, the tidy table of all cells, to a folder."""
    with replacing(folder / TABLE) as temporary:
        results.frame.to_csv(temporary, index=False)
