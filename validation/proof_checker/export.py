"""Writes the proofs of the main corrections as flat text, into ``proofs/``.

``python -m validation.proof_checker.export [CLAIM ...]`` runs their scripts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dfltheory.bounds import registry
from dfltheory.proofs.flat_text import flat_proof
from dfltheory.proofs.script import Corollary, Script
from validation.papers import scripts

FOLDER = Path(__file__).parent / "proofs"
CLAIMS = (
    "dfedsam.theorem_4_5:corrected",
    "dfedsam.corollary_4_6:corrected",
    "dfedsam.corollary_4_8:corrected",
    "dfedadmm.theorem_1:corrected",
    "dfedmdc.theorem_1:corrected",
    "dfedmdc.theorem_2:corrected",
    "dfedsgpsm.theorem_1:corrected",
    "dfedsgpsm.corollary_1:corrected",
)
"""The main corrections, without ``dfedadmm.corollary_1``: its last inequality needs
powers of 1 - 1/K, and the format has no proofs by cases of K.
"""


def file_of(claim: str) -> Path:
    """Where the proof of a claim is saved."""
    return FOLDER / f"{claim.replace(':', '-')}.txt"


def proof_text(claim: str) -> str:
    """Return the proof of a claim, of which there is a script, as flat text."""
    script = scripts()[claim]
    parent = None
    if isinstance(script, Corollary):
        source = scripts()[script.of]
        assert isinstance(source, Script)
        parent = (registry.get(*script.of.split(":")), source)
    return flat_proof(registry.get(*claim.split(":")), script, parent)


def main(arguments: list[str]) -> int:
    """Write the proofs of the given claims, or all."""
    FOLDER.mkdir(exist_ok=True)
    for claim in arguments[1:] or CLAIMS:
        file_of(claim).write_text(proof_text(claim), encoding="utf-8")
        print(file_of(claim).name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
