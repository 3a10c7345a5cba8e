"""Comparison of a bound with registered theorems on special cases of its algorithm."""

from __future__ import annotations

from collections.abc import Iterator

from dfltheory.bounds.regions import joint_glossary
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.common_case import CommonCase, at_values, common_case
from dfltheory.checks.different_terms import different_terms
from dfltheory.checks.finding import AuditFinding, audit_check, note

ABSENT_MECHANISMS: dict[str, int] = {"rho": 0, "alpha": 0, "Q": 1, "lam": 0}
"""Mechanism -> the value at which it is absent."""
_OF_PROOFS = ("lemma", "equation")
_SMALLER = ("min", "mean")
"""Aggregates that are compared with each other: the minimum is at most the mean."""


def has_neutral(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether a theorem on a special case or a simpler display is known."""
    return bool(_comparisons(theorem, registry)) or any(
        _displays_without(theorem, name, registry) for name in ABSENT_MECHANISMS
    )


@audit_check("neutral")
def check_neutral(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Compare a bound in special cases of its algorithm with theorems on these.

    Each finding lists the terms that only one of the two has: observations, not errors.
    """
    for other, case in _comparisons(theorem, registry):
        yield from _difference(case.place, other, *case.statements)
    for name, value in ABSENT_MECHANISMS.items():
        others = _displays_without(theorem, name, registry)
        pairs = [(at_values(theorem, {name: value}), other) for other in others]
        if any(different_terms(*pair) == ([], []) for pair in pairs):
            continue  # it is one of them, and the others are other steps of the proof
        for other, pair in zip(others, pairs, strict=True):
            yield from _difference(f"at {name} = {value}", other, *pair)


def _difference(
    place: str, registered: Theorem, one: Theorem, other: Theorem
) -> Iterator[AuditFinding]:
    """Report the terms that one of two statements has and the other lacks."""
    extra, lost = different_terms(one, other)
    if extra or lost:
        yield note(
            place,
            f"compared with {registered}, terms that only this bound has:"
            f" {'; '.join(extra) or 'none'}; that only the other has:"
            f" {'; '.join(lost) or 'none'}",
            term=str(registered),
            extra=extra,
            lost=lost,
        )


def _comparisons(
    theorem: Theorem, registry: Registry
) -> list[tuple[Theorem, CommonCase]]:
    """Return registered theorems on simpler algorithms, with the common case.

    They are theorems with explicit constants on the same measure. Of a theorem with
    corrected variants only the first of these is returned.
    """
    if theorem.order or theorem.kind != "theorem":
        return []
    by_key: dict[str, list[tuple[Theorem, CommonCase]]] = {}
    for other in registry.statements():
        if _is_comparable(theorem, other):
            case = common_case(theorem, other)
            if case is not None:
                by_key.setdefault(other.key, []).append((other, case))
    comparisons: list[tuple[Theorem, CommonCase]] = []
    for rows in by_key.values():
        corrected = [row for row in rows if row[0].variant.startswith("corrected")]
        comparisons += corrected[:1] or rows
    return comparisons


def _is_comparable(theorem: Theorem, other: Theorem) -> bool:
    """Return whether ``other`` is another theorem that can be compared.

    It must have explicit constants, and the same measure and rounds.
    """
    left, other_left = theorem.lhs, other.lhs
    same_rounds = left.aggregate == other_left.aggregate or (
        left.aggregate in _SMALLER and other_left.aggregate in _SMALLER
    )
    return (
        other.kind == "theorem"
        and not other.order
        and other.key != theorem.key
        and left.measure == other_left.measure
        and same_rounds
        and joint_glossary(theorem, other) is not None
    )


def _displays_without(theorem: Theorem, name: str, registry: Registry) -> list[Theorem]:
    """Return lemmas or displays of the same paper that lack one mechanism alone.

    They have the same left-hand side. A display without the network's lam is another
    step of the same proof, and is not compared.
    """
    if theorem.order or theorem.kind not in _OF_PROOFS:
        return []
    if name == "lam" or name not in theorem.needs:
        return []
    wanted = (theorem.kind, theorem.lhs.measure, theorem.lhs.aggregate)
    kept = {other for other in ABSENT_MECHANISMS if other in theorem.needs} - {name}
    return [
        other
        for other in registry.peers(theorem)
        if (other.kind, other.lhs.measure, other.lhs.aggregate) == wanted
        and other.key != theorem.key
        and {mechanism for mechanism in ABSENT_MECHANISMS if mechanism in other.needs}
        == kept
        and joint_glossary(theorem, other) is not None
    ]


__all__ = ["ABSENT_MECHANISMS", "check_neutral", "has_neutral"]
