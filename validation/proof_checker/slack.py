"""Which constants of the proved bounds could be smaller by the same proof.

``python -m validation.proof_checker.slack [CLAIM ...]`` writes ``slack.json``: for each
term of each corrected theorem the smallest multiple of it, in hundredths, with which
the last inequality of its script is still shown. 100 means: with 99 it is not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.files import write_json
from dfltheory.proofs.script import Script
from dfltheory.proofs.script_region import ScriptRegion
from validation.papers import scripts

FILE = Path(__file__).parent / "slack.json"


class LastInequality:
    """The last inequality of a script: the proved bound is at most the stated one."""

    def __init__(self, claim: str):
        self._theorem, script = registry.get(*claim.split(":")), scripts()[claim]
        assert isinstance(script, Script)
        fact = script.prove(**script.weights)
        self._region = ScriptRegion(self._theorem, script)
        stated, proved = self._theorem.parts.values(), fact.right.values()
        self._rest = sp.Add(*stated) - sp.Add(*proved)

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the stated bound's terms."""
        return tuple(self._theorem.parts)

    def is_shown(self, term: str, hundredths: int) -> bool:
        """Return whether it is shown with a share of one term of the stated bound."""
        missing = sp.Rational(100 - hundredths, 100)
        return self._region.holds(self._rest - self._theorem.parts[term] * missing)


def smallest_shares(claim: str) -> dict[str, int]:
    """Return the smallest sufficient share of each term, in hundredths.

    The other terms stay as they are.
    """
    inequality = LastInequality(claim)
    shares = {}
    for name in inequality.terms:
        low, high = -1, 100  # high is enough, low is not
        step = 1
        while high - low > 1:
            middle = max(high - step, low + 1)
            if inequality.is_shown(name, middle):
                high, step = middle, 2 * step
            else:
                low, step = middle, max((high - middle) // 2, 1)
        shares[name] = high
    return shares


def proved_theorems() -> list[str]:
    """Return the claims with a script of one case."""
    return [
        claim
        for claim, script in scripts().items()
        if isinstance(script, Script) and script.case is None
    ]


def main(arguments: list[str]) -> int:
    """Write the whole table, or the rows of the given claims."""
    table = json.loads(FILE.read_text(encoding="utf-8")) if arguments[1:] else {}
    for claim in arguments[1:] or proved_theorems():
        table[claim] = smallest_shares(claim)
        print(claim, table[claim], flush=True)
        write_json(FILE, table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
