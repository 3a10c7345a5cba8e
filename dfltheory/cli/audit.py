"""``dfltheory audit``: generic checks of a theorem."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.output import AsJson, TrustOption, emit, exit_unless
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def audit(
    key: Annotated[
        str | None,
        typer.Argument(
            help=(
                "KEY or KEY:VARIANT of the registry, a paper (dfedsam), FILE.toml or"
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
    search: Annotated[
        bool,
        typer.Option(
            help=(
                "Search 5 s for a counterexample to each statement of a theorem file or"
                " of your own code."
            )
        ),
    ] = True,
    trust: TrustOption = False,
    json: AsJson = False,
) -> None:
    """Audit a theorem.

    The checks cover units, limits, floors, monotonicity, agreement of variants,
    corollaries and conditions.

    Statements of a theorem file or of FILE.py:NAME are also searched for
    counterexamples for 5 s, unless --check is given. Registered statements have stored
    searches (dfltheory falsify --show). Exit status 1 if a finding is an error.

    Examples:

        dfltheory audit dfedsam.theorem_4_5

        dfltheory audit dfedadmm --check corollary --no-notes

        dfltheory audit dfedsam.theorem_4_5 --variant corrected

        dfltheory audit --all --json

        dfltheory audit mine.toml

        dfltheory audit mine.toml --no-search

        dfltheory audit my_theorems.py:mine
    """
    from dfltheory.checks.run import audit as find
    from dfltheory.cli.audit_search import left_open, searched

    if (key is None) == (not every):
        raise InputError(
            "pass a statement (such as dfedsam.theorem_4_5), a paper (such as dfedsam)"
            " or --all, and only one of them"
        )
    findings = find(key, variant, tuple(check or ()), trust=trust)
    if key is not None and not check:
        unregistered = _unregistered(key, variant, trust)
        findings += [
            note for theorem in unregistered for note in left_open(theorem, key)
        ]
        if search:
            findings += [searched(theorem, key) for theorem in unregistered]
    severities = Counter(finding.severity for finding in findings)
    counts = {name: severities[name] for name in ("error", "warning", "note")}
    document = {"counts": counts, "findings": [f.as_dict() for f in findings]}
    shown = [f for f in findings if notes or f.severity != "note"]
    summary = ", ".join(
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity, count in counts.items()
    )
    text = "\n".join([*(str(f) for f in shown), summary])
    emit(document, text, json)
    exit_unless(not counts["error"])


def _unregistered(key: str, variant: str | None, trust: bool) -> list[Theorem]:
    """Return those statements of a key, paper or file that are not registered."""
    from dfltheory.bounds import registry
    from dfltheory.bounds.reference import load_all

    if key in registry.papers():
        return []
    chosen = None if variant is None else (variant,)
    return [
        theorem
        for theorem in load_all(key, chosen, trust=trust)
        if not registry.known(theorem.key, theorem.variant)
    ]
