"""``dfltheory referee``: one page on a statement, for a program committee."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dfltheory.cli.output import AsJson, Trust, Variant, emit


def referee(
    key: Annotated[
        str,
        typer.Argument(help="A statement of the registry, FILE.toml or FILE.py:NAME."),
    ],
    variant: Variant = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page to write (referee-KEY-VARIANT.html here)."),
    ] = None,
    counterexample: Annotated[
        Path | None,
        typer.Option(
            help=(
                "A counterexample that `dfltheory falsify` wrote: it is replayed and"
                " drawn."
            )
        ),
    ] = None,
    trust: Trust = False,
    json: AsJson = False,
) -> None:
    """Write a self-contained page on one statement: the verdict, the findings of the
    audit, the refutation, the corrected variant, which checks and searches ran, where
    the bound is nonvacuous.

    Examples:

        dfltheory referee dfedsam.theorem_4_5

        dfltheory referee my_theorems.py:mine --out mine.html

        dfltheory referee my_theorems.py:mine --counterexample
        counterexample-mine.theorem_1-draft.json
    """
    from dfltheory.bounds.reference import load
    from dfltheory.experiments.referee import write

    theorem = load(key, variant, trust=trust)
    file = out or Path(f"referee-{theorem.key}-{theorem.variant}.html")
    chosen = "" if variant is None else f" --variant {variant}"
    command = f"dfltheory referee {key}{chosen}"
    if counterexample is not None:
        command += f" --counterexample {counterexample}"
    page = write(
        theorem, file, command, counterexample, partial(print, file=sys.stderr), key
    )
    emit(
        {"key": theorem.key, "variant": theorem.variant, "page": page}, str(page), json
    )
