"""What a command says: text for people, or one JSON document for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any


def emit(document: Mapping[str, Any], text: str | Callable[[], None], as_json: bool) -> None:
    """Print ``document`` as JSON when asked, else ``text`` (a string, or a function that prints)."""
    if as_json:
        sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
    elif callable(text):
        text()
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")


def plain(value: Any) -> Any:
    """The value in JSON's own types. JSON knows no infinity and no nan: they become the strings
    "Infinity", "-Infinity" and "NaN", which ``float`` reads back."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy and torch, scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def assignments(items: list[str] | None) -> dict[str, Any]:
    """["K=5", "eta=0.1"] -> {"K": 5, "eta": 0.1}: integers where they are written so, else floats, else text."""
    from dfltheory.errors import InputError

    values: dict[str, Any] = {}
    for item in items or []:
        name, sign, text = item.partition("=")
        if not sign or not name.strip() or not text.strip():
            raise InputError(f"{item!r} is not of the form NAME=VALUE, as in K=5")
        values[name.strip()] = number(text.strip())
    return values


def number(text: str) -> Any:
    """An integer, a float, a truth value, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
