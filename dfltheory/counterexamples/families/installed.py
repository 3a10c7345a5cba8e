"""All families: those of the package, then those of other packages, sorted by name.

Another package registers a family, a subclass of
:class:`~dfltheory.counterexamples.families.family.Family`, as an entry point of the
group ``dfltheory.families``.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from dfltheory.counterexamples.families.biased_sam import BiasedSAM
from dfltheory.counterexamples.families.distant_clients import DistantClients
from dfltheory.counterexamples.families.distant_start import DistantStart
from dfltheory.counterexamples.families.family import Family
from dfltheory.counterexamples.families.flat_starts import FlatStarts
from dfltheory.counterexamples.families.late_descent import LateDescent
from dfltheory.counterexamples.families.local_drift import LocalDrift
from dfltheory.counterexamples.families.long_slope import LongSlope
from dfltheory.counterexamples.families.opposing_gradients import OpposingGradients
from dfltheory.counterexamples.families.opposing_heads import OpposingHeads
from dfltheory.counterexamples.families.sam_trap import SAMTrap
from dfltheory.counterexamples.families.start_at_minimum import StartAtMinimum
from dfltheory.counterexamples.families.stationary_noise import (
    StationaryNoise,
    StationaryNoiseConvex,
)
from dfltheory.counterexamples.families.two_wells import TwoWells
from dfltheory.counterexamples.families.unbalanced_starts import UnbalancedStarts
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FAMILIES_GROUP = "dfltheory.families"
OWN: tuple[Family, ...] = (
    BiasedSAM(),
    UnbalancedStarts(),
    FlatStarts(),
    StationaryNoise(),
    StationaryNoiseConvex(),
    SAMTrap(),
    OpposingGradients(),
    OpposingHeads(),
    DistantClients(),
    LocalDrift(),
    TwoWells(),
    LongSlope(),
    DistantStart(),
    StartAtMinimum(),
    LateDescent(),
)
"""Families of the package. Those that need few rounds are first, since a short search
does not try all of them.
"""


def problem_families() -> tuple[Family, ...]:
    """Return all families.

    Raises
    ------
    InputError
        An entry point is not a family, or two families have the same name.
    """
    return (*OWN, *_third_party())


@cache
def _third_party() -> tuple[Family, ...]:
    """Return the families of other packages, sorted by name."""
    from importlib.metadata import entry_points  # slow to import

    installed = []
    names = {family.name for family in OWN}
    for point in sorted(entry_points(group=FAMILIES_GROUP), key=attrgetter("name")):
        family = _checked(point)
        if family.name in names:
            raise InputError(
                f"two families are named {family.name!r}; rename that of {point.value}"
            )
        names.add(family.name)
        installed.append(family)
    return tuple(installed)


def _checked(point: EntryPoint) -> Family:
    """Return the family of an entry point."""
    kind = point.load()
    if not (isinstance(kind, type) and issubclass(kind, Family)):
        raise InputError(
            f"the entry point {point.value} of {FAMILIES_GROUP} is {kind!r}; it must be"
            " a"
            " subclass of dfltheory.counterexamples.families.Family"
        )
    for field in ("name", "summary"):
        if not isinstance(getattr(kind, field, None), str):
            raise InputError(f"{point.value} must define {field} as a text")
    return kind()


__all__ = ["FAMILIES_GROUP", "OWN", "problem_families"]
