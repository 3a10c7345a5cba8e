"""Signs of polynomials on boxes, by Bernstein coefficients and facts.

A fact is another polynomial with a sign.

A polynomial is a dictionary from exponents to rational coefficients
(``Poly.as_dict(native=True)``). Each variable has a :class:`VariableRange`. After
``x = low + (high - low) t`` the polynomial is a combination of Bernstein polynomials in
t, or for an interval without end of powers of t = x - low. These are not negative on
the interval, so the polynomial is not negative where its coefficients are not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sympy import QQ
from sympy.external.gmpy import MPQ

Exponents = tuple[int, ...]
Terms = Mapping[Exponents, MPQ]
"""Exponents -> rational coefficient, not 0."""

_ZERO = QQ(0)
_MOST_TERMS = 20_000
_MOST_STEPS = 24
_MOST_PAIRS = 40
"""Pairs of terms of a polynomial and a fact of which each is tried as the factor
between the two.
"""
_HALVINGS = 1
"""How often the widest bounded interval is halved."""


@dataclass(frozen=True)
class VariableRange:
    """The values of a variable: from ``low`` to ``high`` (None: unbounded).

    Each end is included or not.

    The ends are rational numbers of SymPy's domain ``QQ``.
    """

    low: MPQ = _ZERO
    high: MPQ | None = None
    open_low: bool = False
    open_high: bool = False


@dataclass(frozen=True)
class SignFact:
    """A polynomial that is not negative in the region, or positive (``strict``)."""

    terms: Terms
    strict: bool = False


def _always(terms: Terms) -> bool:
    """Return True: no polynomial is known to be negative somewhere."""
    return True


Test = Callable[[Terms], bool]


@dataclass(frozen=True)
class Box:
    """The region in which the sign of a polynomial is determined.

    Parameters
    ----------
    intervals : those of the variables
    facts : polynomials in the same variables that are not negative in the region
    possible : False for a polynomial that is known to be negative somewhere in the
        region, the part of the box where no fact is negative: no proof is tried
    possible_on_box : False for one that is known to be negative somewhere in the box:
        its coefficients are not computed
    """

    intervals: Sequence[VariableRange]
    facts: Sequence[SignFact] = ()
    possible: Test = _always
    possible_on_box: Test = _always


_MOST_FACTS = 2
"""Number of facts that are used one after the other."""


def is_nonnegative(terms: Terms, box: Box, most_facts: int = _MOST_FACTS) -> bool:
    """Return whether a polynomial is proved to have no negative value in the region.

    False if no proof was found.
    """
    if not box.possible(terms):
        return False
    return all(
        _by_coefficients(group, box) or _by_facts(group, box, most_facts)
        for group in _groups(terms, box)
    )


def is_positive(terms: Terms, box: Box, most_facts: int = _MOST_FACTS) -> bool:
    """Return whether a polynomial is proved positive in the region."""
    if not box.possible(terms):
        return False
    table = _bernstein(terms, box.intervals)
    if table is not None and _positive_at_ends(
        table, box.intervals, _degrees(terms, len(box.intervals))
    ):
        return True
    if not most_facts:
        return False
    strict_facts = [fact for fact in box.facts if fact.strict]
    return any(
        is_positive(rest, box, most_facts - 1)
        for _, rest in _divisions(terms, box.intervals, box.facts)
    ) or any(
        is_positive(factor, Box(box.intervals))
        and is_nonnegative(rest, box, most_facts - 1)
        for factor, rest in _divisions(terms, box.intervals, strict_facts)
    )


def _groups(terms: Terms, box: Box) -> Iterator[Terms]:
    """Yield the coefficients of the products of free variables, as polynomials.

    A variable is free if no fact contains it and it may have any nonnegative value.
    """
    used = {
        i
        for fact in box.facts
        for exponents in fact.terms
        for i, e in enumerate(exponents)
        if e
    }
    free = [
        i
        for i, x in enumerate(box.intervals)
        if x.low == 0 and x.high is None and i not in used
    ]
    groups: dict[Exponents, dict[Exponents, MPQ]] = {}
    for exponents, number in terms.items():
        key = tuple(exponents[i] for i in free)
        rest = tuple(0 if i in free else e for i, e in enumerate(exponents))
        groups.setdefault(key, {})[rest] = number
    yield from groups.values()


def _by_coefficients(terms: Terms, box: Box) -> bool:
    return box.possible_on_box(terms) and _has_nonnegative_coefficients(
        terms, box.intervals, _HALVINGS
    )


def _has_nonnegative_coefficients(
    terms: Terms, intervals: Sequence[VariableRange], halvings: int
) -> bool:
    if all(x.low >= 0 for x in intervals) and min(terms.values(), default=0) >= 0:
        return True
    table = _bernstein(terms, intervals)
    if table is None:
        return False
    if min(table.values(), default=0) >= 0:
        return True
    used = {i for exponents in terms for i, e in enumerate(exponents) if e}
    widths = [
        (x.high - x.low, -i)
        for i, x in enumerate(intervals)
        if i in used and x.high is not None
    ]
    if not halvings or not widths:
        return False
    width, opposite = max(widths)  # the first of the widest
    widest = -opposite
    whole = intervals[widest]
    middle = whole.low + width / QQ(2)
    halves = (replace(whole, high=middle), replace(whole, low=middle))
    return all(
        _has_nonnegative_coefficients(
            terms, [*intervals[:widest], half, *intervals[widest + 1 :]], halvings - 1
        )
        for half in halves
    )


def _by_facts(
    terms: Terms, box: Box, most: int, tried: set[object] | None = None
) -> bool:
    """Return whether subtracting a multiple of a fact leaves a nonnegative rest.

    Parameters
    ----------
    most : number of facts that are used one after the other
    tried : pairs of ``most`` and a rest that were examined
    """
    if not most or not box.possible(terms):
        return False
    tried = set() if tried is None else tried
    for _, rest in _divisions(terms, box.intervals, box.facts):
        key = (most, frozenset(rest.items()))
        if key in tried:
            continue
        tried.add(key)
        if not box.possible(rest):
            continue
        if _by_coefficients(rest, box):
            return True
        if _count_negative(rest) <= _count_negative(terms) and _by_facts(
            rest, box, most - 1, tried
        ):
            return True
    return False


def _count_negative(terms: Terms) -> int:
    """Return the number of terms with a negative coefficient."""
    return sum(number < 0 for number in terms.values())


def _divisions(
    terms: Terms, intervals: Sequence[VariableRange], facts: Sequence[SignFact]
) -> Iterator[tuple[Terms, Terms]]:
    """Yield factors and rests with ``terms = factor * fact + rest``.

    A factor has no negative values.
    """
    for fact in (fact.terms for fact in facts):
        pivots = [
            exponents
            for exponents, number in sorted(fact.items(), reverse=True)
            if number < 0
        ]
        for pivot, only_negative in itertools.product(pivots, (True, False)):
            factor, rest = _divide(terms, fact, pivot, only_negative)
            if factor and _has_nonnegative_coefficients(factor, intervals, 0):
                yield factor, rest
        if len(terms) * len(fact) > _MOST_PAIRS:
            continue
        for (exponents, number), (pivot, share) in itertools.product(
            terms.items(), fact.items()
        ):
            if number * share > 0 and _divides(pivot, exponents):
                shift = tuple(a - b for a, b in zip(exponents, pivot, strict=True))
                factor = {shift: number / share}
                if _has_nonnegative_coefficients(factor, intervals, 0):
                    yield factor, _subtract_multiple(terms, fact, shift, number / share)


def _subtract_multiple(
    terms: Terms, fact: Terms, shift: Exponents, share: MPQ
) -> dict[Exponents, MPQ]:
    """Return a polynomial minus ``share`` times the monomial ``shift`` times a fact."""
    rest = dict(terms)
    for exponents, number in fact.items():
        shifted = tuple(a + b for a, b in zip(exponents, shift, strict=True))
        coefficient = rest.get(shifted, 0) - share * number
        if coefficient:
            rest[shifted] = coefficient
        else:
            rest.pop(shifted, None)
    return rest


def _divide(
    terms: Terms, fact: Terms, pivot: Exponents, only_negative: bool
) -> tuple[Terms, Terms]:
    """Return a factor and a rest with ``terms = factor * fact + rest``.

    The ``pivot``, a term of the fact, divides no term of the rest, or no negative one
    if ``only_negative``. The factor is empty if no such division is found in
    ``_MOST_STEPS`` steps.
    """
    rest = dict(terms)
    factor: dict[Exponents, MPQ] = {}
    needed = [(i, p) for i, p in enumerate(pivot) if p]
    for _ in range(_MOST_STEPS):
        divisible = [
            e
            for e, c in rest.items()
            if (c < 0 or not only_negative) and all(e[i] >= p for i, p in needed)
        ]
        if not divisible:
            return factor, rest
        first = min(divisible)
        share = rest[first] / fact[pivot]
        shift = tuple(a - b for a, b in zip(first, pivot, strict=True))
        factor[shift] = factor.get(shift, _ZERO) + share
        rest = _subtract_multiple(rest, fact, shift, share)
    return {}, terms


def _divides(pivot: Exponents, exponents: Exponents) -> bool:
    return all(e >= p for e, p in zip(exponents, pivot, strict=True))


def _degrees(terms: Terms, count: int) -> list[int]:
    return [max((exponents[i] for exponents in terms), default=0) for i in range(count)]


def _bernstein(terms: Terms, intervals: Sequence[VariableRange]) -> Terms | None:
    """Return the Bernstein coefficients; None if there are too many."""
    degrees = _degrees(terms, len(intervals))
    bounded = [
        d + 1 for d, x in zip(degrees, intervals, strict=True) if x.high is not None
    ]
    if math.prod(bounded) * len(terms) > _MOST_TERMS:
        return None
    table = terms
    for i, (degree, interval) in enumerate(zip(degrees, intervals, strict=True)):
        if degree and (interval.low or interval.high is not None):
            table = _bernstein_along(table, i, degree, interval)
    return table


def _bernstein_along(
    table: Terms, i: int, degree: int, interval: VariableRange
) -> Terms:
    """Return the coefficients in variable ``i``, the other variables as they are."""
    columns: dict[Exponents, list[MPQ]] = {}
    for exponents, number in table.items():
        others = (*exponents[:i], *exponents[i + 1 :])
        columns.setdefault(others, [QQ(0)] * (degree + 1))[exponents[i]] = number
    coefficients: dict[Exponents, MPQ] = {}
    for others, column in columns.items():
        column = _shift_variable(column, interval.low)
        if interval.high is not None:
            column = _bernstein_column(column, interval.high - interval.low)
        coefficients |= {
            (*others[:i], k, *others[i:]): c for k, c in enumerate(column) if c
        }
    return coefficients


def _shift_variable(column: Sequence[MPQ], low: MPQ) -> list[MPQ]:
    """Coefficients in x - low of a polynomial with these coefficients in x."""
    if not low:
        return list(column)
    degree = len(column) - 1
    shifted: list[MPQ] = []
    for k in range(degree + 1):
        terms = (
            math.comb(j, k) * low ** (j - k) * column[j] for j in range(k, degree + 1)
        )
        shifted.append(sum(terms, start=_ZERO))
    return shifted


def _bernstein_column(column: Sequence[MPQ], width: MPQ) -> list[MPQ]:
    """Return the Bernstein coefficients of a polynomial with these coefficients in x.

    They are those of C(d, k) t^k (1 - t)^(d - k), t = x/width. The last of them is its
    value at x = width.
    """
    degree = len(column) - 1
    scaled = [c * width**k / math.comb(degree, k) for k, c in enumerate(column)]
    coefficients: list[MPQ] = []
    for k in range(degree + 1):
        terms = (math.comb(k, j) * scaled[j] for j in range(k + 1))
        coefficients.append(sum(terms, start=_ZERO))
    return coefficients


def _positive_at_ends(
    table: Terms, intervals: Sequence[VariableRange], degrees: Sequence[int]
) -> bool:
    """Return whether a combination is positive wherever its variables may be.

    The combination has no negative coefficients. Each variable is inside its interval,
    or at an end of it that is included. Inside, all Bernstein polynomials are positive;
    at an end only the first or the last is.
    """
    if min(table.values(), default=0) < 0:
        return False
    choices: list[list[int | None]] = []
    for interval, degree in zip(intervals, degrees, strict=True):
        ends: list[int | None] = [] if interval.open_low else [0]
        if interval.high is not None and not interval.open_high:
            ends.append(degree)
        choices.append(list(dict.fromkeys(ends)) if degree and ends else [None])
    positive = [exponents for exponents, number in table.items() if number > 0]
    for corner in itertools.product(*choices):
        if not any(_is_positive_at_corner(exponents, corner) for exponents in positive):
            return False
    return True


def _is_positive_at_corner(exponents: Exponents, corner: Sequence[int | None]) -> bool:
    return all(
        required is None or e == required
        for e, required in zip(exponents, corner, strict=True)
    )


__all__ = ["Box", "SignFact", "Terms", "VariableRange", "is_nonnegative", "is_positive"]
