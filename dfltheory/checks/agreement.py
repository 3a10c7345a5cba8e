"""Agreement of the variants and definitions of one statement.

The checks compare variants of one statement and two definitions of one constant, and
find definitions that nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from dfltheory.bounds.outgrowth import outgrows
from dfltheory.bounds.rates import covered, direction, leading, with_schedule
from dfltheory.bounds.regions import (
    admissible_points,
    at,
    bound_at,
    expanded_conditions,
    joint_glossary,
)
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.corollaries import hidden_by
from dfltheory.checks.finding import (
    AuditFinding,
    audit_check,
    error,
    found,
    note,
    point_text,
    warning,
)
from dfltheory.checks.simpler import agree_without

_TOLERANCE = 1e-9
_POINTS = 1000


def has_agreement(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether it has definitions, or another variant to compare with."""
    return bool(theorem.definitions) or bool(_compared(theorem, registry))


@audit_check("agreement")
def check_agreement(
    theorem: Theorem,
    variants: Mapping[str, Theorem] | None = None,
    registry: Registry = REGISTRY,
) -> Iterator[AuditFinding]:
    """Compare a printed statement with its variants, and check its definitions."""
    yield from unused_definitions(theorem)
    yield from twice_defined(theorem, registry)
    for name, other in _compared(theorem, registry, variants).items():
        if name.startswith("corrected"):
            yield from against_corrected(theorem, other)
        elif theorem.order:
            yield from compare_orders(theorem, other)
        else:
            yield from compare_values(theorem, other)


def _compared(
    theorem: Theorem, registry: Registry, variants: Mapping[str, Theorem] | None = None
) -> dict[str, Theorem]:
    """Return the variants with which a printed statement is compared.

    For other variants the result is empty.
    """
    if not theorem.variant.startswith("printed"):
        return {}
    others = variants or {
        t.variant: t for t in registry.peers(theorem) if t.key == theorem.key
    }
    return {
        name: other
        for name, other in others.items()
        if _is_comparable(theorem, name, other)
    }


def _is_comparable(theorem: Theorem, name: str, other: Theorem) -> bool:
    """Return whether a printed statement can be compared with this variant."""
    if joint_glossary(theorem, other) is None:
        return False
    if name.startswith("corrected"):
        return theorem.lhs.measure == other.lhs.measure and not theorem.order
    return name.startswith(("appendix", "introduction"))


@audit_check("agreement")
def unused_definitions(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield definitions that no term, condition or schedule uses.

    A definition that another used definition contains is used, too.
    """
    used = {
        s
        for e in (*theorem.parts.values(), *theorem.schedule.values())
        for s in sp.sympify(e).free_symbols
    }
    used |= {s for c in theorem.conditions for s in (c.left - c.right).free_symbols}
    for d in reversed(theorem.definitions):
        if d.symbol in used:
            used |= d.expr.free_symbols
        else:
            yield warning(
                f"definition {d.symbol}",
                f"{d.latex} is defined ({d.meaning}) and used nowhere",
                definition=str(d.expr),
            )


@audit_check("agreement")
def twice_defined(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Compare definitions with the paper's own entries for the same symbols."""
    if theorem.kind != "theorem" or theorem.variant not in ("printed", "appendix"):
        return
    for other in registry.peers(theorem):
        for d in theorem.definitions:
            same_letter = other.kind == "definition" and other.lhs.latex == d.latex
            if (
                same_letter
                and other.variant == "printed"
                and sp.simplify(theorem.expand(d.symbol) - other.bound) != 0
            ):
                yield error(
                    f"definition {d.symbol}",
                    f"{d.latex} here is {d.expr}, but {other.key} is {other.bound}",
                )


def _common_points(one: Theorem, other: Theorem) -> dict[str, np.ndarray]:
    conditions = (*expanded_conditions(one), *expanded_conditions(other))
    glossary = joint_glossary(one, other)
    assert glossary is not None
    names = {*one.needs, *other.needs}
    return admissible_points(
        names, conditions, _POINTS, np.random.default_rng(0), glossary
    )


@audit_check("agreement")
def compare_values(printed: Theorem, derived: Theorem) -> Iterator[AuditFinding]:
    """Check that ``printed`` is at least ``derived`` where the conditions of both hold.

    Of two definitions of one constant one is wrong; which of them, this check cannot
    say: a warning.
    """
    points = _common_points(printed, derived)
    mine, theirs = bound_at(printed, points), bound_at(derived, points)
    scale = np.maximum(np.abs(mine), np.abs(theirs)) + 1e-300
    less = (theirs - mine) / scale
    if np.max(np.abs(less)) < _TOLERANCE:
        return
    i = int(np.argmax(less))
    same = agree_without(printed, derived, points)
    wrong = [
        text
        for name in printed.parts
        if (text := _term(printed, derived, name, points))
    ]
    if less[i] > _TOLERANCE:
        definition = printed.kind == "definition"
        differs = (
            "it is defined otherwise there"
            if definition
            else f"it claims less than {derived.source}"
        )
        yield found(
            "warning" if definition else "error",
            f"against {derived.variant}",
            f"{differs}: {mine[i]:.6g} against {theirs[i]:.6g} at"
            f" {point_text(at(points, i))}"
            + (f"; {'; '.join(wrong)}" if wrong else "")
            + (f"; they agree at {' and at '.join(same)}" if same else ""),
            point=at(points, i),
            printed=float(mine[i]),
            derived=float(theirs[i]),
        )
    else:
        yield note(f"against {derived.variant}", "it is looser than what is derived")


def _term_values(
    theorem: Theorem, name: str, points: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the values of a term at points."""
    needed = {quantity: points[quantity] for quantity in theorem.needs}
    return np.asarray(theorem.evaluate_terms(where="ignore", **needed)[name])


def _term(
    printed: Theorem, derived: Theorem, name: str, points: dict[str, np.ndarray]
) -> str | None:
    """Return how a term of the same name differs.

    It differs by a constant factor, or the text says by how much at most.
    """
    if name not in derived.parts:
        return None
    ones, twos = (_term_values(t, name, points) for t in (printed, derived))
    with np.errstate(all="ignore"):
        ratio = np.asarray(ones / twos, dtype=float)
    ratio = ratio[np.isfinite(ratio)] if ratio.ndim else ratio.reshape(1)
    if not len(ratio) or np.allclose(ratio, 1, rtol=_TOLERANCE):
        return None
    if np.allclose(ratio, ratio[0], rtol=_TOLERANCE):
        factor = sp.nsimplify(ratio[0], rational=True, tolerance=1e-9)
        return f"its term {name} is {factor} times the derived one"
    return (
        f"its term {name} is {ratio.min():.3g} to {ratio.max():.3g} times the"
        " derived one"
    )


@audit_check("agreement")
def compare_orders(printed: Theorem, derived: Theorem) -> Iterator[AuditFinding]:
    """Check that the printed rate covers every monomial of a derived O(.).

    Constants that the printed O(.) hides are ignored.
    """
    schedule = (
        derived.schedule
        if len(derived.schedule) > len(printed.schedule)
        else printed.schedule
    )
    shared = {d.symbol for d in printed.definitions} & {
        d.symbol for d in derived.definitions
    }
    mine, theirs = (leading(t, 3, schedule, shared) for t in (printed, derived))
    given, claimed_bound = (
        with_schedule(t, t.bound, schedule) for t in (derived, printed)
    )
    loose = hidden_by(mine)
    shares = printed.shares | derived.shares
    for mono in theirs:
        if covered(mono, mine, shares=shares):
            continue
        soft = covered(
            mono.without(loose), [own.without(loose) for own in mine], shares=shares
        )
        hidden = [] if soft else loose
        stated = [own.without(hidden) for own in mine]
        way = direction(mono.without(hidden), stated, (), shares)
        if way is None or not outgrows(way, given, claimed_bound, shares):
            continue
        yield found(
            "warning" if soft else "error",
            f"against {derived.variant}",
            f"{derived.source} has the term {mono}, which is "
            + (
                "covered here only if O(.) hides constants with units"
                if soft
                else "not covered here"
            ),
            f"add {mono}",
            term=str(mono),
        )


def against_corrected(printed: Theorem, corrected: Theorem) -> Iterator[AuditFinding]:
    """Compare the printed bound with a re-derived one where both apply.

    Their starts may differ.
    """
    points = _common_points(printed, corrected)
    size = len(next(iter(points.values())))
    if size < 20:
        return
    mine, theirs = bound_at(printed, points), bound_at(corrected, points)
    with np.errstate(all="ignore"):
        ratio = (mine / theirs)[np.isfinite(mine / theirs)]
    if len(ratio):
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        yield note(
            f"against {corrected.variant}",
            f"printed over {corrected.variant}: median {middle:.3g}, 90% between"
            f" {low:.3g} and {high:.3g} at random admissible points",
        )


__all__ = [
    "check_agreement",
    "compare_orders",
    "compare_values",
    "twice_defined",
    "unused_definitions",
]
