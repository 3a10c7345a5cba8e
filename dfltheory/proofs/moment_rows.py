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

from dfltheory.proofs.linear_facts import ONE_MOMENT
from dfltheory.proofs.linear_programs import Rows, minimum, scalar_product
from dfltheory.proofs.moments import Moment

_BOXES = (10, 10**4, 10**9)
"""Largest values of the moments in a witness: the first box that has one."""
_SIZES = tuple(map(Fraction, (1, "1/10", 10)))
_QUOTIENTS, _MOST_PAIRS = 6, 2
"""Values of a root that are tried together with its square."""
SIGNED_MOMENTS = ("value", "inner")
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
    coefficients = [premise[place] for premise in at_point.premises]
    return at_point.claim[place] - scalar_product(numbers, coefficients)


def counterexample(at_point: MomentRows) -> list[Fraction] | None:
    """Return values of the moments at which the claim alone does not hold.

    All premises hold there, and each square is the square of its root.
    """
    values = _counterexample(at_point)
    return None if values is None else _with_squares(at_point, values)


def _constraints_of_multipliers(
    at_point: MomentRows, loose: Sequence[int] = ()
) -> tuple[Rows, Rows]:
    """Return the inequalities and the equations that multipliers satisfy.

    The sum of the premises is at most the claim in each coefficient, and equal to it
    for moments that may be negative.

    Parameters
    ----------
    at_point : claim and premises
    loose : the places of moments whose coefficients may exceed the claim's; each has
        a further variable, its excess
    """
    at_most, equal = [], []
    for place, moment in enumerate(at_point.moments):
        row = [premise[place] for premise in at_point.premises]
        row += [-Fraction(place == loose_place) for loose_place in loose]
        rows = equal if moment.kind in SIGNED_MOMENTS else at_most
        rows.append((row, at_point.claim[place]))
    return at_most, equal


def tight_solutions(
    at_point: MomentRows, absent: Sequence[int]
) -> Iterator[list[Fraction]]:
    """Yield multipliers with which the premises give the claim, if there are any.

    Parameters
    ----------
    at_point : claim and premises
    absent : the places of moments that the claim does not have

    Yields
    ------
    list of Fraction
        First the multipliers with the smallest sum, then those that leave as little
        as possible of the ``absent`` moments.
    """
    count = len(at_point.premises)
    if not count:
        yield []
        return
    at_most, equal = _constraints_of_multipliers(at_point)
    smallest_sum = [Fraction(1)] * count
    least_left_over = []
    for premise in at_point.premises:
        in_absent = sum((premise[place] for place in absent), Fraction(0))
        least_left_over.append(-in_absent)
    for costs in (smallest_sum, least_left_over):
        solution = minimum(costs, at_most, equal)
        if solution is not None:
            yield solution[1]


def loose_solution(at_point: MomentRows, loose: Sequence[int]) -> list[Fraction] | None:
    """Return multipliers with which the claim is exceeded as little as possible.

    Parameters
    ----------
    at_point : claim and premises
    loose : the places of moments whose coefficients may exceed the claim's

    Returns
    -------
    list of Fraction or None
        They minimize the sum of the excesses, each divided by the claim's coefficient
        if that is not 0. None if there are no multipliers.
    """
    count = len(at_point.premises)
    costs = [Fraction(0)] * count
    for place in loose:
        size = abs(at_point.claim[place]) or Fraction(1)
        costs.append(1 / size)
    solution = minimum(costs, *_constraints_of_multipliers(at_point, loose))
    return None if solution is None else solution[1][:count]


def _with_squares(
    at_point: MomentRows, values: list[Fraction]
) -> list[Fraction] | None:
    """Return a counterexample in which each square is the square of its root.

    None if none was found.
    """
    pairs = _roots_and_squares(at_point.moments)
    if all(values[square] == values[root] ** 2 for root, square in pairs):
        return values
    for sizes in _tried_sizes(at_point, len(pairs)):
        fixed: dict[int, Fraction] = {}
        for (root, square), size in zip(pairs, sizes, strict=True):
            fixed[root] = size
            fixed[square] = size**2
        refutation = _counterexample(at_point, fixed)
        if refutation is not None:
            return refutation
    return None


def _tried_sizes(at_point: MomentRows, count: int) -> list[tuple[Fraction, ...]]:
    """Return values of some roots that are tried together with their squares.

    One root is a constant of the premises, or one of ``_SIZES``; the others are
    multiples of it by numbers that occur in the premises. Many roots are all equal.
    """
    numbers = {abs(x) for premise in at_point.premises for x in premise if x}
    quotients = sorted({Fraction(1), *numbers})[:_QUOTIENTS]
    constant = at_point.moments.index(ONE_MOMENT)
    constants = {abs(premise[constant]) for premise in at_point.premises}
    tried: list[tuple[Fraction, ...]] = []
    for size in (*sorted(constants - {0}), *_SIZES):
        if count > _MOST_PAIRS:
            tried.append((size,) * count)
            continue
        multiples = [size * quotient for quotient in quotients]
        other_sizes = list(itertools.product(multiples, repeat=count - 1))
        tried += [(size, *others) for others in other_sizes]
        tried += [(*others, size) for others in other_sizes]
    return list(dict.fromkeys(tried))


def _roots_and_squares(moments: Sequence[Moment]) -> list[tuple[int, int]]:
    """Return the places of a root and of its square, where both occur."""
    places = {moment: place for place, moment in enumerate(moments)}
    pairs = []
    for moment, place in places.items():
        if moment.kind != "root":
            continue
        square = replace(moment, kind="sq")
        if square in places:
            pairs.append((place, places[square]))
    return pairs


def _counterexample(
    at_point: MomentRows, fixed: Mapping[int, Fraction] = MappingProxyType({})
) -> list[Fraction] | None:
    """Return values of the moments at which the claim alone does not hold.

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
    """Return such values of size ``largest`` at most."""
    constant = at_point.moments.index(ONE_MOMENT)
    known = dict.fromkeys(at_point.pinned, Fraction(0))
    known |= {constant: Fraction(1), **fixed}
    negated = [[-value for value in premise] for premise in at_point.premises]
    at_most = [(row, Fraction(0)) for row in negated]
    equal = []
    for place, value in known.items():
        unit_row = [Fraction(0)] * len(at_point.moments)
        unit_row[place] = Fraction(1)
        equal.append((unit_row, value))
    bounds = []
    for moment in at_point.moments:
        least = -largest if moment.kind in SIGNED_MOMENTS else 0
        bounds.append((least, largest))
    solution = minimum(at_point.claim, at_most, equal, bounds)
    if solution is None or solution[0] >= 0:
        return None
    values = solution[1]
    # the solver is not trusted
    premise_values = [scalar_product(premise, values) for premise in at_point.premises]
    return values if all(value >= 0 for value in premise_values) else None


__all__ = [
    "SIGNED_MOMENTS",
    "MomentRows",
    "counterexample",
    "left_over",
    "loose_solution",
    "tight_solutions",
]
