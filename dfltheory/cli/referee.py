"""``dfltheory referee``: one page on a statement, for a program committee."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dfltheory.cli.output import (
    AsJson,
    TrustOption,
    Variant,
    emit,
    exit_unless,
    on_the_line,
)
from dfltheory.errors import InputError


def referee(
    context: typer.Context,
    key: Annotated[
        str,
        typer.Argument(
            help="KEY or KEY:VARIANT of the registry, FILE.toml or FILE.py:NAME."
        ),
    ],
    variant: Variant = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page. Default: referee-KEY-VARIANT.html in this folder."
        ),
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
    seconds: Annotated[
        float,
        typer.Option(
            help=(
                "Time budget of each search: of the statement, and of each negative"
                " control."
            )
        ),
    ] = 20.0,
    candidates: Annotated[
        int | None,
        typer.Option(
            help=(
                "Budget of each search as a number of candidate problems instead of"
                " seconds; the search is then the same on any machine."
            )
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the searches.")] = 0,
    claim: Annotated[
        Path | None,
        typer.Option(help="The JSON file. Default: claim.json next to the page."),
    ] = None,
    trust: TrustOption = False,
    json: AsJson = False,
) -> None:
    """Examine one statement and write a self-contained page and claim.json.

    The report contains the findings of the audit, a search for a counterexample,
    negative controls (is the statement with a smaller bound refuted by the same
    search?), verdicts on three standard problems, the corrected variant, and where the
    bound is nonvacuous. The outcome is REFUTED, NOT REFUTED SO FAR or NOT APPLICABLE,
    along with what was and was not examined.

    Exit status 1 if the statement is refuted or the audit reports an error.

    Examples:

        dfltheory referee mine.toml --out page.html

        dfltheory referee dfedsam.theorem_4_5 --seconds 60

        dfltheory referee my_theorems.py:mine --out mine.html

        dfltheory referee my_theorems.py:mine --counterexample
        counterexample-mine.theorem_1-draft.json
    """
    from dfltheory.bounds.reference import load
    from dfltheory.experiments.claim_report import Budget
    from dfltheory.experiments.referee import write_page

    if candidates is not None and on_the_line(context, "seconds"):
        raise InputError(
            "--seconds and --candidates are alternative budgets: omit one of them"
        )
    budget = Budget(seconds, candidates, seed)
    theorem = load(key, variant, trust=trust)
    file = out or Path(f"referee-{theorem.key}-{theorem.variant}.html")
    chosen = "" if variant is None else f" --variant {variant}"
    command = f"dfltheory referee {shlex.quote(key)}{chosen} {budget.words}"
    if trust:
        command += " --trust"
    if counterexample is not None:
        command += f" --counterexample {shlex.quote(str(counterexample))}"
    written = write_page(
        theorem,
        file,
        command,
        counterexample,
        partial(print, file=sys.stderr, flush=True),
        key,
        budget=budget,
        claim=claim,
    )
    document = {
        "key": theorem.key,
        "variant": theorem.variant,
        "outcome": written.outcome,
        "page": written.page,
        "claim": written.claim,
        "counterexample": written.counterexample,
    }
    lines = [f"{theorem}: {written.outcome}", f"page: {written.page}"]
    lines.append(f"claim: {written.claim}")
    if written.counterexample is not None:
        lines.append(f"counterexample: {written.counterexample}")
    emit(document, "\n".join(lines), json)
    exit_unless(written.outcome != "REFUTED" and not written.errors)
