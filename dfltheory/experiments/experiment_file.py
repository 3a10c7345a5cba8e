"""Experiment files: one format for ``dfltheory train``, ``validate`` and ``sweep``.

A file is TOML or JSON. It is read as an :class:`Experiment` with a single cell, or with
the grid of cells of ``[sweep]``. All cells are checked before any of them runs.

>>> experiment = load_experiment("experiment.toml")               # doctest: +SKIP
>>> [cell.settings for cell in experiment.cells]                  # doctest: +SKIP
[{'topology.name': 'ring'}, {'topology.name': 'torus'}]
>>> run = load_experiment("single.toml").instance().run()    # doctest: +SKIP
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dfltheory.documents import short as quoted
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.experiments.cases import Case, statements
from dfltheory.experiments.cell import Cell, Section, check_code
from dfltheory.experiments.schema import FILE_SECTIONS, Outline, TheoremSection
from dfltheory.files import read_bytes
from dfltheory.own import Trust, require_trust, trusting
from dfltheory.schemas import read_model
from dfltheory.training.document import located, short
from dfltheory.training.instance import Instance
from dfltheory.training.sections import check_algorithm, checked, references
from dfltheory.verdicts.admissible_steps import supplied_names
from dfltheory.verdicts.statistics import checked_method

MAX_BYTES = 2**22
"""Maximum size of an experiment file."""
MAX_DEPTH = 24
"""Maximum nesting depth of an experiment file."""
MAX_CELLS = 10_000
"""Maximum number of cells of a grid."""


@dataclass(frozen=True)
class Axis:
    """One line of ``[sweep]``: fields that change together, and their values."""

    fields: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Experiment:
    """A file with the cells of the grid of its axes, or one cell without a sweep."""

    source: str
    title: str
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]

    @property
    def cell(self) -> Cell:
        """The only cell of an experiment without ``[sweep]``.

        Raises
        ------
        InputError
            The experiment is a sweep.
        """
        if self.axes:
            raise InputError(
                f"{self.source} has a [sweep] of {len(self.cells)} cells: run it with"
                " `dfltheory sweep`, or remove the section"
            )
        return self.cells[0]

    def instance(self) -> Instance:
        """Return the instance of the only cell."""
        return self.cell.instance()

    def cases(self) -> list[Case]:
        """Return one case per cell.

        The first axis runs along the columns, the others along the rows.

        Raises
        ------
        InputError
            A cell has no ``[theorem]``.
        """
        return [self._case(cell) for cell in self.cells]

    def _case(self, cell: Cell) -> Case:
        """Return a cell as a case, with its settings as column and row."""
        if not cell["theorem"]:
            raise InputError(
                f"{cell.where}: there is no [theorem] to check the run against: add"
                " one, with key = ..."
            )
        across = self.axes[0].fields if self.axes else ()
        column = ", ".join(short(cell.settings[name]) for name in across)
        others = {
            name: value for name, value in cell.settings.items() if name not in across
        }
        row = ", ".join(f"{name} = {short(value)}" for name, value in others.items())
        return cell.case(self.title, row, column)


def load_experiment(
    path: str | Path,
    changes: Mapping[str, object] | None = None,
    *,
    trust: bool = False,
    imports: bool = True,
    force: bool = False,
) -> Experiment:
    """Read an experiment file, and check all of its cells before anything runs.

    Parameters
    ----------
    path : str or Path
        A TOML file, or a JSON file by its suffix.
    changes : mapping
        Values by dotted field that replace those in the file, such as ``{"run.rounds":
        10}``. Code that they refer to comes from the caller, and is imported.
    trust : bool
        Whether the file may refer to code by MODULE:NAME or FILE.py:NAME. Such code is
        imported and thus executed.
    imports : bool
        If false, no code is imported, and cells that refer to code are returned without
        being checked.
    force : bool
        Whether to run code that differs from the recorded one (``task.code``,
        ``algorithm.code``).

    Raises
    ------
    InputError, UnknownNameError
        Each problem as "file: place: reason", or a module that may not be imported.
    """
    document, folder = load_document(path), Path(path).parent
    return read_experiment(
        document, str(path), folder, changes, trust=trust, imports=imports, force=force
    )


def load_document(path: str | Path) -> dict[str, object]:
    """Return the unchecked sections of an experiment file.

    The file is TOML, or JSON by its suffix.

    Raises
    ------
    InputError
        The file is missing, too large, too deeply nested, or of another format.
    """
    file = Path(path)
    kind, parse = "TOML", tomllib.loads
    if file.suffix.lower() == ".json":
        kind, parse = "JSON", json.loads
    content = read_bytes(path, MAX_BYTES)
    try:
        document = parse(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid {kind}: {error}") from None
    if _depth(document) > MAX_DEPTH:
        raise InputError(
            f"{path} is nested deeper than the {MAX_DEPTH} levels an experiment file"
            " may have"
        )
    if not isinstance(document, dict):
        raise InputError(
            f"{path} is not an experiment file: its JSON must be an object of sections"
        )
    return document


def _depth(document: object) -> int:
    """Return the nesting depth of tables and lists, at most ``MAX_DEPTH`` + 1."""
    level, depth = [document], 0
    while depth <= MAX_DEPTH:
        level = [inner for value in level for inner in _inner_values(value)]
        if not level:
            break
        depth += 1
    return depth


def _inner_values(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def read_experiment(
    document: Mapping[str, object],
    source: str = "the experiment",
    folder: Path = Path(),
    changes: Mapping[str, object] | None = None,
    *,
    trust: bool = False,
    imports: bool = True,
    force: bool = False,
) -> Experiment:
    """Return the experiment of a parsed document.

    For the parameters and errors, see :func:`load_experiment`.
    """
    base: Section = copy.deepcopy(dict(document))
    typed = frozenset(
        value for value in (changes or {}).values() if isinstance(value, str)
    )
    allowed: Trust = trust or typed
    with located(source):
        read_model(Outline, base)
        title, sweep = base.pop("title", None), base.pop("sweep", {})
        title = Path(source).stem if title is None else title
        axes = tuple(_axes(sweep))
        _refuse_many_cells(axes)
        for name, value in (changes or {}).items():
            _set(base, name, value)
        cells = []
        is_only = all(len(axis.values) == 1 for axis in axes)
        for settings in _grid(axes):
            unchecked = Cell(source, title, {}, folder, settings, allowed, is_only)
            cells.append(_checked_cell(base, unchecked, imports, force))
        return Experiment(source, title, axes, tuple(cells))


def _refuse_many_cells(axes: tuple[Axis, ...]) -> None:
    """Raise an error if a grid has more than :data:`MAX_CELLS` cells."""
    count = math.prod(len(axis.values) for axis in axes)
    if count > MAX_CELLS:
        sizes = " x ".join(str(len(axis.values)) for axis in axes)
        raise InputError(
            f"sweep: has {sizes} = {count} cells; at most {MAX_CELLS} are run: sweep"
            " fewer values, or write several files"
        )


def _grid(axes: tuple[Axis, ...]) -> Iterator[dict[str, object]]:
    """Yield the settings of every cell, by dotted field."""
    for rows in itertools.product(*(axis.values for axis in axes)):
        settings: dict[str, object] = {}
        for axis, row in zip(axes, rows, strict=True):
            settings.update(zip(axis.fields, row, strict=True))
        yield settings


def _axes(table: Mapping[str, object]) -> Iterator[Axis]:
    """Yield the axes of a [sweep]."""
    seen: set[str] = set()
    for line, values in _flat(table):
        place = f"sweep.{quoted(line)}"
        names = tuple(part.strip() for part in line.split(","))
        if not isinstance(values, list) or not values:
            raise InputError(f"{place}: must be a list of values, not {quoted(values)}")
        rows: list[list[object]] = values
        if len(names) == 1:
            rows = [[value] for value in values]
        _check_rows(place, rows, len(names))
        for position, name in enumerate(names):
            for moved in _moved_fields(name, [row[position] for row in rows]):
                if moved in seen:
                    raise InputError(f"{place}: {moved} is swept twice")
                seen.add(moved)
        yield Axis(names, tuple(tuple(row) for row in rows))


def _check_rows(place: str, rows: Sequence[object], width: int) -> None:
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise InputError(
                f"{place}: moves {width} fields together, so {quoted(row)} must list as"
                " many"
            )
    if len({repr(row) for row in rows}) < len(rows):
        raise InputError(f"{place}: lists a value twice")


def _moved_fields(name: str, values: list[object]) -> set[str]:
    """Return the dotted fields that an entry of [sweep] sets; tables set several."""
    tables = [value for value in values if isinstance(value, dict)]
    return {name} | {f"{name}.{key}" for table in tables for key in table}


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the dotted names and lists of a nested table.

    Quoted ("run.rounds") and bare (run.rounds) keys are equivalent.
    """
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def _set(document: Section, name: str, value: object) -> None:
    """Set the value of a dotted field.

    The value of a whole section is a table that updates the section.
    """
    section, *path = name.split(".")
    if section not in FILE_SECTIONS:
        raise UnknownNameError(
            "section that can be swept or set", section, set(FILE_SECTIONS)
        )
    node = document.setdefault(section, {})
    if not path:
        if not isinstance(value, dict):
            raise InputError(
                f"{name}: must be a table of fields, or name one ({name}.FIELD), not"
                f" {quoted(value)}"
            )
        document[section] = {**node, **copy.deepcopy(value)}
        return
    for part in path[:-1]:
        node = node.setdefault(part, {}) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        raise InputError(f"{name}: does not lead to a field")
    node[path[-1]] = copy.deepcopy(value)


def _checked_cell(
    base: Mapping[str, object], cell: Cell, imports: bool, force: bool
) -> Cell:
    """Return the cell with its checked sections.

    They are not checked if they refer to code that may not be imported.
    """
    document = copy.deepcopy(dict(base))
    for name, value in cell.settings.items():
        _set(document, name, value)
    with located(cell.where), trusting(cell.trust):
        code_references = references(document)
        for field_name, reference in code_references.items():
            require_trust(reference, cell.trust, field_name)
        if code_references and not imports:
            return replace(cell, sections=document)
        check_code(document, cell.where, force)
        sections = checked(
            document, cell.folder, own=cell.trust, further={"theorem": TheoremSection}
        )
        cell = replace(cell, sections=sections)
        if cell["theorem"]:
            _check_theorem(cell)
        check_algorithm(cell["algorithm"], cell.scheduled)
        return cell


def _check_theorem(cell: Cell) -> None:
    """Check the statement that a cell names, and that its intervals can be computed."""
    theorem, seeds = cell["theorem"], cell["run"]["seeds"]
    with located("theorem"):
        variants = statements(theorem["key"], theorem.get("variants"))
    if theorem["schedule"] and not supplied_names(variants, theorem["steps"]):
        raise InputError(
            f"theorem.schedule: {theorem['key']} has no schedule: give the step sizes"
            ' under [algorithm], or steps = "admissible" or "largest" under [theorem]'
        )
    with located("theorem.method, run.seeds"):
        checked_method(
            theorem["method"], len(seeds) if isinstance(seeds, list) else seeds
        )


__all__ = ["Axis", "Experiment", "load_document", "load_experiment", "read_experiment"]
