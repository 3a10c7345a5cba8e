"""Construction of tasks, networks and algorithms from the sections of a document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import networkx
import numpy as np

from dfltheory import algorithms, graphs, tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.reference import is_registered_key, names_theorem_file
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.graphs.files import read_matrix_file
from dfltheory.own import Trust, require_trust
from dfltheory.problems import Problems, located
from dfltheory.schemas import Schema
from dfltheory.tasks.task import Task
from dfltheory.training.document import SECTIONS, Table, read_sections
from dfltheory.training.options import algorithm_class, builder, converted, options_of
from dfltheory.training.setup import network_called

_CODE = (("task", "name"), ("task", "model"), ("algorithm", "name"), ("theorem", "key"))
"""Section and field of places where a document may refer to code."""


def references(document: Mapping[str, object]) -> dict[str, str]:
    """Return the code references (MODULE:NAME, FILE.py:NAME) of a document."""
    found = {}
    for section, key in _CODE:
        table = document.get(section)
        value = table.get(key) if isinstance(table, Mapping) else None
        if not isinstance(value, str) or ":" not in value or names_theorem_file(value):
            continue
        if section != "theorem" or not is_registered_key(value):
            found[f"{section}.{key}"] = value
    return found


def checked_document(
    document: Mapping[str, object],
    folder: Path | None = None,
    own: Trust = False,
    further: Mapping[str, type[Schema]] | None = None,
) -> dict[str, Table]:
    """Validate a document, and return its sections with their defaults.

    Types and names are checked; nothing is built. [topology] is removed if the
    algorithm has no network, so that such baselines can be swept together with others.

    Parameters
    ----------
    document : mapping
        The sections.
    folder : Path, optional
        Folder of relative paths; without it, the document must not name files.
    own : bool or set of str
        Code that the document may refer to.
    further : mapping
        Models of sections in addition to ``SECTIONS``.

    Raises
    ------
    InputError, UnknownNameError
        If the document is invalid; the message lists all problems as "place: reason".
    """
    problems = Problems()
    sections = checked_sections(document, problems, folder, own, further)
    problems.raise_any()
    return sections


def checked_sections(
    document: Mapping[str, object],
    problems: Problems,
    folder: Path | None = None,
    own: Trust = False,
    further: Mapping[str, type[Schema]] | None = None,
) -> dict[str, Table]:
    """Return the valid sections of a document, as :func:`checked_document`.

    The problems of the other sections are recorded in ``problems``.
    """
    untrusted = set()
    for place, reference in references(document).items():
        try:
            require_trust(reference, own, place)
        except InputError as error:
            problems.add(error)
            untrusted.add(place.partition(".")[0])
    parts = dict(document)
    if "algorithm" not in untrusted:
        with problems.collecting():
            parts = _with_network(document)
    sections = read_sections(parts, problems, further, untrusted)
    with problems.collecting():
        if "topology" in sections:
            _check_topology(sections["topology"], folder)
        elif parts.get("topology") is None and "algorithm" in sections:
            _require_no_network(sections["algorithm"]["name"])
    return sections


def _require_no_network(algorithm: str) -> None:
    """Raise InputError if an algorithm needs the network that a document lacks."""
    if algorithm_class(algorithm).needs_topology:
        raise InputError(f"topology: is missing: {algorithm} needs a network")


def check_algorithm_section(table: Table, given_later: Collection[str] = ()) -> None:
    """Check that an algorithm has all its hyperparameters, within their ranges.

    Parameters
    ----------
    table : mapping
        A validated [algorithm].
    given_later : collection of str
        Hyperparameters that a schedule sets.
    """
    name = table["name"]
    required = {
        option: about
        for option, about in options_of("algorithm", name).items()
        if about.required
    }
    lacking = [
        option
        for option in required
        if option not in table and option not in given_later
    ]
    if lacking:
        raise InputError(
            f"algorithm.{lacking[0]}: is missing: {name} needs {', '.join(lacking)};"
            " set it, or add [theorem] with schedule = true"
        )
    placeholders = {option: about.placeholder for option, about in required.items()}
    with located("algorithm"):
        make_algorithm({**placeholders, **table})


def _with_network(document: Mapping[str, object]) -> dict[str, object]:
    """Return a document with the network that its algorithm implies, or without it.

    The network is removed if the algorithm does not use one.
    """
    sections = dict(document)
    table = sections.get("algorithm")
    name = table.get("name") if isinstance(table, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        return sections
    try:
        kind = algorithm_class(name)
    except DFLTheoryError:  # reported with the section
        return sections
    implied = algorithms.resolve_alias(name)[2]
    if not kind.needs_topology:
        sections.pop("topology", None)
    elif implied is not None:
        given = sections.setdefault("topology", {"name": implied})
        if not isinstance(given, Mapping) or given.get("name") != implied:
            raise InputError(
                f"topology: {name} implies the network {implied}: remove other networks"
            )
    return sections


def _check_topology(table: Table, folder: Path | None) -> None:
    """Raise InputError unless [topology] has one source, whose file exists."""
    named = [
        source for source in ("name", "file", "matrix", "matrices") if source in table
    ]
    if len(named) != 1:
        listed = " and ".join(named) or "none of them"
        raise InputError(
            f"topology: needs one of name, file, matrix and matrices, not {listed}"
        )
    if named == ["file"] and (folder is None or not (folder / table["file"]).is_file()):
        raise InputError(
            f"topology.file: {table['file']!r} is not a file in the folder of the"
            " experiment file"
        )


def _options(section: str, table: Table) -> dict[str, Any]:
    """Return the options of a section's named object, as Python objects."""
    own_fields = SECTIONS[section].model_fields
    given = {
        option: value for option, value in table.items() if option not in own_fields
    }
    return converted(section, table["name"], given)


def make_task(table: Table, folder: Path | None) -> Task:
    """Create the task of a validated [task]; its files are relative to ``folder``."""
    name, options = table["name"], _options("task", table)
    known = options_of("task", name)
    for option, value in options.items():
        if known[option].hint is not Path:
            continue
        if folder is None:
            raise InputError(
                f"task.{option} = {value!r}: this document must not name files"
            )
        options[option] = folder / value
    if ":" not in name:
        return tasks.get(name, **options)
    task = builder("task", name)(**options)
    if not isinstance(task, Task):
        raise InputError(
            f"task.name = {name!r} creates a {type(task).__name__}, not a task"
        )
    return task


def make_network(table: Table, m: int, folder: Path | None) -> Any:
    """Create the network of a validated [topology].

    Parameters
    ----------
    table : Table
        The validated section.
    m : int
        Number of clients.
    folder : Path, optional
        Folder to which the names of files are relative; None if there are no files.

    Returns
    -------
    MixingSequence
    """
    if "file" in table:
        assert folder is not None, "checked"
        network: object = read_matrix_file(folder / table["file"])
    elif "matrix" in table:
        network = np.array(table["matrix"], dtype=float)
    elif "matrices" in table:
        network = [np.array(W, dtype=float) for W in table["matrices"]]
    else:
        network = network_called(table["name"])(m, **_options("topology", table))
    if "weights" not in table:
        return graphs.as_sequence(network)
    if not isinstance(network, networkx.Graph):
        given = table.get("name") or table.get("file") or "a matrix"
        raise InputError(
            f"topology.weights = {table['weights']!r}: weights apply only to a graph,"
            f" not to {given}"
        )
    return graphs.as_sequence(graphs.weights(network, table["weights"]))


def make_algorithm(table: Table) -> Algorithm:
    """Create the algorithm of a validated [algorithm]."""
    hyperparameters = {
        **algorithms.resolve_alias(table["name"])[1],
        **_options("algorithm", table),
    }
    return algorithm_class(table["name"])(**hyperparameters)


__all__ = [
    "check_algorithm_section",
    "checked_document",
    "checked_sections",
    "make_algorithm",
    "make_network",
    "make_task",
    "references",
]
