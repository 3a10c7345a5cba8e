"""Comparison of the point and rounds of a left-hand side with those of its source."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.measures import KNOWN_MEASURES, Measure
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import AuditFinding, audit_check, warning
from dfltheory.checks.quoted import rates_on_other_left_sides
from dfltheory.proofs.declared_steps import DeclaredProof

FOLLOWING: dict[str, frozenset[str]] = {
    "each": frozenset(("each", "max", "mean", "min", "last")),
    "max": frozenset(("each", "max", "mean", "min", "last")),
    "mean": frozenset(("mean", "min")),
    "last": frozenset(("last", "min")),
    "min": frozenset(("min",)),
}
"""Aggregate over the rounds -> the aggregates for which the same bound holds, too."""


def has_left_source(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether the left-hand side can be compared with that of a source."""
    source = derivation_source(theorem, registry)
    compared = source is not None and _is_same_quantity(theorem.lhs, source.lhs)
    compared = compared or bool(_measure(theorem.lhs).moved_by)
    return compared or bool(theorem.steps) or _quoted_from(theorem, registry) != []


@audit_check("measured")
def check_measured(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Compare the left-hand side with that of the statement it is derived from.

    A bound at one point does not hold at another without a term for their distance, and
    a bound of a mean does not hold for the last round. The last declared step of a
    proof, the sources of a quoted rate, and the points of the quantities in a bound are
    compared, too. Findings are warnings, since a statement may have another proof.
    """
    yield from _points_of_the_bound(theorem)
    source = derivation_source(theorem, registry)
    if source is not None and _is_same_quantity(theorem.lhs, source.lhs):
        yield from _differences(theorem.lhs, source.lhs, f"{source}, its source,")
    yield from _last_step(theorem)
    for quoted in _quoted_from(theorem, registry)[:1]:
        yield from _differences(theorem.lhs, quoted.lhs, f"{quoted}, which is quoted,")


def _points_of_the_bound(theorem: Theorem) -> Iterator[AuditFinding]:
    """Compare the point of a step with those of the gradients in its bound."""
    measure = _measure(theorem.lhs)
    if not measure.moved_by or set(measure.moved_by) & set(theorem.needs):
        return
    here = measure.point
    for name in theorem.needs:
        there = theorem.glossary[name].point
        if there and there != here:
            yield warning(
                f"bound: {name}",
                f"the left side is taken at {here}; {name} in its bound is a gradient"
                f" at {there}, and no term covers the distance between the two",
                f"take the gradient at {here}, or add a term with L_uv",
                term=name,
                here=here,
                source=there,
            )


def derivation_source(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Theorem | None:
    """Return the statement that a statement is derived from, if it is known."""
    if theorem.of is None or isinstance(theorem.of, Theorem):
        return theorem.of
    assert isinstance(theorem.of, tuple)
    key, variant = theorem.of
    known = registry.statements()
    return next((t for t in known if (t.key, t.variant) == (key, variant)), None)


def _quoted_from(theorem: Theorem, registry: Registry) -> list[Theorem]:
    """Return rates that may be quoted, of the same quantity at other points."""
    return [
        other
        for other in rates_on_other_left_sides(theorem, registry)
        if _is_same_quantity(theorem.lhs, other.lhs)
    ]


def _measure(left: LeftSide) -> Measure:
    """Return the measure of a left-hand side, or an empty one for a user's own."""
    return KNOWN_MEASURES.get(left.measure, Measure(None))


def _is_same_quantity(one: LeftSide, other: LeftSide) -> bool:
    """Return whether both measure the same quantity, possibly at different points."""
    if one.measure == other.measure:
        return True
    quantity = _measure(one).quantity
    return bool(quantity) and quantity == _measure(other).quantity


def _differences(left: LeftSide, source: LeftSide, name: str) -> Iterator[AuditFinding]:
    """Yield how a left-hand side differs from that of a source called ``name``."""
    if left.measure != source.measure:
        quantity, own_point = _measure(left).quantity, _measure(left).point
        source_point = _measure(source).point
        yield warning(
            "left side: point",
            f"{quantity} is measured at {own_point}; {name} measures it at"
            f" {source_point}",
            f"state the bound at {source_point}, or add a term for the distance of the"
            " points",
            term="point",
            here=own_point,
            source=source_point,
        )
    if not _rounds_follow(left, source):
        own_rounds, source_rounds = _rounds_text(left), _rounds_text(source)
        yield warning(
            "left side: rounds",
            f"it is the {own_rounds}; {name} bounds the {source_rounds}",
            f"bound the {source_rounds}",
            term="rounds",
            here=own_rounds,
            source=source_rounds,
        )
    if left.start != source.start:
        yield warning(
            "left side: start",
            f"f0_gap is taken at round {left.start}; {name} takes it at round"
            f" {source.start}",
            f"take f0_gap at round {source.start}",
            term="start",
            here=str(left.start),
            source=str(source.start),
        )


def _rounds_text(left: LeftSide) -> str:
    if left.aggregate == "last":
        return f"value of round {left.last}"
    name = "value" if left.aggregate == "each" else left.aggregate
    every = "every round" if left.aggregate == "each" else "the rounds"
    return f"{name} of {every} {left.first} .. {left.last}"


def _rounds_follow(left: LeftSide, source: LeftSide) -> bool:
    """Return whether a bound of the source's rounds implies one of these, or may."""
    if source.aggregate not in FOLLOWING or left.aggregate not in {*FOLLOWING}:
        return True
    if left.aggregate not in FOLLOWING[source.aggregate]:
        return False
    own, known = _window(left), _window(source)
    if source.aggregate in ("each", "max") and left.aggregate != "min":
        return _contains(known, own)
    if left.aggregate == "min" and source.aggregate in ("each", "max"):
        return _may_overlap(own, known)
    if left.aggregate == "min":
        return _contains(own, known)
    return _contains(own, known) and _contains(known, own)


def _window(left: LeftSide) -> tuple[sp.Expr, sp.Expr]:
    """Return the first and the last round of a left-hand side."""
    first = left.last if left.aggregate == "last" else left.first
    return sp.sympify(first), sp.sympify(left.last)


def _contains(outer: tuple[sp.Expr, sp.Expr], inner: tuple[sp.Expr, sp.Expr]) -> bool:
    """Return whether a range of rounds contains another one, at least for some T."""
    late, early = inner[0] - outer[0], outer[1] - inner[1]
    return not (sp.simplify(late).is_negative or sp.simplify(early).is_negative)


def _may_overlap(one: tuple[sp.Expr, sp.Expr], other: tuple[sp.Expr, sp.Expr]) -> bool:
    """Return whether two ranges of rounds may have a round in common."""
    distances = (one[1] - other[0], other[1] - one[0])
    return not any(sp.simplify(gap).is_negative for gap in distances)


def _last_step(theorem: Theorem) -> Iterator[AuditFinding]:
    """Compare the gradient in the last declared step with that of the statement."""
    if not theorem.steps or theorem.lhs.measure != "grad_norm_sq":
        return
    proof = DeclaredProof(theorem)
    bounded = proof.last_gradient()
    if bounded is None:
        return
    stated, declared = proof.text(proof.stated_gradient()), proof.text(bounded)
    if stated != declared:
        yield warning(
            "left side: last step",
            f"the statement bounds {stated}; the last declared step bounds {declared}",
            "add a step from one to the other, or state the bound of the last step",
            term="last step",
            here=stated,
            source=declared,
        )


__all__ = [
    "FOLLOWING",
    "check_measured",
    "has_left_source",
    "derivation_source",
]
