"""Options and output shared by all commands.

Output is text for people, or one JSON document for programs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfltheory.errors import LARGEST_WHOLE, InputError
from dfltheory.files import json_text

if TYPE_CHECKING:
    from rich.console import Console

AssignedValue = float | str
"""A value in NAME=VALUE: a number, a boolean or text."""
FIELD_VALUE = "FIELD=VALUE"
"""Metavar of a ``--set`` that changes fields of an experiment file."""
COMMAND_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": False}
"""Settings of commands whose --set accepts several NAME=VALUE arguments."""
AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")
]
Variant = Annotated[
    str | None,
    typer.Option(
        help="printed, appendix, corrected, ... Default: the first one of the theorem."
    ),
]
ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE...", help="Values of quantities by glossary name."
    ),
]
ChangeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar=FIELD_VALUE,
        help="A field of the experiment, such as run.rounds=10; repeatable.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        help=(
            "Allow the file to refer to code by MODULE:NAME or FILE.py:NAME, which is"
            " then imported and thus executed."
        ),
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help=(
            "Run even if arguments or code differ from those recorded in the file or"
            " checkpoint."
        ),
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npz",
        help="Your own data: X, y and the client of each example; replaces --task.",
    ),
]
TaskOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--task-option",
        help="NAME=VALUE of the task, such as alpha=0.3 or zeta=0.5; repeatable.",
    ),
]


def emit(
    document: Mapping[str, object], text: str | Callable[[], None], as_json: bool
) -> None:
    """Print ``document`` as JSON if ``as_json`` is true, and otherwise ``text``.

    The text is a string, or a function that prints.
    """
    if as_json:
        sys.stdout.write(json_text(document) + "\n")
    elif callable(text):
        text()
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")


def exit_unless(ok: bool) -> None:
    """Exit with status 1 if a check failed."""
    if not ok:
        raise typer.Exit(1)


def console(width: int) -> Console:
    """Return a console for tables.

    A pipe has no width, and the default of 80 columns would fold every cell.
    """
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def assignments(items: list[str] | None) -> dict[str, AssignedValue]:
    """Return the values of NAME=VALUE items by name.

    ["K=5", "eta=0.1"] becomes {"K": 5, "eta": 0.1}. Values are integers, floats or
    booleans if they have that form, and otherwise text.

    Raises
    ------
    InputError
        An item has another form, or a name is given twice.
    """
    values: dict[str, AssignedValue] = {}
    pairs = [item.partition("=") for item in items or []]
    names = [name.strip() for name, _, _ in pairs]
    for item, (left, sign, right) in zip(items or [], pairs, strict=True):
        name, text = left.strip(), right.strip()
        if not sign or not name or not text:
            raise InputError(f"{item!r} must have the form NAME=VALUE, such as K=5")
        if name in values:
            raise InputError(f"{name} is set {names.count(name)} times: set it once")
        values[name] = parsed_value(text)
    return values


def assigned_values(
    context: typer.Context, given: list[str] | None
) -> dict[str, AssignedValue]:
    """Return the values of ``--set`` and of further NAME=VALUE arguments.

    Raises
    ------
    InputError
        An argument is an experiment file, or is not of the form NAME=VALUE.
    """
    files = [
        word for word in context.args if Path(word).suffix.lower() in (".toml", ".json")
    ]
    if files:
        has_config = any(param.name == "config" for param in context.command.params)
        advice = f"`dfltheory sweep {files[0]}` runs a grid with [sweep]"
        if has_config:
            advice = f"pass one experiment as --config {files[0]}; {advice}"
        raise InputError(f"{files[0]} is not of the form NAME=VALUE: {advice}")
    return assignments([*(given or []), *context.args])


def on_the_line(context: typer.Context, name: str) -> bool:
    """Return whether a parameter was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_picture(path: Path, option: str = "--plot") -> None:
    """Check before any work is done that a figure can be written to ``path``."""
    from dfltheory.files import check_writable

    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(
            f"{option} {path} must be a .png, .pdf or .svg file, because it is a figure"
        )
    check_writable(path)


def changes(
    context: typer.Context,
    fields: Mapping[str, str],
    task: list[str] | None,
    further: Mapping[str, object],
) -> dict[str, Any]:
    """Return the values given on the command line, by dotted field.

    Parameters
    ----------
    context : Context
        The parsed command.
    fields : mapping
        Maps options to fields.
    task : list of str, optional
        NAME=VALUE items of ``--task-option``.
    further : mapping
        Values of ``--set`` by field.

    Raises
    ------
    InputError
        A field is given twice.
    """
    values: dict[str, Any] = {}
    for option, field in fields.items():
        if on_the_line(context, option):
            value = context.params[option]
            values[field] = str(value) if isinstance(value, Path) else value
    if "task.data" in values:
        config = context.params["config"]
        folder = Path() if config is None else config.parent
        values["task.data"] = path_from(Path(values["task.data"]), folder)
        values = {"task.name": "npz", **values}
    of_task = {f"task.{name}": value for name, value in assignments(task).items()}
    for further_values in (of_task, further):
        for field in sorted(set(values) & set(further_values)):
            raise InputError(
                f"{field} is set twice, to {values[field]} by its own option and to"
                f" {further_values[field]}: omit one of them"
            )
        values |= further_values
    return values


def first_task(name: str, **values: object) -> dict[str, object]:
    """Return the section [task] for a task, with those values that it has options for.

    Options with the default None are omitted, since the task computes their values.
    """
    from dfltheory.training.options import options_of

    known = options_of("task", name)
    taken = {
        option: value
        for option, value in values.items()
        if option in known
        and (known[option].required or known[option].default is not None)
    }
    return {"name": name, **taken}


def path_from(path: Path, folder: Path) -> str:
    """Return a path of the command line relative to ``folder``.

    Relative paths in documents are relative to the folder of the document.
    """
    return str(path if folder == Path() else path.resolve())


def network_field(text: str, folder: Path) -> tuple[str, str]:
    """Return the field and value of ``--topology`` in a document of ``folder``.

    The value is the file of a matrix, or a name.
    """
    from dfltheory.graphs.files import SUFFIXES

    if Path(text).suffix.lower() in SUFFIXES:
        return "topology.file", path_from(Path(text), folder)
    if "," in text:
        from dfltheory.graphs import TOPOLOGIES

        # imported late, because it imports torch
        from dfltheory.training.setup import network_builders

        sequences = ", ".join(
            name for name in network_builders() if name not in TOPOLOGIES
        )
        raise InputError(
            f"--topology {text} must be one name; sequences, with a network for each"
            f" round, are {sequences}"
        )
    return "topology.name", text


def parsed_value(text: str) -> AssignedValue:
    """Return text as an integer, a float or a boolean if it has that form.

    Raises
    ------
    InputError
        The text is nan, or an integer that does not fit into 64 bits.
    """
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if math.isnan(value):
            raise InputError(f"{text} is not a number: give a finite number or inf")
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            raise InputError(
                f"{text} does not fit into 64 bits: use a smaller number, or a float"
            )
        return value
    return {"true": True, "false": False}.get(text.lower(), text)
