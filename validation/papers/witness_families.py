"""Witnesses of errata that no search draws.

``python -m validation.papers.witness_families docs/witnesses`` writes them.

An erratum may be about a hypothesis that a search keeps, as the common start. Its witness is a family of
problems that is written down here. It is measured as every family is, and saved under the erratum's id;
``dfltheory falsify --replay FILE`` measures it again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfltheory.counterexamples.divergence import along
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.members import MEMBERS, Numbers
from dfltheory.errors import InputError
from validation.papers import statement


@dataclass(frozen=True)
class Witness:
    """A family of problems against a statement in O(.): the kind of problem, its first member, and the
    parameter that grows."""

    claim: str
    member: str
    base: Numbers
    parameter: str

    def measured(self) -> Finding:
        """The family, measured.

        Raises
        ------
        InputError
            It does not refute the statement.
        """
        theorem = statement(self.claim)
        family = along(theorem, MEMBERS[self.member], self.base, self.parameter)
        if family is None or not family.diverges:
            raise InputError(f"the family {self.member} does not refute {theorem}")
        return Finding(
            theorem.key,
            theorem.variant,
            violated=True,
            ratio=family.ratios[-1] / family.ratios[0],
            evaluations=len(family.ratios),
            seconds=0.0,
            seed=0,
            divergence=family,
            theorem=theorem,
        )


WITNESSES: dict[str, Witness] = {
    "DFedSAM-E24": Witness(
        claim="dfedsam.corollary_4_6",
        member="separate wells",
        base={"T": 64.0, "gap": 64.0},
        parameter="T*gap",
    ),
}
"""By the id of the erratum."""


def main(arguments: Sequence[str]) -> int:
    """Write every witness into a folder."""
    if len(arguments) != 1:
        print("usage: python -m validation.papers.witness_families FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, witness in WITNESSES.items():
        witness.measured().save(folder / f"{name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["WITNESSES", "Witness", "main"]
