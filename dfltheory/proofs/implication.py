"""Whether one statement follows from another."""

from __future__ import annotations

import math
from collections.abc import Mapping

import sympy as sp

from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.inequalities.roots import with_roots
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import conditions_of
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.script_region import glossary_of


def not_implied(
    theorem: Theorem, source: Theorem, schedule: Mapping[str, Expr]
) -> list[str]:
    """Return what is not shown of the conditions and of the bound of the source.

    Shown must be: under the corollary's conditions its schedule is in the ranges of the
    step sizes and meets the source's conditions, and then the source's bound is at most
    the corollary's.
    """
    conditions, known = conditions_of(theorem), glossary_of(theorem)
    region = Region(conditions, glossary=known)
    larger = with_roots(conditions, known)
    values = {
        theorem.glossary[name].symbol: sp.sympify(value)
        for name, value in schedule.items()
    }

    def scheduled(expr: Expr) -> Expr:
        return source.expand(expr).subs(values, simultaneous=True)

    missing = [
        f"not shown: {name} = {value} is in its range"
        for name, value in schedule.items()
        if not _in_range(region, theorem.glossary[name], sp.sympify(value))
    ]
    missing += [
        f"not shown: {c.name}, a condition of {source}"
        for c in source.conditions
        if not any(r.holds(scheduled(c.slack), c.strict) for r in (region, larger))
    ]
    terms = {name: theorem.expand(part) for name, part in theorem.parts.items()}
    derived = {name: scheduled(part) for name, part in source.parts.items()}
    if terms.keys() == derived.keys():
        differences = [terms[name] - derived[name] for name in terms]
    else:
        differences = [sp.Add(*terms.values()) - sp.Add(*derived.values())]
    if not all(map(region.holds, differences)):
        missing.append(f"not shown: the bound of {source} is at most that of {theorem}")
    return missing


def _in_range(region: Region, quantity: Quantity, value: Expr) -> bool:
    """Return whether a quantity of a schedule is proved to be in its range."""
    if quantity.integer and not value.is_Integer:
        return False
    above = region.holds(value - sp.Rational(quantity.low), strict=quantity.open_low)
    if math.isinf(quantity.high):
        return above
    return above and region.holds(
        sp.Rational(quantity.high) - value, strict=quantity.open_high
    )
