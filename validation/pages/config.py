"""Generate the list of fields in docs/experiment-files.md.

After a change of options or docstrings, ``python -m validation.pages.config
docs/experiment-files.md`` updates the list below the page's mark.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfltheory.errors import InputError
from dfltheory.experiments.schema import FILE_SECTIONS, Outline
from dfltheory.files import write_text
from dfltheory.markdown import table
from dfltheory.training.document import NAMED_SECTIONS, section_model
from dfltheory.training.options import builder, section_names

Schema = Mapping[str, Any]
"""The JSON schema of a section or a field."""
MARK = "<!-- below: written by validation/pages/config.py -->"
"""The line above the generated part of the page."""
_PARAMETERS = "Parameters\n----------\n"


def renew(page: Path) -> None:
    """Write the fields below the mark of a page.

    Raises
    ------
    InputError
        If the page has no mark.
    """
    written, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise InputError(f"{page} has no line {MARK}")
    write_text(page, f"{written}{MARK}\n\n{fields_page()}\n")


def fields_page() -> str:
    """Return the fields as Markdown tables, section by section."""
    outline = Outline.model_json_schema()["properties"]
    title = [("`title`", outline["title"]["description"])]
    parts = ["### Above the first section", table(["field", "meaning"], title)]
    for section in FILE_SECTIONS:
        parts += _section(section)
    return "\n\n".join([*parts, "### `[sweep]`", outline["sweep"]["description"]])


def _section(title: str) -> list[str]:
    """Return the heading, description and tables of one section."""
    model = FILE_SECTIONS[title]
    schema = model.model_json_schema()
    rows = [
        (
            f"`{name}`",
            words(field),
            _default(name, schema),
            field.get("description", ""),
        )
        for name, field in schema["properties"].items()
    ]
    description = " ".join((inspect.getdoc(model) or "").split())
    parts = [
        f"### `[{title}]`",
        description,
        table(["field", "must be", "default", "meaning"], rows),
    ]
    if title in NAMED_SECTIONS:
        names: dict[tuple[str, str], list[str]] = {}
        for name in section_names(title):
            names.setdefault((_keys(title, name), meaning(title, name)), []).append(
                f"`{name}`"
            )
        heads = ["name", "further keys, with their defaults", "meaning"]
        parts.append(
            table(heads, [(", ".join(group), *row) for row, group in names.items()])
        )
    return parts


def _default(name: str, schema: Schema) -> str:
    if name in schema.get("required", ()):
        return "required"
    return _shown(schema["properties"][name].get("default"))


def words(field: Schema) -> str:
    """Describe the JSON schema of a field, for instance as ``an integer >= 1``."""
    if "anyOf" in field:
        alternatives = [
            words(kind) for kind in field["anyOf"] if kind.get("type") != "null"
        ]
        return " or ".join(dict.fromkeys(alternatives))
    if "enum" in field:
        return " or ".join(f'"{value}"' for value in field["enum"])
    if field.get("type") == "array":
        return _list_in_words(field)
    names = {
        "integer": "an integer",
        "number": "a number",
        "boolean": "true or false",
        "string": "text",
    }
    names["object"] = "a table"
    limits = {
        "minimum": ">=",
        "exclusiveMinimum": ">",
        "maximum": "<=",
        "exclusiveMaximum": "<",
    }
    limit_words = [
        f"{sign} {field[limit]:g}" for limit, sign in limits.items() if limit in field
    ]
    return " ".join(
        [names.get(field.get("type", ""), "a value"), " and ".join(limit_words)]
    ).rstrip()


def _list_in_words(field: Schema) -> str:
    each = words(field.get("items", {}))
    return f"a list ({each} each)"


def meaning(section: str, name: str) -> str:
    """Return the docstring's description of a name's options, in one line."""
    text = inspect.getdoc(builder(section, name)) or ""
    if section in ("task", "algorithm") and _PARAMETERS in text:
        text = " ".join(_options(text))
    else:
        options = [
            line
            for line in _options(text)
            if not line.startswith(("`m`", "`name`", "`graph`"))
        ]
        text = " ".join([text.partition("\n\n")[0], *options])
    text = re.sub(r":\w+:`~?\.?([\w.]+)`", r"`\1`", text)  # Sphinx's roles
    return " ".join(
        text.replace("``", "`").replace("|", "\\|").replace("*", "\\*").split()
    )


def _parameter_block(docstring: str) -> str:
    """Return the text below the heading "Parameters" of a numpydoc docstring."""
    return docstring.partition(_PARAMETERS)[2].partition("\n\n")[0]


def _options(docstring: str) -> list[str]:
    """Return each parameter without its type, as "`k`: Number of neighbors."."""
    entries = re.findall(
        r"^([\w, ]+?)(?: : .*)?\n((?:    .*\n?)+)", _parameter_block(docstring), re.M
    )
    return [f"`{name}`: {description}" for name, description in entries]


def _keys(section: str, name: str) -> str:
    """Return the options of a name and their defaults, in one line."""
    schema = section_model(section, name).model_json_schema()
    section_fields = FILE_SECTIONS[section].model_fields
    keys = []
    for option, field in schema["properties"].items():
        if option in section_fields:
            continue
        required = option in schema.get("required", ()) or field.get("required")
        keys.append(
            f"`{option}` {'(required)' if required else _shown(field.get('default'))}".rstrip()
        )
    return ", ".join(keys) or "none"


def _shown(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


if __name__ == "__main__":
    renew(Path(sys.argv[1]))
