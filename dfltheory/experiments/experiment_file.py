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
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dfltheory.errors import InputError
from dfltheory.experiments.cases import Case, variants_of
from dfltheory.experiments.cell import Cell, Section, check_code
from dfltheory.experiments.schema import FILE_SECTIONS, Outline, TheoremSection
from dfltheory.experiments.sweep_axes import (
    Axis,
    cell_settings,
    read_axes,
    refuse_many_cells,
    set_field,
)
from dfltheory.files import read_bytes
from dfltheory.own import Trust, require_trust, trusting
from dfltheory.problems import MAX_PROBLEMS, Problems, located
from dfltheory.schemas import read_model
from dfltheory.training.document import short_label
from dfltheory.training.instance import Instance
from dfltheory.training.options import options_of
from dfltheory.training.sections import (
    check_algorithm_section,
    checked_sections,
    references,
)
from dfltheory.verdicts.admissible_steps import supplied_names
from dfltheory.verdicts.statistics import checked_method

MAX_BYTES = 2**22
"""Maximum size of an experiment file."""
MAX_DEPTH = 24
"""Maximum nesting depth of an experiment file."""


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
        column = ", ".join(short_label(cell.settings[name]) for name in across)
        others = {
            name: value for name, value in cell.settings.items() if name not in across
        }
        row = ", ".join(
            f"{name} = {short_label(value)}" for name, value in others.items()
        )
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
    problems = Problems()
    with located(source):
        with problems.collecting():
            read_model(Outline, base)
        title, sweep = base.pop("title", None), base.pop("sweep", {})
        title = title if isinstance(title, str) else Path(source).stem
        axes = read_axes(sweep, problems) if isinstance(sweep, dict) else ()
        refuse_many_cells(axes, problems)
        for name, value in (changes or {}).items():
            with problems.collecting():
                set_field(base, name, value)
        is_only = all(len(axis.values) == 1 for axis in axes)
        unchecked = [
            Cell(source, title, {}, folder, settings, allowed, is_only)
            for settings in cell_settings(axes)
        ]
        known = {name: base[name] for name in FILE_SECTIONS if name in base}
        cells = _checked_cells(known, unchecked, imports, force, problems)
        problems.raise_any()
        return Experiment(source, title, axes, tuple(cells))


def _checked_cells(
    base: Mapping[str, object],
    cells: Sequence[Cell],
    imports: bool,
    force: bool,
    problems: Problems,
) -> list[Cell]:
    """Return the cells with their checked sections.

    A problem that several cells share is recorded for the first one.
    """
    checked_cells = []
    known: set[str] = set()
    for cell in cells:
        of_cell = Problems()
        checked_cell = _checked_cell(base, cell, imports, force, of_cell)
        if not of_cell:
            checked_cells.append(checked_cell)
        new = [error for error in of_cell.found if str(error) not in known]
        known.update(map(str, new))
        for error in new:
            with problems.collecting(cell.where):
                raise error
        if len(problems.found) > MAX_PROBLEMS:
            break
    return checked_cells


def _checked_cell(
    base: Mapping[str, object],
    cell: Cell,
    imports: bool,
    force: bool,
    problems: Problems,
) -> Cell:
    """Return the cell with its checked sections; its problems are recorded.

    They are not checked if they refer to code that may not be imported.
    """
    document = copy.deepcopy(dict(base))
    for name, value in cell.settings.items():
        with problems.collecting():
            set_field(document, name, value)
    with trusting(cell.trust):
        if references(document) and not imports:
            for place, reference in references(document).items():
                with problems.collecting():
                    require_trust(reference, cell.trust, place)
            return replace(cell, sections=document)
        with problems.collecting():
            check_code(document, cell.where, force)
        sections = checked_sections(
            document, problems, cell.folder, cell.trust, {"theorem": TheoremSection}
        )
        cell = replace(cell, sections=sections)
        theorem_problems = Problems()
        if cell["theorem"]:
            _check_theorem(cell, theorem_problems)
        elif "theorem.key" not in references(document):
            _check_key(document.get("theorem"), theorem_problems)
        for error in theorem_problems.found:
            problems.add(error)
        if cell["algorithm"]:
            is_valid = bool(cell["theorem"]) and not theorem_problems
            with problems.collecting():
                check_algorithm_section(
                    cell["algorithm"], _given_later(cell, document, is_valid)
                )
    return cell


def _given_later(
    cell: Cell, document: Mapping[str, object], is_valid: bool
) -> Collection[str]:
    """Return the hyperparameters that a schedule sets.

    If the statement is invalid (``is_valid`` is false), any of them may be set.
    """
    table = document.get("theorem")
    if not isinstance(table, dict) or not table.get("schedule"):
        return ()
    if is_valid:
        return cell.scheduled
    return options_of("algorithm", cell["algorithm"]["name"])


def _check_theorem(cell: Cell, problems: Problems) -> None:
    """Check the statement that a cell names, and that its intervals can be computed."""
    theorem = cell["theorem"]
    with problems.collecting("theorem"):
        variants = variants_of(theorem["key"], theorem.get("variants"))
        if theorem["schedule"] and not supplied_names(variants, theorem["steps"]):
            reason = (
                f"theorem.schedule: {theorem['key']} has no schedule: give the step"
                ' sizes under [algorithm], or steps = "admissible" or "largest" under'
                " [theorem]"
            )
            raise InputError(reason)
    if cell["run"]:
        seeds = cell["run"]["seeds"]
        count = len(seeds) if isinstance(seeds, list) else seeds
        with problems.collecting("theorem.method, run.seeds"):
            checked_method(theorem["method"], count)


def _check_key(theorem: object, problems: Problems) -> None:
    """Check the name of the statement in a [theorem] with other invalid fields."""
    key = theorem.get("key") if isinstance(theorem, dict) else None
    if isinstance(key, str) and key.strip():
        with problems.collecting("theorem"):
            variants_of(key)


__all__ = ["Axis", "Experiment", "load_document", "load_experiment", "read_experiment"]
