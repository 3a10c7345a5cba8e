"""Results that load back: verdicts from JSON, histories from safetensors, and the tidy table of a sweep.

A sweep's folder holds ``sweep.json`` (which cells there are), ``cells/KEY.json`` and
``cells/KEY.safetensors`` (what each cell found; KEY is the hash of its configuration) and ``results.csv``
(a row for each cell and variant).

>>> results = load_results("results/topologies")        # doctest: +SKIP
>>> results.frame[["topology.name", "variant", "kind", "ratio"]]
>>> results.cells[0].history.grad_norm_sq, results.cells[0].verdicts
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory import bounds
from dfltheory.bounds.status import status_from_dict
from dfltheory.errors import DataError, InputError, UnknownNameError, shown
from dfltheory.files import reading, replacing
from dfltheory.training.document import short
from dfltheory.verdicts.compare import Verdict
from dfltheory.verdicts.statistics import Interval

if TYPE_CHECKING:
    import pandas as pd

    from dfltheory.plots.runs import Labelled
    from dfltheory.training.history import History

MANIFEST, TABLE, CELLS = "sweep.json", "results.csv", "cells"
"""The names of the files in a sweep's folder, and of the folder of its cells."""

_TEXT = ("kind", "key", "variant", "reason", "method")
_NUMBERS = ("bound", "ratio", "trivial", "confidence")
_COUNTS = ("seeds", "rounds")
_SHAPES: dict[str, type] = {"verdicts": list, "status": str} | dict.fromkeys(
    (
        "settings",
        "configuration",
        "algorithm",
        "constant",
        "standing",
        "network",
        "final",
        "final_std",
        "version",
    ),
    dict,
)
_ABSENT: dict[str, Any] = {"method": "student", "status": {"kind": "not examined"}, "seeds_needed": None}
_ABSENT |= {"given": {}, "slack": {}, "at": {}}  # in files of earlier releases


# -- verdicts ----------------------------------------------------------------------------------------


def verdict_from_dict(document: Mapping[str, Any], run: History | None = None) -> Verdict:
    """The verdict that ``Verdict.to_dict`` wrote: equal to it, but for the run.

    With ``run`` the verdict can plot again.

    Raises
    ------
    DataError
        A field is missing, or a number is none.
    """

    def table(name: str) -> dict[str, float]:
        return {str(key): _number(value) for key, value in told[name].items()}

    try:
        told = _ABSENT | dict(document)
        values: dict[str, Any] = {name: str(told[name]) for name in _TEXT}
        values |= {name: _number(told[name]) for name in _NUMBERS}
        values |= {name: int(told[name]) for name in _COUNTS}
        values |= {name: tuple(map(str, told[name])) for name in ("conditions", "estimated")}
        values |= {name: table(name) for name in ("terms", "given", "slack", "at")}
        low, high = map(_number, told["ratio_ci"])
        values["ratio_ci"] = (low, high)
        values["measured"] = Interval(_number(told["measured"]), *map(_number, told["measured_ci"]))
        needed = told["seeds_needed"]
        values["seeds_needed"] = None if needed is None else int(needed)
        values["status"] = status_from_dict(told["status"])
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"not a verdict: {type(error).__name__}: {said:.200}") from error
    if run is not None:
        values |= {"_run": run, "_theorem": bounds.get(values["key"], values["variant"])}
    return Verdict(**values)


def load_verdicts(path: str | Path) -> list[Verdict]:
    """The verdicts of a ``verdicts.json``, as ``dfltheory validate --out`` writes it."""
    document = _read_json(Path(path))
    if not isinstance(document, list):
        raise DataError(f"{path} does not hold a list of verdicts")
    with reading(path, "verdicts"):
        return [verdict_from_dict(item) for item in document]


def _number(value: Any) -> float:
    # one nan for all: then a verdict that is read back equals the one that was written
    number = float(value)
    return math.nan if math.isnan(number) else number


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is no regular file" if path.exists() else f"{path} does not exist")
    with reading(path, "JSON"):
        return json.loads(path.read_text(encoding="utf-8"))


# -- the results of a sweep --------------------------------------------------------------------------


@dataclass(frozen=True)
class CellResult:
    """What one cell found. ``status``: ``done``, ``failed`` (see ``error``) or ``missing`` (not finished)."""

    key: str
    settings: Mapping[str, Any]
    folder: Path
    record: Mapping[str, Any]

    @property
    def status(self) -> str:
        return self.record.get("status", "missing")

    @property
    def file(self) -> Path:
        """Where ``record`` was read."""
        return self.folder / CELLS / f"{self.key}.json"

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The full configuration, whose hash is ``key``."""
        return self.record.get("configuration", {})

    @property
    def error(self) -> str | None:
        """Why the cell failed, in one line."""
        error = self.record.get("error")
        return None if error is None else shown(f"{error.get('type')}: {error.get('message')}")

    @cached_property
    def history(self) -> History:
        """The run. Final models are empty (seeds, m, 0) unless ``run.keep_models`` was set."""
        from dfltheory.training.history import History

        if self.status != "done":
            raise InputError(f"cell {self.key} is {self.status}: it has no history")
        return History.load(self.folder / CELLS / f"{self.key}.safetensors")

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the run says of each variant."""
        with reading(self.file, "the record of a cell"):
            return tuple(verdict_from_dict(d, self.history) for d in self.record.get("verdicts", ()))


@dataclass(frozen=True)
class Results:
    """A sweep's folder, read back."""

    folder: Path
    title: str
    cells: tuple[CellResult, ...]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The tidy table: a row for each cell and variant (one row where there is no theorem)."""
        return frame_of(self.cells)

    def where(self, **settings: Any) -> list[CellResult]:
        """The finished cells with these settings, ``__`` for the dot: ``where(topology__name="ring")``."""
        wanted = {name.replace("__", "."): value for name, value in settings.items()}
        known = {name for cell in self.cells for name in cell.settings}
        if unknown := sorted(set(wanted) - known):
            raise UnknownNameError("swept field", unknown[0], known)
        done = (cell for cell in self.cells if cell.status == "done")
        return [cell for cell in done if all(cell.settings.get(n) == v for n, v in wanted.items())]

    def runs(self, cells: Sequence[CellResult] | None = None) -> Labelled:
        """Label -> History of finished cells, for the figures that compare runs."""
        chosen = [cell for cell in self.cells if cell.status == "done"] if cells is None else cells
        names = chosen[0].settings if chosen else ()
        varying = [n for n in names if len({repr(c.settings[n]) for c in chosen}) > 1]
        labels = [", ".join(short(c.settings[n]) for n in varying) or c.key for c in chosen]
        return {label: cell.history for label, cell in zip(labels, chosen, strict=True)}


def load_results(folder: str | Path) -> Results:
    """Read a sweep's folder, finished or not: cells that have not finished are ``missing``."""
    root = Path(folder)
    if not (root / MANIFEST).is_file():
        raise InputError(f"{folder} has no {MANIFEST}: give a folder that `dfltheory sweep --out` wrote")
    manifest = _read_json(root / MANIFEST)
    with reading(root / MANIFEST, "the cells of a sweep"):
        for item in manifest["cells"]:
            if not re.fullmatch("[0-9a-z]{1,64}", item["key"]):  # it becomes the name of a file
                raise DataError(f"{root / MANIFEST} names a cell {item['key']!r:.80}, which is not a hash")
        if len({item["key"] for item in manifest["cells"]}) < len(manifest["cells"]):
            raise DataError(f"{root / MANIFEST} names a cell twice")
        cells = tuple(
            CellResult(item["key"], dict(item["settings"]), root, read_record(root, item["key"]) or {})
            for item in manifest["cells"]
        )
        return Results(root, str(manifest["title"]), cells)


def read_record(folder: Path, key: str) -> dict[str, Any] | None:
    """The record of a cell, or None where it has not finished: no record, an unreadable one, no history."""
    path = folder / CELLS / f"{key}.json"
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("error"), dict | None)
        or not all(isinstance(record.get(name, kind()), kind) for name, kind in _SHAPES.items())
    ):
        return None
    told = [
        (v.get("kind"), v.get("key")) if isinstance(v, dict) else (None,) for v in record.get("verdicts", ())
    ]
    if not all(isinstance(word, str) for words in told for word in words):
        return None
    if record.get("status") == "done" and not path.with_suffix(".safetensors").is_file():
        return None
    return record


# -- tidy tables -------------------------------------------------------------------------------------


def frame_of(cells: Sequence[CellResult]) -> pd.DataFrame:
    """A row for each cell and variant: the configuration by dotted field, then what was found."""
    import pandas as pd

    found: list[dict[str, Any]] = []
    for cell in cells:
        with reading(cell.file, "the record of a cell"):
            found.extend(_rows(cell))
    table = pd.DataFrame(found)
    return table.apply(lambda column: _one_type(column) if column.dtype == object else column)


def _rows(cell: CellResult) -> Iterator[dict[str, Any]]:
    record = cell.record
    row: dict[str, Any] = {"hash": cell.key, "status": cell.status, "error": cell.error}
    row |= dict(_leaves(record.get("configuration", {})))
    row |= cell.settings if cell.status == "missing" else {}
    for group in ("algorithm", "constant", "standing", "network", "final", "final_std", "version"):
        row |= {f"{group}.{name}": _finite(value) for name, value in record.get(group, {}).items()}
    row |= {name: record.get(name) for name in ("diverged_at", "seconds")}
    if not record.get("verdicts"):
        yield row
    for verdict in record.get("verdicts", ()):
        columns = {name: verdict[name] for name in ("variant", "kind", "reason")}
        columns |= {name: float(verdict[name]) for name in ("ratio", "bound", "measured", "trivial")}
        for name in ("ratio", "measured"):
            columns[f"{name}_low"], columns[f"{name}_high"] = map(float, verdict[f"{name}_ci"])
        columns["estimated"] = ", ".join(verdict["estimated"])
        columns["theorem_status"] = status_from_dict(verdict.get("status", _ABSENT["status"])).kind
        yield row | columns | {f"term.{name}": float(v) for name, v in verdict["terms"].items()}


def _leaves(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _leaves(value, name)
        else:
            yield name, json.dumps(value) if isinstance(value, list) else _finite(value)


def _finite(value: Any) -> Any:
    """JSON's words for infinity and nan, back as numbers; a whole number beyond all floats is refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        float(value)
    return float(value) if value in ("Infinity", "-Infinity", "NaN") else value


def _one_type(column: pd.Series) -> pd.Series:
    """Parquet wants one type a column: where a field takes numbers here and text there, all become text."""
    present = column[column.notna()]
    kinds = {type(value) for value in present}
    if kinds and kinds <= {int, float}:
        return column.astype(float)
    if len(kinds) <= 1:
        return column
    text = present.map(lambda value: value if isinstance(value, str) else json.dumps(value))
    return text.reindex(column.index)


def write_table(results: Results, folder: Path) -> None:
    """Write ``results.csv``, the tidy table of all cells, into a folder."""
    with replacing(folder / TABLE) as temporary:
        results.frame.to_csv(temporary, index=False)
