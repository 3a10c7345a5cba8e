"""Every field of an experiment file, documented from the code that checks it.

``docs/experiment-files.md`` holds this text below a mark, and a test compares them. After a change of options
or docstrings, ``python -m dfltheory.analysis.config.page docs/experiment-files.md`` writes it anew.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from dfltheory.analysis.config.options import REQUIRED, builder, names_of, options_of
from dfltheory.analysis.config.sections import SECTIONS, TOP_LEVEL, Rule
from dfltheory.errors import InputError
from dfltheory.files import write_text

SWEEP_HELP = (
    "Lists of values over dotted fields; the cells are all combinations. A name with commas moves fields "
    "together, and the name of a whole section takes tables, which are laid over the section."
)


def field_documents() -> list[dict[str, Any]]:
    """Each field: ``section``, ``field``, ``type``, ``default`` (``None``: none), ``required``, ``help``."""
    found = [
        {
            "section": "",
            "field": name,
            "type": "text in quotes",
            "default": None,
            "required": False,
            "help": help,
        }
        for name, help in TOP_LEVEL.items()
    ]
    for section in SECTIONS:
        for f in fields(section):
            if f.name == "options":
                continue
            rule: Rule = f.metadata["rule"]
            required = f.default is MISSING and f.default_factory is MISSING
            found.append(
                {
                    "section": section.title,
                    "field": f.name,
                    "type": rule.words,
                    "default": None if f.default is MISSING else f.default,
                    "required": required,
                    "help": f.metadata["help"],
                }
            )
        if section.open:
            found += [
                {"section": section.title, "name": name, "help": meaning(section.title, name), **option}
                for name in names_of(section.title)
                for option in _option_documents(section.title, name)
            ]
    return found


def _option_documents(section: str, name: str) -> list[dict[str, Any]]:
    return [
        {
            "field": option,
            "type": about.type_words,
            "default": None if about.default is REQUIRED else about.default,
            "required": about.default is REQUIRED,
        }
        for option, about in options_of(section, name).items()
    ]


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
    lines = ["### Above the first section", "", *_table(["field", "meaning"])]
    lines += [f"| `{name}` | {help} |" for name, help in TOP_LEVEL.items()]
    for section in SECTIONS:
        lines += ["", f"### `[{section.title}]`", "", section.help, ""]
        lines += _table(["field", "must be", "default", "meaning"])
        for entry in field_documents():
            if entry["section"] == section.title and "name" not in entry:
                default = "required" if entry["required"] else _shown(entry["default"])
                lines.append(f"| `{entry['field']}` | {entry['type']} | {default} | {entry['help']} |")
        if section.open:
            lines += ["", *_table(["name", "further keys, with their defaults", "meaning"])]
            alike: dict[str, list[str]] = {}
            for name in names_of(section.title):
                row = f"{_keys(section.title, name)} | {meaning(section.title, name)}"
                alike.setdefault(row, []).append(f"`{name}`")
            lines += [f"| {', '.join(names)} | {row} |" for row, names in alike.items()]
    lines += ["", "### `[sweep]`", "", SWEEP_HELP]
    return "\n".join(lines)


def _keys(section: str, name: str) -> str:
    keys = [
        f"`{e['field']}` (required)" if e["required"] else f"`{e['field']}` {_shown(e['default'])}".rstrip()
        for e in _option_documents(section, name)
    ]
    return ", ".join(keys) or "none"


def _shown(default: Any) -> str:
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default).removeprefix("torch.")


def _table(headings: list[str]) -> list[str]:
    return ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]


MARK = "<!-- below: `dfltheory sweep --fields` -->"
"""What stands above the generated part of the page."""


def renew(page: Path) -> None:
    """Write the fields anew below the mark of a page."""
    written, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise InputError(f"{page} has no line {MARK}")
    write_text(page, f"{written}{MARK}\n\n{fields_page()}\n")


if __name__ == "__main__":
    renew(Path(sys.argv[1]))


__all__ = ["MARK", "field_documents", "fields_page", "meaning", "renew"]
