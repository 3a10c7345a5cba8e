"""Kinds of problems with a few parameters, one of which grows along a family.

A kind draws the numbers of a first member at random. Some kinds also have a ``plain``
first member, whose numbers have one or two digits. For any numbers it constructs the
member's problem, which the training core runs, and the quantities that a run does not
report.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dfltheory.counterexamples.growth.different_clients import (
    CLIPPED_CLIENTS,
    OPPOSING_CLIENTS,
)
from dfltheory.counterexamples.growth.member import Member, Numbers
from dfltheory.counterexamples.growth.noisy_clients import NOISY_CLIENTS
from dfltheory.counterexamples.growth.noisy_heads import NOISY_HEADS
from dfltheory.counterexamples.growth.sam_traps import SAM_TRAP
from dfltheory.counterexamples.growth.slopes import (
    LONG_SLOPE,
    MANY_LOCAL_STEPS,
    OPPOSING_SLOPES,
)
from dfltheory.counterexamples.growth.wells import (
    PARTING_CLIENTS,
    SEPARATE_WELLS,
    SHARED_PARTS,
)

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

MEMBERS = MappingProxyType(
    {
        member.name: member
        for member in (
            OPPOSING_CLIENTS,
            LONG_SLOPE,
            CLIPPED_CLIENTS,
            NOISY_HEADS,
            NOISY_CLIENTS,
            SAM_TRAP,
            PARTING_CLIENTS,
            SEPARATE_WELLS,
            SHARED_PARTS,
            OPPOSING_SLOPES,
            MANY_LOCAL_STEPS,
        )
    }
)
"""All kinds by name."""


def kinds(theorem: Theorem) -> list[Member]:
    """Return the kinds of problems that a search of the statement draws."""
    return [
        member
        for member in MEMBERS.values()
        if member.drawn and _is_about(theorem, member)
    ]


def replayed(theorem: Theorem, member: Member) -> bool:
    """Return whether the statement covers a saved family of this kind.

    A statement with a common start excludes clients that start at different points.
    """
    within = not (member.different_starts and theorem.scope.common_start)
    return within and _is_about(theorem, member)


def _is_about(theorem: Theorem, member: Member) -> bool:
    """Return whether the statement has the blocks and quantities of this kind."""
    return member.two_blocks is theorem.scope.two_blocks and member.needs in {
        "",
        *theorem.needs,
    }


__all__ = ["MEMBERS", "Member", "Numbers", "kinds", "replayed"]
