"""``dfltheory schema``: the JSON schema of a kind of file, for editors and programs."""

from __future__ import annotations

from typing import Annotated

import typer

from dfltheory.errors import one_of
from dfltheory.files import json_text


def _experiment() -> dict[str, object]:
    from dfltheory.experiments.schema import experiment_schema

    return experiment_schema()


def _theorem() -> dict[str, object]:
    from dfltheory.bounds.theorem_models import theorem_schema

    return theorem_schema()


def _claim() -> dict[str, object]:
    from dfltheory.experiments.claim_document import claim_schema

    return claim_schema()


SCHEMAS = {"claim": _claim, "experiment": _experiment, "theorem": _theorem}
"""Functions that return the JSON schema of a kind of file."""


def schema(
    kind: Annotated[
        str, typer.Argument(help="Kind of file: " + ", ".join(SCHEMAS) + ".")
    ],
) -> None:
    """Print the JSON schema of a kind of file: its fields, their types and ranges.

    Editors can use it to complete and check TOML and JSON files.

    Examples:

        dfltheory schema experiment > experiment.schema.json

        dfltheory schema theorem > theorem.schema.json
    """
    one_of("kind of file", kind, SCHEMAS)
    print(json_text(SCHEMAS[kind]()))
