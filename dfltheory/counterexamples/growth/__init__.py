"""Kinds of problems that a few numbers name: a family lets one of them grow.

Each kind is one file. It draws a first member at random, or has a ``plain`` one whose
numbers have one or two digits, and makes any member: a problem that the training core
runs, and the quantities that no run shows.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dfltheory.counterexamples.growth import (
    clipped_clients,
    long_slope,
    many_local_steps,
    noisy_heads,
    opposing_clients,
    opposing_slopes,
    parting_clients,
    separate_wells,
    separate_wells_two_blocks,
)
from dfltheory.counterexamples.growth.member import Member, Numbers

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

MEMBERS = MappingProxyType(
    {
        kind.MEMBER.name: kind.MEMBER
        for kind in (
            opposing_clients,
            long_slope,
            clipped_clients,
            noisy_heads,
            parting_clients,
            separate_wells,
            separate_wells_two_blocks,
            opposing_slopes,
            many_local_steps,
        )
    }
)
"""All kinds by name."""


def kinds(theorem: Theorem) -> list[Member]:
    """Return the kinds that a search of the statement draws from."""
    return [
        member
        for member in MEMBERS.values()
        if member.drawn and _is_about(theorem, member)
    ]


def replayed(theorem: Theorem, member: Member) -> bool:
    """Return whether a saved family of this kind is inside the statement's scope.

    Clients that start at different points are excluded by a common start.
    """
    within = not (member.apart and theorem.scope.common_start)
    return within and _is_about(theorem, member)


def _is_about(theorem: Theorem, member: Member) -> bool:
    return member.two_blocks is theorem.scope.two_blocks and member.needs in {
        "",
        *theorem.needs,
    }


__all__ = ["MEMBERS", "Member", "Numbers", "kinds", "replayed"]
