"""Tables of the package's theorem files, without the slow data models.

A test compares the defaults with those of the models and reads every file of the
package with both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

DEFAULTS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "file": {"source": {}, "quantities": {}},
        "source": {"title": "", "citation": "", "provenance": "", "notation": {}},
        "quantity": {
            "unit": "1",
            "range": "[0, inf)",
            "integer": False,
            "neutral": None,
            "step": False,
            "latex": "",
            "meaning": "",
            "of": None,
            "point": "",
        },
        "scope": {
            "hyperparameters": {},
            "sequence": ["fixed"],
            "participation": "full",
            "bounded_gradients": False,
            "noise": "clients",
            "push_sum": "computed",
            "blocks": 1,
        },
        "left": {
            "at": "mean model",
            "over": "rounds",
            "first": "0",
            "last": "T - 1",
            "start": "0",
            "parts": None,
            "unit": None,
            "latex": "",
            "words": "",
            "constants": [],
        },
        "definition": {"latex": "", "meaning": "", "sign": None, "function": None},
        "step": {"name": "", "from_": [], "by": "algebra"},
        "statement": {
            "variant": "stated",
            "order": None,
            "control": False,
            "of": None,
            "assumptions": [],
            "remark": "",
            "notation": None,
            "definitions": {},
            "conditions": {},
            "schedule": {},
            "moments": {},
            "steps": [],
        },
    }
)
"""Values of the keys that a table may lack, by the kind of table."""


def plain_table(kind: str, values: Mapping[str, object]) -> SimpleNamespace:
    """Return a table with its values and defaults as attributes."""
    fields = dict(DEFAULTS[kind])
    for name, value in values.items():
        field = name.replace("from", "from_") if kind == "step" else name
        fields[field] = value
    return SimpleNamespace(**fields)


def plain_file(document: Mapping[str, object]) -> SimpleNamespace:
    """Return a theorem file of the package as tables."""
    file = plain_table("file", document)
    file.source = plain_table("source", file.source)
    file.quantities = {
        name: plain_table("quantity", table) for name, table in file.quantities.items()
    }
    file.statement = [_statement(table) for table in file.statement]
    return file


def _statement(values: Mapping[str, object]) -> SimpleNamespace:
    table = plain_table("statement", values)
    table.scope = plain_table("scope", table.scope)
    table.left = plain_table("left", table.left)
    table.steps = [plain_table("step", step) for step in table.steps]
    definitions = dict(table.definitions)
    for name, entry in definitions.items():
        if not isinstance(entry, str):
            definitions[name] = plain_table("definition", entry)
    table.definitions = definitions
    return table


__all__ = ["DEFAULTS", "plain_file", "plain_table"]
