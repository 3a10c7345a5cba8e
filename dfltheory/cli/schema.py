"""``dfltheory schema``: the JSON schema of a kind of file, for editors and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from dfltheory.errors import InputError, checked_name
from dfltheory.files import json_text


def _experiment(own: Sequence[str]) -> dict[str, object]:
    """Return the schema of experiment files."""
    from dfltheory.experiments.schema import experiment_schema

    return experiment_schema(own)


def _theorem(own: Sequence[str]) -> dict[str, object]:
    """Return the schema of theorem files."""
    from dfltheory.bounds.theorem_models import theorem_schema

    return theorem_schema()


def _claim(own: Sequence[str]) -> dict[str, object]:
    """Return the schema of ``claim.json``."""
    from dfltheory.experiments.claim_document import claim_schema

    return claim_schema()


SCHEMAS = {"claim": _claim, "experiment": _experiment, "theorem": _theorem}
"""For each kind of file, the function that returns its JSON schema.

Its argument contains references to the user's own algorithms and tasks.
"""


def schema(
    kind: Annotated[
        str, typer.Argument(help="Kind of file: " + ", ".join(SCHEMAS) + ".")
    ],
    own: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME",
            help=(
                "An algorithm or a task of your own whose options the schema of"
                " experiment files restricts; FILE.py:NAME for one in a file. Its code"
                " is run."
            ),
        ),
    ] = None,
) -> None:
    """Print the JSON schema of a kind of file: its fields, their types and ranges.

    Editors can use it to complete and check TOML and JSON files.

    Examples:

        dfltheory schema experiment > experiment.schema.json

        dfltheory schema experiment --own mine.py:Lazy

        dfltheory schema theorem > theorem.schema.json
    """
    checked_name("kind of file", kind, SCHEMAS)
    if own and kind != "experiment":
        raise InputError(
            f"--own applies to the schema of an experiment, not of a {kind}: omit it"
        )
    print(json_text(SCHEMAS[kind](own or [])))
