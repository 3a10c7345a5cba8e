"""From a TOML file to experiments: one, or the grid of ``[sweep]``; every cell is checked before any runs."""

from __future__ import annotations

import contextlib
import copy
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.analysis.config.sections import (
    SECTIONS,
    AlgorithmSection,
    RunSection,
    TaskSection,
    TheoremSection,
    TopologySection,
)
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.files import plain

if TYPE_CHECKING:
    from dfltheory.analysis.config.build import Setup
    from dfltheory.analysis.experiment import Case

_ALL = {"title", "sweep", *(s.title for s in SECTIONS)}


@dataclass(frozen=True)
class Experiment:
    """One task, network, algorithm and run, with at most one theorem; names and options checked."""

    source: str
    title: str
    task: TaskSection
    algorithm: AlgorithmSection
    run: RunSection
    topology: TopologySection | None = None
    theorem: TheoremSection | None = None
    folder: Path = Path()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What ``[sweep]`` set in this cell, by dotted field; empty where nothing was swept."""

    @property
    def label(self) -> str:
        """What tells this cell from the others of its plan, in one short text."""
        return ", ".join(f"{name} = {short(value)}" for name, value in self.settings.items()) or self.title

    def document(self) -> dict[str, Any]:
        """The full configuration in JSON's types, defaults filled in: what the hash is taken of."""
        from dfltheory.analysis.config.build import full_configuration

        return full_configuration(self)

    def build(self) -> Setup:
        """Task, algorithm and network, ready to train."""
        from dfltheory.analysis.config.build import build

        with located(self.where):
            return build(self)

    def case(self, group: str = "", row: str = "", column: str = "") -> Case:
        """The experiment as a case for :func:`dfltheory.analysis.experiment.perform`; needs ``[theorem]``."""
        from dfltheory.analysis.config.build import as_case

        with located(self.where):
            return as_case(self, group or self.title, row, column)

    @property
    def where(self) -> str:
        """The file, and the cell of it: how an error says where it happened."""
        return f"{self.source} ({self.label})" if self.settings else self.source


@dataclass(frozen=True)
class Axis:
    """One line of ``[sweep]``: fields that move together, and the values that they take in turn."""

    fields: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Plan:
    """An experiment file: its cells are the grid of its axes, one cell where nothing is swept."""

    source: str
    title: str
    axes: tuple[Axis, ...]
    cells: tuple[Experiment, ...]

    def cases(self) -> list[Case]:
        """A case for each cell: columns along the first axis, rows along the others."""
        made = []
        for cell in self.cells:
            across = self.axes[0].fields if self.axes else ()
            column = ", ".join(short(cell.settings[name]) for name in across)
            rest = (f"{name} = {short(v)}" for name, v in cell.settings.items() if name not in across)
            made.append(cell.case(self.title, ", ".join(rest), column))
        return made


def load_experiment(path: str | Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """The one experiment of a file without ``[sweep]``.

    ``changes`` are values by dotted field that take the place of the file's: ``{"run.rounds": 10}``.

    Raises
    ------
    InputError, UnknownNameError
        One clear line that names file and field.
    """
    plan = load_plan(path, changes)
    if plan.axes:
        raise InputError(
            f"{path} has a [sweep] of {len(plan.cells)} cells: run it with `dfltheory sweep`, or take it out"
        )
    return plan.cells[0]


def load_plan(path: str | Path, changes: Mapping[str, Any] | None = None) -> Plan:
    """Read an experiment file and check every cell of it, before anything runs.

    Raises as :func:`load_experiment`.
    """
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path} does not exist: give an experiment file, as docs/experiment-files.md"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    return read_plan(document, str(path), folder=file.parent, changes=changes)


def read_plan(
    document: Mapping[str, Any],
    source: str = "the experiment",
    folder: Path = Path(),
    changes: Mapping[str, Any] | None = None,
) -> Plan:
    """As :func:`load_plan`, from the parsed document."""
    base = copy.deepcopy(dict(document))
    for name in base:
        if name not in _ALL:
            raise UnknownNameError(f"section of {source}", name, _ALL)
    title = base.pop("title", Path(source).stem)
    if not isinstance(title, str):
        raise InputError(f"{source}: title = {title!r} must be text in quotes")
    axes = tuple(_axes(base.pop("sweep", {}), source))
    for name, value in (changes or {}).items():
        _set(base, name, value, source)
    cells = []
    for values in itertools.product(*(axis.values for axis in axes)):
        settings = {
            n: v
            for axis, row in zip(axes, values, strict=True)
            for n, v in zip(axis.fields, row, strict=True)
        }
        cells.append(_cell(base, settings, source, title, folder))
    return Plan(source, title, axes, tuple(cells))


def _axes(table: Any, source: str) -> Iterator[Axis]:
    if not isinstance(table, dict):
        raise InputError(f"{source}: sweep = {table!r} must be a section of lists over dotted fields")
    seen: set[str] = set()
    for line, values in _flat(table):
        names = tuple(part.strip() for part in line.split(","))
        if not isinstance(values, list) or not values:
            raise InputError(f"{source}: sweep.{line!r} = {values!r} must be a list of values, not empty")
        rows = [value if len(names) > 1 else [value] for value in values]
        for row in rows:
            if not isinstance(row, list) or len(row) != len(names):
                raise InputError(
                    f"{source}: sweep.{line!r} moves {len(names)} fields together: {row!r} must list as many"
                )
        if len({repr(row) for row in rows}) < len(rows):
            raise InputError(f"{source}: sweep.{line!r} lists a value twice")
        for place, name in enumerate(names):
            tables = [row[place] for row in rows if isinstance(row[place], dict)]
            for moved in {name} | {f"{name}.{key}" for table in tables for key in table}:
                if moved in seen:
                    raise InputError(f"{source}: {moved} is swept twice")
                seen.add(moved)
        yield Axis(names, tuple(tuple(row) for row in rows))


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and their lists: quoted ("run.rounds") and bare (run.rounds) keys mean the same."""
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def _set(document: dict[str, Any], name: str, value: Any, source: str) -> None:
    """Put a value at a dotted field; a whole section takes a table, which is laid over what is there."""
    section, *path = name.split(".")
    known = {s.title for s in SECTIONS}
    if section not in known:
        raise UnknownNameError(f"section that {source} can sweep", section, known)
    here = document.setdefault(section, {})
    if not path:
        if not isinstance(value, dict):
            raise InputError(
                f"{source}: {name} = {value!r} must be a table of fields, or name one: {name}.FIELD"
            )
        document[section] = {**here, **copy.deepcopy(value)}
        return
    for part in path[:-1]:
        here = here.setdefault(part, {}) if isinstance(here, dict) else None
    if not isinstance(here, dict):
        raise InputError(f"{source}: {name} does not lead to a field")
    here[path[-1]] = copy.deepcopy(value)


def _cell(
    base: Mapping[str, Any], settings: Mapping[str, Any], source: str, title: str, folder: Path
) -> Experiment:
    from dfltheory.analysis.config.checks import check

    document = copy.deepcopy(dict(base))
    for name, value in settings.items():
        _set(document, name, value, source)
    read: dict[str, Any] = {}
    for kind in SECTIONS:
        table = document.get(kind.title)
        if table is None and kind.title in ("topology", "theorem"):
            continue
        if table is not None and not isinstance(table, dict):
            raise InputError(f"{source}: {kind.title} = {table!r} must be a section, [{kind.title}]")
        read[kind.title] = kind.read(table or {}, source)
    if _without_network(read["algorithm"].name):  # so that such baselines can be swept beside the others
        read.pop("topology", None)
    cell = Experiment(source=source, title=title, folder=folder, settings=dict(settings), **read)
    check(cell)
    return cell


def _without_network(algorithm: str) -> bool:
    from dfltheory import algorithms

    kind = algorithms.ALGORITHMS.get(algorithm.lower().replace("-", "").replace("_", ""))
    return kind is not None and not kind.needs_topology


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """Errors of this package, told with the file that they come from."""
    try:
        yield
    except DFLTheoryError as error:
        if str(error).startswith(where):
            raise
        raise InputError(f"{where}: {error}") from error


def short(value: Any) -> str:
    """A value in a label: names bare, numbers to six digits, tables by their name."""
    if isinstance(value, dict):
        rest = ", ".join(f"{k} = {short(v)}" for k, v in value.items() if k != "name")
        return " ".join(filter(None, [str(value.get("name", "")), f"({rest})" if rest else ""]))
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else str(plain(value))


__all__ = [
    "Axis",
    "Experiment",
    "Plan",
    "load_experiment",
    "load_plan",
    "located",
    "read_plan",
    "short",
]
