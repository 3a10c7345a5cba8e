"""Claim and premises at one point, in numbers.

Linear programs give multipliers of the premises, or values of the moments that refute
the claim.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from dfltheory.proofs.linear_facts import ONE
from dfltheory.proofs.linear_programs import Rows, minimum
from dfltheory.proofs.moments import Moment

_BOXES = (10, 10**4, 10**9)
"""Largest values of the moments in a witness: the first box that has one."""
_SIZES = tuple(map(Fraction, (1, "1/10", 10)))
_QUOTIENTS, _MOST_PAIRS = 6, 2
"""Values of a root that are tried together with its square."""
SIGNED = ("value", "inner")
"""Kinds of moments that may be negative."""


@dataclass(frozen=True)
class MomentRows:
    """Everything in numbers at one point; rows are moments.

    ``pinned``: the places of moments with an irrational coefficient, here 0.
    """

    moments: tuple[Moment, ...]
    claim: tuple[Fraction, ...]
    premises: tuple[tuple[Fraction, ...], ...]
    pinned: tuple[int, ...] = ()


def left_over(
    at_point: MomentRows, numbers: Sequence[Fraction], place: int
) -> Fraction:
    """Return what a sum of premises leaves of the claim's coefficient of a moment."""
    pairs = zip(numbers, at_point.premises, strict=True)
    used = sum((number * premise[place] for number, premise in pairs), Fraction(0))
    return at_point.claim[place] - used


def counterexample(at_point: MomentRows) -> list[Fraction] | None:
    """Return values of the moments at which the claim alone does not hold.

    All premises hold there, and each square is the square of its root.
    """
    values = _counterexample(at_point)
    return None if values is None else _with_squares(at_point, values)


def _programs(at_point: MomentRows, extra: Sequence[int] = ()) -> tuple[Rows, Rows]:
    """Return rows of the linear program for the multipliers.

    What is left over is not negative, or 0 for moments with signs. ``extra``: moments
    for which a further variable may be added.
    """
    at_most, equal = [], []
    for place, moment in enumerate(at_point.moments):
        row = [premise[place] for premise in at_point.premises]
        row += [-Fraction(place == extra_place) for extra_place in extra]
        rows = equal if moment.kind in SIGNED else at_most
        rows.append((row, at_point.claim[place]))
    return at_most, equal


def tight_solutions(
    at_point: MomentRows, absent: Sequence[int]
) -> Iterator[list[Fraction]]:
    """Multipliers with the least sum, and with least left over in some moments."""
    count = len(at_point.premises)
    if not count:
        yield []
        return
    spare = [
        -sum((premise[place] for place in absent), Fraction(0))
        for premise in at_point.premises
    ]
    for costs in ([Fraction(1)] * count, spare):
        solution = minimum(costs, *_programs(at_point))
        if solution is not None:
            yield solution[1]


def loose_solution(
    at_point: MomentRows, loose: Sequence[int]
) -> Iterator[list[Fraction]]:
    """Yield multipliers with which the claim is exceeded as little as possible.

    ``loose``: the moments whose coefficients may be exceeded, each measured in its own
    size.
    """
    count = len(at_point.premises)
    costs = [Fraction(0)] * count
    costs += [1 / (abs(at_point.claim[place]) or Fraction(1)) for place in loose]
    solution = minimum(costs, *_programs(at_point, loose))
    if solution is not None:
        yield solution[1][:count]


def _with_squares(
    at_point: MomentRows, values: list[Fraction]
) -> list[Fraction] | None:
    """Return a counterexample in which each square is the square of its root.

    None if none was found.
    """
    pairs = _roots_and_squares(at_point.moments)
    if all(values[square] == values[of] ** 2 for of, square in pairs):
        return values
    for sizes in _tried_sizes(at_point, len(pairs)):
        fixed: dict[int, Fraction] = {}
        for (of, square), size in zip(pairs, sizes, strict=True):
            fixed |= {of: size, square: size**2}
        refutation = _counterexample(at_point, fixed)
        if refutation is not None:
            return refutation
    return None


def _tried_sizes(at_point: MomentRows, count: int) -> list[tuple[Fraction, ...]]:
    """Return values of some roots that are tried together with their squares.

    They are constants of the premises and others, equal ones or with quotients that the
    premises have.
    """
    numbers = {abs(x) for premise in at_point.premises for x in premise if x}
    quotients = sorted({Fraction(1), *numbers})[:_QUOTIENTS]
    constant = at_point.moments.index(ONE)
    constants = {abs(premise[constant]) for premise in at_point.premises}
    sizes = []
    for size in (*sorted(constants - {0}), *_SIZES):
        if count > _MOST_PAIRS:
            sizes.append((size,) * count)
            continue
        other_sizes = itertools.product(quotients, repeat=count - 1)
        sizes += [(size, *(size * quotient for quotient in q)) for q in other_sizes]
        other_sizes = itertools.product(quotients, repeat=count - 1)
        sizes += [(*(size * quotient for quotient in q), size) for q in other_sizes]
    return list(dict.fromkeys(sizes))


def _roots_and_squares(moments: Sequence[Moment]) -> list[tuple[int, int]]:
    """Return the places of a root and of its square, where both occur."""
    places = {moment: place for place, moment in enumerate(moments)}
    return [
        (place, places[replace(moment, kind="sq")])
        for moment, place in places.items()
        if moment.kind == "root" and replace(moment, kind="sq") in places
    ]


def _counterexample(
    at_point: MomentRows, fixed: Mapping[int, Fraction] = MappingProxyType({})
) -> list[Fraction] | None:
    """Values of the moments at which all premises hold and the claim does not.

    ``fixed``: values of some moments, by their places.
    """
    any_size = _counterexample_within(at_point, fixed, _BOXES[-1])
    if any_size is None:
        return None
    for largest in _BOXES[:-1]:
        values = _counterexample_within(at_point, fixed, largest)
        if values is not None:
            return values
    return any_size


def _counterexample_within(
    at_point: MomentRows, fixed: Mapping[int, Fraction], largest: int
) -> list[Fraction] | None:
    known = {place: Fraction(0) for place in at_point.pinned}
    known |= {at_point.moments.index(ONE): Fraction(1), **fixed}
    at_most = [
        ([-value for value in premise], Fraction(0)) for premise in at_point.premises
    ]
    count = len(at_point.moments)
    equal = [
        ([Fraction(int(j == place)) for j in range(count)], value)
        for place, value in known.items()
    ]
    bounds = []
    for moment in at_point.moments:
        least = -largest if moment.kind in SIGNED else 0
        bounds.append((least, largest))
    solution = minimum(at_point.claim, at_most, equal, bounds)
    if solution is None or solution[0] >= 0:
        return None
    values = solution[1]
    premises_hold = all(
        sum((c * x for c, x in zip(premise, values, strict=True)), Fraction(0)) >= 0
        for premise in at_point.premises
    )
    return values if premises_hold else None


__all__ = [
    "SIGNED",
    "MomentRows",
    "counterexample",
    "left_over",
    "loose_solution",
    "tight_solutions",
]
