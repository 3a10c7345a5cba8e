"""The bound of the simpler algorithm, with a mechanism at its neutral value.

A statement must cover what the same paper says, under the same assumptions, of the
algorithm without the mechanism.

Which statement covers the simpler algorithm is read from the registry: a mechanism
(SAM's radius, several gossip steps, momentum) is absent from a statement that has no
such quantity, or that sets it to its neutral value in its schedule or by a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import sympy as sp

from dfltheory.bounds.rates import covered, leading, range_rows
from dfltheory.bounds.regions import (
    Points,
    admissible_points,
    bound_at,
    expanded_conditions,
    joint_glossary,
)
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import AuditFinding, audit_check, found, note, warning

MECHANISMS: dict[str, tuple[tuple[str, ...], str]] = {
    "rho": (("rho", "rho0"), "SAM"),
    "Q": (("Q",), "several gossip steps"),
    "alpha": (("alpha",), "momentum"),
}
"""Mechanism -> the quantities that carry it, and its name."""
_POINTS = 400
_TOLERANCE = 1e-9


def mechanisms(theorem: Theorem) -> frozenset[str]:
    """Return the mechanisms that an algorithm may use under this statement."""
    return frozenset(name for name in MECHANISMS if _uses(theorem, name))


def _uses(theorem: Theorem, name: str) -> bool:
    symbol, neutral = GLOSSARY[name].symbol, int(NEUTRAL[name])
    pinned = any(c.left == symbol and c.right == neutral for c in theorem.conditions)
    if pinned or theorem.schedule.get(name) == neutral:
        return False
    return name in theorem.schedule or any(
        n in theorem.needs for n in MECHANISMS[name][0]
    )


@audit_check("limits")
def check_simpler(
    theorem: Theorem,
    others: Iterable[Theorem] | None = None,
    registry: Registry = REGISTRY,
) -> Iterator[AuditFinding]:
    """Compare ``theorem`` without its mechanisms with statements that lack them.

    These are statements about algorithms without the mechanisms.
    """
    mine = mechanisms(theorem)
    simpler = simpler_statements(theorem, others, registry)
    own = {other.key for other in simpler if other.variant == theorem.variant}
    for other in simpler:
        if other.key not in own or other.variant == theorem.variant:
            absent = sorted(mine - mechanisms(other))
            yield from (_orders if theorem.order else _values)(theorem, other, absent)


def simpler_statements(
    theorem: Theorem,
    others: Iterable[Theorem] | None = None,
    registry: Registry = REGISTRY,
) -> list[Theorem]:
    """Return the comparable statements about algorithms without a mechanism.

    They are of the same paper, unless given.
    """
    mine = mechanisms(theorem)
    if not mine or theorem.kind not in ("theorem", "corollary", "rate"):
        return []
    known = registry.peers(theorem) if others is None else others
    return [
        other
        for other in known
        if mechanisms(other) < mine
        and _is_comparable(theorem, other, mine - mechanisms(other))
    ]


def _is_comparable(one: Theorem, other: Theorem, absent: frozenset[str]) -> bool:
    """Return whether both make the same kind of claim on the same quantity.

    They must have the same assumptions and schedule, and be drawn from a theorem (not
    quoted).
    """
    own = [
        (
            *(
                t.kind,
                t.order,
                t.lhs.measure,
                t.lhs.aggregate,
                t.assumptions,
                t.variant.split("_")[0],
            ),
            {n: e for n, e in t.schedule.items() if n not in absent},
        )
        for t in (one, other)
    ]
    drawn = one.kind == "theorem" or (one.of is not None and other.of is not None)
    return own[0] == own[1] and drawn and joint_glossary(one, other) is not None


def _describe_absence(absent: list[str]) -> tuple[str, str]:
    where = ", ".join(f"{n} = {NEUTRAL[n]:g}" for n in absent)
    return f"at {where}", f"without {' and '.join(MECHANISMS[n][1] for n in absent)}"


def _orders(
    theorem: Theorem, other: Theorem, absent: list[str]
) -> Iterator[AuditFinding]:
    """Compare the monomials of this rate with those of the simpler algorithm's rate.

    Monomials that the simpler algorithm's rate has and this one lacks are reported, and
    the other way round.
    """
    place, words = _describe_absence(absent)
    neutral = {
        GLOSSARY[n].symbol: NEUTRAL[n] for name in absent for n in MECHANISMS[name][0]
    }
    schedule = {
        n: e.subs(neutral) for n, e in theorem.schedule.items() if n not in neutral
    }
    schedule |= {n: sp.Integer(int(NEUTRAL[n])) for n in absent}
    mine, theirs = leading(theorem, 3, schedule, ()), leading(other, 3, None, ())
    shares = theorem.shares | other.shares
    ranges = [*range_rows(theorem), *range_rows(other)]
    lost = [str(mono) for mono in theirs if not covered(mono, mine, ranges, shares)]
    extra = [str(mono) for mono in mine if not covered(mono, theirs, ranges, shares)]
    if lost:
        yield warning(
            place,
            f"{words} the algorithm is that of {other}, which has terms that nothing"
            f" here covers: {'; '.join(lost)}",
            f"add {'; '.join(lost)}",
            lost=lost,
        )
    if extra and not lost:
        yield note(
            place, f"{words} it keeps {'; '.join(extra)}, which {other} does not have"
        )
    if not lost and not extra:
        yield note(place, f"{words} it is the order of {other}")


def _values(
    theorem: Theorem, other: Theorem, absent: list[str]
) -> Iterator[AuditFinding]:
    """Compare the two bounds at random points, with neutral mechanisms.

    Both bounds apply at these points.
    """
    place, words = _describe_absence(absent)
    neutral = {n: float(NEUTRAL[n]) for name in absent for n in MECHANISMS[name][0]}
    glossary = joint_glossary(theorem, other)
    assert glossary is not None
    points = admissible_points(
        {*theorem.needs, *other.needs},
        (*expanded_conditions(theorem), *expanded_conditions(other)),
        _POINTS,
        np.random.default_rng(0),
        glossary,
    )
    size = len(next(iter(points.values()), ()))
    if not size:
        return
    fixed = {n: np.full(size, neutral[n]) for n in points if n in neutral}
    points = {**points, **fixed}
    mine, theirs = bound_at(theorem, points), bound_at(other, points)
    with np.errstate(all="ignore"):
        ratio = (mine / theirs)[np.isfinite(mine / theirs)]
    if not len(ratio):
        return
    low, high = float(ratio.min()), float(ratio.max())
    if low < 1 - _TOLERANCE:
        severity, says = (
            "warning",
            f"it claims less than {other}: {low:.4g} to {high:.4g} times that bound",
        )
    elif high > 1 + _TOLERANCE:
        severity, says = (
            "note",
            f"it is {low:.4g} to {high:.4g} times the bound of {other}",
        )
    else:
        severity, says = "note", f"it is the bound of {other}"
    yield found(severity, place, f"{words} {says}", low=low, high=high)


def agree_without(one: Theorem, other: Theorem, points: Points) -> list[str]:
    """Return the mechanisms at whose neutral value two statements agree.

    What differs then belongs to them.
    """
    found = []
    for name, (carriers, _) in MECHANISMS.items():
        if name in points:
            neutral = {
                n: np.full_like(points[n], NEUTRAL[n]) for n in carriers if n in points
            }
            mine, theirs = (
                bound_at(theorem, {**points, **neutral}) for theorem in (one, other)
            )
            if np.allclose(mine, theirs, rtol=_TOLERANCE, atol=0):
                found.append(f"{name} = {NEUTRAL[name]:g}")
    return found


__all__ = [
    "MECHANISMS",
    "agree_without",
    "check_simpler",
    "mechanisms",
    "simpler_statements",
]
