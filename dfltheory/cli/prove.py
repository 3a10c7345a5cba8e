"""``dfltheory prove``: check a proof script, and write the proof as flat text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.output import AsJson, TrustOption, emit, exit_unless
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.proofs.script import Corollary, Script

    Proof = Script | Corollary


def prove(
    key: Annotated[
        str,
        typer.Argument(
            help=(
                "KEY or KEY:VARIANT of the registry, or a theorem file: FILE.toml, or"
                " with the KEY of one of its statements after another colon."
            )
        ),
    ],
    script: Annotated[
        str,
        typer.Option(
            help=(
                "MODULE:NAME or FILE.py:NAME of the proof script, or of a list of"
                " scripts. It is imported and thus executed."
            )
        ),
    ],
    export: Annotated[
        Path | None,
        typer.Option(help="A file to write the proof to, for the second checker."),
    ] = None,
    trust: TrustOption = False,
    json: AsJson = False,
) -> None:
    """Check the proof of a statement by the rules of the kernel.

    ``--export`` writes a proof that ``validation/proof_checker/check_proof.py`` checks
    without this package.

    Exit status 1 if the statement is not proved.

    Examples:

        dfltheory prove dfedsam.theorem_4_5:corrected --script
        validation/papers/dfedsam/proof.py:SCRIPTS --export proof.txt
    """
    from dfltheory.bounds.reference import load
    from dfltheory.own import own
    from dfltheory.proofs.comparison import check
    from dfltheory.proofs.script import Corollary, Script

    theorem = load(key, trust=trust)
    proofs = own(script)
    scripts = [proofs] if isinstance(proofs, (Script, Corollary)) else list(proofs)
    by_claim: dict[str, Proof] = {proof.claim: proof for proof in scripts}
    claim = f"{theorem.key}:{theorem.variant}"
    if claim not in by_claim:
        raise InputError(
            f"{script} has no proof of {claim}; it proves {', '.join(by_claim)}"
        )
    answer = check(theorem, by_claim[claim], by_claim)
    if export is not None and answer.proved:
        export.write_text(_flat(theorem, by_claim[claim], by_claim), encoding="utf-8")
    document = {
        "claim": claim,
        "proved": answer.proved,
        "missing": list(answer.missing),
        "assumptions": list(answer.assumptions),
        "unused": list(answer.unused),
        "rules": [rule.name for rule in answer.rules],
        "export": None if export is None or not answer.proved else str(export),
    }
    emit(document, str(answer), json)
    exit_unless(answer.proved)


def _flat(theorem: Theorem, script: Proof, others: Mapping[str, Proof]) -> str:
    """Return the proof as flat text, including that of a corollary's parent."""
    from dfltheory.bounds.reference import load
    from dfltheory.proofs.flat_text import flat_proof
    from dfltheory.proofs.script import Corollary

    if not isinstance(script, Corollary):
        return flat_proof(theorem, script)
    source = others[script.of]
    if isinstance(source, Corollary):
        raise InputError(
            f"{script.claim} follows from the corollary {script.of}: only corollaries"
            " of theorems can be exported"
        )
    parent = load(script.of)
    return flat_proof(theorem, script, (parent, source))
