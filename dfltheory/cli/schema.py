"""``dfltheory schema``: the JSON schema of a kind of file."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from dfltheory.files import json_text


class FileKind(StrEnum):
    """Kinds of files with a schema."""

    theorem = "theorem"


def schema(
    kind: Annotated[FileKind, typer.Argument(help="Which kind of file.")],
) -> None:
    """Print the JSON schema of theorem files, for editors and other programs.

    Examples:

        dfltheory schema theorem
    """
    from dfltheory.bounds.theorem_models import theorem_schema

    documents = {FileKind.theorem: theorem_schema}
    sys.stdout.write(json_text(documents[kind]()) + "\n")
