"""From an experiment file to instances and theorems: one, or the grid of ``[sweep]``, each checked first."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dfltheory.bounds.theorem import Theorem
from dfltheory.documents import short as quoted
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.experiments.experiment import Case, statements
from dfltheory.files import plain
from dfltheory.identity import value_digest
from dfltheory.own import Trust, require_trust, trusting
from dfltheory.training.document import (
    NAME,
    REQUIRED,
    SECTIONS,
    TRUTH,
    Field,
    Section,
    builder,
    fits,
    located,
    options_of,
    short,
    standard_name,
)
from dfltheory.training.instance import Instance, checked, make_network, references
from dfltheory.verdicts.schedule import letters_of, scheduling, step_sizes
from dfltheory.verdicts.statistics import checked_method

BYTES, LEVELS = 2**22, 24
"""An experiment file is no larger, and no deeper nested."""

THEOREM = Section(
    "theorem",
    "The statement that the runs are tested against. Without this section none is tested.",
    {
        "key": Field(
            *NAME,
            REQUIRED,
            "which statement, as `dfltheory bound` lists them, or FILE.py:NAME for one of your own",
        ),
        "variants": Field(
            "a list of names in quotes, not empty",
            lambda v: isinstance(v, list) and len(v) > 0 and all(isinstance(x, str) for x in v),
            help="printed, appendix, corrected...; without it all",
        ),
        "confidence": Field(
            "a number strictly between 0 and 1",
            lambda v: fits(v, float) and 0 < v < 1,
            0.95,
            "of the two-sided intervals",
        ),
        "method": Field(
            '"student" or "bootstrap"',
            lambda v: v in ("student", "bootstrap"),
            "student",
            "how the intervals come about; bootstrap, from 8 seeds on, where a few seeds rule the mean",
        ),
        "schedule": Field(
            *TRUTH,
            False,
            "take the hyperparameters that [algorithm] leaves out from the statement's own schedule",
        ),
        "constants": Field(
            "a table of numbers",
            lambda v: isinstance(v, dict) and all(fits(x, float) for x in v.values()),
            {},
            "glossary names that complete or replace what the task knows, as { rho0 = 1.0, sigma_g = 0.3 }",
        ),
    },
)
ALL = SECTIONS | {"theorem": THEOREM}
"""Every section that describes one experiment, by name."""
TOP_LEVEL = {"title": "what reports and tables call this file; without it the file's name"}
"""The keys above the first section."""


@dataclass(frozen=True)
class Experiment:
    """One checked document: an instance, and at most one statement that it is tested against."""

    source: str
    title: str
    sections: Mapping[str, dict[str, Any]]
    folder: Path = Path()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What ``[sweep]`` set in this cell, by dotted field; empty where nothing was swept."""
    trust: Trust = False
    """Which code that the document names may be imported."""

    def __getitem__(self, section: str) -> dict[str, Any]:
        """A section with its defaults; an empty table where it is absent."""
        return self.sections.get(section, {})

    @property
    def references(self) -> dict[str, str]:
        """The code that it names, MODULE:NAME or FILE.py:NAME, by dotted field."""
        return references(self.sections)

    @property
    def label(self) -> str:
        """What tells this cell from the others of its plan, in one short text."""
        return ", ".join(f"{name} = {short(value)}" for name, value in self.settings.items()) or self.title

    @property
    def where(self) -> str:
        """The file, and the cell of it: how an error says where it happened."""
        return f"{self.source} ({self.label})".strip() if self.settings else self.source

    @property
    def theorems(self) -> list[Theorem]:
        """The variants of the statement that the run is tested against; none without ``[theorem]``."""
        asked = self["theorem"]
        return list(statements(asked["key"], asked.get("variants"))) if asked else []

    @cached_property
    def _filled(self) -> set[str]:
        """The fields of the algorithm that the statement's schedule may fill."""
        if not self["theorem"].get("schedule"):
            return set()
        kind = builder("algorithm", self["algorithm"]["name"])
        return set(letters_of(kind, dict.fromkeys(scheduling(self.theorems).schedule, 1)))

    def instance(self) -> Instance:
        """Task, algorithm and network, built, with the step sizes of the schedule where one is asked for."""
        parts = {n: self.sections[n] for n in SECTIONS if n in self.sections}
        given = parts["algorithm"]
        known_options = options_of("algorithm", given["name"])
        lacking = [name for name in sorted(self._filled) if name not in given]
        stand_in = {name: 1e-3 if fits(1e-3, known_options[name].hint) else 1 for name in lacking}
        parts["algorithm"] = stand_in | given
        with located(self.where):
            made = Instance.of(parts, self.where, self.folder, own=self.trust)
            if not stand_in:
                return made
            known = {n: getattr(made.algorithm, n) for n in options_of("algorithm", given["name"])}
            known = {n: v for n, v in known.items() if n not in stand_in} | self["theorem"]["constants"]
            try:
                rule = scheduling(self.theorems)
                steps = step_sizes(rule, made.task, made.rounds, known, made.network)
            except InputError as error:
                raise InputError(f"{error} under [theorem.constants]") from error
            letters = letters_of(type(made.algorithm), steps)
            return replace(made, algorithm=replace(made.algorithm, **{n: letters[n] for n in stand_in}))

    def case(self, group: str = "", row: str = "", column: str = "") -> Case:
        """The experiment as a case of a study; without ``[theorem]`` it is tested against nothing."""
        asked = self["theorem"]
        return Case(
            **vars(self.instance()),
            group=group or self.title,
            row=row,
            column=column,
            key=asked.get("key", ""),
            variants=tuple(t.variant for t in self.theorems),
            constants=asked.get("constants", {}),
            confidence=asked.get("confidence", 0.95),
            method=asked.get("method", "student"),
        )

    def document(self) -> dict[str, Any]:
        """All that the numbers depend on, in JSON's types, defaults filled in: what the hash is taken of.

        It is an experiment of its own, which needs no other file: a small matrix is copied from its file.
        Code that it names is recorded by the digest of its source, and is rejected if it has changed.
        """
        document = {}
        for section, part in self.sections.items():
            table = dict(part)
            if "name" in part:
                known = options_of(section, part["name"])
                defaults = {n: o.default for n, o in known.items() if o.default is not REQUIRED}
                if section == "algorithm":  # what the schedule fills is not a default
                    defaults = {n: v for n, v in defaults.items() if n not in self._filled}
                table = {**defaults, **table, "name": standard_name(section, part["name"])}
                table.pop("data_root", None)  # where the images lie is not what they are
                if ":" in part["name"]:
                    table["code"] = value_digest(builder(section, part["name"]))
            if "file" in part:
                table = self._network_of_file(part)
            document[section] = table
        if "theorem" in document:
            document["theorem"]["variants"] = [t.variant for t in self.theorems]
        return plain(document)

    def _network_of_file(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """The recorded [topology] of a network in a file: its matrix, or the digest of a large one.

        The digest of a file that holds no network, too: the run of the cell reports what is wrong with it.
        """
        digest = {**part, "file": _digest(self.folder / part["file"])}
        try:
            network = make_network(part, 0, self.folder)
        except InputError:
            return digest
        if network.m is None or network.m > RECORDED_CLIENTS:
            return digest
        matrix = network.W
        return {"matrix": (matrix.toarray() if hasattr(matrix, "toarray") else matrix).tolist()}


RECORDED_CLIENTS = 256
"""Largest network of a file whose matrix is copied into the records of its cells."""


def _check_code(document: dict[str, Any], where: str, force: bool) -> None:
    """Compare recorded digests of code with the code itself, and take them out of the document.

    Raises
    ------
    InputError
        The code that ``SECTION.name`` names has another digest than ``SECTION.code``, and ``force`` is not
        set.
    """
    for section in ("task", "algorithm"):
        table = document.get(section)
        if not (isinstance(table, dict) and "code" in table and ":" in str(table.get("name", ""))):
            continue
        if "code" in options_of(section, table["name"]):
            continue
        recorded = table["code"]
        digest = value_digest(builder(section, table["name"]))
        if recorded != digest and not force:
            raise InputError(
                f"{where}: {section}.code = {quoted(recorded)}, but the source of {table['name']} has the "
                f"digest {digest}: restore that source, or run the present one with force=True (--force)"
            )
        document[section] = {name: value for name, value in table.items() if name != "code"}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


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
            if not cell["theorem"]:
                raise InputError(
                    f"{cell.where}: there is no [theorem] to check the run against: add one, with key = ..."
                )
            across = self.axes[0].fields if self.axes else ()
            column = ", ".join(short(cell.settings[name]) for name in across)
            rest = (f"{name} = {short(v)}" for name, v in cell.settings.items() if name not in across)
            made.append(cell.case(self.title, ", ".join(rest), column))
        return made


def load_experiment(
    path: str | Path,
    changes: Mapping[str, Any] | None = None,
    *,
    trust: bool = False,
    force: bool = False,
) -> Experiment:
    """Read the one experiment of a file without ``[sweep]``.

    Parameters
    ----------
    changes : values by dotted field that replace the file's, such as ``{"run.rounds": 10}``; code that they
        name is the caller's, and is imported
    trust : may the file name code by MODULE:NAME or FILE.py:NAME? It is imported, and so it runs
    force : run code that differs from the recorded one (``task.code``, ``algorithm.code``)

    Raises
    ------
    InputError, UnknownNameError
        An error message that names file and field, or the module that may not be imported.
    """
    plan = load_plan(path, changes, trust=trust, force=force)
    if plan.axes:
        raise InputError(
            f"{path} has a [sweep] of {len(plan.cells)} cells: run it with `dfltheory sweep`, or take it out"
        )
    return plan.cells[0]


def load_plan(
    path: str | Path,
    changes: Mapping[str, Any] | None = None,
    *,
    trust: bool = False,
    imports: bool = True,
    force: bool = False,
) -> Plan:
    """Read an experiment file and check every cell of it, before anything runs.

    Parameters and errors are those of :func:`load_experiment`. With ``imports=False`` no code is imported:
    cells that name some are listed, and not checked.
    """
    document, folder = load_document(path), Path(path).parent
    return read_plan(document, str(path), folder, changes, trust=trust, imports=imports, force=force)


def load_document(path: str | Path) -> dict[str, Any]:
    """The sections of an experiment file, unchecked: TOML, or JSON by its suffix."""
    file = Path(path)
    kind, parse = ("JSON", json.loads) if file.suffix.lower() == ".json" else ("TOML", tomllib.loads)
    try:
        if file.exists() and (not file.is_file() or file.stat().st_size > BYTES):
            raise InputError(f"{path} must be a regular file of at most {BYTES} bytes")
        document = parse(file.read_text(encoding="utf-8"))
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"{path} does not exist: give an experiment file (see docs/experiment-files.md)"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid {kind}: {error}") from None
    inner, levels = [document], 0
    while inner := [
        v for x in inner if isinstance(x, (dict, list)) for v in (x.values() if isinstance(x, dict) else x)
    ]:
        levels += 1
        if levels > LEVELS:
            raise InputError(f"{path} is nested deeper than the {LEVELS} levels an experiment file may have")
    if not isinstance(document, dict):
        raise InputError(f"{path} is not an experiment file: its JSON must be an object of sections")
    return document


def read_plan(
    document: Mapping[str, Any],
    source: str = "the experiment",
    folder: Path = Path(),
    changes: Mapping[str, Any] | None = None,
    *,
    trust: bool = False,
    imports: bool = True,
    force: bool = False,
) -> Plan:
    """As :func:`load_plan`, from the parsed document."""
    base = copy.deepcopy(dict(document))
    typed = frozenset(value for value in (changes or {}).values() if isinstance(value, str))
    allowed: Trust = trust or typed
    with located(source):
        for name in base:
            if name not in {"title", "sweep", *ALL}:
                raise UnknownNameError("section", name, {"title", "sweep", *ALL})
        title = base.pop("title", Path(source).stem)
        if not isinstance(title, str):
            raise InputError(f"title = {quoted(title)} must be text in quotes")
        axes = tuple(_axes(base.pop("sweep", {})))
        for name, value in (changes or {}).items():
            _set(base, name, value)
        cells = []
        for values in itertools.product(*(axis.values for axis in axes)):
            moved = zip(axes, values, strict=True)
            settings = {n: v for axis, row in moved for n, v in zip(axis.fields, row, strict=True)}
            empty = Experiment(source, title, {}, folder, settings, allowed)
            cells.append(_cell(base, empty, imports, force))
        return Plan(source, title, axes, tuple(cells))


def _axes(table: Any) -> Iterator[Axis]:
    if not isinstance(table, dict):
        raise InputError(f"sweep = {quoted(table)} must be a section of lists over dotted fields")
    seen: set[str] = set()
    for line, values in _flat(table):
        names = tuple(part.strip() for part in line.split(","))
        if not isinstance(values, list) or not values:
            raise InputError(f"sweep.{quoted(line)} = {quoted(values)} must be a list of values, not empty")
        rows = [value if len(names) > 1 else [value] for value in values]
        for row in rows:
            if not isinstance(row, list) or len(row) != len(names):
                raise InputError(
                    f"sweep.{quoted(line)} moves {len(names)} fields together: "
                    f"{quoted(row)} must list as many"
                )
        if len({repr(row) for row in rows}) < len(rows):
            raise InputError(f"sweep.{quoted(line)} lists a value twice")
        for place, name in enumerate(names):
            tables = [row[place] for row in rows if isinstance(row[place], dict)]
            for moved in {name} | {f"{name}.{key}" for table in tables for key in table}:
                if moved in seen:
                    raise InputError(f"{moved} is swept twice")
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


def _set(document: dict[str, Any], name: str, value: Any) -> None:
    """Put a value at a dotted field; a whole section takes a table, which is laid over what is there."""
    section, *path = name.split(".")
    if section not in ALL:
        raise UnknownNameError("section that can be swept or set", section, set(ALL))
    here = document.setdefault(section, {})
    if not path:
        if not isinstance(value, dict):
            raise InputError(f"{name} = {quoted(value)} must be a table of fields, or name one: {name}.FIELD")
        document[section] = {**here, **copy.deepcopy(value)}
        return
    for part in path[:-1]:
        here = here.setdefault(part, {}) if isinstance(here, dict) else None
    if not isinstance(here, dict):
        raise InputError(f"{name} does not lead to a field")
    here[path[-1]] = copy.deepcopy(value)


def _cell(base: Mapping[str, Any], cell: Experiment, imports: bool, force: bool) -> Experiment:
    """The cell with its sections read and checked; as they are where they name code and nothing may be
    imported."""
    document = copy.deepcopy(dict(base))
    for name, value in cell.settings.items():
        _set(document, name, value)
    with located(cell.where), trusting(cell.trust):
        named = references(document)
        for field_name, reference in named.items():
            require_trust(reference, cell.trust, field_name)
        if named and not imports:
            return replace(cell, sections=document)
        _check_code(document, cell.where, force)
        asked = document.pop("theorem", None)
        if asked is not None:
            asked = _theorem(asked)

        def filled(name: str) -> set[str]:
            sections = {"theorem": asked or {}, "algorithm": {"name": name}}
            return Experiment(cell.source, cell.title, sections)._filled

        parts = checked(document, cell.folder, own=cell.trust, filled=filled)
        if asked is None:
            return replace(cell, sections=parts)
        with located("theorem.method, run.seeds"):
            seeds = parts["run"]["seeds"]
            checked_method(asked["method"], len(seeds) if isinstance(seeds, list) else seeds)
        return replace(cell, sections=parts | {"theorem": asked})


def _theorem(table: Any) -> dict[str, Any]:
    asked = THEOREM.read(table)
    with located("[theorem]"):
        against = statements(asked["key"], asked.get("variants"))
    if asked["schedule"] and not scheduling(against).schedule:
        raise InputError(f"{asked['key']} has no schedule: give the step sizes under [algorithm]")
    return asked
