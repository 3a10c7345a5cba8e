"""What a command says: text for people, or one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dfltheory.errors import LARGEST_WHOLE, InputError
from dfltheory.files import json_text

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": False}
"""Of a command whose --set takes several NAME=VALUE at once."""
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
Variant = Annotated[
    str | None, typer.Option(help="printed, appendix, corrected, ...; without it the first that there is.")
]
Values = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE...", help="Values, by the glossary's names."),
]
Change = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="FIELD=VALUE", help="A field of the document, as run.rounds=10; repeatable."
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Allow the file to name code by MODULE:NAME or FILE.py:NAME; it is imported, and so it runs.",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Run although arguments or code differ from those that the file or checkpoint records.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npz", help="Your own examples: X, y and how the clients share them; replaces --task."
    ),
]
TaskOptions = Annotated[
    list[str] | None,
    typer.Option("--task-option", help="NAME=VALUE of the task, as alpha=0.3 or zeta=0.5; repeatable."),
]


def emit(document: Mapping[str, Any], text: str | Callable[[], None], as_json: bool) -> None:
    """Print ``document`` as JSON when asked, else ``text`` (a string, or a function that prints)."""
    if as_json:
        sys.stdout.write(json_text(document) + "\n")
    elif callable(text):
        text()
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")


def leave(ok: bool) -> None:
    """Exit status 1 where a check has failed."""
    if not ok:
        raise typer.Exit(1)


def console(width: int) -> Any:
    """The terminal; a pipe has no width of its own, and 80 columns would fold every cell."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def assignments(items: list[str] | None) -> dict[str, Any]:
    """["K=5", "eta=0.1"] -> {"K": 5, "eta": 0.1}: integers where written so, else floats, else text."""
    values: dict[str, Any] = {}
    names = [item.partition("=")[0].strip() for item in items or []]
    for item in items or []:
        name, sign, text = item.partition("=")
        if not sign or not name.strip() or not text.strip():
            raise InputError(f"{item!r} is not of the form NAME=VALUE, as in K=5")
        if name.strip() in values:
            raise InputError(f"{name.strip()} is given {names.count(name.strip())} times: give it once")
        values[name.strip()] = number(text.strip())
    return values


def values_of(context: Any, given: list[str] | None) -> dict[str, Any]:
    """What ``--set`` says, with the further NAME=VALUE behind it."""
    if files := [word for word in context.args if Path(word).suffix.lower() in (".toml", ".json")]:
        takes = any(parameter.name == "config" for parameter in context.command.params)
        one = f"one experiment is given as --config {files[0]}, " if takes else ""
        raise InputError(
            f"{files[0]} is not NAME=VALUE: {one}a grid with [sweep] to `dfltheory sweep {files[0]}`"
        )
    return assignments([*(given or []), *context.args])


def on_the_line(context: Any, name: str) -> bool:
    """Was the parameter given on the command line (and not left at its default)?"""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_picture(path: Path, option: str = "--plot") -> None:
    """Refuse, before any work is done, a picture that cannot be drawn to ``path``."""
    from dfltheory.files import check_writable

    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{option} {path}: pictures are drawn to .png, .pdf or .svg files")
    check_writable(path)


def changes(
    context: Any, fields: Mapping[str, str], task: list[str] | None, further: Mapping[str, Any]
) -> dict[str, Any]:
    """Dotted field -> value of all that is given on the line, each once: options of their own (``fields``:
    option -> its field), ``--task-option``, and ``further`` ones by NAME=VALUE."""
    own = {fields[n]: context.params[n] for n in fields if on_the_line(context, n)}
    found = {f: str(v) if isinstance(v, Path) else v for f, v in own.items()}
    if "task.data" in found:
        config = context.params["config"]
        found["task.data"] = beside(own["task.data"], Path() if config is None else config.parent)
        found = {"task.name": "npz", **found}
    for more in ({f"task.{name}": value for name, value in assignments(task).items()}, further):
        for name in sorted(set(found) & set(more)):
            one, other = found[name], more[name]
            raise InputError(
                f"{name} is given twice, as {one} by its own option and as {other}: give it once"
            )
        found |= more
    return found


def first_task(name: str, **values: Any) -> dict[str, Any]:
    """A task with those of the values that it takes, and does not know better (default: None) by itself."""
    from dfltheory.training.document import options_of

    known = options_of("task", name)
    return {"name": name} | {n: v for n, v in values.items() if n in known and known[n].default is not None}


def beside(path: Path, folder: Path) -> str:
    """A path of the command line in a document of ``folder``, where relative ones begin elsewhere."""
    return str(path if folder == Path() else path.resolve())


def network_field(text: str, folder: Path) -> tuple[str, str]:
    """The field and value that --topology means, a matrix's file or a name, in a document of ``folder``."""
    from dfltheory.graphs.files import SUFFIXES

    if Path(text).suffix.lower() in SUFFIXES:
        return "topology.file", beside(Path(text), folder)
    if "," in text:
        from dfltheory.graphs import TOPOLOGIES
        from dfltheory.training.setup import networks  # torch: for nothing, where the name is right

        sequences = ", ".join(name for name in networks() if name not in TOPOLOGIES)
        raise InputError(
            f"--topology {text}: give one name; a sequence, with a network for each round, has its own: "
            f"{sequences}"
        )
    return "topology.name", text


def number(text: str) -> Any:
    """An integer, a float, a truth value, or the text itself."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if value != value or (isinstance(value, int) and abs(value) > LARGEST_WHOLE):
            raise InputError(f"{text} is {'not a number' if value != value else 'too large for 64 bits'}")
        return value
    return {"true": True, "false": False}.get(text.lower(), text)
