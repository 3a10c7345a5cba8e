"""Checks of the conditions of a statement.

They examine whether all conditions can hold together, whether every denominator is
positive where they do, and whether the bound is ever better than what is known without
a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy as sp

from dfltheory.bounds.regions import (
    Points,
    at,
    expanded_conditions,
    has_points,
    points_of,
    precise_value,
    smallest_of,
    values_at,
)
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding, audit_check, error, point_text
from dfltheory.checks.satisfiable import check_satisfiable
from dfltheory.checks.vacuous import first_useful_round, vacuous
from dfltheory.errors import InputError


def has_conditions(theorem: Theorem) -> bool:
    """Return whether a statement is a theorem or corollary that can be examined.

    It can if it has conditions, or admissible points at which it may be vacuous.
    """
    return theorem.kind in ("theorem", "corollary") and (
        bool(expanded_conditions(theorem)) or has_points(theorem)
    )


@audit_check("conditions")
def check_conditions(theorem: Theorem) -> Iterator[AuditFinding]:
    """Examine satisfiability, denominators, and the vacuous region."""
    if theorem.kind not in ("theorem", "corollary"):
        return
    yield from check_satisfiable(theorem)
    try:
        points = points_of(theorem, 3000)
    except InputError:
        return
    yield from denominators(theorem, points)
    if not theorem.order:
        yield from vacuous(theorem, points)
        yield from first_useful_round(theorem)


def _is_nonnegative(term: Expr, point: Mapping[str, float]) -> bool:
    """Return whether a term is at least 0, computed in many digits."""
    return precise_value(term, point) >= 0


@audit_check("conditions")
def denominators(theorem: Theorem, points: Points) -> Iterator[AuditFinding]:
    """Check that every difference in a denominator is positive under the conditions.

    A negative one is no error if the whole term is not negative: the term
    (1 - r^T)/(1 - r) is positive for r > 1, too.
    """
    seen: set[Expr] = set()
    for name, term in theorem.terms.items():
        for power in term.atoms(sp.Pow):
            divides = power.exp.is_number and power.exp.is_negative
            if not (divides and power.base.is_Add) or power.base in seen:
                continue
            seen.add(power.base)
            (value,) = values_at([power.base], points)
            wrong = value == 0 if power.exp.is_odd is False else value <= 0
            for i in smallest_of(wrong, value):
                point = at(points, i)
                precise = precise_value(power.base, point)
                if not precise <= 0 or (precise < 0 and _is_nonnegative(term, point)):
                    continue
                inside = {s.name for s in power.base.free_symbols}
                place = {n: v for n, v in point.items() if n in inside}
                yield error(
                    f"term {name}",
                    f"its denominator {power.base} is {precise:.3g} at"
                    f" {point_text(place)}, where all conditions hold",
                    f"demand {power.base} > 0",
                    point=point,
                )
                break


__all__ = ["check_conditions", "denominators"]
