"""The terms of a bound where a mechanism is absent.

They are compared with those of registered theorems on the simpler method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import sympy as sp

from dfltheory.bounds.monomials import Monomial, Shares
from dfltheory.bounds.rates import covered, expanded
from dfltheory.bounds.regions import joint_glossary
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import Finding, check, note

ABSENT = {"rho": 0, "alpha": 0, "Q": 1, "lam": 0}
"""Mechanism -> the value at which it is absent."""
SIMPLER: dict[tuple[str | type, str], str] = {
    ("DFedSAM", "rho"): "DFedAvg",
    ("DFedAvgM", "alpha"): "DFedAvg",
    ("DFedAvg", "lam"): "FedAvg",
    ("FedSAM", "rho"): "FedAvg",
}
"""The algorithm that is left; several gossip steps do not change its name."""
_OF_PROOFS = ("lemma", "equation")
_ORDER = 4
Exponents = tuple[tuple[str, Fraction], ...]


def has_neutral(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether there is a registered theorem on a simpler method."""
    return any(_others(theorem, name, registry) for name in ABSENT)


@check("neutral")
def check_neutral(theorem: Theorem, registry: Registry = REGISTRY) -> Iterator[Finding]:
    """Compare a bound with an absent mechanism with theorems on the simpler method.

    Each finding lists the terms that only one of the two has: observations, not errors.
    """
    for name, value in ABSENT.items():
        others = _others(theorem, name, registry)
        compared = [different_terms(without(theorem, name), other) for other in others]
        if theorem.kind in _OF_PROOFS and ([], []) in compared:
            continue  # it is that display; others are other steps of the proof
        for other, (extra, lost) in zip(others, compared, strict=True):
            if extra or lost:
                yield note(
                    f"at {name} = {value}",
                    f"against {other}: only here {'; '.join(extra) or 'nothing'}; only"
                    f" there {'; '.join(lost) or 'nothing'}",
                    term=str(other),
                    extra=extra,
                    lost=lost,
                )


def _others(theorem: Theorem, name: str, registry: Registry) -> list[Theorem]:
    """Return registered theorems with the same left side on the simpler method.

    They are theorems with constants on the method without a mechanism. If a theorem has
    corrected variants, only those are returned. Lemmas and displays are compared with
    those of the same paper.
    """
    if theorem.order or name not in theorem.needs:
        return []
    if theorem.kind in _OF_PROOFS:
        return _displays_without(theorem, name, registry)
    if theorem.kind != "theorem":
        return []
    names = _simpler(theorem, name)
    found = [
        other
        for other in registry.statements()
        if _is_comparable(theorem, other)
        and set(names) & set(other.scope.algorithms)
        and name not in other.needs
        and joint_glossary(theorem, other) is not None
    ]
    corrected = {o.key for o in found if o.variant.startswith("corrected")}
    return [
        o for o in found if o.key not in corrected or o.variant.startswith("corrected")
    ]


def _displays_without(theorem: Theorem, name: str, registry: Registry) -> list[Theorem]:
    """Return lemmas or displays of the same paper that lack one mechanism alone.

    They have the same left-hand side. A display without the network's lam is another
    step of the same proof, and is not compared.
    """
    if name == "lam":
        return []
    wanted = (theorem.kind, theorem.lhs.measure, theorem.lhs.aggregate)
    kept = {other for other in ABSENT if other in theorem.needs} - {name}
    return [
        other
        for other in registry.peers(theorem)
        if (other.kind, other.lhs.measure, other.lhs.aggregate) == wanted
        and other.key != theorem.key
        and {mechanism for mechanism in ABSENT if mechanism in other.needs} == kept
        and joint_glossary(theorem, other) is not None
    ]


def _simpler(theorem: Theorem, name: str) -> tuple[str | type, ...]:
    """Return the algorithms of the scope without a mechanism.

    With one gossip step instead of several they have the same names.
    """
    if name == "Q":
        return theorem.scope.algorithms
    keys = [(algorithm, name) for algorithm in theorem.scope.algorithms]
    return tuple(SIMPLER[key] for key in keys if key in SIMPLER)


def _is_comparable(theorem: Theorem, other: Theorem) -> bool:
    """Return whether it is another theorem with constants on the same left side."""
    left, same = theorem.lhs, other.lhs
    return (
        other.kind == "theorem"
        and not other.order
        and other.key != theorem.key
        and (left.measure, left.aggregate) == (same.measure, same.aggregate)
    )


def without(theorem: Theorem, name: str) -> Theorem:
    """Return the statement with definitions written out and one mechanism absent."""
    at = {theorem.glossary[name].symbol: ABSENT[name]}
    terms = {part: term.subs(at) for part, term in theorem.terms.items()}
    kept = {part: term for part, term in terms.items() if term != 0}
    return replace(theorem, parts=kept, definitions=(), conditions=())


def different_terms(one: Theorem, other: Theorem) -> tuple[list[str], list[str]]:
    """Return the monomials of each that nothing in the other covers.

    Step sizes stay as they are. Of two such monomials that cover each other one is
    listed.
    """
    plain = replace(other, parts=other.terms, definitions=(), conditions=())
    mine, theirs = _monomials(one), _monomials(plain)
    shares = one.shares | other.shares
    extra = _not_covered(mine, theirs, shares, one.shares)
    lost = _not_covered(theirs, mine, shares, other.shares)
    return [str(mono) for mono in extra], [str(mono) for mono in lost]


def _not_covered(
    rows: Sequence[Monomial], by: Sequence[Monomial], shares: Shares, own_shares: Shares
) -> list[Monomial]:
    """Return the monomials that ``by`` does not cover, without those they cover."""
    left = [mono for mono in rows if not _is_covered(mono, by, shares)]
    for mono in sorted(left, key=_factor_count, reverse=True):
        others = [other for other in left if other is not mono]
        if _is_covered(mono, others, own_shares):
            left = others
    return left


def _is_covered(mono: Monomial, by: Sequence[Monomial], shares: Shares) -> bool:
    """Return whether a monomial is at most a constant times the sum of others."""
    known = tuple(dict.fromkeys(other.exponents for other in by))
    return mono.exponents in known or _are_covering(mono.exponents, known, shares)


@lru_cache(4096)
def _are_covering(one: Exponents, by: tuple[Exponents, ...], shares: Shares) -> bool:
    """Return whether products of powers cover another one.

    Variants of a theorem have the same products with other coefficients.
    """
    mono, *others = (Monomial(sp.S.One, exponents) for exponents in (one, *by))
    return covered(mono, others, (), shares)


def _factor_count(mono: Monomial) -> int:
    return len(mono.exponents)


@lru_cache(64)
def _monomials(theorem: Theorem) -> tuple[Monomial, ...]:
    """Return the monomials that are added in a bound with definitions written out."""
    return tuple(row for row in expanded(theorem, _ORDER, {}, ()) if row.added)


__all__ = ["ABSENT", "check_neutral", "different_terms", "has_neutral", "without"]
