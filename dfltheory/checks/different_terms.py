"""The terms of two bounds that differ by more than a constant factor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import sympy as sp

from dfltheory.bounds.inequalities.region import LimitError, Region
from dfltheory.bounds.monomials import LARGE, Monomial, Shares
from dfltheory.bounds.rates import covered, expanded, scheduled_region
from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.symbols import step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tree import from_text
from dfltheory.errors import InputError

_ORDER = 4
_LARGEST_CONSTANT = 100
QuantityExponents = tuple[tuple[str, Fraction], ...]
Facts = tuple[tuple[tuple[str, Fraction], ...], ...]


def different_terms(theorem: Theorem, other: Theorem) -> tuple[list[str], list[str]]:
    """Return the monomials of each bound that nothing in the other one covers.

    The bounds are compared where the conditions of both hold. Constants of the problem
    that only one statement contains count as 1, and so do factors that are proved to
    lie between two positive numbers. Of two monomials that cover each other one is
    listed.

    Returns
    -------
    tuple of two lists of str
        The monomials of ``theorem``, and those of ``other``.
    """
    shares = theorem.shares | other.shares
    facts = _facts(theorem) + _facts(other)
    own, others = _monomials(theorem), _monomials(other)
    common = _quantities(theorem) & _quantities(other) | _of_runs(theorem)
    own_view = [(_on(mono, common), mono) for mono in own]
    other_view = [(_on(mono, common), mono) for mono in others]
    extra = _not_covered(own_view, other_view, shares, facts)
    lost = _not_covered(other_view, own_view, shares, facts)
    return [str(mono) for mono in extra], [str(mono) for mono in lost]


Compared = tuple[Monomial, Monomial]
"""A monomial without the factors that count as 1, and in full."""


def _not_covered(
    rows: Sequence[Compared], by: Sequence[Compared], shares: Shares, facts: Facts
) -> list[Monomial]:
    """Return the monomials that ``by`` does not cover.

    Of these, one that others cover is left out.
    """
    known = [compared for compared, _ in by]
    uncovered = [row for row in rows if not _is_covered(row[0], known, shares, facts)]
    for row in sorted(uncovered, key=_factor_count, reverse=True):
        others = [other for other in uncovered if other is not row]
        if _is_covered(row[1], [full for _, full in others], shares, facts):
            uncovered = others
    return [full for _, full in uncovered]


def _is_covered(
    mono: Monomial, by: Sequence[Monomial], shares: Shares, facts: Facts
) -> bool:
    """Return whether a monomial is at most a constant times the sum of others."""
    known = tuple(dict.fromkeys(other.exponents for other in by))
    return mono.exponents in known or _is_covered_by_products(
        mono.exponents, known, shares, facts
    )


@lru_cache(4096)
def _is_covered_by_products(
    exponents: QuantityExponents,
    by: tuple[QuantityExponents, ...],
    shares: Shares,
    facts: Facts,
) -> bool:
    """Return whether products of powers cover another one.

    The result is cached by exponents, as variants of a theorem share most of them.
    """
    mono, *others = (Monomial(sp.S.One, powers) for powers in (exponents, *by))
    return covered(mono, others, [dict(fact) for fact in facts], shares)


def _factor_count(row: Compared) -> int:
    return len(row[1].exponents)


def _facts(theorem: Theorem) -> Facts:
    """Return the conditions between monomials, as exponents of right/left."""
    return tuple(tuple(sorted(row.items())) for row in scheduled_region(theorem, {}))


def _quantities(theorem: Theorem) -> frozenset[str]:
    """Return the quantities of a bound and of its conditions."""
    exprs = [*theorem.parts.values(), *(c.slack for c in theorem.conditions)]
    return frozenset(s.name for expr in exprs for s in sp.sympify(expr).free_symbols)


def _of_runs(theorem: Theorem) -> frozenset[str]:
    """Return the quantities that every run has, even if a bound lacks them."""
    return frozenset((*LARGE, *step_names(theorem.glossary), "lam"))


def _on(mono: Monomial, common: frozenset[str]) -> Monomial:
    """Return a monomial without the atoms that contain a quantity not in ``common``."""
    hidden = [atom for atom, _ in mono.exponents if not _names(atom) <= common]
    return mono.without(hidden)


def _names(atom: str) -> set[str]:
    """Return the names in an atom, such as K and L of ``1 - K*L``."""
    separated = "".join(c if c.isalnum() or c == "_" else " " for c in atom)
    return {word for word in separated.split() if word.isidentifier()}


@lru_cache(64)
def _monomials(theorem: Theorem) -> tuple[Monomial, ...]:
    """Return the monomials that are added in a bound with definitions written out."""
    rows = [row for row in expanded(theorem, _ORDER, {}, ()) if row.added]
    atoms = {atom for row in rows for atom, _ in row.exponents}
    constant = {atom for atom in atoms if _is_constant(atom, theorem)}
    plain = [row.without(constant) for row in rows]
    return tuple({row.exponents: row for row in plain}.values())


def _is_constant(atom: str, theorem: Theorem) -> bool:
    """Return whether a sum is proved to lie between two positive numbers.

    A gap of a share, such as 1 - lam, does not.
    """
    symbols = {name: entry.symbol for name, entry in theorem.glossary.items()}
    if not _names(atom) <= set(symbols):
        return False
    region = Region(expanded_conditions(theorem), glossary=theorem.glossary)
    least = sp.Rational(1, _LARGEST_CONSTANT)
    try:
        expr = from_text(atom, symbols)
        if not expr.is_Add:
            return False
        return region.holds(expr - least) and region.holds(_LARGEST_CONSTANT - expr)
    except (InputError, LimitError):  # too long to be read or decided
        return False


__all__ = ["different_terms"]
