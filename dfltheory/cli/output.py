"""What a command says: text for people, or one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from dfltheory.files import json_text


def emit(document: Mapping[str, Any], text: str | Callable[[], None], as_json: bool) -> None:
    """Print ``document`` as JSON when asked, else ``text`` (a string, or a function that prints)."""
    if as_json:
        sys.stdout.write(json_text(document) + "\n")
    elif callable(text):
        text()
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")


def assignments(items: list[str] | None) -> dict[str, Any]:
    """["K=5", "eta=0.1"] -> {"K": 5, "eta": 0.1}: integers where written so, else floats, else text."""
    from dfltheory.errors import InputError

    values: dict[str, Any] = {}
    for item in items or []:
        name, sign, text = item.partition("=")
        if not sign or not name.strip() or not text.strip():
            raise InputError(f"{item!r} is not of the form NAME=VALUE, as in K=5")
        values[name.strip()] = number(text.strip())
    return values


def file_alone(context: Any, beside: set[str]) -> None:
    """Refuse options that an experiment file decides: two sources of one value would be a riddle."""
    from dfltheory.errors import InputError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in beside:
            word = parameter.opts[-1] if parameter.opts else parameter.name
            raise InputError(
                f"{word} is for the experiment file to say: take it out, or use --set FIELD=VALUE"
            )


def number(text: str) -> Any:
    """An integer, a float, a truth value, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
