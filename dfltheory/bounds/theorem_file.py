"""Theorem files: TOML text to theorems.

The format is that of :mod:`dfltheory.bounds.theorem_models`. Nothing of a file is run,
unless the caller trusts it and it names code as ``FILE.py:NAME``. Every problem is
reported with the file, the line and the column.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from dfltheory.bounds.file_reader import FileReader
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.quantity_reader import read_quantities
from dfltheory.bounds.statement_reader import StatementReader, parent_of
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.theorem_models import THEOREM_FILE_FORMAT, FileTables
from dfltheory.errors import InputError
from dfltheory.own import Trust
from dfltheory.problems import MAX_PROBLEMS, Problems
from dfltheory.schemas import field_problems

LARGEST_THEOREM_FILE = 250_000
"""Most bytes of a theorem file."""
DEEPEST_KEY = 10
"""Most dots in a line, and most open brackets, both outside of quoted text."""

_QUOTED = re.compile(
    r'"""[\s\S]*?"""|' r"'''[\s\S]*?'''|" r'"[^"\n]*"|' r"'[^'\n]*'|#[^\n]*"
)


@dataclass(frozen=True)
class TheoremFile:
    """The statements of one theorem file, and the paper that they are from."""

    paper: Paper
    theorems: tuple[Theorem, ...]


def read_theorem_file(path: str | Path, *, trust: Trust = False) -> TheoremFile:
    """Return the statements of a theorem file.

    Parameters
    ----------
    path : a TOML file
    trust : may the file name code as ``FILE.py:NAME``? It is imported, and so it runs

    Raises
    ------
    InputError
        The file cannot be read, or is not a theorem file. The message has a line for
        each problem, with the file, the line and the column.
    """
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST_THEOREM_FILE + 1)
    except OSError as wrong:
        raise InputError(f"{path} cannot be read: {wrong.strerror or wrong}") from None
    if len(data) > LARGEST_THEOREM_FILE:
        raise InputError(
            f"{path} has more than {LARGEST_THEOREM_FILE} bytes, too many for a theorem"
            " file"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise InputError(
            f"{path} is not text in UTF-8: byte {wrong.start} is {data[wrong.start]:#x}"
        ) from None
    return read_theorems(text, str(path), path.parent, trust=trust)


def read_theorems(
    text: str, name: str, folder: Path | None = None, *, trust: Trust = False
) -> TheoremFile:
    """Return the statements of the text of a theorem file.

    Parameters
    ----------
    text : TOML
    name : what messages call the file
    folder : what the paths of code in it are relative to; None: the working folder
    trust : see :func:`read_theorem_file`

    Raises
    ------
    InputError
        One line with the name, the line and the column for each problem.
    """
    return _read(FileReader(text.replace("\r\n", "\n"), name, folder or Path(), trust))


def theorem_file_template() -> str:
    """Return a commented theorem file to start from."""
    return (Path(__file__).parent / "template.toml").read_text(encoding="utf-8")


def _read(file: FileReader) -> TheoremFile:
    tables = _tables(file)
    quantities = read_quantities(file, tables.quantities)
    source = tables.source
    paper = Paper(source.title, source.citation, source.notation, source.provenance)
    theorems: list[Theorem] = []
    known: set[tuple[str, str]] = set()
    problems = Problems()
    for number, table in enumerate(tables.statement):
        named = (table.key, table.variant)
        with problems.collecting():
            if named in known:
                message = (
                    f"{table.key} ({table.variant}) is stated twice: name another"
                    " variant"
                )
                file.stop(("statement", number, "key"), message)
            known.add(named)
            reader = StatementReader(file, number, table, quantities, paper)
            theorems.append(reader.theorem(parent_of(table, tables.statement)))
        if len(problems.found) > MAX_PROBLEMS:
            break
    problems.raise_any()
    return TheoremFile(paper, tuple(theorems))


def _tables(file: FileReader) -> FileTables:
    """Return the file as data models."""
    if _depth(file.text) > DEEPEST_KEY:
        raise InputError(
            f"{file.name} nests keys and lists more than {DEEPEST_KEY} deep: write them"
            " flatter"
        )
    try:
        document = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as wrong:
        raise InputError(f"{file.name} is not TOML: {wrong}") from None
    except (RecursionError, ValueError) as wrong:
        raise InputError(f"{file.name} is not TOML: {type(wrong).__name__}") from None
    version = document.get("format")
    if isinstance(version, bool) or version != THEOREM_FILE_FORMAT:
        file.stop(
            ("format",),
            f"format = {version!r:.40} must be {THEOREM_FILE_FORMAT}, the version of"
            " the format of"
            " theorem files; pass an experiment file as --config FILE",
        )
    try:
        return FileTables.model_validate(document)
    except ValidationError as wrong:
        problems = Problems()
        for found in field_problems(wrong, FileTables, document):
            problems.add(file.problem(found.path, found.reason))
        problems.raise_any()
        raise  # pydantic reports at least one problem


def _depth(text: str) -> int:
    """Return an upper bound of how deep the keys and the lists of a TOML text are.

    It is checked before parsing, as the parser has no limit of its own.
    """
    bare = _QUOTED.sub("", text)
    deepest = max(line.count(".") for line in bare.split("\n"))
    opened = 0
    for character in re.findall(r"[\[\]{}]", bare):
        opened += 1 if character in "[{" else -1
        deepest = max(deepest, opened)
    return deepest


def with_parents(theorems: tuple[Theorem, ...]) -> tuple[Theorem, ...]:
    """Return the statements of a file, with parents in the file as objects.

    A parent that is not in the file stays a pair of key and variant, and so do those of
    statements that are derived from each other in a circle.
    """
    by_name = {(theorem.key, theorem.variant): theorem for theorem in theorems}
    parents = {
        name: t.of
        for name, t in by_name.items()
        if isinstance(t.of, tuple) and t.of in by_name
    }
    linked: dict[tuple[str, str], Theorem] = {}
    for name in by_name:
        ancestry = [name]
        while ancestry[-1] in parents and parents[ancestry[-1]] not in ancestry:
            ancestry.append(parents[ancestry[-1]])
        if ancestry[-1] in parents:  # a circle
            continue
        for theorem_name in reversed(ancestry):
            known = (
                linked.get(parents[theorem_name]) if theorem_name in parents else None
            )
            linked.setdefault(
                theorem_name,
                by_name[theorem_name]
                if known is None
                else replace(by_name[theorem_name], of=known),
            )
    return tuple(linked.get(name, theorem) for name, theorem in by_name.items())


__all__ = [
    "TheoremFile",
    "read_theorem_file",
    "read_theorems",
    "theorem_file_template",
    "with_parents",
]
