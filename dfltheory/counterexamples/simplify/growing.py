"""Simpler families of problems along which measured / expression grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dfltheory.counterexamples.divergence import Divergence, family_along
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.growth import MEMBERS, Member, Numbers, replayed
from dfltheory.counterexamples.growth.member import INTEGER_NUMBERS
from dfltheory.counterexamples.simplify.rounding import round_to_digits
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

TRIED_DIGITS = (1, 2, 3)
"""Numbers of digits to which a family's numbers are rounded."""


def simplify_family(finding: Finding) -> Finding:
    """Simplify a family of problems.

    The result is the first of the following families along which the ratio still grows.
    First, kinds of problems in closed form: the family's own kind before others, and
    those with different starts last. Then the family itself with numbers of one, two or
    three digits, except for numbers of steps and rounds.

    Parameters
    ----------
    finding : Finding
        A finding whose family refutes a statement in O(.).

    Returns
    -------
    Finding
        The finding with the simplified family, measured again; unchanged if the ratio
        grows along no simpler family.

    Raises
    ------
    InputError
        The finding is not of a growing family.
    """
    family, theorem = finding.divergence, finding.theorem
    if family is None or theorem is None or not family.grows:
        raise InputError("there is no growing family of problems to simplify")
    simpler = family
    for member, base, parameter in _simpler(family, theorem):
        candidate = family_along(theorem, member, base, parameter)
        if candidate is not None and candidate.grows:
            simpler = candidate
            break
    ratio = simpler.ratios[-1] / simpler.ratios[0]
    return replace(finding, divergence=simpler, ratio=ratio)


def _simpler(
    family: Divergence, theorem: Theorem
) -> Iterator[tuple[Member, Numbers, str]]:
    """Yield kinds, first members and parameters of families, the simplest first."""
    plain = [
        member
        for member in MEMBERS.values()
        if member.plain is not None and replayed(theorem, member)
    ]

    def others_last(member: Member) -> tuple[bool, bool]:
        """Return the key that sorts the family's own kind first."""
        return member.name != family.member, member.different_starts

    for member in sorted(plain, key=others_last):
        base = {name: float(size) for name, size in (member.plain or {}).items()}
        yield member, base, member.varied[0]
    for digits in TRIED_DIGITS:
        base = dict(family.base)
        for name in base.keys() - INTEGER_NUMBERS:
            base[name] = round_to_digits(base[name], digits)
        yield MEMBERS[family.member], base, family.parameter


__all__ = ["simplify_family"]
