"""Comparison of quoted rates with registered rates on the same algorithm."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from dfltheory.bounds.monomials import Monomial
from dfltheory.bounds.rates import covered, leading, range_rows
from dfltheory.bounds.regions import joint_glossary
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.corollaries import HIDDEN
from dfltheory.checks.finding import AuditFinding, audit_check, warning

_CONSTANTS = (*HIDDEN, "S2", "sigma_star", "x_star_sq", "x0_spread", "x0_sq")
_ORDER = 3
"""Terms down to T^(-3/2) are compared."""


def has_source(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether a rate is quoted, and another one is registered to compare it."""
    return _is_quoted(theorem, registry) and bool(_sources(theorem, registry))


@audit_check("quoted")
def check_quoted(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Yield a warning for each term that a quoted rate lacks.

    It is compared with the most similar rate of another paper, in powers of T, K, m and
    the gap, since quotations often omit constants with units. Findings are warnings, as
    an older version may be quoted.
    """
    if not _is_quoted(theorem, registry):
        return
    compared = [
        (source, lost_powers(theorem, source)) for source in _sources(theorem, registry)
    ]
    if not compared:
        return
    source, lost = min(compared, key=_count_lost_powers)
    for mono in lost:
        yield warning(
            "rate",
            f"it is quoted, and the most similar rate {source} has a term of order"
            f" {mono}, which nothing here covers",
            f"add a term of order {mono}",
            term=str(mono),
            source=str(source),
        )


def lost_powers(claim: Theorem, source: Theorem) -> list[Monomial]:
    """Return the powers in ``source`` that no term of ``claim`` covers."""
    mine, theirs = _powers(claim), _powers(source)
    shares = claim.shares | source.shares
    ranges = [*range_rows(claim), *range_rows(source)]
    return [mono for mono in theirs if not covered(mono, mine, ranges, shares)]


def _powers(theorem: Theorem) -> list[Monomial]:
    """Return the terms of a rate as powers of counts, gaps and definitions alone."""
    terms = [mono.without(_CONSTANTS) for mono in leading(theorem, _ORDER)]
    different = dict.fromkeys(mono.exponents for mono in terms)
    return [Monomial(sp.S.One, powers) for powers in different]


def _count_lost_powers(compared: tuple[Theorem, list[Monomial]]) -> int:
    return len(compared[1])


def _is_quoted(theorem: Theorem, registry: Registry) -> bool:
    """Return whether a rate is about algorithms on which its paper has no theorem."""
    if theorem.kind != "rate" or theorem.of is not None:
        return False
    proved = [peer for peer in registry.peers(theorem) if peer.kind == "theorem"]
    own = {name for peer in proved for name in peer.scope.algorithms}
    return bool(proved) and not own & set(theorem.scope.algorithms)


def rates_on_other_left_sides(theorem: Theorem, registry: Registry) -> list[Theorem]:
    """Return the printed rates of other papers on the algorithms of a quoted rate.

    The result is empty if one of them has the left-hand side of the quoted rate.
    """
    if not _is_quoted(theorem, registry) or _sources(theorem, registry):
        return []
    return _rates_of_others(theorem, registry)


def _sources(theorem: Theorem, registry: Registry) -> list[Theorem]:
    """Return the printed rates of other papers on its algorithms and left side."""
    left = (theorem.lhs.measure, theorem.lhs.aggregate)
    rates = _rates_of_others(theorem, registry)
    return [t for t in rates if (t.lhs.measure, t.lhs.aggregate) == left]


def _rates_of_others(theorem: Theorem, registry: Registry) -> list[Theorem]:
    """Return the printed rates of other papers on its algorithms."""
    peers = {peer.key for peer in registry.peers(theorem)}
    return [
        other
        for other in registry.statements()
        if other.kind in ("corollary", "rate")
        and other.order
        and other.key not in (*peers, theorem.key)
        and other.variant == "printed"
        and set(other.scope.algorithms) & set(theorem.scope.algorithms)
        and joint_glossary(theorem, other) is not None
    ]


__all__ = ["check_quoted", "has_source", "lost_powers", "rates_on_other_left_sides"]
