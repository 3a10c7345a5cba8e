"""Fields of experiment files, documented from the code that checks them: ``dfltheory sweep --fields``."""

from __future__ import annotations

import inspect
import re
from typing import Any

from dfltheory.experiments.config.plan import ALL, TOP_LEVEL
from dfltheory.markdown import table
from dfltheory.training.document import REQUIRED, Field, builder, names_of, options_of

SWEEP_HELP = (
    "Lists of values over dotted fields; the cells are all combinations. A name with commas moves fields "
    "together, and the name of a whole section takes tables, which are laid over the section."
)


def field_documents() -> list[dict[str, Any]]:
    """Each field: ``section``, ``field``, ``type``, ``default`` (``None``: none), ``required``, ``help``."""
    found = [_entry("", name, Field("text in quotes", bool, None, help)) for name, help in TOP_LEVEL.items()]
    for title, section in ALL.items():
        found += [_entry(title, name, about) for name, about in section.fields.items()]
        if section.open:
            found += [
                _entry(title, option, about) | {"name": name, "help": meaning(title, name)}
                for name in names_of(title)
                for option, about in options_of(title, name).items()
            ]
    return found


def _entry(section: str, name: str, about: Field) -> dict[str, Any]:
    required = about.default is REQUIRED
    return {
        "section": section,
        "field": name,
        "type": about.words,
        "default": None if required else about.default,
        "required": required,
        "help": about.help,
    }


_BLOCK = "Parameters\n----------\n"


def meaning(section: str, name: str) -> str:
    """What the docstring of a task, topology or algorithm says of its options, in one line of Markdown."""
    text = inspect.getdoc(builder(section, name)) or ""
    if section == "task" and _BLOCK in text:
        block = text.partition(_BLOCK)[2].partition("\n\n")[0]
        entries = re.sub(r"\n +", " ", block).split("\n")
        text = "; ".join(re.sub(r"^([\w, ]+) :", lambda m: f"`{m[1].strip()}`:", line) for line in entries)
    elif section == "algorithm":
        text = text.partition("Parameters:")[2].partition("Source:")[0]
    text = re.sub(r":\w+:`~?\.?([\w.]+)`", r"`\1`", text)  # Sphinx's roles
    return " ".join(text.replace("``", "`").replace("|", "\\|").replace("*", "\\*").split())


def fields_page() -> str:
    """The fields as Markdown tables, section by section."""
    parts = ["### Above the first section"]
    parts.append(table(["field", "meaning"], [(f"`{name}`", help) for name, help in TOP_LEVEL.items()]))
    for title, section in ALL.items():
        rows = [
            (f"`{name}`", f.words, "required" if f.default is REQUIRED else _shown(f.default), f.help)
            for name, f in section.fields.items()
        ]
        parts += [f"### `[{title}]`", section.help]
        parts.append(table(["field", "must be", "default", "meaning"], rows))
        if section.open:
            alike: dict[tuple[str, str], list[str]] = {}
            for name in names_of(title):
                alike.setdefault((_keys(title, name), meaning(title, name)), []).append(f"`{name}`")
            heads = ["name", "further keys, with their defaults", "meaning"]
            parts.append(table(heads, [(", ".join(names), *row) for row, names in alike.items()]))
    return "\n\n".join([*parts, "### `[sweep]`", SWEEP_HELP])


def _keys(section: str, name: str) -> str:
    keys = [
        f"`{option}` (required)" if o.default is REQUIRED else f"`{option}` {_shown(o.default)}".rstrip()
        for option, o in options_of(section, name).items()
    ]
    return ", ".join(keys) or "none"


def _shown(default: Any) -> str:
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default).removeprefix("torch.")
