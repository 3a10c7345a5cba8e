"""Simpler numbers for families of problems, which refute statements in O(.)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory.counterexamples.divergence import Divergence, along
from dfltheory.counterexamples.members import MEMBERS
from dfltheory.counterexamples.simplify.complexity import significant_digits
from dfltheory.counterexamples.simplify.rounding import rounded

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

DIGITS = (1, 2, 3)


def simplified_family(family: Divergence, theorem: Theorem) -> Divergence:
    """The family whose first member has the fewest digits of those that diverge.

    All numbers of the first member are rounded to one digit, or to two or three if the
    ratio does not grow without bound along that family. Numbers of steps and rounds
    stay as they are.

    Parameters
    ----------
    family : Divergence
        A family along which measured / expression grows.
    theorem : Theorem
        The statement that it refutes.

    Returns
    -------
    Divergence
        Measured anew; ``family`` itself if no rounded one diverges.
    """
    member = MEMBERS[family.member]
    for digits in DIGITS:
        base = {name: rounded(size, digits) for name, size in family.base.items()}
        base |= {n: family.base[n] for n in _counts(family)}
        found = along(theorem, member, base, family.parameter)
        if found is not None and found.diverges:
            return found
    return family


def digits_of_family(family: Divergence) -> dict[str, int]:
    """The significant digits of each number of the first member."""
    return {name: significant_digits(size) for name, size in family.base.items()}


def _counts(family: Divergence) -> list[str]:
    return [name for name in ("T", "K", "K_u", "K_v") if name in family.base]


__all__ = ["digits_of_family", "simplified_family"]
