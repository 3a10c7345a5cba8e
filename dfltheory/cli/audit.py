"""``dfltheory audit``: what generic checks find wrong with a theorem."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dfltheory.cli.output import AsJson, Trust, emit, leave
from dfltheory.errors import InputError


def audit(
    key: Annotated[
        str | None,
        typer.Argument(
            help=(
                "A statement of the registry, a paper (dfedsam), FILE.toml or"
                " FILE.py:NAME."
            )
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Audit the whole registry.")
    ] = False,
    variant: Annotated[
        str | None, typer.Option(help="One variant only (printed, corrected, ...).")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(help="One check only; may be given several times."),
    ] = None,
    notes: Annotated[
        bool, typer.Option(help="Print notes as well as errors and warnings.")
    ] = True,
    trust: Trust = False,
    json: AsJson = False,
) -> None:
    """Audit a theorem: units, limits, monotonicity, agreement of variants, corollaries,
    conditions.

    Exit status 1 when a finding is an error.

    Examples:

        dfltheory audit dfedsam.theorem_4_5

        dfltheory audit dfedadmm --check corollary --no-notes

        dfltheory audit dfedsam.theorem_4_5 --variant corrected

        dfltheory audit --all --json

        dfltheory audit mine.toml

        dfltheory audit my_theorems.py:mine
    """
    from dfltheory.checks.run import audit as find

    if (key is None) == (not every):
        raise InputError(
            "name a statement (as dfedsam.theorem_4_5), a paper (as dfedsam), or say"
            " --all"
        )
    findings = find(key, variant, tuple(check or ()), trust=trust)
    counts = {
        s: sum(f.severity == s for f in findings) for s in ("error", "warning", "note")
    }
    document: dict[str, Any] = {
        "counts": counts,
        "findings": [f.as_dict() for f in findings],
    }
    shown = [f for f in findings if notes or f.severity != "note"]
    summary = (
        f"{counts['error']} errors, {counts['warning']} warnings, {counts['note']}"
        " notes"
    )
    text = "\n".join([*(str(f) for f in shown), summary])
    emit(document, text, json)
    leave(not counts["error"])
