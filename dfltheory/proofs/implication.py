"""Whether one statement follows from another."""

from __future__ import annotations

import math
from collections.abc import Mapping

import sympy as sp

from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.inequalities.roots import with_roots
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import RuleError, real_expression, reality
from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.script_region import glossary_of


def not_implied(
    theorem: Theorem, source: Theorem, schedule: Mapping[str, Expr]
) -> list[str]:
    """Return why a theorem is not proved to follow from another one.

    It follows if three things are proved under the theorem's conditions: the schedule
    is in the ranges of its quantities, it satisfies the conditions of the source, and
    with it the bound of the source is at most that of the theorem. The conditions and
    the bound of the source must be real numbers there: where they are not, the source
    states nothing.

    Parameters
    ----------
    theorem : the corollary
    source : the theorem from which it should follow
    schedule : the corollary's values of quantities of the source, by name

    Returns
    -------
    list of str
        One message for each of these that is not proved.
    """
    conditions, glossary = expanded_conditions(theorem), glossary_of(theorem)
    region = Region(conditions, glossary=glossary)
    region_with_roots = with_roots(conditions, glossary)
    values: dict[Expr, Expr] = {}
    missing = []
    for name, value in schedule.items():
        quantity, formula = theorem.glossary[name], sp.sympify(value)
        values[quantity.symbol] = formula
        if not _in_range(region, quantity, formula):
            missing.append(f"not shown: {name} = {value} is in its range")

    def scheduled(expr: Expr) -> Expr:
        return source.expand(expr).subs(values, simultaneous=True)

    for condition in source.conditions:
        slack = scheduled(condition.slack)
        regions = (region, region_with_roots)
        is_met = any(r.holds(slack, condition.strict) for r in regions)
        if not (is_met and _is_real(region, slack)):
            missing.append(f"not shown: {condition.name}, a condition of {source}")
    terms = {name: theorem.expand(part) for name, part in theorem.parts.items()}
    source_terms = {name: scheduled(part) for name, part in source.parts.items()}
    if terms.keys() == source_terms.keys():
        differences = [terms[name] - source_terms[name] for name in terms]
    else:
        differences = [sp.Add(*terms.values()) - sp.Add(*source_terms.values())]
    is_real = all(_is_real(region, part) for part in source_terms.values())
    if not (is_real and all(map(region.holds, differences))):
        missing.append(f"not shown: the bound of {source} is at most that of {theorem}")
    return missing


def _is_real(region: Region, expr: Expr) -> bool:
    """Return whether it is proved that an expression is a real number."""
    try:
        signs = reality(real_expression(expr))
    except RuleError:
        return False
    return all(region.holds(sign, strict) for sign, strict in signs)


def _in_range(region: Region, quantity: Quantity, value: Expr) -> bool:
    """Return whether a quantity of a schedule is proved to be in its range."""
    if quantity.integer and not value.is_Integer:
        return False
    if math.isfinite(quantity.low):
        low = sp.Rational(quantity.low)
        if not region.holds(value - low, strict=quantity.open_low):
            return False
    if math.isinf(quantity.high):
        return True
    high = sp.Rational(quantity.high)
    return region.holds(high - value, strict=quantity.open_high)
