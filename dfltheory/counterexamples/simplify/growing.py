"""Simpler families of problems along which measured / expression grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dfltheory.counterexamples.divergence import Divergence, along
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.growth import MEMBERS, Member, Numbers, replayed
from dfltheory.counterexamples.growth.member import COUNTS
from dfltheory.counterexamples.simplify.rounding import rounded
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

DIGITS = (1, 2, 3)


def simplify_family(finding: Finding) -> Finding:
    """Simplify a family of problems.

    The first of these along which the ratio still grows: kinds of
    problems in closed form, that of the family first and those whose clients start at
    different points last; the family itself with numbers of one, two or three digits.
    Numbers of steps and rounds are not rounded.

    Parameters
    ----------
    finding : Finding
        Of a family along which measured / expression grows.

    Returns
    -------
    Finding
        Measured anew; of the same family if it does not grow along a simpler one.

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
        found = along(theorem, member, base, parameter)
        if found is not None and found.grows:
            simpler = found
            break
    ratio = simpler.ratios[-1] / simpler.ratios[0]
    return replace(finding, divergence=simpler, ratio=ratio)


def _simpler(
    family: Divergence, theorem: Theorem
) -> Iterator[tuple[Member, Numbers, str]]:
    """Yield kinds, first members and parameters, the simplest first."""
    plain = [
        member
        for member in MEMBERS.values()
        if member.plain is not None and replayed(theorem, member)
    ]

    def others_last(member: Member) -> tuple[bool, bool]:
        return member.name != family.member, member.different_starts

    for member in sorted(plain, key=others_last):
        base = {name: float(size) for name, size in (member.plain or {}).items()}
        yield member, base, member.varied[0]
    for digits in DIGITS:
        base = dict(family.base)
        for name in base.keys() - COUNTS:
            base[name] = rounded(base[name], digits)
        yield MEMBERS[family.member], base, family.parameter


__all__ = ["simplify_family"]
