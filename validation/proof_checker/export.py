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
CASES = "dfedadmm.corollary_1:corrected"
"""A corollary whose last inequalities are shown for K = 1..19 one by one."""
CLAIMS = (
    "dfedsam.theorem_4_5:corrected",
    "dfedsam.corollary_4_6:corrected",
    "dfedsam.corollary_4_8:corrected",
    "dfedadmm.theorem_1:corrected",
    CASES,
    "dfedmdc.theorem_1:corrected",
    "dfedmdc.theorem_2:corrected",
    "dfedsgpsm.theorem_1:corrected",
    "dfedsgpsm.corollary_1:corrected",
)
"""The main corrections."""
_POWER, _LEFT = "(1 - 1/K)**K", "(1 - 1/K)**(K - 1)"
_BY_CASES = f"""\
hint (8463/10000 + 2*{_LEFT})/(1 - {_POWER}) times E1 | \
2*(1 - 367879442/1000000000)/(1 - {_POWER}) times E2
coordinate c_s = 18463/10000 - 2*(1 - {_LEFT}) - {_POWER}/(1 - {_POWER}) | \
>= 0 | <= 18463/10000
hint (10/9*(2 - 1/K) + 1)/((1 - {_POWER})*(2 - 1/K)) times E1
coordinate c_n = 10/9 - (1 + {_POWER})/((1 - {_POWER})*(2 - 1/K)) | >= 0
define theta = {_POWER}/(1 - {_POWER}) | 18463/10000 - 2*(1 - {_LEFT}) - c_s
define Gamma2 = (1 + {_POWER})/(K*(1 - {_POWER})*(2 - 1/K)) | (10/9 - c_n)/K
"""
"""Lines of this corollary, written by hand: with (1 - 1/K)^K in place of 1 - gamma, 2 p
+ theta <= 18463/10000 and K Gamma2 <= 10/9. The first is 2 (1 - 1/e) + (1/e)/(1 - 1/e),
rounded up.
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
    text = flat_proof(registry.get(*claim.split(":")), script, parent)
    return _with_cases(text) if claim == CASES else text


def _with_cases(text: str) -> str:
    """Return the proof with the lines by cases of K."""
    theorem, head, rest = text.partition(f"corollary {CASES}\n")
    first, term, others = rest.partition("term t1")
    return f"{theorem}{head}cases K 19\n{first}{_BY_CASES}{term}{others}"


def main(arguments: list[str]) -> int:
    """Write the proofs of the given claims, or all."""
    FOLDER.mkdir(exist_ok=True)
    for claim in arguments[1:] or CLAIMS:
        file_of(claim).write_text(proof_text(claim), encoding="utf-8")
        print(file_of(claim).name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
